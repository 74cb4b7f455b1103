"""Decisions: one live chain for each prompt, nothing ever overwritten."""

from sqlalchemy import ColumnElement, Connection, bindparam, delete, func, insert, or_, select, update

from realign.errors import Conflict, InvalidInput
from realign.records import Decided, Decision, Draft, Prompt, Revision, Ruling
from realign.store.shelf import Shelf, load, value_of
from realign.store.tables import decisions, drafts, folded, leases, prompts, revisions
from realign.store.tallies import n_live, tally
from realign.store.unfinished import end_unfinished

LIVE = prompts.join(decisions, prompts.c.live_decision == decisions.c.id)
TEXTS = (
    decisions.join(prompts, decisions.c.prompt_id == prompts.c.id)
    .join(drafts, decisions.c.draft_id == drafts.c.id)
    .join(revisions, decisions.c.revision_id == revisions.c.id)
)

# Putting a statement together takes SQLAlchemy longer than running it, hence once for what every decision runs.
_STORED = select(decisions.c.record).where(decisions.c.id == bindparam("decision_id"))
_STANDING = select(decisions.c.record).select_from(LIVE).where(prompts.c.id == bindparam("decided_on"))
_ADD = insert(decisions)
_SUPERSEDE = update(decisions).where(decisions.c.id == bindparam("superseded")).values(live=False)
_STAND = update(prompts).where(prompts.c.id == bindparam("decided_on")).values(live_decision=bindparam("standing"))
_END_LEASE = delete(leases).where(leases.c.prompt_id == bindparam("decided_on"))


class Decisions(Shelf):
    """What people ruled."""

    def decide(self, decision: Decision) -> Decision:
        """Store a decision and return it; the same id again returns what is stored.

        It ends the lease on its prompt, and what its annotator had begun there. `supersedes` must name the decision
        that stands for the prompt, or nothing where none does; else `Conflict`. Raises `NotFound` and `InvalidInput`
        where prompt, draft and revision are unknown or do not belong together.
        """
        with self._database.writing() as connection:
            return add_decision(connection, decision)

    def decision(self, id: str) -> Decision:  # noqa: A002 - the field's name
        """Return the decision called `id`, live or not; raise `NotFound` where there is none."""
        return self._one(Decision, decisions, id)

    def live_decision(self, prompt_id: str) -> Decision | None:
        """Return the decision that stands for a prompt; none while it waits."""
        with self._database.reading() as connection:
            text = connection.scalar(_STANDING, {"decided_on": prompt_id})
        return load(Decision, text) if text else None

    def last_decision(self, annotator: str) -> Decision | None:
        """Return what `annotator` decided last and neither they nor anybody else changed since."""
        query = select(decisions.c.record).where(*_live_of(annotator)).order_by(decisions.c.number.desc()).limit(1)
        found = self._all(Decision, query)
        return found[0] if found else None

    def log(self, annotator: str, limit: int) -> list[Decision]:
        """Return what `annotator` decided or withdrew, whether it stands or not, newest first, at most `limit`."""
        query = select(decisions.c.record).where(decisions.c.annotator == annotator)
        return self._all(Decision, query.order_by(decisions.c.number.desc()).limit(limit))

    def neighbour(self, annotator: str, prompt_id: str | None, *, forward: bool) -> str | None:
        """Return the prompt that `annotator` decided on next after `prompt_id`, or last before it.

        Only decisions that stand count. Where theirs does not stand on `prompt_id`, or there is none, the way back
        begins at the latest they made, and there is no way forward.
        """
        number = decisions.c.number
        here = select(number).select_from(LIVE).where(prompts.c.id == prompt_id, decisions.c.annotator == annotator)
        query = select(decisions.c.prompt_id).where(*_live_of(annotator))
        query = query.order_by(number if forward else number.desc()).limit(1)
        with self._database.reading() as connection:
            at = connection.scalar(here) if prompt_id is not None else None
            if at is not None:
                query = query.where(number > at if forward else number < at)
            elif forward:
                return None
            return connection.scalar(query)

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
            return (connection.scalar(query) or 0) if text else n_live(connection, ruling, annotator)


def add_decision(connection: Connection, decision: Decision) -> Decision:
    """Do what `Decisions.decide` says within a transaction that has begun."""
    stored = connection.scalar(_STORED, {"decision_id": decision.id})
    if stored is not None:
        return load(Decision, stored)
    _check_texts(connection, decision)
    superseded = _check_chain(connection, decision)
    if superseded is not None:
        connection.execute(_SUPERSEDE, {"superseded": superseded.id})
        tally(connection, superseded, -1)
    live = decision.ruling != "withdrawn"
    row = {
        "id": decision.id,
        "prompt_id": decision.prompt_id,
        "draft_id": decision.draft_id,
        "revision_id": decision.revision_id,
        "ruling": decision.ruling,
        "annotator": decision.annotator,
        "decided": decision.decided,
        "live": live,
        "searched": folded(decision.final_text),
        "record": decision.model_dump_json(),
    }
    connection.execute(_ADD, row)
    if live:
        tally(connection, decision, 1)
    connection.execute(_STAND, {"decided_on": decision.prompt_id, "standing": decision.id if live else None})
    connection.execute(_END_LEASE, {"decided_on": decision.prompt_id})
    end_unfinished(connection, decision.annotator, decision.prompt_id)
    return decision


def _check_texts(connection: Connection, decision: Decision) -> None:
    value_of(connection, prompts.c.id, decision.prompt_id)
    answers = value_of(connection, drafts.c.prompt_id, decision.draft_id)
    improves = value_of(connection, revisions.c.draft_id, decision.revision_id)
    if (answers, improves) != (decision.prompt_id, decision.draft_id):
        raise InvalidInput(
            f"Decision '{decision.id}' names texts that do not belong together: draft '{decision.draft_id}' answers "
            f"prompt '{answers}', revision '{decision.revision_id}' is of draft '{improves}'. Open the prompt again."
        )


def _check_chain(connection: Connection, decision: Decision) -> Decision | None:
    """Return the decision that stands so far, if any, which must be the one that `decision` supersedes."""
    text = connection.scalar(_STANDING, {"decided_on": decision.prompt_id})
    live = load(Decision, text) if text else None
    if live is None and (decision.supersedes or decision.ruling == "withdrawn"):
        raise Conflict("The decision this one would change was taken back already. Open the prompt again.")
    if live is not None and decision.supersedes != live.id:
        raise Conflict(
            f"{live.annotator} has decided on this prompt in the meantime: {live.ruling}. "
            "Open the prompt again to see that decision and change it."
        )
    return live


def _live_of(annotator: str) -> tuple[ColumnElement[bool], ...]:
    return (decisions.c.annotator == annotator, decisions.c.live.is_(True))


def _matching(text: str, ruling: Ruling | None, annotator: str | None) -> list[ColumnElement[bool]]:
    conditions: list[ColumnElement[bool]] = [decisions.c.live.is_(True)]
    if text:
        found = [func.instr(table.c.searched, folded(text)) > 0 for table in (prompts, drafts, revisions, decisions)]
        conditions.append(or_(*found))
    if ruling is not None:
        conditions.append(decisions.c.ruling == ruling)
    if annotator is not None:
        conditions.append(decisions.c.annotator == annotator)
    return conditions
