"""Curate: decide the next revision in seconds."""

import uuid
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import gradio as gr
from pydantic import ValidationError

from realign.choices import TEMPLATES
from realign.desk import MAX_INSTRUCTION, MOST_CANDIDATES, Asking
from realign.errors import InvalidInput, RealignError
from realign.records import Ruling
from realign.studio import Studio
from realign.ui import curate_screen as screen
from realign.ui import curate_writing as writing
from realign.ui import work
from realign.ui.boundary import spoken
from realign.ui.curate_screen import REVISIONS, TWO, Shown, View
from realign.ui.curate_writing import Step
from realign.ui.drawn import Value, drawn
from realign.ui.words import t

TITLE = "Curate"
QUIET: dict[str, Any] = {"show_progress": "hidden", "api_visibility": "private"}
AT_ONCE: dict[str, Any] = {"queue": False, **QUIET}
"""A decision waits for no line: it goes to the server and comes back with the next item."""
HAND_IN = "(...given) => realign.handIn(given)"
"""Puts what the person has done, as it is at this moment, in place of the work component's value."""


def build(studio: Studio, page: gr.Blocks, opened: gr.Tab) -> None:
    """Lay the tab out and wire it."""
    Curate(studio, page)


class Curate:
    """The components of the tab and what they do."""

    def __init__(self, studio: Studio, page: gr.Blocks) -> None:
        self.studio = studio
        self.desk, self.drafts_desk = studio.desk, studio.drafts_desk
        self.annotator = studio.settings.annotator
        self._sessions: dict[str, str] = {}  # page → seat
        self._turns: dict[str, int] = {}  # page → number of what was asked for last
        self._lay_out()
        self._wire(page)

    def _lay_out(self) -> None:
        self.seat = gr.BrowserState("", storage_key="realign-seat", secret="a place, not a secret")  # noqa: S106
        self.view = gr.BrowserState({}, storage_key="realign-view", secret="a habit, not a secret")  # noqa: S106
        self.shown: gr.State = gr.State(None)
        with gr.Row(elem_id="curate-head"):
            self.progress = drawn("bar", elem_id="progress", classes="r-plain")
            self.task = gr.Radio(
                [(t("Revisions"), REVISIONS), (t("Two drafts"), TWO)],
                value=REVISIONS,
                label=t("Task"),
                show_label=False,
                container=False,
                elem_id="task",
                elem_classes="r-choice",
            )
            self.links = drawn(
                "links", screen.links(View()), elem_id="links", classes="r-plain", events=("view", "history")
            )
        if not self.desk.form.blind:
            drawn("tour", elem_id="tour", classes="r-plain")
        self.prompt = drawn("pane", elem_id="prompt", classes="r-card r-prompt")
        with gr.Row(equal_height=True):
            self.draft = drawn("pane", elem_id="draft")
            self.revision = drawn("pane", elem_id="revision", events=("flip",))
        self.work = drawn("work", elem_id="work", classes="r-plain", events=("keep", "carry", "against", "write"))
        with gr.Row():
            self.own = gr.Textbox(
                label=t("A prompt of your own"),
                placeholder=t("Type a prompt of your own and press Enter"),
                show_label=False,
                container=False,
                elem_id="own-prompt",
            )
        templates = [[name, template.what] for name, template in TEMPLATES.items()]
        asking: Value = {"templates": templates, "most": MOST_CANDIDATES, "longest": MAX_INSTRUCTION}
        self.ask = drawn("ask", asking, elem_id="ask", classes="r-plain", events=("ask",))
        self.history = drawn("history", elem_id="history", classes="r-plain")
        self.answer = drawn("answer", elem_id="answer", classes="r-plain")
        with gr.Row(elem_classes="r-actions"):
            self.rulings = {name: _button(name, "r-ruling") for name in screen.RULINGS}
            self.said = drawn("said", elem_id="said", classes="r-plain r-gap")
            quiet = ("new-revision", "ask-open", "new-draft", "undo", "redo", "back", "forward")
            self.quiet = {name: _button(name, "r-quiet") for name in quiet}

    def _wire(self, page: gr.Blocks) -> None:
        panes = [
            self.progress,
            self.prompt,
            self.draft,
            self.revision,
            self.work,
            self.shown,
            self.said,
            *self.rulings.values(),
            *self.quiet.values(),
        ]
        held = [self.shown, self.work, self.seat]
        first = [self.seat, self.view, self.task, self.links, *panes]
        page.load(spoken(self.open), [self.seat, self.view], first, **AT_ONCE)
        page.unload(spoken(self.leave))
        self.task.input(self._told(self.switch), [self.task, *held], [self.view, *panes], js=HAND_IN, **AT_ONCE)
        self.own.submit(self._told(self.ask_own), [self.own, *held], [self.own, *panes], js=HAND_IN, **AT_ONCE)
        for name, button in self.rulings.items():
            inputs = [gr.State(screen.RULINGS[name]), *held]
            button.click(self._told(self.decide), inputs, panes, js=HAND_IN, **AT_ONCE)
        for name, handler in (("undo", self.undo), ("redo", self.redo)):
            self.quiet[name].click(self._told(handler), held, panes, js=HAND_IN, **AT_ONCE)
        for name, forward in (("back", False), ("forward", True)):
            inputs = [gr.State(forward), *held]
            self.quiet[name].click(self._told(self.step), inputs, panes, js=HAND_IN, **AT_ONCE)
        slow: dict[str, Any] = {"outputs": panes, "concurrency_id": "model", "concurrency_limit": 4, **QUIET}
        self.work.write(self._told(self.write), self.shown, **slow)
        self.quiet["new-revision"].click(self._told(self.write_revision), self.shown, **slow)
        self.quiet["new-draft"].click(self._told(self.write_draft), self.shown, **slow)
        self.quiet["ask-open"].click(None, js="() => { realign.openAsk(); }", api_visibility="private")
        self.ask.ask(self._told(self.write_asked), self.shown, **slow)
        self.revision.flip(self._told(self.flip), [self.shown], panes, **AT_ONCE)
        following: dict[str, Any] = {"trigger_mode": "always_last", **AT_ONCE}
        answers = [self.answer, self.said]
        self.work.keep(self._told(self.keep), self.shown, answers, **following)
        self.work.carry(self._told(self.carry), self.shown, answers, **following)
        self.work.against(self._told(self.against), self.shown, answers, **following)
        viewed = [self.view, self.links, *panes[1:4], self.shown, self.said]
        self.links.view(self._told(self.turn_view), self.shown, viewed, **following)
        self.links.history(self._told(self.tell), self.shown, [self.history, self.said], **following)

    def _told(self, handler: Any) -> Any:
        return spoken(handler, into=self.said)

    # --- what the events do ------------------------------------------------------------------------------------------

    def open(self, seat: str, habits: Any, request: gr.Request) -> dict[Any, Any]:
        """Show this seat's item, or the next one that waits."""
        seat = seat if _is_seat(seat) else uuid.uuid4().hex
        view = View.of(habits, blind=self.desk.form.blind)
        self._sessions[request.session_hash or ""] = seat
        habits = {self.seat: seat, self.view: view.habits, self.task: view.task, self.links: screen.links(view)}
        return {**habits, **self._buttons(view), **self._next(view, seat, request)}

    def leave(self, request: gr.Request) -> None:
        """Give the item back when the last page of its seat is closed; a reload opens a page before it closes one."""
        self._turns.pop(request.session_hash or "", None)
        seat = self._sessions.pop(request.session_hash or "", None)
        if seat and seat not in self._sessions.values():
            self.desk.leave(seat)

    def switch(self, task: str, shown: Shown | None, data: Any, seat: str, request: gr.Request) -> dict[Any, Any]:
        """Go over to the other kind of task; what was half done stays kept, here as everywhere below."""
        view = self._left(shown, data)._replace(task=TWO if task == TWO else REVISIONS)
        self.desk.leave(seat)
        return {self.view: view.habits, **self._buttons(view), **self._next(view, seat, request)}

    def ask_own(self, text: str, shown: Shown | None, data: Any, seat: str, request: gr.Request) -> dict[Any, Any]:
        """Put a typed prompt in front of the person."""
        view = self._left(shown, data)
        if view.task == TWO:
            raise InvalidInput("Choose the task Revisions first: a prompt of your own is answered and revised.")
        item = self.studio.add_prompt(text, seat, self.annotator)
        return {self.own: "", **self._screen(self._open(view, item), request)}

    def decide(self, ruling: Ruling, shown: Shown | None, data: Any, seat: str, request: gr.Request) -> dict[Any, Any]:
        """Store the ruling and show the next item; the next shows only when the decision is on disk."""
        shown = screen.required(shown)
        item, two, view = shown.item, shown.two, shown.view
        if ruling == "skipped" and shown.unwritten:
            aside = {self.said: screen.told("Set aside, undecided")}
            if two:
                return {**self._screen(Shown(view, two=self.drafts_desk.pass_over(two, seat)), request), **aside}
            if item:
                other = self.desk.pass_over(item, seat, self.annotator)
                return {**self._screen(self._open(view, other), request), **aside}
        done = work.handed(data, shown.key, shown.comparison)
        if two:
            if ruling not in screen.PREFERRED:
                raise InvalidInput("Two drafts are compared here: choose one of them, a tie, or skip.")
            self.drafts_desk.prefer(
                two, screen.PREFERRED[ruling], done.work, annotator=self.annotator, active_ms=done.active_ms
            )
            return {**self._next(view, seat, request), self.said: screen.saved(screen.LEFT_RIGHT[ruling])}
        if item is None:
            raise InvalidInput("Everything is decided. Import more prompts in Browse, or type one of your own.")
        stored = self.desk.decide(
            item,
            screen.unblinded(ruling, item) if view.blind else ruling,
            done.work,
            annotator=self.annotator,
            active_ms=done.active_ms,
            blind=view.blind,
        )
        return {**self._next(view, seat, request), self.said: screen.saved(stored.ruling)}

    def undo(self, shown: Shown | None, data: Any, seat: str, request: gr.Request) -> dict[Any, Any]:
        """Take the last decision back and show its item again."""
        view = self._left(shown, data)
        if view.task == TWO:
            two = self.drafts_desk.undo_preference(self.annotator, seat)
            return {**self._screen(Shown(view, two=two), request), self.said: screen.told("Taken back")}
        item = self.desk.undo(self.annotator, seat)
        return {**self._screen(self._open(view, item), request), self.said: screen.told("Taken back")}

    def redo(self, shown: Shown | None, data: Any, seat: str, request: gr.Request) -> dict[Any, Any]:
        """Decide again what was taken back last."""
        view = self._left(shown, data)
        if view.task == TWO:
            raise InvalidInput("Only decisions on revisions can be redone. Compare the two drafts again.")
        item = self.desk.redo(self.annotator, seat)
        return {**self._screen(self._open(view, item), request), self.said: screen.told("Decided again")}

    def step(self, forward: bool, shown: Shown | None, data: Any, seat: str, request: gr.Request) -> dict[Any, Any]:
        """Open an earlier decision, or go forward again."""
        view = self._left(shown, data)
        if view.task == TWO:
            raise InvalidInput("Going back is for revisions. Use Undo to compare the last two drafts again.")
        item = self.desk.step(screen.required(shown).item, seat, self.annotator, forward=forward)
        return self._screen(self._open(view, item), request)

    def flip(self, shown: Shown | None, request: gr.Request, event: gr.EventData) -> dict[Any, Any]:
        """Put another revision of the same draft in front."""
        shown = screen.required(shown)
        data = event._data if isinstance(event._data, dict) else {}
        if shown.item is None or shown.item.revision is None:
            return {self.said: gr.skip()}
        self._keep(shown, data.get("work"))
        item = self.desk.choose(shown.item, str(data.get("revision")))
        return self._screen(self._open(shown.view, item), request)

    def keep(self, shown: Shown | None, event: gr.EventData) -> dict[Any, Any]:
        """Store half-done work; a failure is told beside the text and does not take the hand off it."""
        shown = screen.required(shown)
        sent = event._data if isinstance(event._data, dict) else {}
        answer = {"kind": "kept", "key": shown.key, "serial": sent.get("serial")}
        try:
            saved = self._keep(shown, sent.get("work"))
        except RealignError as error:
            return {self.answer: {**answer, "failed": str(error)}}
        return {self.answer: {**answer, "saved": saved and saved.isoformat()}}

    def carry(self, shown: Shown | None, event: gr.EventData) -> dict[Any, Any]:
        """Bring what was written by hand over to the text that other toggles give."""
        shown = screen.required(shown)
        sent = event._data if isinstance(event._data, dict) else {}
        done = work.handed(sent.get("work"), shown.key, shown.comparison)
        before = sent.get("before")
        if shown.comparison is None or not isinstance(before, list):
            raise InvalidInput("These edits belong to another text. Reload the page.")
        work.check_refused(before, shown.comparison)
        was, now = (self.desk.merge(shown.comparison, refused) for refused in (before, done.refused))
        text = self.desk.carry_over(was, done.final_text, now)
        told = {"from": done.final_text, "before": before, "refused": list(done.refused), "text": text}
        return {self.answer: {"kind": "carried", "key": shown.key, **told}}

    def against(self, shown: Shown | None, event: gr.EventData) -> dict[Any, Any]:
        """Compare the final text, as it is now, with the draft."""
        shown = screen.required(shown)
        done = work.handed(event._data, shown.key, shown.comparison)
        if shown.item is None or shown.item.draft is None:
            raise InvalidInput("There is no draft to compare with yet. Wait until it is written.")
        compared = self.desk.compare(shown.item.draft.text, done.final_text)
        told = {"from": done.final_text, "pieces": work.pieces(compared)}
        return {self.answer: {"kind": "against", "key": shown.key, **told}}

    def turn_view(self, shown: Shown | None, event: gr.EventData) -> dict[Any, Any]:
        """Show texts raw or rendered."""
        shown = screen.required(shown)
        rendered = isinstance(event._data, dict) and event._data.get("rendered") is True
        shown = shown._replace(view=shown.view._replace(rendered=rendered))
        drawing: dict[Any, Any] = {
            self.view: shown.view.habits,
            self.links: screen.links(shown.view),
            self.shown: shown,
        }
        for name, value in screen.texts(shown).items():
            drawing[getattr(self, name)] = value
        return drawing

    def tell(self, shown: Shown | None) -> dict[Any, Any]:
        """Show everything that was ever written for this prompt or decided on it."""
        prompt = screen.required(shown).prompt
        return {self.history: screen.history(self.desk.history(prompt.id) if prompt else None)}

    # --- what the models write ---------------------------------------------------------------------------------------

    def write(self, shown: Shown | None, request: gr.Request) -> Iterator[dict[Any, Any]]:
        """Let the models write what the item lacks."""
        if shown and shown.unwritten:
            yield from self._while_shown(writing.missing(self.desk, self.drafts_desk, shown), request)
        else:
            yield {self.said: gr.skip()}  # a generator that yields nothing would empty every output

    def write_draft(self, shown: Shown | None, request: gr.Request) -> Iterator[dict[Any, Any]]:
        """Write a new draft and its revision."""
        yield from self._while_shown(writing.draft(self.desk, shown), request)

    def write_revision(self, shown: Shown | None, request: gr.Request) -> Iterator[dict[Any, Any]]:
        """Write a new revision."""
        yield from self._while_shown(writing.revision(self.desk, shown), request)

    def write_asked(self, shown: Shown | None, request: gr.Request, event: gr.EventData) -> Iterator[dict[Any, Any]]:
        """Write revisions as the person asks for them."""
        try:
            asking = Asking.model_validate(event._data)
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            raise InvalidInput(f"This cannot be asked for: {first['loc'][-1]}: {first['msg']}.") from error
        yield from self._while_shown(writing.revision(self.desk, shown, asking), request)

    def _while_shown(self, steps: Iterator[Step], request: gr.Request) -> Iterator[dict[Any, Any]]:
        """Draw `steps` until the person has asked for something else: no late text may cover another item."""
        turn = self._next_turn(request)
        last: Shown | None = None
        try:
            for step in steps:
                if self._gone(turn, request):
                    break
                last = step.shown or last
                drawing = self._texts(step.shown) if step.shown else {}
                yield {**drawing, **{getattr(self, name): value for name, value in step.panes.items()}}
        except RealignError:
            if not self._gone(turn, request):
                if last:
                    yield self._texts(last)  # nothing is being written any more
                raise
        yield {self.said: gr.skip()}  # Gradio draws the last step once more when a generator ends
        self.studio.write_ahead()

    def _gone(self, turn: int, request: gr.Request) -> bool:
        return self._turns.get(request.session_hash or "") != turn

    def _next_turn(self, request: gr.Request) -> int:
        session = request.session_hash or ""
        self._turns[session] = self._turns.get(session, 0) + 1
        return self._turns[session]

    # --- what the screen shows ---------------------------------------------------------------------------------------

    def _next(self, view: View, seat: str, request: gr.Request) -> dict[Any, Any]:
        if view.task == TWO:
            return self._screen(Shown(view, two=self.drafts_desk.next_two(seat)), request)
        return self._screen(self._open(view, self.desk.next_revision(seat, self.annotator)), request)

    def _open(self, view: View, item: Any) -> Shown:
        return screen.opened(self.desk, view, item)

    def _screen(self, shown: Shown, request: gr.Request) -> dict[Any, Any]:
        """Draw another item: whatever is still being written for the last one has no place here any more."""
        self._next_turn(request)
        self.studio.write_ahead()
        return self._drawing(shown)

    def _drawing(self, shown: Shown) -> dict[Any, Any]:
        texts = self._texts(shown)
        lacks = shown.prompt is not None and texts[self.work]["mode"] == "wait"
        return {
            self.progress: screen.progress(self.desk.progress(self.annotator)),
            self.said: {},
            **texts,
            self.work: {**texts[self.work], "lacks": lacks},  # lets the browser ask the models for what is missing
        }

    def _buttons(self, view: View) -> dict[Any, Any]:
        named = {**self.rulings, **self.quiet}
        return {named[name]: update for name, update in screen.buttons(view).items()}

    def _texts(self, shown: Shown) -> dict[Any, Any]:
        done = self.desk.work(shown.item, self.annotator) if shown.item else None
        drawing: dict[Any, Any] = {getattr(self, name): value for name, value in screen.texts(shown).items()}
        return {**drawing, self.work: screen.work_of(shown, done, self.desk.form), self.shown: shown}

    def _left(self, shown: Shown | None, data: Any) -> View:
        """Keep what is half done of an item that is being left; return how the person works."""
        shown = screen.required(shown)
        self._keep(shown, data)
        return shown.view

    def _keep(self, shown: Shown, data: Any) -> datetime | None:
        """Store what the browser hands in of a revision; nothing where none is on the screen."""
        if shown.item is None or shown.item.revision is None:
            return datetime.now(UTC)
        item, done = work.handed_on_any(data, shown.item, self.desk)
        return self.desk.keep(item, done.work, self.annotator)


def _button(name: str, kind: str) -> gr.Button:
    variant = "primary" if name == "accept" else "secondary"
    return gr.Button(t(screen.LABELS[name]), elem_id=name, variant=variant, elem_classes=[kind, "r-key-on"])


def _is_seat(seat: object) -> bool:
    return isinstance(seat, str) and len(seat) == 32 and seat.isalnum()
