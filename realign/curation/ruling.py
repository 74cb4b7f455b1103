"""From what a person did with an item to the decision that says so, and back and forth again."""

import hashlib
from collections.abc import Sequence
from datetime import datetime

from realign.curation import hunks
from realign.errors import InvalidInput
from realign.records import Decision, Item, Ruling, Side, Work, is_broken, is_empty


def rule(
    item: Item,
    ruling: Ruling,
    work: Work,
    *,
    annotator: str,
    now: datetime,
    active_ms: int | None = None,
    blind: bool = False,
    side: Side = "right",
) -> Decision:
    """Return the decision on `item`; raise `InvalidInput` where there is nothing to decide on yet.

    `accepted` with a final text that is not the revision's becomes `edited`, and with the draft's own text becomes
    `rejected`: the record says what stands. Where the draft stands, every hunk counts as refused.
    """
    if item.draft is None or item.revision is None:
        raise InvalidInput("There is no revision to decide on yet. Wait until it is written.")
    draft, revision, final_text = item.draft.text, item.revision.text, work.final_text
    if ruling in ("accepted", "edited"):
        if is_empty(final_text):
            raise InvalidInput("The final text is empty. Write one, or say that the draft is better.")
        if is_broken(final_text):
            raise InvalidInput("The final text holds a NUL or half a character. Remove it.")
        ruling = "accepted" if final_text == revision else "rejected" if final_text == draft else "edited"
    if any(is_broken(words) for words in (work.comment, *work.reasons)):
        raise InvalidInput("The comment holds a NUL or half a character. Remove it.")
    stands = ruling in ("accepted", "edited")
    compared = hunks.compare(draft, revision)
    at_most = max(0, int((now - item.started).total_seconds() * 1000))
    return Decision(
        id=item.decision_id,
        prompt_id=item.prompt.id,
        draft_id=item.draft.id,
        revision_id=item.revision.id,
        ruling=ruling,
        final_text=final_text if stands else draft,
        edits=hunks.edits(compared, _refused(compared, work) if stands else range(len(compared.hunks))),
        annotator=annotator,
        reasons=tuple(dict.fromkeys(work.reasons)),
        comment=work.comment.strip(),
        ratings=work.ratings,
        revision_side=side,
        blind=blind,
        started=item.started,
        decided=now,
        active_ms=at_most if active_ms is None else min(max(0, active_ms), at_most),
        supersedes=item.superseded.id if item.superseded else None,
    )


def side_of(decision_id: str) -> Side:
    """Return the side on which the revision, or the older draft, stands: by chance, but the same after a reload."""
    return "left" if hashlib.sha256(decision_id.encode()).digest()[0] % 2 else "right"


def withdraw(decision: Decision, *, decision_id: str, annotator: str, now: datetime) -> Decision:
    """Return the decision that takes `decision` back, so that its item waits again."""
    update = {
        "id": decision_id,
        "ruling": "withdrawn",
        "annotator": annotator,
        "supersedes": decision.id,
        "decided": now,
    }
    return decision.model_copy(update=update)


def work_of(decision: Decision, revision: str) -> Work:
    """Return the work as it stood when `decision` was made on `revision`, so that a person can go on from there."""
    stands = decision.ruling in ("accepted", "edited")
    refused = tuple(at for at, edit in enumerate(decision.edits) if stands and not edit.accepted)
    return Work(
        refused=refused,
        final_text=decision.final_text if stands else revision,
        reasons=() if decision.ruling == "flagged" else decision.reasons,  # why it was flagged is no reason to accept
        comment=decision.comment,
        ratings=decision.ratings,
    )


def to_redo(log: Sequence[Decision]) -> str | None:
    """Return the id of the decision that a redo brings back; none where nothing was undone since the last decision.

    `log` is everything one person decided or withdrew, newest first. A decision that repeats what was undone last is
    a redo and leaves the rest of what was undone in reach; any other decision ends it.
    """
    known = {decision.id: decision for decision in log}
    undone: list[str] = []
    for decision in reversed(log):
        if decision.ruling == "withdrawn":
            if decision.supersedes in known:
                undone.append(decision.supersedes)
        elif undone and _same(decision, known[undone[-1]]):
            undone.pop()
        else:
            undone.clear()
    return undone[-1] if undone else None


def _same(one: Decision, other: Decision) -> bool:
    """Say whether two decisions rule the same on the same texts."""
    told = ("revision_id", "ruling", "final_text", "reasons", "comment", "ratings")
    return all(getattr(one, name) == getattr(other, name) for name in told)


def _refused(compared: hunks.Comparison, work: Work) -> frozenset[int]:
    """Return the hunks that the final text refuses, however the person got there, or wrote over by hand."""
    found = hunks.matching_refusals(compared, work.final_text)
    if found is not None:
        return found
    refused = frozenset(work.refused) & frozenset(range(len(compared.hunks)))
    return refused | hunks.overwritten(compared, refused, work.final_text)
