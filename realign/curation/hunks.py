"""Draft against revision, hunk by hunk: what a person accepts or refuses, and the text that stands then.

Whatever the texts, refusing no hunk gives the revision and refusing all gives the draft, byte for byte.
"""

from collections.abc import Collection
from itertools import accumulate
from typing import Literal, NamedTuple

from realign.curation.alignment import align, n_words
from realign.records import Edit

Op = Literal["insert", "delete", "replace"]


class Hunk(NamedTuple):
    """One changed stretch."""

    index: int  # type: ignore[assignment]  # the tuple's own method is of no use here
    """Its place among the hunks of the comparison, from 0."""
    op: Op
    old: str
    new: str


class Comparison(NamedTuple):
    """Draft and revision as unchanged text and hunks, in reading order."""

    pieces: tuple[str | Hunk, ...]
    hunks: tuple[Hunk, ...]
    fallback: bool
    """The texts are too long to be compared by word throughout: some hunk may hold text that did not change."""


class WordChange(NamedTuple):
    """How many words the hunks take away and bring."""

    removed: int
    added: int


def compare(draft: str, revision: str) -> Comparison:
    """Compare two texts word by word, in as few hunks as tell the story."""
    aligned = align(draft, revision)
    pieces: list[str | Hunk] = []
    hunks: list[Hunk] = []
    read = 0
    for block in aligned.blocks:
        if read < block.old_start:
            pieces.append("".join(aligned.old[read : block.old_start]))
        old = "".join(aligned.old[block.old_start : block.old_end])
        new = "".join(aligned.new[block.new_start : block.new_end])
        hunk = Hunk(len(hunks), "replace" if old and new else "delete" if old else "insert", old, new)
        hunks.append(hunk)
        pieces.append(hunk)
        read = block.old_end
    if read < len(aligned.old):
        pieces.append("".join(aligned.old[read:]))
    return Comparison(tuple(pieces), tuple(hunks), aligned.coarse)


def apply(comparison: Comparison, refused: Collection[int]) -> str:
    """Return the text that stands when the hunks with the indices in `refused` keep the old text."""
    kept = frozenset(refused)
    return "".join(
        piece if isinstance(piece, str) else piece.old if piece.index in kept else piece.new
        for piece in comparison.pieces
    )


def edits(comparison: Comparison, refused: Collection[int]) -> tuple[Edit, ...]:
    """Return each hunk as a record of what the person did with it."""
    kept = frozenset(refused)
    return tuple(
        Edit(op=hunk.op, old=hunk.old, new=hunk.new, accepted=hunk.index not in kept) for hunk in comparison.hunks
    )


def overwritten(comparison: Comparison, refused: Collection[int], final_text: str) -> frozenset[int]:
    """Return the kept hunks of whose new text less than half still stands in `final_text`, written over by hand."""
    before = apply(comparison, refused)
    if before == final_text:
        return frozenset()
    aligned = align(before, final_text)
    starts = [0, *accumulate(len(token) for token in aligned.old)]
    changed = [(starts[block.old_start], starts[block.old_end]) for block in aligned.blocks]
    found: set[int] = set()
    at = 0
    for piece in comparison.pieces:
        text = piece if isinstance(piece, str) else piece.old if piece.index in refused else piece.new
        if not isinstance(piece, str) and piece.index not in refused:
            lost = sum(max(0, min(at + len(text), end) - max(at, start)) for start, end in changed)
            if 2 * lost > len(text):
                found.add(piece.index)
        at += len(text)
    return frozenset(found)


def word_change(comparison: Comparison) -> WordChange:
    """Count the words in what the hunks take away and in what they bring."""
    return WordChange(
        removed=sum(n_words(hunk.old) for hunk in comparison.hunks),
        added=sum(n_words(hunk.new) for hunk in comparison.hunks),
    )


def matching_refusals(comparison: Comparison, final_text: str) -> frozenset[int] | None:
    """Return the refused hunks that give `final_text`, or None where a person wrote something of their own.

    Where several choices give the same text, a hunk counts as accepted if it can. The walk keeps every place in
    `final_text` that the pieces so far can have led to; but for texts made to repeat themselves that is one place.
    """
    ways: list[dict[int, bool]] = []
    places: dict[int, None] = {0: None}
    for piece in comparison.pieces:
        if isinstance(piece, str):
            places = {at + len(piece): None for at in places if final_text.startswith(piece, at)}
            continue
        reached: dict[int, bool] = {}
        for text, refused in ((piece.new, False), (piece.old, True)):
            for at in places:
                if final_text.startswith(text, at):
                    reached.setdefault(at + len(text), refused)
        ways.append(reached)
        places = dict.fromkeys(reached)
    if len(final_text) not in places:
        return None
    return _walk_back(comparison, ways, len(final_text))


def _walk_back(comparison: Comparison, ways: list[dict[int, bool]], end: int) -> frozenset[int]:
    """Follow the recorded choices from the end of the text to its start."""
    refused: set[int] = set()
    at = end
    for piece in reversed(comparison.pieces):
        if isinstance(piece, str):
            at -= len(piece)
            continue
        if ways[piece.index][at]:
            refused.add(piece.index)
        at -= len(piece.old if ways[piece.index][at] else piece.new)
    return frozenset(refused)
