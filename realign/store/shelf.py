"""What every part of the store has in common: a database, records in and records out."""

import json
from collections.abc import Collection, Mapping, Sequence
from functools import cache
from typing import Any, TypeVar

from pydantic import ValidationError
from sqlalchemy import Column, Connection, Select, Table, bindparam, column, func, select
from sqlalchemy.dialects.sqlite import insert

from realign.errors import NotFound, StorageFailed
from realign.records import Record
from realign.store.engine import Database

R = TypeVar("R", bound=Record)


class Shelf:
    """A part of the store; all parts share one database."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def _one(self, kind: type[R], table: Table, id: str) -> R:  # noqa: A002 - the column's name
        """Return the record called `id`; raise `NotFound` where there is none."""
        with self._database.reading() as connection:
            return record_of(connection, kind, table, id)

    def _all(self, kind: type[R], query: Select[str], **values: str) -> list[R]:
        """Return the records whose JSON `query` selects, `values` put in the places it leaves open."""
        with self._database.reading() as connection:
            return [load(kind, text) for text in connection.scalars(query, values)]


def load(kind: type[R], text: str) -> R:
    """Read a stored record; fields it had in another version of the program and has no more are left out."""
    try:
        return kind.model_validate_json(text, extra="ignore")
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        field = ".".join(map(str, first["loc"]))
        raise StorageFailed(
            f"A stored {kind.__name__} cannot be read: {first['msg']} (field '{field}'). Update the program, or "
            f"restore a backup of the database. The record begins with {text[:80]}"
        ) from error


def record_of(connection: Connection, kind: type[R], table: Table, id: str) -> R:  # noqa: A002 - the column's name
    """Return the record called `id`; raise `NotFound` where there is none."""
    return load(kind, value_of(connection, table.c.record, id))


def value_of(connection: Connection, wanted: Column[str], id: str) -> str:  # noqa: A002 - the column's name
    """Return one column of the record called `id`; raise `NotFound` where there is none."""
    value = connection.scalar(_by_id(wanted), {"wanted_id": id})
    if value is None:
        raise NotFound(f"There is no {wanted.table.name.removesuffix('s')} '{id}' in the database.")
    return str(value)


@cache
def _by_id(wanted: Column[str]) -> Select[str]:
    # Putting a statement together takes SQLAlchemy longer than running it, hence once for each column.
    return select(wanted).where(wanted.table.c.id == bindparam("wanted_id"))


def add_new(connection: Connection, table: Table, rows: Sequence[Mapping[str, Any]], *, known_by: str = "id") -> int:
    """Insert the rows whose `known_by` is not there yet, in order; return how many were."""
    if not rows:
        return 0
    return connection.execute(insert(table).on_conflict_do_nothing(index_elements=[known_by]), rows).rowcount


def require(connection: Connection, table: Table, ids: Collection[str], wanted_by: str) -> None:
    """Raise `NotFound` unless every one of `ids` is in `table`."""
    asked = func.json_each(json.dumps(sorted(set(ids)))).table_valued(column("value"))
    missing = connection.scalar(select(asked.c.value).where(asked.c.value.not_in(select(table.c.id))).limit(1))
    if missing is not None:
        raise NotFound(f"{wanted_by} names '{missing}', which is not among the stored {table.name}. Store that first.")
