"""What the decisions add up to, kept up to date with each, so that the sums cost the same at any size."""

from collections import Counter
from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta
from itertools import groupby
from operator import attrgetter
from typing import Any, Literal, NamedTuple

from sqlalchemy import Connection, Row, Table, bindparam, func, select
from sqlalchemy.dialects.sqlite import Insert, insert

from realign.records import Decision, Ruling
from realign.store.shelf import Shelf
from realign.store.tables import day_tallies, decisions, prompts, tallies

PACE = timedelta(minutes=10)
"""How far back the pace of an annotator is measured."""

COMPARED: frozenset[Ruling] = frozenset({"accepted", "edited", "rejected"})
"""The rulings that say of every hunk whether it was kept."""


def _adding_to(table: Table) -> Insert:
    """Return the statement that adds a share to its row, or makes the row."""
    added = insert(table)
    sums = {name: table.c[name] + added.excluded[name] for name in ("n", "n_hunks", "n_kept", "active_ms")}
    return added.on_conflict_do_update(index_elements=table.primary_key.columns, set_=sums)


# Putting a statement together takes SQLAlchemy longer than running it, hence once.
_ADD, _ADD_BY_DAY = _adding_to(tallies), _adding_to(day_tallies)
_COUNTS = select(tallies.c.ruling, func.sum(tallies.c.n)).where(tallies.c.n > 0).group_by(tallies.c.ruling)
_OWN = select(tallies).where(tallies.c.annotator == bindparam("whose"), tallies.c.n > 0)
_RECENT = select(func.count()).where(
    decisions.c.annotator == bindparam("whose"),
    decisions.c.live.is_(True),
    decisions.c.decided > bindparam("after"),
    decisions.c.decided <= bindparam("until"),
)
_LAST_NUMBER = select(func.max(prompts.c.number))


class Progress(NamedTuple):
    """How far the queue is, how fast one annotator is, and what they did so far."""

    total: int
    decided: int
    waiting: int
    rulings: dict[Ruling, int]
    """Live decisions of everybody by ruling; rulings nobody made are 0 when asked for."""
    per_minute: float
    """Live decisions of this annotator in the last ten minutes, divided by ten."""
    n_hunks: int
    """Hunks of this annotator's live decisions that accepted, edited or rejected a revision."""
    n_kept: int
    """How many of these hunks they accepted."""
    mine: dict[Ruling, int]
    """Live decisions of this annotator by ruling; rulings they did not make are 0 when asked for."""
    mean_s: float | None
    """Mean time this annotator worked on one of their live decisions, in seconds; none without any."""


class DayTally(NamedTuple):
    """What one annotator decided on one day in UTC, as far as it still stands."""

    day: date
    annotator: str
    rulings: dict[Ruling, int]
    """Live decisions by ruling; rulings not made are 0 when asked for."""
    n_hunks: int
    """Hunks of those that accepted, edited or rejected a revision."""
    n_kept: int
    active_ms: int


class Tallies(Shelf):
    """How much was decided."""

    def counts(self) -> dict[Ruling, int]:
        """Return how many live decisions there are of each ruling; rulings nobody made are 0 when asked for."""
        with self._database.reading() as connection:
            return _counts(connection)

    def progress(self, annotator: str, now: datetime) -> Progress:
        """Return how far everybody is together, what `annotator` did, and their pace up to `now`."""
        with self._database.reading() as connection:
            total = n_prompts(connection)
            rulings = _counts(connection)
            n_recent = connection.scalar(_RECENT, {"whose": annotator, "after": now - PACE, "until": now}) or 0
            rows = connection.execute(_OWN, {"whose": annotator}).all()
        n_decided = rulings.total()
        mine, n_hunks, n_kept, active_ms = _sums(rows)
        return Progress(
            total,
            n_decided,
            total - n_decided,
            rulings,
            n_recent / (PACE / timedelta(minutes=1)),
            n_hunks,
            n_kept,
            mine,
            active_ms / mine.total() / 1000 if mine else None,
        )

    def by_day(self, annotator: str | None = None) -> list[DayTally]:
        """Return what each annotator, or one, decided on each day, oldest first."""
        query = select(day_tallies).where(day_tallies.c.n > 0)
        if annotator is not None:
            query = query.where(day_tallies.c.annotator == annotator)
        with self._database.reading() as connection:
            rows = connection.execute(query.order_by(day_tallies.c.day, day_tallies.c.annotator)).all()
        days = groupby(rows, key=attrgetter("day", "annotator"))
        return [DayTally(day, who, *_sums(tuple(of_day))) for (day, who), of_day in days]


def tally(connection: Connection, decision: Decision, sign: Literal[1, -1]) -> None:
    """Add a decision that stands from now on to the tallies, or with -1 take out one that stands no more."""
    share = {
        "annotator": decision.annotator,
        "ruling": decision.ruling,
        "n": sign,
        "n_hunks": sign * len(decision.edits),
        "n_kept": sign * sum(edit.accepted for edit in decision.edits),
        "active_ms": sign * decision.active_ms,
    }
    connection.execute(_ADD, share)
    connection.execute(_ADD_BY_DAY, {"day": decision.decided.astimezone(UTC).date(), **share})


def n_live(connection: Connection, ruling: Ruling | None, annotator: str | None) -> int:
    """Return how many live decisions there are, of one ruling or annotator where one is given."""
    query = select(func.sum(tallies.c.n))
    if ruling is not None:
        query = query.where(tallies.c.ruling == ruling)
    if annotator is not None:
        query = query.where(tallies.c.annotator == annotator)
    return connection.scalar(query) or 0


def n_prompts(connection: Connection) -> int:
    """Return how many prompts there are."""
    # No prompt is ever deleted, so the last number is their count, which would take longer the more there are.
    return connection.scalar(_LAST_NUMBER) or 0


def _counts(connection: Connection) -> Counter[Ruling]:
    counted: Counter[Ruling] = Counter()
    for ruling, n in connection.execute(_COUNTS):
        counted[ruling] = n
    return counted


class _Sums(NamedTuple):
    rulings: Counter[Ruling]
    n_hunks: int
    n_kept: int
    active_ms: int


def _sums(rows: Sequence[Row[Any]]) -> _Sums:
    compared = [row for row in rows if row.ruling in COMPARED]
    return _Sums(
        Counter({row.ruling: row.n for row in rows}),
        sum(row.n_hunks for row in compared),
        sum(row.n_kept for row in compared),
        sum(row.active_ms for row in rows),
    )
