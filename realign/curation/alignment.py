"""Which tokens two texts share: tokens, a bounded alignment, and its clean-up for reading."""

from collections.abc import Hashable, Sequence
from itertools import accumulate
from typing import NamedTuple

import regex
from rapidfuzz.distance import LCSseq

MAX_CELLS = 250_000_000
"""Tokens of one text times tokens of the other that are compared at most: about 30 MB and a tenth of a second."""

_UNSPACED = r"\p{Han}\p{Hiragana}\p{Bopomofo}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}\p{Tibetan}"
_CLUSTER = rf"(?:(?=\w)(?![{_UNSPACED}])\X)"
_TOKEN = regex.compile(
    rf"""(?:(?=\s)\X)+                                                     # white space
        |{_CLUSTER}+(?:(?:(?=['’-])\X|(?<=\d)[.,](?=\d)){_CLUSTER}+)*+    # a word: don't, well-known, 3.14
        |\X                                                               # a mark, an emoji, an unspaced letter""",
    regex.VERBOSE,
)
_WORD = regex.compile(r"[\p{L}\p{N}]")
_UNSPACED_LETTER = regex.compile(rf"[{_UNSPACED}]")
_PARAGRAPH_BREAK = regex.compile(r"\s*?(?:\r\n|\n|\r)\s*?(?:\r\n|\n|\r)\s*")
_LIST_MARK = regex.compile(r"\s*\n\s*(?:[-*+•–]|\(?\d{1,3}[.)])\s")
_SENTENCE_END = frozenset(".!?…。！？؟।")

_LONG_STRETCH = 24
"""An unchanged stretch with more letters than this is always worth showing between two changes."""


class Block(NamedTuple):
    """A changed stretch: `old[old_start:old_end]` became `new[new_start:new_end]`; either may be empty."""

    old_start: int
    old_end: int
    new_start: int
    new_end: int


class Alignment(NamedTuple):
    """Two token lists and the blocks in which they differ; everything between two blocks is equal."""

    old: tuple[str, ...]
    new: tuple[str, ...]
    blocks: tuple[Block, ...]
    coarse: bool
    """Some stretch was too long to be compared by word and stands as one block."""


def tokens(text: str) -> list[str]:
    """Split a text into words, white space and marks; joined they give the text, and no grapheme cluster is split.

    Scripts without spaces between words, such as Chinese and Thai, give one token a grapheme cluster.
    """
    found: list[str] = _TOKEN.findall(text)
    return found


def n_words(text: str) -> int:
    """Count the words of a text; in scripts without spaces each grapheme cluster counts as one."""
    return sum(1 for token in tokens(text) if _WORD.search(token))


def align(draft: str, revision: str) -> Alignment:
    """Compare two texts by word, or first by line where they are too long, and merge what reads as one change."""
    old, new = tuple(tokens(draft)), tuple(tokens(revision))
    whole = _trimmed(old, new, Block(0, len(old), 0, len(new)))
    anchors = _word_anchors(old, new, whole)
    coarse = False
    if anchors is None:
        anchors, coarse = _line_anchors(old, new, whole)
    blocks = _slid(old, new, _blocks(old, new, anchors, whole))
    return Alignment(old, new, tuple(_merged(old, new, blocks)), coarse)


# --- what is equal ---------------------------------------------------------------------------------------------------

Anchor = tuple[int, int]
"""Index of a token of the draft and of the equal token of the revision."""


def _trimmed(old: Sequence[str], new: Sequence[str], block: Block) -> Block:
    """Leave out of `block` what its two sides share at their start and at their end."""
    old_start, old_end, new_start, new_end = block
    while old_start < old_end and new_start < new_end and old[old_start] == new[new_start]:
        old_start, new_start = old_start + 1, new_start + 1
    while old_start < old_end and new_start < new_end and old[old_end - 1] == new[new_end - 1]:
        old_end, new_end = old_end - 1, new_end - 1
    return Block(old_start, old_end, new_start, new_end)


