"""Curate: decide the next revision in seconds."""

import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import gradio as gr

from realign.errors import InvalidInput
from realign.records import Draft, Item, Prompt, Revision, Ruling
from realign.studio import Studio
from realign.ui import diff_view
from realign.ui.boundary import spoken
from realign.ui.drawn import Value, drawn

TITLE = "Curate"
KEYS = {"a": "accept", "r": "reject", "t": "tie", "s": "skip", "z": "undo", "v": "new-revision", "d": "new-draft"}
QUIET: dict[str, Any] = {"show_progress": "hidden", "api_visibility": "private"}

KEYS_HELP = """\
| key | does | key | does |
|---|---|---|---|
| A | accept the final text | J / K | next / previous edit |
| R | the draft is better | Space | keep or refuse the edit in focus |
| T | tie: no preference | E | write into the final text, Esc leaves it |
| S | skip | Ctrl+Enter | accept from inside the final text |
| Z | undo the last decision | V / D | new revision / new draft |
"""


class Shown(NamedTuple):
    """What is in front of a person: the item, its comparison, the refused hunks, the text they give."""

    item: Item
    comparison: Any
    refused: frozenset[int] = frozenset()
    merged: str = ""
    turn: int = 0


def build(studio: Studio, page: gr.Blocks, opened: gr.Tab) -> None:
    """Lay the tab out and wire it."""
    Curate(studio, page)


