"""From what a person did with an item to the decision that says so."""

from collections.abc import Collection, Sequence
from datetime import datetime

from realign.curation import hunks
from realign.errors import InvalidInput
from realign.records import Decision, Item, Ruling, is_broken, is_empty


def rule(
    item: Item,
    ruling: Ruling,
    *,
    annotator: str,
    now: datetime,
    final_text: str = "",
    refused: Collection[int] = (),
    reasons: Sequence[str] = (),
    comment: str = "",
) -> Decision:
    """Return the decision on `item`; raise `InvalidInput` where there is nothing to decide on yet.

    `accepted` with a final text that is not the revision's becomes `edited`, and with the draft's own text becomes
    `rejected`: the record says what stands. Where the draft stands, every hunk counts as refused.
    """
    if item.draft is None or item.revision is None:
        raise InvalidInput("There is no revision to decide on yet. Wait until it is written.")
    draft, revision = item.draft.text, item.revision.text
    if ruling in ("accepted", "edited"):
        if is_empty(final_text):
            raise InvalidInput("The final text is empty. Write one, or say that the draft is better.")
        if is_broken(final_text):
            raise InvalidInput("The final text holds a NUL or half a character. Remove it.")
        ruling = "accepted" if final_text == revision else "rejected" if final_text == draft else "edited"
    stands = ruling in ("accepted", "edited")
    compared = hunks.compare(draft, revision)
    return Decision(
        id=item.decision_id,
        prompt_id=item.prompt.id,
        draft_id=item.draft.id,
        revision_id=item.revision.id,
        ruling=ruling,
        final_text=final_text if stands else draft,
        edits=hunks.edits(compared, refused if stands else range(len(compared.hunks))),
        annotator=annotator,
        reasons=tuple(reasons),
        comment=comment.strip(),
        started=item.started,
        decided=now,
        active_ms=max(0, int((now - item.started).total_seconds() * 1000)),
        supersedes=item.superseded.id if item.superseded else None,
    )


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
