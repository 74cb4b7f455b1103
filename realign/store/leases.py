"""The queue: which prompt is in front of whom, and until when."""

from datetime import datetime
from typing import Any, Literal, NamedTuple

from sqlalchemy import ColumnElement, Connection, Row, delete, func, insert, select, update

from realign.errors import Conflict
from realign.records import Prompt
from realign.store.shelf import Shelf, record_of
from realign.store.tables import leases, prompts, unfinished

Kind = Literal["revision", "preference"]


class Lease(NamedTuple):
    """A prompt kept for one seat until it is decided, released, or its time is over."""

    prompt: Prompt
    decision_id: str
    """The id the decision or preference will carry, so that sending it twice stores it once."""
    started: datetime
    kind: Kind = "revision"
    """What it is kept for: to decide on a revision, or to prefer one of two drafts."""


class Queue(Shelf):
    """Prompts wait in the order they were added; those with something to look at come first.

    A prompt is in one seat's hands at most, and a seat holds one at most, whatever for.
    """

    def lease(
        self,
        seat: str,
        now: datetime,
        expires: datetime,
        decision_id: str,
        prompt_id: str | None = None,
        annotator: str = "",
    ) -> Lease | None:
        """Keep a prompt for `seat` until `expires` to decide on a revision, and take back whatever else it held.

        Without `prompt_id`: what the seat holds already, with its old decision id and start; else the prompt that
        waits and is nobody's on which `annotator` has worked last without deciding; else the first that waits and is
        nobody's; none when there is no such prompt. With `prompt_id`: that prompt, decided or not; raises `NotFound`
        where there is none and `Conflict` while another seat holds it.
        """
        with self._database.writing() as connection:
            held = _held(connection, seat, now)
            if held and held.kind == "revision" and prompt_id in (None, held.prompt_id):
                return _keep_on(connection, held, expires)
            if held and held.kind == "preference":
                _end(connection, seat)
            wanted = prompt_id or _begun(connection, annotator) or _first_to_decide(connection)
            return _take(connection, seat, now, expires, decision_id, wanted, "revision") if wanted else None

    def lease_for_preference(self, seat: str, now: datetime, expires: datetime, decision_id: str) -> Lease | None:
        """Keep a prompt for `seat` until `expires` to prefer one of two drafts, and take back whatever else it held.

        What the seat holds for this already, with its old decision id and start; else the first prompt without a
        preference that is nobody's, those with two drafts first; none when there is no such prompt.
        """
        with self._database.writing() as connection:
            held = _held(connection, seat, now)
            if held and held.kind == "preference":
                return _keep_on(connection, held, expires)
            _end(connection, seat)
            wanted = _first_to_compare(connection)
            return _take(connection, seat, now, expires, decision_id, wanted, "preference") if wanted else None

    def unready(self, limit: int) -> list[Prompt]:
        """Return the next prompts that wait, are nobody's, and lack a revision to look at, at most `limit`."""
        query = select(prompts.c.record).where(prompts.c.unrevised.is_(True), *_to_decide())
        return self._all(Prompt, query.order_by(prompts.c.number).limit(limit))

    def ready(self, limit: int) -> int:
        """Return how many prompts wait, are nobody's, and have a revision to look at, counted up to `limit`."""
        found = select(prompts.c.number).where(prompts.c.unrevised.is_(False), *_to_decide()).limit(limit)
        with self._database.reading() as connection:
            return connection.scalar(select(func.count()).select_from(found.subquery())) or 0

    def n_seats(self, now: datetime) -> int:
        """Return how many seats hold a prompt at `now`."""
        with self._database.reading() as connection:
            return connection.scalar(select(func.count()).select_from(leases).where(leases.c.expires > now)) or 0

    def release(self, seat: str) -> None:
        """Give back what `seat` holds, if anything."""
        with self._database.writing() as connection:
            _end(connection, seat)


def _held(connection: Connection, seat: str, now: datetime) -> Row[Any] | None:
    """End every lease whose time is over and return the one that `seat` still has."""
    connection.execute(delete(leases).where(leases.c.expires <= now))
    return connection.execute(select(leases).where(leases.c.seat == seat)).one_or_none()


def _keep_on(connection: Connection, held: Row[Any], expires: datetime) -> Lease:
    connection.execute(update(leases).where(leases.c.seat == held.seat).values(expires=expires))
    return Lease(record_of(connection, Prompt, prompts, held.prompt_id), held.decision_id, held.started, held.kind)


def _take(
    connection: Connection, seat: str, now: datetime, expires: datetime, decision_id: str, wanted: str, kind: Kind
) -> Lease:
    prompt = record_of(connection, Prompt, prompts, wanted)
    if connection.scalar(select(leases.c.seat).where(leases.c.prompt_id == wanted)) is not None:
        raise Conflict("Somebody else is working on this prompt. Choose another one, or come back later.")
    _end(connection, seat)
    lease = {
        "prompt_id": wanted,
        "seat": seat,
        "kind": kind,
        "decision_id": decision_id,
        "started": now,
        "expires": expires,
    }
    connection.execute(insert(leases).values(lease))
    return Lease(prompt, decision_id, now, kind)


def _end(connection: Connection, seat: str) -> None:
    connection.execute(delete(leases).where(leases.c.seat == seat))


def _nobodys() -> ColumnElement[bool]:
    return prompts.c.id.not_in(select(leases.c.prompt_id))


def _to_decide() -> tuple[ColumnElement[bool], ...]:
    return (prompts.c.live_decision.is_(None), _nobodys())


def _begun(connection: Connection, annotator: str) -> str | None:
    return connection.scalar(
        select(unfinished.c.prompt_id)
        .join_from(unfinished, prompts)
        .where(unfinished.c.annotator == annotator, *_to_decide())
        .order_by(unfinished.c.saved.desc(), unfinished.c.number.desc())
        .limit(1)
    )


def _first_to_decide(connection: Connection) -> str | None:
    first = select(prompts.c.id).where(*_to_decide()).order_by(prompts.c.unrevised, prompts.c.number)
    return connection.scalar(first.limit(1))


def _first_to_compare(connection: Connection) -> str | None:
    first = select(prompts.c.id).where(prompts.c.live_preference.is_(None), _nobodys())
    return connection.scalar(first.order_by(prompts.c.unpaired, prompts.c.number).limit(1))
