"""Which of two answers is better: one protocol, whoever says so.

A person judges on the screen, blind and at their own pace, so `PERSON` names that judge in scores and verdicts but has
no entry in `JUDGES`: nothing can call it. A new judge that can be called is one entry there.
"""

from collections.abc import Callable
from typing import Literal, NamedTuple, Protocol

from realign.records import Game

Preferred = Literal["first", "second", "tie"]

PERSON = "person"


class Judgement(NamedTuple):
    """What a judge said of one game."""

    preferred: Preferred | None
    """None: no readable answer; such a game is unjudged, never a tie."""
    words: str
    """The reason in one sentence, as a person may read it."""


class Judge(Protocol):
    """Something that compares the two answers of a game."""

    name: str
    version: str
    """Raised whenever the same game may be judged differently than before."""

    def judge(self, game: Game) -> Judgement:
        """Say which side is better; the judge is never told which side is the model under test."""
        ...


def _rubric() -> Judge:
    from realign.judges.rubric import RubricJudge

    return RubricJudge()


JUDGES: dict[str, Callable[[], Judge]] = {
    "rubric": _rubric,
}
