"""Chat: talk to what you made, with the reviser's pass beside it."""

from collections.abc import Iterator
from typing import Any

import gradio as gr

from realign.errors import InvalidInput
from realign.records import Message, is_empty
from realign.studio import Studio
from realign.ui.boundary import spoken
from realign.ui.drawn import Value, drawn

TITLE = "Chat"
QUIET: dict[str, Any] = {"show_progress": "hidden", "api_visibility": "private"}

Turn = dict[str, str]
NO_TALK = {"title": "Policy", "empty": "Say something to the policy in use."}
NO_REVISION = {"title": "Revision", "empty": "The reviser's version of the last answer."}


def build(studio: Studio, page: gr.Blocks, opened: gr.Tab) -> None:
    """Lay the tab out and wire it."""
    Chat(studio, opened)


class Chat:
    """The components of the tab and what they do."""

    def __init__(self, studio: Studio, opened: gr.Tab) -> None:
        self.studio = studio
        self.turns: gr.State = gr.State([])
        with gr.Row(equal_height=True):
            self.talk = drawn("pane", NO_TALK, elem_id="talk")
            self.revision = drawn(
                "pane",
                NO_REVISION,
                elem_id="chat-revision",
            )
        with gr.Row(elem_classes="r-actions"):
            self.text = gr.Textbox(
                placeholder="Write a message and press Enter",
                label="Message",
                show_label=False,
                container=False,
                elem_id="message",
                elem_classes="r-wide",
            )
            self.send = gr.Button("Send", variant="primary", elem_id="send")
            self.stop = gr.Button("Stop", elem_id="chat-stop")
            self.clear = gr.Button("New conversation", elem_classes="r-quiet", elem_id="chat-clear")
        outputs = [self.text, self.talk, self.revision, self.turns]
        settings: dict[str, Any] = {"concurrency_id": "chat", "concurrency_limit": 4, **QUIET}
        sent = [
            event(spoken(self.answer), [self.text, self.turns], outputs, **settings)
            for event in (self.text.submit, self.send.click)
        ]
        self.stop.click(None, cancels=sent, api_visibility="private")
        self.clear.click(spoken(self.start), None, outputs, cancels=sent, **QUIET)

    def start(self) -> dict[Any, Any]:
        """Begin again."""
        return {self.text: "", self.talk: NO_TALK, self.revision: NO_REVISION, self.turns: []}

    def answer(self, text: str, turns: list[Turn]) -> Iterator[dict[Any, Any]]:
        """Let the policy answer, then show the reviser's version of that answer."""
        if not isinstance(text, str) or is_empty(text):
            raise InvalidInput("The message is empty. Write something first.")
        asked: list[Turn] = [*turns, {"role": "user", "content": text.strip()}]
        messages = tuple(Message.model_validate(turn) for turn in asked)
        policy, reviser = self.studio.spec("policy").label, self.studio.spec("reviser").label
        yield {
            self.text: "",
            self.talk: _talk([*asked, {"role": "assistant", "content": "…"}], policy),
            self.turns: asked,
        }
        said = ""
        for step in self.studio.chat(messages):
            said = step.text
            yield {self.talk: _talk([*asked, {"role": "assistant", "content": said}], policy)}
        told: list[Turn] = [*asked, {"role": "assistant", "content": said}]
        yield {self.turns: told, self.revision: {"title": "Revision", "text": "", "writing": True}}
        for step in self.studio.improve(messages, said):
            yield {self.revision: {"title": "Revision", "note": reviser, "text": step.text, "follow": True}}


def _talk(turns: list[Turn], policy: str) -> Value:
    shown = [{"role": "you" if turn["role"] == "user" else "policy", "text": turn["content"]} for turn in turns]
    return {"title": "Policy", "note": policy, "turns": shown}
