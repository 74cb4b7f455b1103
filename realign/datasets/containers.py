"""The rows of a file, whatever it is wrapped in; every complaint names the file and the line."""

import csv
import gzip
import io
import json
import re
import zlib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from realign.errors import InvalidInput

MAX_BYTES = 1_000_000_000
MAX_CELL = 100_000_000
"""Longest cell of a table, in characters; Python's own limit of 131,072 is less than one long answer."""
SUFFIXES = (".jsonl", ".ndjson", ".json", ".csv", ".tsv", ".txt")

_LINE_BREAK = re.compile(r"\r\n|\n|\r")


class Row(NamedTuple):
    """One row with where it stands, such as `prompts.jsonl, line 3`."""

    place: str
    values: dict[str, Any]


def refused(place: str, why: str) -> InvalidInput:
    """Return the error that says why the row at `place` cannot be taken, and that nothing was."""
    return InvalidInput(f"{place}: {why} Nothing was taken from the file.")


def read_rows(path: Path) -> list[Row]:
    """Return the rows of a JSONL, JSON, CSV, TSV or text file, or a .gz of one, at least one.

    Raises `InvalidInput` that names file and line where the file cannot be read whole.
    """
    suffix, text = _read(path)
    name = path.name
    if suffix == ".tsv":
        rows = list(_table(name, text, "\t"))
    elif suffix == ".csv":
        rows = list(_table(name, text, _delimiter(text)))
    elif suffix == ".txt":
        lines = enumerate(_LINE_BREAK.split(text), 1)
        rows = [Row(f"{name}, line {n}", {"prompt": line.strip()}) for n, line in lines if line.strip()]
    elif text.lstrip().startswith("["):
        rows = list(_array(name, text))
    else:
        rows = list(_lines(name, text))
    if not rows:
        raise InvalidInput(f"{name} holds no rows. Choose a file with at least one.")
    for row in rows:
        _refuse_broken_text(row)
    return rows


# --- bytes to text ---------------------------------------------------------------------------------------------------


def _read(path: Path) -> tuple[str, str]:
    """Return the ending that says what the file holds, and its text."""
    packed = path.name.lower().endswith(".gz")
    suffix = Path(path.stem if packed else path.name).suffix.lower()
    try:
        with path.open("rb") as file:
            if suffix not in SUFFIXES:
                raise InvalidInput(
                    f"{path.name}: files ending in '{suffix}' are not read. Save it as one of "
                    f"{', '.join(SUFFIXES)}; each may be packed as .gz."
                )
            raw = (gzip.GzipFile(fileobj=file) if packed else file).read(MAX_BYTES + 1)
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise InvalidInput(f"{path.name} is not a whole .gz file. Pack or copy it again.") from error
    except OSError as error:
        raise InvalidInput(f"{path} cannot be read: {error.strerror}. Choose another file.") from error
    if len(raw) > MAX_BYTES:
        raise InvalidInput(f"{path.name} holds more than {MAX_BYTES / 1e9:.0f} GB. Split it.")
    text = _decoded(path.name, raw)
    if not text.strip():
        raise InvalidInput(f"{path.name} is empty. Choose a file with at least one row.")
    return suffix, text


def _decoded(name: str, raw: bytes) -> str:
    encoding, called = ("utf-16", "UTF-16") if raw[:2] in (b"\xff\xfe", b"\xfe\xff") else ("utf-8-sig", "UTF-8")
    try:
        text = raw.decode(encoding)
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise refused(
            f"{name}, line {line}",
            f"byte {error.start + 1} of the file is not {called} text. Open the file in the program that made it and "
            "save it as UTF-8.",
        ) from error
    if "\0" in text:
        line = text.count("\n", 0, text.index("\0")) + 1
        raise refused(f"{name}, line {line}", "it holds a NUL character. Remove it, or save the file as UTF-8.")
    return text


# --- text to rows ----------------------------------------------------------------------------------------------------


def _lines(name: str, text: str) -> Iterator[Row]:
    for n, line in enumerate(text.split("\n"), 1):
        if line.strip():
            place = f"{name}, line {n}"
            yield Row(place, _named_fields(_json(place, line), place))


def _array(name: str, text: str) -> Iterator[Row]:
    for n, value in enumerate(_json(name, text), 1):
        place = f"{name}, row {n}"
        yield Row(place, _named_fields(value, place))


def _json(place: str, text: str) -> Any:
    try:
        return json.loads(text, object_pairs_hook=_without_repeats)
    except json.JSONDecodeError as error:
        where = f"{place}, line {error.lineno}" if "\n" in text.strip() else place
        raise refused(where, f"this is not JSON ({error.msg}, character {error.colno}). Mend or delete it.") from error
    except RecursionError as error:
        raise refused(place, "the JSON is nested too deeply. Flatten it.") from error
    except ValueError as error:
        raise refused(place, f"{error}. Mend or delete it.") from error


def _without_repeats(fields: list[tuple[str, Any]]) -> dict[str, Any]:
    values = dict(fields)
    if len(values) < len(fields):
        raise ValueError(f"the field '{_repeated([name for name, _ in fields])}' stands twice in one object")
    return values


def _named_fields(value: Any, place: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise refused(place, 'a row must be a JSON object with named fields, such as {"prompt": "Hello?"}.')
    return value


def _delimiter(text: str) -> str:
    """Return what separates the columns of the header; Excel writes semicolons where a comma marks decimals."""
    header = _LINE_BREAK.split(text, maxsplit=1)[0]
    return max(",;\t", key=header.count)


def _table(name: str, text: str, delimiter: str) -> Iterator[Row]:
    csv.field_size_limit(MAX_CELL)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    start = 1
    try:
        header = [column.strip() for column in next(reader)]
        repeated = _repeated([column for column in header if column])
        if repeated:
            raise refused(f"{name}, line 1", f"the column '{repeated}' stands twice. Rename one.")
        start = reader.line_num + 1
        for cells in reader:
            place = f"{name}, line {start}"
            if any(cells):
                if len(cells) != len(header):
                    raise refused(
                        place,
                        f"it has {len(cells)} columns where the header has {len(header)}. Put quotes around texts that "
                        "hold separators or line breaks.",
                    )
                yield Row(place, {column: cell for column, cell in zip(header, cells, strict=True) if column})
            start = reader.line_num + 1
    except csv.Error as error:
        raise refused(
            f"{name}, line {start}",
            f"this row cannot be read as a table ({error}). Put quotes around its texts, and double the quotes inside.",
        ) from error


def _repeated(names: list[str]) -> str | None:
    return next((name for name, n in Counter(names).items() if n > 1), None)


def _refuse_broken_text(row: Row) -> None:
    """Refuse what no database and no tokenizer takes: NUL characters and halves of surrogate pairs."""
    for field, value in row.values.items():
        for text in (field, *_texts(value)):
            if "\0" in text or not _is_encodable(text):
                raise refused(
                    f"{row.place}, field {field!a}", "it holds a NUL or half a character (a lone surrogate). Remove it."
                )


def _texts(value: Any) -> Iterator[str]:
    """Yield every text inside a JSON value; a stack, because values may be nested deeper than Python calls."""
    waiting = [value]
    while waiting:
        inner = waiting.pop()
        if isinstance(inner, str):
            yield inner
        elif isinstance(inner, dict):
            waiting += [*inner, *inner.values()]
        elif isinstance(inner, list):
            waiting += inner


def _is_encodable(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