class Curate:
    """The components of the tab and what they do."""

    def __init__(self, studio: Studio, page: gr.Blocks) -> None:
        self.studio = studio
        self._sessions: dict[str, str] = {}  # page → seat
        self._turns: dict[str, int] = {}  # page → number of what was asked for last
        self._lay_out()
        self._wire(page)

    def _lay_out(self) -> None:
        self.seat = gr.BrowserState("", storage_key="realign-seat", secret="a place, not a secret")  # noqa: S106
        self.shown: gr.State = gr.State(None)
        self.progress = drawn("bar", elem_id="progress", classes="r-plain")
        self.prompt = drawn("pane", elem_id="prompt", classes="r-card r-prompt")
        with gr.Row(equal_height=True):
            self.draft = drawn("pane", elem_id="draft")
            self.revision = drawn("pane", elem_id="revision")
        with gr.Row(equal_height=True):
            self.changes = drawn("diff", elem_id="changes")
            with gr.Column(elem_classes="r-card", min_width=280):
                drawn("pane", {"title": "Final text", "note": "type to change it by hand"}, classes="r-plain")
                self.final = gr.Textbox(
                    "",
                    label="Final text",
                    show_label=False,
                    container=False,
                    lines=5,
                    max_lines=14,
                    interactive=False,
                    elem_id="final",
                )
        with gr.Row():
            self.own = gr.Textbox(
                label="A prompt of your own",
                placeholder="Type a prompt of your own and press Enter",
                show_label=False,
                container=False,
                elem_id="own-prompt",
            )
        with gr.Row():
            with gr.Accordion("Keys", open=False, elem_id="keys"):
                gr.Markdown(KEYS_HELP)
            with gr.Accordion("Guidelines", open=False, elem_id="guidelines"):
                gr.Markdown(_guidelines())
        with gr.Row(elem_classes="r-actions"):
            self.accept = _ruling("Accept", "accept", "primary")
            self.reject = _ruling("Draft is better", "reject")
            self.tie = _ruling("Tie", "tie")
            self.skip = _ruling("Skip", "skip")
            gr.HTML("", elem_classes="r-gap", js_on_load=None)
            self.new_revision = _quiet("New revision", "new-revision")
            self.new_draft = _quiet("New draft", "new-draft")
            self.undo = _quiet("Undo", "undo")

    def _wire(self, page: gr.Blocks) -> None:
        panes = [self.progress, self.prompt, self.draft, self.revision, self.changes, self.final, self.shown]
        writing: dict[str, Any] = {"inputs": self.shown, "outputs": panes, "concurrency_id": "model", **QUIET}
        writing["concurrency_limit"] = 4  # they wait for one model; the page's head says how many

        def then_write(event: Any) -> None:
            event.success(spoken(self.write), **writing)

        then_write(page.load(spoken(self.open), self.seat, [self.seat, *panes], **QUIET))
        page.unload(spoken(self.leave))
        then_write(self.own.submit(spoken(self.ask), [self.own, self.seat], [self.own, *panes], **QUIET))
        rulings: list[tuple[gr.Button, Ruling]] = [
            (self.accept, "accepted"),
            (self.reject, "rejected"),
            (self.tie, "tied"),
            (self.skip, "skipped"),
        ]
        for button, ruling in rulings:
            inputs = [gr.State(ruling), self.shown, self.final, self.seat]
            then_write(button.click(spoken(self.decide), inputs, panes, **QUIET))
        then_write(self.undo.click(spoken(self.take_back), self.seat, panes, **QUIET))
        self.new_revision.click(spoken(self.write_revision), **writing)
        self.new_draft.click(spoken(self.write_draft), **writing)
        self.changes.decide(
            spoken(self.toggle),
            [self.shown, self.final],
            [self.changes, self.final, self.shown],
            trigger_mode="always_last",
            **QUIET,
        )

    # --- what the events do ------------------------------------------------------------------------------------------

    def open(self, seat: str, request: gr.Request) -> dict[Any, Any]:
        """Show this seat's item, or the next one that waits."""
        seat = seat if _is_seat(seat) else uuid.uuid4().hex
        self._sessions[request.session_hash or ""] = seat
        self._next_turn(request)
        return {self.seat: seat, **self._screen(self.studio.next_revision(seat))}

    def leave(self, request: gr.Request) -> None:
        """Give the item back when the last page of its seat is closed; a reload opens a page before it closes one."""
        self._turns.pop(request.session_hash or "", None)
        seat = self._sessions.pop(request.session_hash or "", None)
        if seat and seat not in self._sessions.values():
            self.studio.leave(seat)

    def ask(self, text: str, seat: str, request: gr.Request) -> dict[Any, Any]:
        """Put a typed prompt in front of the person."""
        item = self.studio.add_prompt(text, seat)
        self._next_turn(request)
        return {self.own: "", **self._screen(item)}

    def decide(
        self, ruling: Ruling, shown: Shown | None, final_text: str, seat: str, request: gr.Request
    ) -> dict[Any, Any]:
        """Store the ruling and show the next item; the next shows only when the decision is on disk."""
        if shown is None:
            raise InvalidInput("Nothing is open here any more. Reload the page.")
        if ruling == "skipped" and shown.item.revision is None:
            passed = self.studio.pass_over(shown.item, seat)
            self._next_turn(request)
            return self._screen(passed)
        following = self.studio.decide_next(
            shown.item,
            ruling,
            annotator=self.studio.settings.annotator,
            seat=seat,
            final_text=final_text,
            refused=self._refused(shown, final_text),
        )
        self._next_turn(request)
        return self._screen(following)

    def take_back(self, seat: str, request: gr.Request) -> dict[Any, Any]:
        """Withdraw the last decision and show its item again."""
        item, decision = self.studio.undo(self.studio.settings.annotator, seat)
        self._next_turn(request)
        screen = self._screen(item)
        if decision.ruling in ("accepted", "edited"):  # toggles and typed text come back as they were left
            shown: Shown = screen[self.shown]
            refused = frozenset(at for at, edit in enumerate(decision.edits) if not edit.accepted)
            merged = self.studio.merge(shown.comparison, refused)
            shown = shown._replace(refused=refused, merged=merged)
            final = gr.Textbox(value=decision.final_text, interactive=True)
            screen |= {self.shown: shown, self.changes: self._changes(shown), self.final: final}
        return screen

    def toggle(self, shown: Shown | None, final_text: str, event: gr.EventData) -> dict[Any, Any]:
        """Follow the hunks as the person left them; what they wrote by hand stays."""
        if shown is None:
            raise InvalidInput("Nothing is open here any more. Reload the page.")
        refused = diff_view.chosen(event._data, shown.comparison, shown.item.decision_id)
        if refused is None:  # the next item has come in between
            return {self.changes: gr.skip()}
        merged = self.studio.merge(shown.comparison, refused)
        text: str | None = merged
        if final_text != shown.merged:
            text = self.studio.carry_over(shown.merged, final_text, merged)
        if text is None:
            gr.Warning("You rewrote this place by hand, so the edit stays as it is. Change the final text directly.")
            refused, merged, text = shown.refused, shown.merged, final_text
        after = shown._replace(refused=refused, merged=merged, turn=shown.turn + 1)
        return {self.changes: self._changes(after), self.final: text, self.shown: after}

    def write(self, shown: Shown | None, request: gr.Request) -> Iterator[dict[Any, Any]]:
        """Let the models write what the item lacks, then the items that come next."""
        if shown is not None and shown.item.revision is None:
            steps = self._draft(shown) if shown.item.draft is None else self._revision(shown)
            yield from self._while_shown(steps, request)
        self.studio.write_ahead()
        yield {self.shown: gr.skip()}  # a generator that yields nothing would empty every output

    def write_draft(self, shown: Shown | None, request: gr.Request) -> Iterator[dict[Any, Any]]:
        """Write a new draft and its revision."""
        yield from self._while_shown(self._draft(shown), request)

    def write_revision(self, shown: Shown | None, request: gr.Request) -> Iterator[dict[Any, Any]]:
        """Write a new revision."""
        yield from self._while_shown(self._revision(shown), request)

    def _while_shown(self, steps: Iterator[dict[Any, Any]], request: gr.Request) -> Iterator[dict[Any, Any]]:
        """Draw `steps` until the person has asked for something else: no late text may cover another item."""
        turn = self._next_turn(request)
        for step in steps:
            if self._turns.get(request.session_hash or "") != turn:
                break
            yield step
        yield {self.shown: gr.skip()}  # Gradio draws the last step once more when a generator ends

    def _next_turn(self, request: gr.Request) -> int:
        session = request.session_hash or ""
        self._turns[session] = self._turns.get(session, 0) + 1
        return self._turns[session]

    def _draft(self, shown: Shown | None) -> Iterator[dict[Any, Any]]:
        """Let the policy answer, then the reviser improve the answer."""
        if shown is None:
            raise InvalidInput("There is no prompt to answer. Import some in Browse, or type one.")
        item = shown.item._replace(draft=None, revision=None)
        yield {
            self.draft: _waiting("Draft"),
            self.revision: _blank("Revision"),
            self.shown: Shown(item, None),
            **self._no_changes(),
        }
        for step in self.studio.write_draft(item.prompt):
            if isinstance(step, Draft):
                item = item._replace(draft=step)
                yield {self.draft: _text("Draft", "policy", step), self.shown: Shown(item, None)}
            else:
                yield {self.draft: _writing("Draft", step)}
        yield from self._revision(Shown(item, None))

    def _revision(self, shown: Shown | None) -> Iterator[dict[Any, Any]]:
        """Let the reviser improve the draft."""
        if shown is None or shown.item.draft is None:
            raise InvalidInput("There is no draft to improve yet. Wait until it is written.")
        bare = shown.item._replace(revision=None)  # what is not on the screen cannot be decided on
        yield {self.revision: _waiting("Revision"), self.shown: Shown(bare, None), **self._no_changes()}
        for step in self.studio.write_revision(shown.item.prompt, shown.item.draft):
            if isinstance(step, Revision):
                yield self._screen(shown.item._replace(revision=step))
            else:
                yield {self.revision: _writing("Revision", step)}

    # --- what the screen shows ---------------------------------------------------------------------------------------

    def _screen(self, item: Item | None) -> dict[Any, Any]:
        progress = self._progress()
        if item is None:
            empty = "Everything is decided. Import more prompts in Browse, or type one of your own below."
            return {
                self.progress: progress,
                self.prompt: {"title": "Prompt", "empty": empty},
                self.draft: _blank("Draft"),
                self.revision: _blank("Revision"),
                **self._no_changes(),
                self.shown: None,
            }
        shown = self._open(item)
        return {
            self.progress: progress,
            self.prompt: _prompt(item.prompt),
            self.draft: _text("Draft", "policy", item.draft),
            self.revision: _text("Revision", "reviser", item.revision),
            self.changes: self._changes(shown) if shown.comparison else {"title": "Changes"},
            self.final: gr.Textbox(value=shown.merged, interactive=shown.comparison is not None),
            self.shown: shown,
        }

    def _open(self, item: Item) -> Shown:
        if item.draft is None or item.revision is None:
            return Shown(item, None)
        comparison = self.studio.compare(item.draft.text, item.revision.text)
        return Shown(item, comparison, merged=item.revision.text)

    def _changes(self, shown: Shown) -> Value:
        return diff_view.changes(shown.comparison, shown.refused, key=shown.item.decision_id, turn=shown.turn)

    def _no_changes(self) -> dict[Any, Any]:
        return {self.changes: {"title": "Changes"}, self.final: gr.Textbox(value="", interactive=False)}

    def _refused(self, shown: Shown, final_text: str) -> frozenset[int]:
        """Return the hunks that the final text refuses, however the person got there."""
        if shown.comparison is None:
            return frozenset()
        found = self.studio.matching_refusals(shown.comparison, final_text)
        return shown.refused if found is None else found

    def _progress(self) -> Value:
        now = self.studio.progress(self.studio.settings.annotator)
        words = [f"{now.decided} of {now.total}", f"{now.waiting} waiting"]
        if now.per_minute:
            words.append(f"{now.per_minute:.1f} a minute")
        judged = sum(n for ruling, n in now.rulings.items() if ruling in ("accepted", "edited", "rejected", "tied"))
        if judged:
            accepted = now.rulings.get("accepted", 0) + now.rulings.get("edited", 0)
            words.append(f"accepted {100 * accepted / judged:.0f} %")
        return {"title": "Prompts", "total": now.total, "done": now.decided, "words": words}