def _word_anchors(old: Sequence[str], new: Sequence[str], block: Block) -> list[Anchor] | None:
    """Return the longest common subsequence of the words, marks and line breaks in `block`; None where it is too long.

    Spaces are left out: they are everywhere, and would be matched at the expense of words.
    """
    old_at = [i for i in range(block.old_start, block.old_end) if not _is_space(old[i])]
    new_at = [j for j in range(block.new_start, block.new_end) if not _is_space(new[j])]
    matches = _common([old[i] for i in old_at], [new[j] for j in new_at])
    return None if matches is None else [(old_at[i], new_at[j]) for i, j in matches]


def _line_anchors(old: Sequence[str], new: Sequence[str], block: Block) -> tuple[list[Anchor], bool]:
    """Compare `block` by line, then each changed run of lines by word; say whether a run was too long for that."""
    old_lines, new_lines = _lines(old, block.old_start, block.old_end), _lines(new, block.new_start, block.new_end)
    matches = _common([tuple(old[a:b]) for a, b in old_lines], [tuple(new[a:b]) for a, b in new_lines])
    if matches is None:
        return [], True
    anchors: list[Anchor] = []
    coarse = False
    old_start, new_start = block.old_start, block.new_start
    for i, j in [*matches, (len(old_lines), len(new_lines))]:
        old_line = old_lines[i] if i < len(old_lines) else (block.old_end, block.old_end)
        new_line = new_lines[j] if j < len(new_lines) else (block.new_end, block.new_end)
        changed = _trimmed(old, new, Block(old_start, old_line[0], new_start, new_line[0]))
        inner = _word_anchors(old, new, changed)
        coarse = coarse or inner is None
        anchors += inner or []
        anchors += zip(range(*old_line), range(*new_line), strict=True)
        old_start, new_start = old_line[1], new_line[1]
    return anchors, coarse


def _common(old: Sequence[Hashable], new: Sequence[Hashable]) -> list[tuple[int, int]] | None:
    """Return the index pairs of a longest common subsequence, or None where that would take too long."""
    if len(old) * len(new) > MAX_CELLS:
        return None
    numbers: dict[Hashable, int] = {}
    old_ids = [numbers.setdefault(token, len(numbers)) for token in old]
    new_ids = [numbers.setdefault(token, len(numbers)) for token in new]
    return [
        (i, j)
        for step in LCSseq.opcodes(old_ids, new_ids)
        if step.tag == "equal"
        for i, j in zip(range(step.src_start, step.src_end), range(step.dest_start, step.dest_end), strict=True)
    ]


def _lines(items: Sequence[str], start: int, end: int) -> list[tuple[int, int]]:
    """Return where each line of `items[start:end]` starts and ends; a line ends with the token that breaks it."""
    ends = [i + 1 for i in range(start, end) if "\n" in items[i]]
    if not ends or ends[-1] < end:
        ends.append(end)
    return list(zip([start, *ends[:-1]], ends, strict=True)) if end > start else []


def _is_space(token: str) -> bool:
    return token.isspace() and "\n" not in token


def _blocks(old: Sequence[str], new: Sequence[str], anchors: Sequence[Anchor], whole: Block) -> list[Block]:
    """Return what lies between the anchors and is not equal."""
    blocks: list[Block] = []
    old_start, new_start = whole.old_start, whole.new_start
    for i, j in [*anchors, (whole.old_end, whole.new_end)]:
        block = _trimmed(old, new, Block(old_start, i, new_start, j))
        if block.old_start < block.old_end or block.new_start < block.new_end:
            blocks.append(block)
        old_start, new_start = i + 1, j + 1
    return blocks


# --- what reads well -------------------------------------------------------------------------------------------------


