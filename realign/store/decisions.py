"""Decisions: one live chain for each prompt, nothing ever overwritten."""

from collections import Counter
from datetime import datetime, timedelta
from typing import NamedTuple

from sqlalchemy import ColumnElement, Connection, delete, func, insert, or_, select, update

from realign.errors import Conflict, InvalidInput
from realign.records import Decided, Decision, Draft, Prompt, Revision, Ruling
from realign.store.shelf import Shelf, load, record_of
from realign.store.tables import decisions, drafts, folded, leases, prompts, revisions

PACE = timedelta(minutes=10)
"""How far back the pace of an annotator is measured."""

LIVE = prompts.join(decisions, prompts.c.live_decision == decisions.c.id)
TEXTS = LIVE.join(drafts, decisions.c.draft_id == drafts.c.id).join(
    revisions, decisions.c.revision_id == revisions.c.id
)


class Progress(NamedTuple):
    """How far the queue is, and how fast one annotator."""

    total: int
    decided: int
    waiting: int
    rulings: dict[Ruling, int]
    """Live decisions of everybody by ruling; rulings nobody made are 0 when asked for."""
    per_minute: float
    """Live decisions of this annotator in the last ten minutes, divided by ten."""


class Decisions(Shelf):
    """What people ruled."""

    def decide(self, decision: Decision) -> Decision:
        """Store a decision, end the lease on its prompt, and return it; the same id again returns what is stored.

        `supersedes` must name the decision that stands for the prompt, or nothing where none does; else `Conflict`.
        Raises `NotFound` and `InvalidInput` where prompt, draft and revision are unknown or do not belong together.
        """
        with self._database.writing() as connection:
            stored = connection.scalar(select(decisions.c.record).where(decisions.c.id == decision.id))
            if stored is not None:
                return load(Decision, stored)
            _check_texts(connection, decision)
            _check_chain(connection, decision)
            row = {
                "id": decision.id,
                "prompt_id": decision.prompt_id,
                "draft_id": decision.draft_id,
                "revision_id": decision.revision_id,
                "ruling": decision.ruling,
                "annotator": decision.annotator,
                "decided": decision.decided,
                "searched": folded(decision.final_text),
                "record": decision.model_dump_json(),
            }
            connection.execute(insert(decisions).values(row))
            live = None if decision.ruling == "withdrawn" else decision.id
            connection.execute(update(prompts).where(prompts.c.id == decision.prompt_id).values(live_decision=live))
            connection.execute(delete(leases).where(leases.c.prompt_id == decision.prompt_id))
        return decision

    def decision(self, id: str) -> Decision:  # noqa: A002 - the field's name
        """Return the decision called `id`, live or not; raise `NotFound` where there is none."""
        return self._one(Decision, decisions, id)

    def live_decision(self, prompt_id: str) -> Decision | None:
        """Return the decision that stands for a prompt; none while it waits."""
        found = self._all(Decision, select(decisions.c.record).select_from(LIVE).where(prompts.c.id == prompt_id))
        return found[0] if found else None

    def last_decision(self, annotator: str) -> Decision | None:
        """Return what `annotator` decided last and neither they nor anybody else changed since."""
        query = select(decisions.c.record).select_from(LIVE).where(decisions.c.annotator == annotator)
        found = self._all(Decision, query.order_by(decisions.c.number.desc()).limit(1))
        return found[0] if found else None

    def history(self, prompt_id: str) -> list[Decision]:
        """Return every decision on a prompt, oldest first."""
        wanted = decisions.c.prompt_id == prompt_id
        return self._all(Decision, select(decisions.c.record).where(wanted).order_by(decisions.c.number))

    def decided(
        self,
        text: str = "",
        ruling: Ruling | None = None,
        annotator: str | None = None,
        limit: int | None = None,
        offset: int = 0,
        newest_first: bool = False,
    ) -> list[Decided]:
        """Return live decisions with their texts in the order they were made.

        `text` is looked for in prompt, draft, revision and final text, whatever its case.
        """
        number = decisions.c.number
        query = (
            select(prompts.c.record, drafts.c.record, revisions.c.record, decisions.c.record)
            .select_from(TEXTS)
            .where(*_matching(text, ruling, annotator))
            .order_by(number.desc() if newest_first else number)
            .limit(limit)
            .offset(offset)
        )
        with self._database.reading() as connection:
            return [
                Decided(load(Prompt, prompt), load(Draft, draft), load(Revision, revision), load(Decision, decision))
                for prompt, draft, revision, decision in connection.execute(query)
            ]

    def count_decided(self, text: str = "", ruling: Ruling | None = None, annotator: str | None = None) -> int:
        """Return how many live decisions `decided` would find."""
        query = select(func.count()).select_from(TEXTS).where(*_matching(text, ruling, annotator))
        with self._database.reading() as connection:
            return connection.scalar(query) or 0

    def counts(self) -> dict[Ruling, int]:
        """Return how many live decisions there are of each ruling; rulings nobody made are 0 when asked for."""
        with self._database.reading() as connection:
            return _counts(connection)

    def progress(self, annotator: str, now: datetime) -> Progress:
        """Return how far everybody is together, and the pace of `annotator` up to `now`."""
        recent = (
            select(func.count())
            .select_from(LIVE)
            .where(decisions.c.annotator == annotator, decisions.c.decided > now - PACE, decisions.c.decided <= now)
        )
        with self._database.reading() as connection:
            total = connection.scalar(select(func.count()).select_from(prompts)) or 0
            rulings = _counts(connection)
            n_recent = connection.scalar(recent) or 0
        n_decided = sum(rulings.values())
        return Progress(total, n_decided, total - n_decided, rulings, n_recent / (PACE / timedelta(minutes=1)))


