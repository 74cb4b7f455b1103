"""The built-in plain checks as a rating of one answer and as a judge of two.

Made for development and for ranking drafts where nothing better is at hand: it sees form, not truth.
"""

from collections.abc import Callable
from typing import NamedTuple

from realign.judges import Judgement, Preferred, asked, checks
from realign.records import Chat, Game

Check = Callable[[Chat, str], float | None]

CHECKS: dict[str, Check] = {
    "not empty": checks.not_empty,
    "ended": checks.ended,
    "no repetition": checks.no_repetition,
    "no task talk": checks.no_task_talk,
    "no control tokens": checks.no_control_tokens,
    "language": checks.language,
    "on topic": checks.on_topic,
    "length": checks.length,
    "word limit": asked.word_limit,
    "sentence limit": asked.sentence_limit,
    "items": asked.items,
    "list": asked.list_form,
    "mentions": asked.mentions,
    "code": asked.code,
    "JSON only": asked.json_only,
}

WEIGHTS: dict[str, float] = {
    "not empty": 1,
    "ended": 2,
    "no repetition": 3,
    "no task talk": 1,
    "no control tokens": 1,
    "language": 2,
    "on topic": 3,
    "length": 3,
    "word limit": 3,
    "sentence limit": 3,
    "items": 3,
    "list": 2,
    "mentions": 3,
    "code": 3,
    "JSON only": 3,
}
"""What each check counts in the mean; a check that says nothing about a prompt counts nothing."""

TIE = 0.02
"""Two totals no further apart than this are a tie."""


class Rating(NamedTuple):
    """What the plain checks say of one answer."""

    total: float
    """Weighted mean of the checks, 0 to 1."""
    checks: dict[str, float]
    """The checks that apply to this prompt."""


class RubricJudge:
    """Prefers the answer with the higher rating."""

    name = "rubric"
    version = "1"

    def judge(self, game: Game) -> Judgement:
        """Compare the ratings; the words name both totals and the checks that differ most."""
        first, second = rate(game.prompt, game.first), rate(game.prompt, game.second)
        ahead = first.total - second.total
        preferred: Preferred = "tie" if abs(ahead) <= TIE + 1e-9 else "first" if ahead > 0 else "second"
        totals = f"First {first.total:.2f}, second {second.total:.2f}"
        return Judgement(preferred, f"{totals}{', a tie' if preferred == 'tie' else ''}: {_difference(first, second)}.")


def rate(prompt: Chat, text: str) -> Rating:
    """Rate an answer by the plain checks; an empty answer passes none of them."""
    found = {name: check(prompt, text) for name, check in CHECKS.items()}
    applied = {name: value for name, value in found.items() if value is not None}
    if not applied["not empty"]:
        return Rating(0.0, dict.fromkeys(applied, 0.0))
    weight = sum(WEIGHTS[name] for name in applied)
    return Rating(sum(WEIGHTS[name] * value for name, value in applied.items()) / weight, applied)


def _difference(first: Rating, second: Rating) -> str:
    apart = {
        name: WEIGHTS[name] * abs(value - second.checks[name])
        for name, value in first.checks.items()
        if name in second.checks and abs(value - second.checks[name]) >= 0.005
    }
    if not apart:
        return "no check tells them apart"
    most = sorted(apart, key=lambda name: -apart[name])[:3]
    told = [f"{name} ({first.checks[name]:.2f} against {second.checks[name]:.2f})" for name in most]
    return f"they differ most in {', '.join(told)}"
