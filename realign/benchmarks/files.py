"""Rows of benchmark files that others wrote: a JSON list or one JSON object a line; every complaint names the place."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from pydantic import BaseModel, ValidationError

from realign.errors import InvalidInput

Row = TypeVar("Row", bound=BaseModel)


class Placed(NamedTuple):
    """One row with where it stands, such as `annotations.json, row 3`."""

    place: str
    row: Mapping[str, Any]


def read_text(path: Path) -> str:
    """Return the text of a UTF-8 file, with or without a byte order mark."""
    try:
        return path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise InvalidInput(f"{path} cannot be read: {error.strerror}.") from error
    except UnicodeDecodeError as error:
        raise InvalidInput(f"{path.name} is not UTF-8 text (byte {error.start}). Save it as UTF-8.") from error


def read_rows(path: Path) -> list[Placed]:
    """Return the objects of a JSON list or of a JSONL file; raise `InvalidInput` where there are none."""
    text = read_text(path)
    rows = list(_of_list(path.name, text) if text.lstrip().startswith("[") else _of_lines(path.name, text))
    if not rows:
        raise InvalidInput(f"{path.name} holds no rows.")
    for place, row in rows:
        if not isinstance(row, dict):
            raise InvalidInput(f"{place} is not a JSON object with named fields.")
    return rows


def parsed(model: type[Row], placed: Placed) -> Row:
    """Return the row as a `model`; raise `InvalidInput` that names place and field."""
    try:
        return model.model_validate(placed.row)
    except ValidationError as error:
        first = error.errors()[0]
        field = ".".join(str(part) for part in first["loc"])
        if first["type"] == "missing":
            raise InvalidInput(f"{placed.place} lacks the field '{field}'.") from error
        where = f"{placed.place}, field '{field}'" if field else placed.place
        raise InvalidInput(f"{where}: {first['msg'].removeprefix('Value error, ')}.") from error


def _of_list(name: str, text: str) -> Iterator[Placed]:
    try:
        rows = json.loads(text)
    except json.JSONDecodeError as error:
        raise InvalidInput(f"{name}, line {error.lineno} is not JSON: {error.msg}.") from error
    return (Placed(f"{name}, row {n}", row) for n, row in enumerate(rows, 1))


def _of_lines(name: str, text: str) -> Iterator[Placed]:
    for n, line in enumerate(text.split("\n"), 1):
        if line.strip():
            try:
                yield Placed(f"{name}, line {n}", json.loads(line))
            except json.JSONDecodeError as error:
                raise InvalidInput(f"{name}, line {n} is not JSON: {error.msg}.") from error
