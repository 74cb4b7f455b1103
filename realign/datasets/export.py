"""Pairs and decisions to files that others read; a file is written aside and renamed, so that none is ever half."""

import json
import os
import tempfile
from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path
from typing import Any

from realign.datasets.records_io import native_row, trl_row
from realign.errors import InvalidInput, StorageFailed, pick
from realign.records import Decided, Pair

EXPORTS: dict[str, str] = {
    "trl": "preference pairs as TRL reads them: prompt, chosen and rejected as messages, one JSON object a line",
    "native": "everything about each decision: prompt, draft, revision, edits, who, when, with which models",
}

_LINE_BREAKS = {ord(sign): f"\\u{ord(sign):04x}" for sign in "\u0085\u2028\u2029"}
"""Line breaks that JSON leaves as they are and some readers of lines split at."""


def write(path: Path, format: str, *, pairs: Iterable[Pair] = (), decided: Iterable[Decided] = ()) -> int:  # noqa: A002
    """Write `pairs` (for `trl`) or `decided` (for `native`) to `path` and return how many rows.

    Raises `InvalidInput` where there is nothing to write and `StorageFailed` where the disk refuses; what stood at
    `path` before then still stands.
    """
    pick(format, EXPORTS, "export format")
    lines = map(_line, map(trl_row, pairs) if format == "trl" else map(native_row, decided))
    first = next(lines, None)
    if first is None:
        raise InvalidInput("There is nothing to export yet: no decision gave such rows. Decide some items in Curate.")
    try:
        return _write_whole(path, chain([first], lines))
    except OSError as error:
        raise StorageFailed(f"{path} cannot be written: {error.strerror}. Choose another place.") from error


def _line(row: dict[str, Any]) -> str:
    return json.dumps(row, ensure_ascii=False).translate(_LINE_BREAKS) + "\n"


def _write_whole(path: Path, lines: Iterator[str]) -> int:
    """Write lines beside `path` and rename them onto it; return how many."""
    if path.exists() and not path.is_file():
        raise StorageFailed(f"{path} cannot be written: it is not a file. Choose another place.")
    n = 0
    with tempfile.TemporaryDirectory(
        prefix=f".{path.name[:50]}.", dir=path.parent, ignore_cleanup_errors=True
    ) as aside:
        written = Path(aside) / "new"
        with written.open("w", encoding="utf-8", newline="\n") as file:
            for n, line in enumerate(lines, 1):  # noqa: B007 - the last number is the count
                file.write(line)
            file.flush()
            os.fsync(file.fileno())
        written.replace(path)
    return n