def _check_texts(connection: Connection, decision: Decision) -> None:
    record_of(connection, Prompt, prompts, decision.prompt_id)
    draft = record_of(connection, Draft, drafts, decision.draft_id)
    revision = record_of(connection, Revision, revisions, decision.revision_id)
    if (draft.prompt_id, revision.draft_id) != (decision.prompt_id, decision.draft_id):
        raise InvalidInput(
            f"Decision '{decision.id}' names texts that do not belong together: draft '{draft.id}' answers prompt "
            f"'{draft.prompt_id}', revision '{revision.id}' is of draft '{revision.draft_id}'. Open the prompt again."
        )


def _check_chain(connection: Connection, decision: Decision) -> None:
    query = select(decisions.c.record).select_from(LIVE).where(prompts.c.id == decision.prompt_id)
    text = connection.scalar(query)
    live = load(Decision, text) if text else None
    if live is None and (decision.supersedes or decision.ruling == "withdrawn"):
        raise Conflict("The decision this one would change was taken back already. Open the prompt again.")
    if live is not None and decision.supersedes != live.id:
        raise Conflict(
            f"{live.annotator} has decided on this prompt in the meantime: {live.ruling}. "
            "Open the prompt again to see that decision and change it."
        )


def _counts(connection: Connection) -> Counter[Ruling]:
    query = select(decisions.c.ruling, func.count()).select_from(LIVE).group_by(decisions.c.ruling)
    counted: Counter[Ruling] = Counter()
    for ruling, count in connection.execute(query):
        counted[ruling] = count
    return counted


def _matching(text: str, ruling: Ruling | None, annotator: str | None) -> list[ColumnElement[bool]]:
    conditions: list[ColumnElement[bool]] = []
    if text:
        found = [func.instr(table.c.searched, folded(text)) > 0 for table in (prompts, drafts, revisions, decisions)]
        conditions.append(or_(*found))
    if ruling is not None:
        conditions.append(decisions.c.ruling == ruling)
    if annotator is not None:
        conditions.append(decisions.c.annotator == annotator)
    return conditions
