"""Work that is kept while its person has not decided; the decision ends it."""

from sqlalchemy import Connection, bindparam, delete, select
from sqlalchemy.dialects.sqlite import insert

from realign.records import Unfinished
from realign.store import tables
from realign.store.shelf import Shelf, load, require
from realign.store.tables import decisions, prompts, revisions

_END = delete(tables.unfinished).where(
    tables.unfinished.c.annotator == bindparam("whose"), tables.unfinished.c.prompt_id == bindparam("decided_on")
)


class UnfinishedWork(Shelf):
    """What people have begun."""

    def keep(self, unfinished: Unfinished) -> bool:
        """Store what a person has done with a revision so far, in place of what they had done before.

        Returns false, and stores nothing, where the decision it would lead to is stored already: what is saved late
        must not bring back work that has ended. Raises `NotFound` for an unknown prompt or revision.
        """
        row = {
            "prompt_id": unfinished.prompt_id,
            "revision_id": unfinished.revision_id,
            "decision_id": unfinished.decision_id,
            "annotator": unfinished.annotator,
            "saved": unfinished.saved,
            "record": unfinished.model_dump_json(),
        }
        with self._database.writing() as connection:
            ended = select(decisions.c.number).where(decisions.c.id == unfinished.decision_id)
            if connection.scalar(ended) is not None:
                return False
            require(connection, prompts, {unfinished.prompt_id}, "Unfinished work")
            require(connection, revisions, {unfinished.revision_id}, "Unfinished work")
            kept = insert(tables.unfinished).values(row)
            by_whom = ["annotator", "revision_id"]
            connection.execute(kept.on_conflict_do_update(index_elements=by_whom, set_=row))
        return True

    def unfinished(self, annotator: str, revision_id: str) -> Unfinished | None:
        """Return what `annotator` has done with a revision so far; none where they have nothing begun."""
        unfinished = tables.unfinished
        own = (unfinished.c.annotator == annotator) & (unfinished.c.revision_id == revision_id)
        with self._database.reading() as connection:
            text = connection.scalar(select(unfinished.c.record).where(own))
        return load(Unfinished, text) if text else None

    def drop_unfinished(self, annotator: str, revision_id: str) -> None:
        """Forget what `annotator` has done with a revision, if anything."""
        unfinished = tables.unfinished
        own = (unfinished.c.annotator == annotator) & (unfinished.c.revision_id == revision_id)
        with self._database.writing() as connection:
            connection.execute(delete(unfinished).where(own))


def end_unfinished(connection: Connection, annotator: str, prompt_id: str) -> None:
    """Forget what `annotator` has done on a prompt they have now decided on."""
    connection.execute(_END, {"whose": annotator, "decided_on": prompt_id})