def _slid(old: Sequence[str], new: Sequence[str], blocks: Sequence[Block]) -> list[Block]:
    """Move each pure insertion or deletion to where it starts and ends most naturally, such as at a line break.

    `a` + `, a` and `a, ` + `a` are the same change; only one of them reads as one.
    """
    slid: list[Block] = []
    for number, block in enumerate(blocks):
        inserted = block.old_start == block.old_end
        if not inserted and block.new_start < block.new_end:
            slid.append(block)
            continue
        items, start, end = (new, block.new_start, block.new_end) if inserted else (old, block.old_start, block.old_end)
        before = slid[-1] if slid else Block(0, 0, 0, 0)
        after = blocks[number + 1] if number + 1 < len(blocks) else Block(len(old), len(old), len(new), len(new))
        lowest = before.new_end if inserted else before.old_end
        highest = after.new_start if inserted else after.old_start
        shift = _best_shift(items, start, end, lowest, highest)
        slid.append(Block(*(at + shift for at in block)))
    return slid


def _best_shift(items: Sequence[str], start: int, end: int, lowest: int, highest: int) -> int:
    """Return by how many tokens `items[start:end]` should move inside `lowest` to `highest`; the last best wins."""
    first, last = 0, 0
    while start + first > lowest and items[start + first - 1] == items[end + first - 1]:
        first -= 1
    while end + last < highest and items[start + last] == items[end + last]:
        last += 1
    return max(range(first, last + 1), key=lambda by: (_edge(items, start + by) + _edge(items, end + by), by))


def _edge(items: Sequence[str], at: int) -> int:
    """Rate how natural a cut before `items[at]` is, from 0 inside a phrase to 5 at the ends of the text."""
    if at in (0, len(items)):
        return 5
    before, after = items[at - 1], items[at]
    for space in (before, after):
        if "\n" in space:
            return 4 if _PARAGRAPH_BREAK.fullmatch(space) else 3
    if before in _SENTENCE_END or (before.isspace() and at > 1 and items[at - 2] in _SENTENCE_END):
        return 2
    return 1 if before.isspace() or after.isspace() else 0


def _merged(old: Sequence[str], new: Sequence[str], blocks: Sequence[Block]) -> list[Block]:
    """Join neighbouring blocks until every unchanged stretch between two of them is worth showing."""
    n_old, n_new = _letters_before(old), _letters_before(new)

    def size(block: Block) -> int:
        return max(n_old[block.old_end] - n_old[block.old_start], n_new[block.new_end] - n_new[block.new_start])

    current = list(blocks)
    while True:
        joined: list[Block] = []
        for block in current:
            if joined and _reads_as_one(old, new, joined[-1], block, min(size(joined[-1]), size(block))):
                joined[-1] = Block(joined[-1].old_start, block.old_end, joined[-1].new_start, block.new_end)
            else:
                joined.append(block)
        if len(joined) == len(current):
            return joined
        current = joined


def _reads_as_one(old: Sequence[str], new: Sequence[str], left: Block, right: Block, smaller: int) -> bool:
    """Say whether too little stands unchanged between two blocks, beside the letters of the smaller, to show it."""
    stretch = old[left.old_end : right.old_start]
    letters = 0
    for token in stretch:
        letters += len(token) if _WORD.search(token) else 0
        if letters > _LONG_STRETCH or _PARAGRAPH_BREAK.fullmatch(token):
            return False
    if _starts_list_item(old, left.old_end, right.old_start) or _starts_list_item(new, left.new_end, right.new_start):
        return False
    if not letters:
        return True
    return 2 * letters <= smaller and not any(token in _SENTENCE_END for token in stretch)


def _starts_list_item(items: Sequence[str], start: int, end: int) -> bool:
    """Say whether a list item starts after a line break in `items[start:end]`."""
    return any("\n" in items[i] and _LIST_MARK.match("".join(items[i : i + 5])) for i in range(start, end))


def _letters_before(items: Sequence[str]) -> list[int]:
    """Return, for each position, how many letters the words before it hold."""
    return [0, *accumulate(len(token) if _WORD.search(token) else 0 for token in items)]
