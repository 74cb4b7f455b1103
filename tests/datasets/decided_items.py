"""Small records for the tests of the datasets."""

from collections.abc import Callable
from datetime import UTC, datetime
from itertools import count

from realign.records import (
    Chat,
    Decided,
    Decision,
    Decoding,
    Draft,
    Edit,
    Finish,
    Message,
    ModelRef,
    Prompt,
    Revision,
    Ruling,
)

NOON = datetime(2026, 12, 1, 12, 0, tzinfo=UTC)
MODEL = ModelRef(source="tiny", revision="c0ffee")


def user(text: str) -> Message:
    return Message(role="user", content=text)


def assistant(text: str) -> Message:
    return Message(role="assistant", content=text)


def ids() -> Callable[[], str]:
    """Give `new-1`, `new-2` …"""
    numbers = count(1)
    return lambda: f"new-{next(numbers)}"


def prompt(name: str = "p", text: str = "Why is the sky blue?") -> Prompt:
    return Prompt(id=name, messages=(user(text),), origin="typed", created=NOON)


def draft(text: str = "draft", *, name: str = "d", on: str = "p", finish: Finish = "stop") -> Draft:
    return Draft(id=name, prompt_id=on, text=text, model=MODEL, decoding=Decoding(), finish=finish, created=NOON)


def revision(text: str = "revision", *, name: str = "r", on: str = "d", finish: Finish = "stop") -> Revision:
    return Revision(
        id=name,
        draft_id=on,
        text=text,
        model=MODEL,
        template="single-turn-v1",
        decoding=Decoding(),
        finish=finish,
        created=NOON,
    )


def decided(
    ruling: Ruling,
    *,
    first: str = "draft",
    revised: str = "revision",
    final: str | None = None,
    name: str = "1",
    question: str = "Why is the sky blue?",
) -> Decided:
    """A decision `c<name>` of Ann's; without `final` the text that stands is the one her ruling names."""
    stands = revised if ruling in ("accepted", "edited") else first
    return Decided(
        prompt(f"p{name}", question),
        draft(first, name=f"d{name}", on=f"p{name}"),
        revision(revised, name=f"r{name}", on=f"d{name}"),
        Decision(
            id=f"c{name}",
            prompt_id=f"p{name}",
            draft_id=f"d{name}",
            revision_id=f"r{name}",
            ruling=ruling,
            final_text=stands if final is None else final,
            edits=(Edit(op="replace", old=first, new=revised, accepted=True),),
            annotator="Ann",
            reasons=("clearer",),
            comment="Good.",
            started=NOON,
            decided=NOON,
            active_ms=1200,
        ),
    )


def render(item: Decided) -> Chat:
    """A revision prompt in three turns, as the renderer that is passed in would write it."""
    return (*item.prompt.messages, assistant(item.draft.text), user(f"Improve it ({item.revision.template})."))
