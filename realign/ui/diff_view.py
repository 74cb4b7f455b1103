"""The changes from draft to revision, each hunk a toggle."""

from collections.abc import Collection
from typing import Any

from realign.errors import InvalidInput
from realign.studio import Studio
from realign.ui.drawn import Value

Comparison = Any


def changes(comparison: Comparison, refused: Collection[int], *, key: str, turn: int) -> Value:
    """Return what the component draws; `turn` grows with every redraw, which tells the browser its click was heard.

    `key` names the item: the browser sends it back with the choice.
    """
    if not comparison.hunks:
        empty = "Draft and revision are the same text. Ask for a new revision, or skip."
        return {"title": "Changes", "key": key, "turn": turn, "empty": empty}
    removed, added = Studio.word_change(comparison)
    n, kept = len(comparison.hunks), len(comparison.hunks) - len(refused)
    note = f"{n} edit{'s' if n > 1 else ''} · {kept} kept · −{removed} +{added} words"
    pieces = [piece if isinstance(piece, str) else piece._asdict() for piece in comparison.pieces]
    value: Value = {"title": "Changes", "note": note, "key": key, "turn": turn, "pieces": pieces}
    value["refused"] = sorted(refused)
    if comparison.fallback:
        value["warning"] = "These texts are long: they were compared by line, so an edit may hold unchanged words too."
    return value


def chosen(data: Any, comparison: Comparison, key: str) -> frozenset[int] | None:
    """Return the refused hunks that the browser sent, or None where they are of an item that has left the screen.

    Raises `InvalidInput` where they are no hunks of this comparison.
    """
    if isinstance(data, dict) and data.get("key") != key:
        return None
    refused = data.get("refused") if isinstance(data, dict) else None
    known = range(len(comparison.hunks))
    if not isinstance(refused, list) or any(type(index) is not int or index not in known for index in refused):
        raise InvalidInput("These edits belong to another text. Reload the page.")
    return frozenset(refused)
