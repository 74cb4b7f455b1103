"""The wording that asks for a revision, by name and version.

A stored revision names its template, and training uses the same wording again: once used, a template is never
edited; a better wording gets a new version.
"""

from typing import NamedTuple, Protocol

from realign.errors import pick
from realign.records import Chat, Message


class Render(Protocol):
    """Turns a prompt and its draft into the conversation that asks for a revision."""

    def __call__(self, prompt: Chat, draft: str) -> Chat: ...


class Template(NamedTuple):
    """A named wording."""

    what: str
    render: Render


REVISER_ROLE = (
    "You're an AI assistant for text re-writing. The input text answers this request: {request}\n\n"
    "Rewrite it so that it answers better: correct, clear and to the point."
)
REQUEST = "Rewrite your answer to be clearer and more concise."


def _single_turn(prompt: Chat, draft: str) -> Chat:
    if len(prompt) == 1:
        request = prompt[0].content
    else:
        request = "\n\n".join(f"{_SPEAKER[message.role]}: {message.content}" for message in prompt)
    # Small models copy a request that stands beside the draft into their answer; in the system message they do not.
    role = REVISER_ROLE.replace("{request}", request)
    return (Message(role="system", content=role), Message(role="user", content=draft))


_SPEAKER = {"system": "Instructions", "user": "User", "assistant": "Assistant"}


def _multi_turn(prompt: Chat, draft: str) -> Chat:
    return (*prompt, Message(role="assistant", content=draft), Message(role="user", content=REQUEST))


TEMPLATES: dict[str, Template] = {
    "single-turn-v1": Template(
        "The system message holds the request and asks for the revision; the user message is the draft.", _single_turn
    ),
    "multi-turn-v1": Template("The draft stands as the assistant's turn, the request follows.", _multi_turn),
}

DEFAULT_TEMPLATE = "single-turn-v1"


def revision_prompt(template: str, prompt: Chat, draft: str, instruction: str = "") -> Chat:
    """Return the conversation that asks for a revision of `draft`, in the wording called `template`.

    What the annotator asks beside it follows where the wording itself asks: in the system message if there is one.
    """
    asked = pick(template, TEMPLATES, "template").render(prompt, draft)
    if not instruction:
        return asked
    at = 0 if template == DEFAULT_TEMPLATE else len(asked) - 1
    told = asked[at].model_copy(update={"content": f"{asked[at].content}\n\n{instruction}"})
    return (*asked[:at], told, *asked[at + 1 :])
