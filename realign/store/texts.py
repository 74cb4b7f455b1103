"""Prompts, drafts, revisions, and pairs that came from files."""

import hashlib
import json
from collections.abc import Iterable
from typing import NamedTuple

from sqlalchemy import bindparam, func, select, update

from realign.errors import NotFound
from realign.records import Draft, Pair, Prompt, Revision
from realign.store import tables
from realign.store.shelf import Shelf, add_new, load, require
from realign.store.tables import drafts, folded, imported_pairs, prompts, revisions
from realign.store.tallies import n_prompts

# Putting a statement together takes SQLAlchemy longer than running it, hence once for what every screen asks.
_DRAFTS_OF = select(drafts.c.record).where(drafts.c.prompt_id == bindparam("of_prompt")).order_by(drafts.c.number)
_REVISIONS_OF = (
    select(revisions.c.record).where(revisions.c.draft_id == bindparam("of_draft")).order_by(revisions.c.number)
)


class AddedPrompts(NamedTuple):
    """What became of prompts that were to be added."""

    added: int
    duplicates: int
    """Prompts whose conversation was known already, white space and case aside."""


class Texts(Shelf):
    """What was asked and what models wrote."""

    def add_prompts(self, prompts: Iterable[Prompt]) -> AddedPrompts:
        """Queue prompts in the order given; those whose `content_hash` is known are counted as duplicates."""
        rows = [
            {
                "id": prompt.id,
                "content_hash": prompt.content_hash,
                "searched": folded("\n".join(message.content for message in prompt.messages)),
                "record": prompt.model_dump_json(),
            }
            for prompt in prompts
        ]
        with self._database.writing() as connection:
            added = add_new(connection, tables.prompts, rows, known_by="content_hash")
        return AddedPrompts(added, len(rows) - added)

    def prompt(self, id: str) -> Prompt:  # noqa: A002 - the field's name
        """Return the prompt called `id`; raise `NotFound` where there is none."""
        return self._one(Prompt, prompts, id)

    def prompt_by_hash(self, content_hash: str) -> Prompt:
        """Return the prompt with this conversation; raise `NotFound` where there is none."""
        found = self._all(Prompt, select(prompts.c.record).where(prompts.c.content_hash == content_hash))
        if not found:
            raise NotFound(f"There is no prompt with the content hash {content_hash} in the database.")
        return found[0]

    def prompts(self, limit: int | None = None) -> list[Prompt]:
        """Return prompts in the order they were added, at most `limit`."""
        return self._all(Prompt, select(prompts.c.record).order_by(prompts.c.number).limit(limit))

    def n_prompts(self) -> int:
        """Return how many prompts there are."""
        with self._database.reading() as connection:
            return n_prompts(connection)

    def prompts_without_draft(self, limit: int | None = None) -> list[Prompt]:
        """Return the prompts that nothing was written for yet, in the order they were added, at most `limit`."""
        drafted = select(drafts.c.id).where(drafts.c.prompt_id == prompts.c.id).exists()
        return self._all(Prompt, select(prompts.c.record).where(~drafted).order_by(prompts.c.number).limit(limit))

    def drafts_without_revision(self, limit: int | None = None) -> list[tuple[Prompt, Draft]]:
        """Return the latest draft of each prompt where that draft has no revision yet, prompts in order of adding."""
        latest = select(func.max(drafts.c.number)).group_by(drafts.c.prompt_id)
        revised = select(revisions.c.id).where(revisions.c.draft_id == drafts.c.id).exists()
        query = (
            select(prompts.c.record, drafts.c.record)
            .join_from(drafts, prompts)
            .where(drafts.c.number.in_(latest), ~revised)
            .order_by(prompts.c.number)
            .limit(limit)
        )
        with self._database.reading() as connection:
            return [(load(Prompt, prompt), load(Draft, draft)) for prompt, draft in connection.execute(query)]

    def add_drafts(self, drafts: Iterable[Draft]) -> int:
        """Store drafts; known ids are skipped. Return how many were new; raise `NotFound` for an unknown prompt."""
        added = list(drafts)
        rows = [
            {
                "id": draft.id,
                "prompt_id": draft.prompt_id,
                "searched": folded(draft.text),
                "record": draft.model_dump_json(),
            }
            for draft in added
        ]
        if not rows:
            return 0
        with self._database.writing() as connection:
            answered = {draft.prompt_id for draft in added}
            require(connection, tables.prompts, answered, "A draft")
            n_new = add_new(connection, tables.drafts, rows)
            n_drafts = select(func.count()).where(tables.drafts.c.prompt_id == prompts.c.id).scalar_subquery()
            paired = update(prompts).where(prompts.c.id == bindparam("answered")).values(unpaired=n_drafts < 2)
            connection.execute(paired, [{"answered": prompt_id} for prompt_id in answered])
            return n_new

    def add_revisions(self, revisions: Iterable[Revision]) -> int:
        """Store revisions; known ids are skipped. Return how many were new; raise `NotFound` for an unknown draft."""
        added = list(revisions)
        rows = [
            {
                "id": revision.id,
                "draft_id": revision.draft_id,
                "searched": folded(revision.text),
                "record": revision.model_dump_json(),
            }
            for revision in added
        ]
        if not rows:
            return 0
        with self._database.writing() as connection:
            require(connection, drafts, {revision.draft_id for revision in added}, "A revision")
            prompt_id = select(drafts.c.prompt_id).where(drafts.c.id == bindparam("revised")).scalar_subquery()
            first_in_queue = update(prompts).where(prompts.c.id == prompt_id).values(unrevised=False)
            connection.execute(first_in_queue, [{"revised": revision.draft_id} for revision in added])
            return add_new(connection, tables.revisions, rows)

    def draft(self, id: str) -> Draft:  # noqa: A002 - the field's name
        """Return the draft called `id`; raise `NotFound` where there is none."""
        return self._one(Draft, drafts, id)

    def revision(self, id: str) -> Revision:  # noqa: A002 - the field's name
        """Return the revision called `id`; raise `NotFound` where there is none."""
        return self._one(Revision, revisions, id)

    def drafts_of(self, prompt_id: str) -> list[Draft]:
        """Return everything the policy wrote for a prompt, oldest first."""
        return self._all(Draft, _DRAFTS_OF, of_prompt=prompt_id)

    def revisions_of(self, draft_id: str) -> list[Revision]:
        """Return everything the reviser made of a draft, oldest first."""
        return self._all(Revision, _REVISIONS_OF, of_draft=draft_id)

    def all_drafts(self) -> list[Draft]:
        """Return every draft, oldest first."""
        return self._all(Draft, select(drafts.c.record).order_by(drafts.c.number))

    def add_pairs(self, pairs: Iterable[Pair]) -> tuple[int, int]:
        """Store pairs from a file; return how many were new and how many were known.

        A pair is known by its prompt hash, kind, chosen and rejected text.
        """
        rows = [{"digest": _digest(pair), "record": pair.model_dump_json()} for pair in pairs]
        with self._database.writing() as connection:
            added = add_new(connection, imported_pairs, rows, known_by="digest")
        return added, len(rows) - added

    def imported_pairs(self) -> list[Pair]:
        """Return the pairs that came from files, in the order they were added."""
        return self._all(Pair, select(imported_pairs.c.record).order_by(imported_pairs.c.number))

    def n_imported_pairs(self) -> int:
        """Return how many pairs came from files."""
        with self._database.reading() as connection:
            return connection.scalar(select(func.count()).select_from(imported_pairs)) or 0


def _digest(pair: Pair) -> str:
    told_apart_by = [pair.prompt_hash, pair.kind, pair.chosen, pair.rejected]
    return hashlib.sha256(json.dumps(told_apart_by).encode()).hexdigest()
