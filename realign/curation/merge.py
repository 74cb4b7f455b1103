"""A person wrote into the final text and then toggles a hunk: both changes stand where they do not meet."""

from realign.curation.alignment import Block, align


def carry_over(before: str, by_hand: str, after: str) -> str | None:
    """Return `after` with what a person changed between `before` and `by_hand`; None where both touch one place.

    `before` and `after` are the texts that the hunks give before and after a toggle.
    """
    hand, toggled = align(before, by_hand), align(before, after)
    changes = [(block, hand.new) for block in hand.blocks] + [(block, toggled.new) for block in toggled.blocks]
    if any(_meet(one, other) for one in hand.blocks for other in toggled.blocks):
        return None
    text: list[str] = []
    read = 0
    for block, new in sorted(changes, key=lambda change: change[0].old_start):
        text += hand.old[read : block.old_start]
        text += new[block.new_start : block.new_end]
        read = block.old_end
    return "".join([*text, *hand.old[read:]])


def _meet(one: Block, other: Block) -> bool:
    """Say whether two stretches overlap, or an insertion stands at the edge of the other."""
    start, end = max(one.old_start, other.old_start), min(one.old_end, other.old_end)
    inserted = one.old_start == one.old_end or other.old_start == other.old_end
    return start <= end if inserted else start < end
