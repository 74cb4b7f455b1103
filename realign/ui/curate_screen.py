"""What Curate shows of an item, as values that the browser draws; nothing here changes anything."""

import re
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal, NamedTuple, Self

import gradio as gr

from realign.curation.form import Form
from realign.curation.hunks import Comparison
from realign.curation.ruling import side_of
from realign.desk import Desk, History, Progress, Writing
from realign.errors import InvalidInput
from realign.records import Decision, Draft, Item, Message, Prompt, Revision, Ruling, TwoDrafts, Work
from realign.ui import keys, work
from realign.ui.drawn import Value
from realign.ui.rendered import rendered
from realign.ui.words import Phrase, say, t

REVISIONS, TWO = "revisions", "two"

LABELS = {
    "accept": "Accept",
    "reject": "Draft is better",
    "tie": "Tie",
    "skip": "Skip",
    "flag": "Flag",
    "new-revision": "New revision",
    "new-draft": "New draft",
    "undo": "Undo",
    "redo": "Redo",
    "back": "Back",
    "forward": "Forward",
    "ask-open": "Ask for …",
}
RULINGS: dict[str, Ruling] = {
    "accept": "accepted",
    "reject": "rejected",
    "tie": "tied",
    "skip": "skipped",
    "flag": "flagged",
}
PREFERRED: dict[Ruling, Literal["left", "right", "tie"] | None] = {
    "accepted": "left",
    "rejected": "right",
    "tied": "tie",
    "skipped": None,
}
BY_SIDE = {"accept": "Left is better", "reject": "Right is better"}
LEFT_RIGHT = {"accepted": "left is better", "rejected": "right is better", "tied": "tied", "skipped": "skipped"}
ONLY_REVISIONS = ("flag", "new-revision", "ask-open", "new-draft", "redo", "back", "forward")

FLAGS = {
    "empty": "The revision is empty.",
    "control tokens": "A text holds control tokens of a chat template. Models read them broken up.",
    "task talk": "The revision talks about the task instead of answering.",
    "length": "One text is more than three times as long as the other.",
}
CUT = "Cut at the longest length allowed: the text is not finished."
TURNED = "A text holds marks that turn the direction of reading: letters may be stored in another order than you see."
_TURNING = re.compile("[\u202a-\u202e\u2066-\u2069]")
TOO_MUCH = "This text is too long or too deeply nested to be rendered, so it is shown raw."
EMPTY = "Everything is decided. Import more prompts in Browse, or type one of your own below."


class View(NamedTuple):
    """How this person likes to work."""

    task: str = REVISIONS
    rendered: bool = False
    blind: bool = False

    @classmethod
    def of(cls, habits: Any, *, blind: bool) -> Self:
        """Read what the browser remembers; anything it should not hold is left out."""
        known = habits if isinstance(habits, dict) else {}
        return cls(TWO if known.get("task") == TWO else REVISIONS, known.get("rendered") is True, blind)

    @property
    def by_side(self) -> bool:
        """The person picks a side and is not told what wrote it."""
        return self.blind or self.task == TWO

    @property
    def habits(self) -> Value:
        """What the browser remembers."""
        return {"task": self.task, "rendered": self.rendered}


class Shown(NamedTuple):
    """What is in front of a person."""

    view: View
    item: Item | None = None
    two: TwoDrafts | None = None
    comparison: Comparison | None = None

    @property
    def prompt(self) -> Prompt | None:
        """The prompt in front."""
        open_one = self.item or self.two
        return open_one.prompt if open_one else None

    @property
    def key(self) -> str:
        """The name of what is in front; nothing in front has none."""
        open_one = self.item or self.two
        return work.key_of(open_one) if open_one else ""

    @property
    def sides(self) -> tuple[Draft | Revision | None, Draft | Revision | None]:
        """The texts on the left and on the right."""
        if self.two:
            return self.two.left, self.two.right
        if self.item is None:
            return None, None
        texts = self.item.draft, self.item.revision
        return texts[::-1] if self.view.blind and side_of(self.item.decision_id) == "left" else texts

    @property
    def unwritten(self) -> bool:
        """Something is in front, and a text of it is missing."""
        return self.prompt is not None and None in self.sides


