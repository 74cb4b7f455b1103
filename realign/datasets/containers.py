"""The rows of a file, whatever it is wrapped in; every complaint names the file and the line."""

import csv
import gzip
import io
import json
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from realign.errors import InvalidInput

MAX_BYTES = 1_000_000_000
MAX_FIELD = 10_000_000
SUFFIXES = (".jsonl", ".ndjson", ".json", ".csv", ".tsv", ".txt")


class Row(NamedTuple):
    """One row with where it stands, such as `prompts.jsonl, line 3`."""

    place: str
    values: dict[str, Any]


def read_rows(path: Path) -> list[Row]:
    """Return the rows of a JSONL, JSON, CSV, TSV or text file, or a .gz of one; raise `InvalidInput` with the line."""
    name = path.name
    suffix = Path(name.removesuffix(".gz")).suffix.lower()
    if suffix not in SUFFIXES:
        raise InvalidInput(
            f"{name}: files ending in '{suffix}' are not read. Use one of: {', '.join(SUFFIXES)}, or .gz."
        )
    text = _text(path)
    if not text.strip():
        raise InvalidInput(f"{name} is empty.")
    if suffix in (".csv", ".tsv"):
        rows = list(_table(name, text, "\t" if suffix == ".tsv" else ","))
    elif suffix == ".txt":
        lines = enumerate(text.splitlines(), 1)
        rows = [Row(f"{name}, line {n}", {"prompt": line.strip()}) for n, line in lines if line.strip()]
    elif text.lstrip().startswith("["):
        rows = list(_array(name, text))
    else:
        rows = list(_lines(name, text))
    for row in rows:
        _refuse_broken_text(row.place, row.values)
    return rows


def _text(path: Path) -> str:
    try:
        raw = path.read_bytes()
        if path.name.endswith(".gz"):
            with gzip.open(io.BytesIO(raw)) as opened:
                raw = opened.read(MAX_BYTES + 1)
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise InvalidInput(f"{path.name} is not a whole .gz file. Pack or copy it again.") from error
    except OSError as error:
        raise InvalidInput(f"{path} cannot be read: {error.strerror}.") from error
    if len(raw) > MAX_BYTES:
        raise InvalidInput(f"{path.name} is larger than {MAX_BYTES / 1e9:.0f} GB. Split it.")
    encoding = "utf-16" if raw[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig"
    try:
        return raw.decode(encoding)
    except UnicodeDecodeError as error:
        line = raw[: error.start].count(b"\n") + 1
        raise InvalidInput(
            f"{path.name}, line {line} is not UTF-8 text (byte {error.start}). Open the file in the program that "
            "made it and save it as UTF-8."
        ) from error


def _lines(name: str, text: str) -> Iterator[Row]:
    for n, line in enumerate(text.split("\n"), 1):
        if line.strip():
            yield Row(f"{name}, line {n}", _object(f"{name}, line {n}", line))


def _object(place: str, line: str) -> dict[str, Any]:
    try:
        values = json.loads(line)
    except (json.JSONDecodeError, RecursionError) as error:
        why = error.msg if isinstance(error, json.JSONDecodeError) else "it is nested too deeply"
        raise InvalidInput(
            f"{place} is not JSON: {why}. Mend or delete it; nothing was taken from the file."
        ) from error
    if not isinstance(values, dict):
        raise InvalidInput(f"{place} is not a JSON object with named fields; nothing was taken from the file.")
    return values


def _array(name: str, text: str) -> Iterator[Row]:
    try:
        values = json.loads(text)
    except (json.JSONDecodeError, RecursionError) as error:
        where = f", line {error.lineno}" if isinstance(error, json.JSONDecodeError) else ""
        raise InvalidInput(f"{name}{where} is not JSON. Mend it; nothing was taken from the file.") from error
    for n, row in enumerate(values, 1):
        if not isinstance(row, dict):
            raise InvalidInput(
                f"{name}, row {n} is not a JSON object with named fields; nothing was taken from the file."
            )
        yield Row(f"{name}, row {n}", row)


def _table(name: str, text: str, delimiter: str) -> Iterator[Row]:
    csv.field_size_limit(MAX_FIELD)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    try:
        header = [column.strip() for column in next(reader)]
        for cells in reader:
            place = f"{name}, line {reader.line_num}"
            if not any(cells):
                continue
            if len(cells) != len(header):
                raise InvalidInput(
                    f"{place} has {len(cells)} columns where the header has {len(header)}. Put quotes around texts "
                    "that hold commas or line breaks; nothing was taken from the file."
                )
            yield Row(place, dict(zip(header, cells, strict=True)))
    except csv.Error as error:
        raise InvalidInput(f"{name}, line {reader.line_num} cannot be read as a table: {error}.") from error


def _refuse_broken_text(place: str, value: Any) -> None:
    """Refuse what no database and no tokenizer takes: NUL characters and halves of surrogate pairs."""
    if isinstance(value, str):
        if "\0" in value or any("\ud800" <= character <= "\udfff" for character in value):
            raise InvalidInput(f"{place} holds a NUL or half a character (a lone surrogate). Remove it.")
    elif isinstance(value, dict):
        for inner in (*value, *value.values()):
            _refuse_broken_text(place, inner)
    elif isinstance(value, list):
        for inner in value:
            _refuse_broken_text(place, inner)