def _ruling(label: str, elem_id: str, variant: str = "secondary") -> gr.Button:
    classes = ["r-ruling", "r-key-on"]
    return gr.Button(label, elem_id=elem_id, variant=variant, elem_classes=classes)


def _quiet(label: str, elem_id: str) -> gr.Button:
    return gr.Button(label, elem_id=elem_id, elem_classes=["r-quiet", "r-key-on"])


def _is_seat(seat: object) -> bool:
    return isinstance(seat, str) and len(seat) == 32 and seat.isalnum()


def _guidelines() -> str:
    return (Path(__file__).parent.parent.parent / "data" / "guidelines.md").read_text(encoding="utf-8")


def _prompt(prompt: Prompt) -> Value:
    alone = len(prompt.messages) == 1
    note = " · ".join(word for word in (prompt.category, prompt.language, prompt.origin) if word)
    turns = [{"role": "" if alone else message.role, "text": message.content} for message in prompt.messages]
    return {"title": "Prompt", "note": note, "turns": turns}


def _text(title: str, actor: str, text: Draft | Revision | None) -> Value:
    if text is None:
        return _blank(title)
    who = text.model.adapter or "base"
    value: Value = {"title": title, "note": f"{actor} · {who}", "text": text.text, "right": _words(text.text)}
    if text.finish == "length":
        value["warning"] = "Cut at the longest length allowed: the text is not finished."
    return value


def _words(text: str) -> str:
    n = len(text.split())
    return f"{n} word{'' if n == 1 else 's'}"


def _blank(title: str) -> Value:
    return {"title": title, "text": ""}


def _waiting(title: str) -> Value:
    return {"title": title, "text": "", "writing": True, "note": "waiting for the model"}


def _writing(title: str, step: Any) -> Value:
    right = f"{step.tokens_per_s:.0f} tokens a second"
    return {"title": title, "text": step.text, "writing": True, "note": "writing", "right": right, "follow": True}
