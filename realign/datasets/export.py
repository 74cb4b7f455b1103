"""Pairs and decisions to files that others read; a file is written aside and renamed, so that none is ever half."""

import json
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from realign.datasets.records_io import native_row
from realign.errors import InvalidInput, StorageFailed, pick
from realign.records import Decided, Pair

EXPORTS: dict[str, str] = {
    "trl": "preference pairs as TRL reads them: prompt, chosen and rejected as messages, one JSON object a line",
    "native": "everything about each decision: prompt, draft, revision, edits, who, when, with which models",
}


def write(path: Path, format: str, *, pairs: Iterable[Pair] = (), decided: Iterable[Decided] = ()) -> int:  # noqa: A002
    """Write `pairs` (for `trl`) or `decided` (for `native`) to `path` and return how many rows.

    Raises `InvalidInput` where there is nothing to write and `StorageFailed` where the disk refuses.
    """
    pick(format, EXPORTS, "export format")
    rows = map(trl_row, pairs) if format == "trl" else map(native_row, decided)
    return _write_rows(path, rows)


def trl_row(pair: Pair) -> dict[str, Any]:
    """Return a pair as an explicit conversational preference row; further columns say where it comes from."""
    return {
        "prompt": [message.model_dump() for message in pair.prompt],
        "chosen": [{"role": "assistant", "content": pair.chosen}],
        "rejected": [{"role": "assistant", "content": pair.rejected}],
        "kind": pair.kind,
        "relation": pair.relation,
        "prompt_hash": pair.prompt_hash,
        "decision_id": pair.decision_id or "",
        "origin": pair.origin,
    }


def _write_rows(path: Path, rows: Iterable[dict[str, Any]]) -> int:
    aside = path.with_name(f".{path.name}.{os.getpid()}.new")
    n = 0
    try:
        with aside.open("w", encoding="utf-8", newline="\n") as file:
            for line in _lines(rows):
                file.write(line)
                n += 1
            file.flush()
            os.fsync(file.fileno())
        if n:
            aside.replace(path)
    except OSError as error:
        raise StorageFailed(f"{path} cannot be written: {error.strerror}. Choose another folder.") from error
    finally:
        aside.unlink(missing_ok=True)
    if not n:
        raise InvalidInput("There is nothing to export yet: no decision gave such rows. Decide some items in Curate.")
    return n


def _lines(rows: Iterable[dict[str, Any]]) -> Iterator[str]:
    for row in rows:
        yield json.dumps(row, ensure_ascii=False) + "\n"