def required(shown: Shown | None) -> Shown:
    """Return what is in front; raise `InvalidInput` where the server has forgotten this page."""
    if shown is None:
        raise InvalidInput("Nothing is open here any more. Reload the page: what you did is kept.")
    return shown


def opened(desk: Desk, view: View, item: Item | None) -> Shown:
    """Return what is in front when `item` is opened."""
    if item is None or item.draft is None or item.revision is None:
        return Shown(view, item)
    return Shown(view, item, comparison=desk.compare(item.draft.text, item.revision.text))


def unblinded(ruling: Ruling, item: Item) -> Ruling:
    """Turn the side that was found better into a ruling on the revision."""
    if side_of(item.decision_id) == "right":
        swapped: dict[Ruling, Ruling] = {"accepted": "rejected", "rejected": "accepted"}
        return swapped.get(ruling, ruling)
    return ruling


def texts(shown: Shown) -> dict[str, Value]:
    """Return the values of the panes `prompt`, `draft` and `revision`."""
    left, right = shown.sides
    titles = ("Left", "Right") if shown.view.by_side else ("Draft", "Revision")
    values = {
        "prompt": _prompt(shown),
        "draft": _text(titles[0], "policy", left, shown),
        "revision": _text(titles[1], "reviser", right, shown),
    }
    item = shown.item
    if item and item.revision and len(item.revisions) > 1 and not shown.view.by_side:
        ids = [revision.id for revision in item.revisions]
        values["revision"]["pager"] = {"ids": ids, "at": ids.index(item.revision.id)}
    if item and item.draft and item.revision and not shown.view.by_side:
        found = [FLAGS[flag] for flag in Desk.flags(item.draft, item.revision) if flag in FLAGS]
        values["revision"]["warnings"] = [*values["revision"].get("warnings", []), *found]
    read = [*(turn["text"] for turn in values["prompt"].get("turns", ())), *(text.text for text in shown.sides if text)]
    if any(_TURNING.search(text) for text in read):
        values["prompt"]["warning"] = TURNED
    return values


def work_of(shown: Shown, done: Work | None, form: Form) -> Value:
    """Return what the person works on: the changes and the final text, or only what is asked beside the ruling."""
    open_one = shown.item or shown.two
    if open_one is None or None in shown.sides:
        return work.waiting(open_one, by_side=shown.view.by_side)
    if shown.view.by_side or shown.item is None or shown.comparison is None:
        # Ratings are of the final text, which two drafts do not have.
        asked = form.model_copy(update={"ratings": (), "required": ()}) if shown.two else form
        return work.choosing(open_one, done or Work(), asked)
    return work.editing(shown.item, shown.comparison, done or Work(), form)


def buttons(view: View) -> dict[str, Any]:
    """Return what changes of the buttons with the kind of task: their words, and which of them there are."""
    words = {**LABELS, **(BY_SIDE if view.by_side else {})}
    changed: dict[str, Any] = {name: gr.update(value=t(words[name])) for name in ("accept", "reject")}
    for name in ONLY_REVISIONS:
        changed[name] = gr.update(visible=view.task == REVISIONS)
    return changed


def links(view: View) -> Value:
    """Return the links at the head of the tab, and what their sheets show."""
    guidelines = (Path(__file__).parent.parent.parent / "data" / "guidelines.md").read_text(encoding="utf-8")
    return {
        "guidelines": rendered(guidelines),
        "actions": [action._asdict() for action in keys.CURATE],
        "fixed": [list(pair) for pair in keys.FIXED],
        "rendered": view.rendered,
    }


def progress(now: Progress) -> Value:
    """Return how far everybody is, and how this person does."""
    words: list[Phrase] = [say("{done} of {total}", done=now.decided, total=now.total)]
    if now.per_minute:
        words.append(say("{n} a minute", n=round(now.per_minute, 1)))
    if now.mean_s is not None:
        words.append(say("{n} s each", n=round(now.mean_s)))
    judged = sum(n for ruling, n in now.mine.items() if ruling in ("accepted", "edited", "rejected", "tied"))
    if judged:
        accepted = now.mine.get("accepted", 0) + now.mine.get("edited", 0)
        words.append(say("accepted {n} %", n=round(100 * accepted / judged)))
    if now.n_hunks:
        words.append(say("edits kept {n} %", n=round(100 * now.n_kept / now.n_hunks)))
    return {"title": "Prompts", "total": now.total, "done": now.decided, "words": words}


