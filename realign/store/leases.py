"""The queue: which prompt is in front of whom, and until when."""

from datetime import datetime
from typing import NamedTuple

from sqlalchemy import Connection, delete, insert, select, update

from realign.errors import Conflict
from realign.records import Prompt
from realign.store.shelf import Shelf, record_of
from realign.store.tables import drafts, leases, prompts


class Lease(NamedTuple):
    """A prompt kept for one annotator until it is decided, released, or its time is over."""

    prompt: Prompt
    decision_id: str
    """The id the decision will carry, so that sending it twice stores it once."""
    started: datetime


class Queue(Shelf):
    """Prompts wait in the order they were added; those with a revision to look at come first."""

    def lease(
        self, annotator: str, now: datetime, expires: datetime, decision_id: str, prompt_id: str | None = None
    ) -> Lease | None:
        """Keep a prompt for `annotator` until `expires`, and take back whatever else they held.

        Without `prompt_id`: what they hold already, with its old decision id and start, else the first prompt that
        waits and is nobody else's; none when there is no such prompt. With `prompt_id`: that prompt, decided or not;
        raises `NotFound` where there is none and `Conflict` while somebody else holds it.
        """
        with self._database.writing() as connection:
            connection.execute(delete(leases).where(leases.c.expires <= now))
            held = connection.execute(select(leases).where(leases.c.annotator == annotator)).one_or_none()
            if held and prompt_id in (None, held.prompt_id):
                connection.execute(update(leases).where(leases.c.annotator == annotator).values(expires=expires))
                return Lease(record_of(connection, Prompt, prompts, held.prompt_id), held.decision_id, held.started)
            wanted = prompt_id or _first_waiting(connection)
            if wanted is None:
                return None
            prompt = record_of(connection, Prompt, prompts, wanted)
            holder = connection.scalar(select(leases.c.annotator).where(leases.c.prompt_id == wanted))
            if holder is not None:
                raise Conflict("Somebody else is working on this prompt. Choose another one, or come back later.")
            connection.execute(delete(leases).where(leases.c.annotator == annotator))
            lease = {
                "prompt_id": wanted,
                "annotator": annotator,
                "decision_id": decision_id,
                "started": now,
                "expires": expires,
            }
            connection.execute(insert(leases).values(lease))
            return Lease(prompt, decision_id, now)

    def unwritten(self, limit: int) -> list[Prompt]:
        """Return the next prompts that wait, are nobody's, and have no draft yet, at most `limit`."""
        drafted = select(drafts.c.id).where(drafts.c.prompt_id == prompts.c.id).exists()
        query = (
            select(prompts.c.record)
            .where(prompts.c.live_decision.is_(None), prompts.c.id.not_in(select(leases.c.prompt_id)), ~drafted)
            .order_by(prompts.c.number)
            .limit(limit)
        )
        return self._all(Prompt, query)

    def release(self, annotator: str) -> None:
        """Give back what `annotator` holds, if anything."""
        with self._database.writing() as connection:
            connection.execute(delete(leases).where(leases.c.annotator == annotator))


def _first_waiting(connection: Connection) -> str | None:
    return connection.scalar(
        select(prompts.c.id)
        .where(prompts.c.live_decision.is_(None), prompts.c.id.not_in(select(leases.c.prompt_id)))
        .order_by(prompts.c.unrevised, prompts.c.number)
        .limit(1)
    )
