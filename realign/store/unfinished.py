"""Work that is kept while its person has not decided; the decision ends it."""

from sqlalchemy import Connection, bindparam, delete, select
from sqlalchemy.dialects.sqlite import insert

from realign.records import Unfinished
from realign.store.shelf import Shelf, require
from realign.store.tables import decisions, prompts, revisions, unfinished

_OWN = (unfinished.c.annotator == bindparam("whose")) & (unfinished.c.revision_id == bindparam("on_revision"))
_BEGUN = select(unfinished.c.record).where(_OWN)
_DROP = delete(unfinished).where(_OWN)
_END = delete(unfinished).where(
    unfinished.c.annotator == bindparam("whose"), unfinished.c.prompt_id == bindparam("decided_on")
)
_KEEP = insert(unfinished)
_REPLACE = _KEEP.on_conflict_do_update(
    index_elements=["annotator", "revision_id"],
    set_={name: _KEEP.excluded[name] for name in ("prompt_id", "decision_id", "saved", "record")},
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
            connection.execute(_REPLACE, row)
        return True

    def unfinished(self, annotator: str, revision_id: str) -> Unfinished | None:
        """Return what `annotator` has done with a revision so far; none where they have nothing begun."""
        found = self._all(Unfinished, _BEGUN, whose=annotator, on_revision=revision_id)
        return found[0] if found else None

    def drop_unfinished(self, annotator: str, revision_id: str) -> None:
        """Forget what `annotator` has done with a revision, if anything."""
        with self._database.writing() as connection:
            connection.execute(_DROP, {"whose": annotator, "on_revision": revision_id})


def end_unfinished(connection: Connection, annotator: str, prompt_id: str) -> None:
    """Forget what `annotator` has done on a prompt they have now decided on."""
    connection.execute(_END, {"whose": annotator, "decided_on": prompt_id})