def history(found: History | None) -> Value:
    """Return every version of an item, oldest first; `at` makes the browser open it again."""
    at = datetime.now(UTC).isoformat()
    if found is None:
        return {"at": at, "rows": []}
    rows = [_version("Draft", text.model.label, text) for text in found.drafts]
    rows += [_version("Revision", _asked(text), text) for text in found.revisions]
    rows += [_ruled(decision) for decision in found.decisions]
    return {"at": at, "rows": sorted(rows, key=lambda row: str(row["when"]))}


def saved(ruling: str) -> Value:
    """Return the word that a decision is on the disk."""
    return {"text": ruling, "saved": datetime.now(UTC).isoformat()}


def told(what: str) -> Value:
    """Return a word on what has just happened."""
    return {"text": what, "at": datetime.now(UTC).isoformat()}


def waiting(title: str) -> Value:
    """Return a pane whose text has not begun."""
    return {"title": title, "text": "", "writing": True, "note": "waiting for the model"}


def another(shown: Shown) -> dict[str, Value]:
    """Return the panes while another revision is written and the one in front stays."""
    values = texts(shown)
    side = "draft" if isinstance(shown.sides[0], Revision) else "revision"
    return {side: {**values[side], "right": "writing another …"}}


def writing(title: str, step: Writing) -> Value:
    """Return a pane whose text is being written."""
    right = say("{n} tokens a second", n=round(step.tokens_per_s))
    return {"title": title, "text": step.text, "writing": True, "note": "writing", "right": right, "follow": True}


def _prompt(shown: Shown) -> Value:
    prompt = shown.prompt
    if prompt is None:
        return {"title": "Prompt", "empty": EMPTY}
    alone = len(prompt.messages) == 1
    note = " · ".join(word for word in (prompt.category, prompt.language, prompt.origin) if word)
    turns = [_turn(message, alone=alone, shown=shown) for message in prompt.messages]
    value: Value = {"title": "Prompt", "note": note, "turns": turns}
    if shown.item and (before := shown.item.superseded):
        words = "Decided before: {ruling} by {who}. Deciding again replaces that; it stays in the history."
        value["info"] = say(words, ruling=before.ruling, who=before.annotator)
    return value


def _turn(message: Message, *, alone: bool, shown: Shown) -> Value:
    turn: Value = {"role": "" if alone else message.role, "text": message.content}
    if shown.view.rendered:
        turn["tree"] = rendered(message.content)
    return turn


def _text(title: str, actor: str, text: Draft | Revision | None, shown: Shown) -> Value:
    if text is None:
        return {"title": title, "text": ""}
    value: Value = {"title": title, "text": text.text, "right": say("{n} word|{n} words", n=len(text.text.split()))}
    if not shown.view.by_side:
        value["note"] = f"{actor} · {text.model.adapter or 'base'}"
        if isinstance(text, Revision) and text.instruction:
            value["asked"] = text.instruction
    if shown.view.rendered:
        value["tree"] = rendered(text.text)
        if value["tree"] is None:
            value["warnings"] = [TOO_MUCH]
    if text.finish == "length":
        value["warnings"] = [*value.get("warnings", []), CUT]
    return value


def _version(what: str, note: str, text: Draft | Revision) -> Value:
    return {"what": what, "note": note, "text": text.text, "when": text.created.isoformat()}


def _asked(revision: Revision) -> str:
    how = f"{revision.model.label} · {revision.template} · {revision.decoding.temperature:g}"
    return f"{how} · “{revision.instruction}”" if revision.instruction else how


def _ruled(decision: Decision) -> Value:
    given: Sequence[str] = [*decision.reasons, *(f"{name} {n}" for name, n in decision.ratings.items())]
    note = " · ".join([decision.annotator, *given, *([f"“{decision.comment}”"] if decision.comment else [])])
    return {"what": decision.ruling, "note": note, "text": decision.final_text, "when": decision.decided.isoformat()}
