"""The annotator's side of the screen: what the browser draws of it, and what it hands in.

The browser keeps refused hunks, text, reasons and ratings, and hands all of it in with whatever is pressed, so that no
keystroke hangs on an answer from here. What it sends is untrusted
and checked against the item that the server keeps.
"""

from collections.abc import Sequence
from typing import Any

from pydantic import Field, ValidationError

from realign.curation.alignment import n_words
from realign.curation.form import Form
from realign.curation.hunks import Comparison, Hunk
from realign.desk import Desk
from realign.errors import Conflict, InvalidInput
from realign.records import Item, TwoDrafts, Work
from realign.ui.drawn import Value

MAX_TEXT = 2_000_000


class Handed(Work):
    """What the browser hands in of the item it shows."""

    key: str
    final_text: str = Field("", max_length=MAX_TEXT)
    active_ms: int = Field(0, ge=0)

    @property
    def work(self) -> Work:
        """The same without what only the screen needs."""
        return Work(**{name: getattr(self, name) for name in Work.model_fields})


def key_of(item: Item | TwoDrafts) -> str:
    """Return the name of what is in front: the coming decision and the texts it will be about."""
    texts = (item.revision,) if isinstance(item, Item) else (item.left, item.right)
    return ":".join([item.decision_id, *(text.id if text else "" for text in texts)])


def handed(data: Any, key: str, comparison: Comparison | None = None) -> Handed:
    """Return what the browser handed in of the item called `key`.

    Raises `Conflict` where it shows another item by now, and `InvalidInput` where it makes no sense.
    """
    try:
        work = Handed.model_validate(data)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        field = ".".join(map(str, first["loc"]))
        if first["type"] == "string_unicode":
            where = field.replace("_", " ")
            raise InvalidInput(f"The {where} holds half a character. Remove it, then decide again.") from error
        raise InvalidInput(f"The page sent something unreadable (field '{field}'). Reload the page.") from error
    if work.key != key:
        raise Conflict("The item on the screen changed while you decided, so nothing was stored. Decide again.")
    check_refused(work.refused, comparison)
    return work


def handed_on_any(data: Any, item: Item, desk: Desk) -> tuple[Item, Handed]:
    """Return what was handed in with the revision it is about: another one may have come to the front meanwhile."""
    sent = data.get("key") if isinstance(data, dict) else None
    for candidate in (item, *(item._replace(revision=revision) for revision in item.revisions)):
        if key_of(candidate) == sent and candidate.draft and candidate.revision:
            compared = desk.compare(candidate.draft.text, candidate.revision.text)
            return candidate, handed(data, key_of(candidate), compared)
    return item, handed(data, key_of(item))


def check_refused(refused: Sequence[int], comparison: Comparison | None) -> None:
    """Raise `InvalidInput` where these are no hunks of `comparison`."""
    if not set(refused) <= set(range(len(comparison.hunks) if comparison else 0)):
        raise InvalidInput("These edits belong to another text. Reload the page.")


def editing(item: Item, comparison: Comparison, work: Work, form: Form) -> Value:
    """Return the changes and the final text, each hunk a toggle."""
    value: Value = {"mode": "edit", "key": key_of(item), "pieces": pieces(comparison), **_asked(work, form)}
    value |= {"refused": sorted(work.refused), "text": work.final_text}
    if not comparison.hunks:
        value["empty"] = "Draft and revision are the same text. Ask for a new revision, or skip."
    if comparison.fallback:
        value["warning"] = "These texts are long: they were compared by line, so an edit may hold unchanged words too."
    return value


def choosing(item: Item | TwoDrafts, work: Work, form: Form) -> Value:
    """Return only what is asked beside the ruling: in blind mode, and where two drafts are compared."""
    return {"mode": "choose", "key": key_of(item), "text": work.final_text, **_asked(work, form)}


def waiting(item: Item | TwoDrafts | None, *, by_side: bool) -> Value:
    """Return what stands there while texts are missing; nothing where no text will be edited."""
    return {"mode": "wait", "key": key_of(item) if item else "", "by_side": by_side}


def pieces(comparison: Comparison) -> list[Any]:
    """Return what the browser draws of a comparison: unchanged text, and hunks with their words counted."""
    return [piece if isinstance(piece, str) else _hunk(piece) for piece in comparison.pieces]


def _hunk(hunk: Hunk) -> Value:
    return {**hunk._asdict(), "minus": n_words(hunk.old), "plus": n_words(hunk.new)}


def _asked(work: Work, form: Form) -> Value:
    return {
        "reasons": list(work.reasons),
        "comment": work.comment,
        "ratings": work.ratings,
        "form": form.model_dump(mode="json"),
    }
