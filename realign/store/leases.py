"""The queue: which prompt is in front of whom, and until when."""

from datetime import datetime
from typing import Any, Literal, NamedTuple

from sqlalchemy import Connection, Integer, Row, bindparam, delete, func, insert, select, update

from realign.errors import Conflict
from realign.records import Prompt
from realign.store.shelf import Shelf, load, record_of
from realign.store.tables import leases, prompts, unfinished

Kind = Literal["revision", "preference"]

_NOBODYS = prompts.c.id.not_in(select(leases.c.prompt_id))
_TO_DECIDE = (prompts.c.live_decision.is_(None), _NOBODYS)

# Putting a statement together takes SQLAlchemy longer than running it, hence once.
_FIRST_TO_DECIDE = select(prompts.c.id).where(*_TO_DECIDE).order_by(prompts.c.unrevised, prompts.c.number).limit(1)
_FIRST_TO_COMPARE = (
    select(prompts.c.id)
    .where(prompts.c.live_preference.is_(None), _NOBODYS)
    .order_by(prompts.c.unpaired, prompts.c.number)
    .limit(1)
)
_BEHIND = select(prompts.c.number).where(prompts.c.id == bindparam("after")).scalar_subquery()
_NEXT_TO_COMPARE = (
    select(prompts.c.id)
    .where(prompts.c.live_preference.is_(None), _NOBODYS, prompts.c.number > _BEHIND)
    .order_by(prompts.c.number)
    .limit(1)
)
_BEGUN = (
    select(unfinished.c.prompt_id)
    .join_from(unfinished, prompts)
    .where(unfinished.c.annotator == bindparam("whose"), *_TO_DECIDE)
    .order_by(unfinished.c.saved.desc(), unfinished.c.number.desc())
    .limit(1)
)
_READY = select(func.count()).select_from(
    select(prompts.c.number)
    .where(prompts.c.unrevised.is_(False), *_TO_DECIDE)
    .limit(bindparam("at_most", type_=Integer))
    .subquery()
)
_N_SEATS = select(func.count()).where(leases.c.expires > bindparam("now"))
_HELD = select(leases).where(leases.c.seat == bindparam("whose"))
_HOLDER = select(leases.c.seat).where(leases.c.prompt_id == bindparam("wanted"))
_ADD = insert(leases)
_PROLONG = update(leases).where(leases.c.seat == bindparam("whose")).values(expires=bindparam("until"))
_END = delete(leases).where(leases.c.seat == bindparam("whose"))
_END_EXPIRED = delete(leases).where(leases.c.expires <= bindparam("now"))


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
                connection.execute(_END, {"whose": seat})
            begun = None if prompt_id else connection.scalar(_BEGUN, {"whose": annotator})
            wanted = prompt_id or begun or connection.scalar(_FIRST_TO_DECIDE)
            return _take(connection, seat, now, expires, decision_id, wanted, "revision") if wanted else None

    def lease_for_preference(
        self, seat: str, now: datetime, expires: datetime, decision_id: str, but: str | None = None
    ) -> Lease | None:
        """Keep a prompt for `seat` until `expires` to prefer one of two drafts, and take back whatever else it held.

        What the seat holds for this already, with its old decision id and start, unless that is the prompt `but`; else
        the first prompt without a preference that is nobody's, those with two drafts first; none when there is none.
        """
        with self._database.writing() as connection:
            held = _held(connection, seat, now)
            if held and held.kind == "preference" and held.prompt_id != but:
                return _keep_on(connection, held, expires)
            if not held or held.prompt_id != but:
                connection.execute(_END, {"whose": seat})
            wanted = connection.scalar(_NEXT_TO_COMPARE, {"after": but}) if but else None
            wanted = wanted or connection.scalar(_FIRST_TO_COMPARE)
            return _take(connection, seat, now, expires, decision_id, wanted, "preference") if wanted else None

    def unready(self, limit: int, after: str = "") -> list[Prompt]:
        """Return the next prompts that wait, are nobody's, and lack a revision to look at, at most `limit`.

        Those behind the prompt `after` come first.
        """
        waiting = select(prompts.c.record).where(prompts.c.unrevised.is_(True), *_TO_DECIDE).limit(limit)
        behind = waiting.where(prompts.c.number > func.coalesce(_BEHIND, 0)).order_by(prompts.c.number)
        with self._database.reading() as connection:
            found = list(connection.scalars(behind, {"after": after}))
            if after and len(found) < limit:
                first = waiting.where(prompts.c.number < _BEHIND).order_by(prompts.c.number)
                found += connection.scalars(first.limit(limit - len(found)), {"after": after})
        return [load(Prompt, text) for text in found]

    def next_ready(self) -> list[Prompt]:
        """Return the first prompt that waits, is nobody's, and has a revision to look at, if there is one."""
        query = select(prompts.c.record).where(prompts.c.unrevised.is_(False), *_TO_DECIDE)
        return self._all(Prompt, query.order_by(prompts.c.number).limit(1))

    def ready(self, limit: int) -> int:
        """Return how many prompts wait, are nobody's, and have a revision to look at, counted up to `limit`."""
        with self._database.reading() as connection:
            return connection.scalar(_READY, {"at_most": limit}) or 0

    def n_seats(self, now: datetime) -> int:
        """Return how many seats hold a prompt at `now`."""
        with self._database.reading() as connection:
            return connection.scalar(_N_SEATS, {"now": now}) or 0

    def release(self, seat: str) -> None:
        """Give back what `seat` holds, if anything."""
        with self._database.writing() as connection:
            connection.execute(_END, {"whose": seat})


def _held(connection: Connection, seat: str, now: datetime) -> Row[Any] | None:
    """End every lease whose time is over and return the one that `seat` still has."""
    connection.execute(_END_EXPIRED, {"now": now})
    return connection.execute(_HELD, {"whose": seat}).one_or_none()


def _keep_on(connection: Connection, held: Row[Any], expires: datetime) -> Lease:
    connection.execute(_PROLONG, {"whose": held.seat, "until": expires})
    return Lease(record_of(connection, Prompt, prompts, held.prompt_id), held.decision_id, held.started, held.kind)


def _take(
    connection: Connection, seat: str, now: datetime, expires: datetime, decision_id: str, wanted: str, kind: Kind
) -> Lease:
    prompt = record_of(connection, Prompt, prompts, wanted)
    if connection.scalar(_HOLDER, {"wanted": wanted}) is not None:
        raise Conflict("Somebody else is working on this prompt. Choose another one, or come back later.")
    connection.execute(_END, {"whose": seat})
    lease = {
        "prompt_id": wanted,
        "seat": seat,
        "kind": kind,
        "decision_id": decision_id,
        "started": now,
        "expires": expires,
    }
    connection.execute(_ADD, lease)
    return Lease(prompt, decision_id, now, kind)
