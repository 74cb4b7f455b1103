"""Verdicts → win rate with its interval, and the plain statistics of texts that stand beside it."""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from realign.benchmarks.interval import interval
from realign.errors import InvalidInput
from realign.judges.checks import is_whole, repeated_4grams
from realign.judges.words import words
from realign.records import Game, Verdict, chat_hash


class WinRate(NamedTuple):
    """How often the model was preferred; `win_rate`, `lower` and `upper` in percent, a tie counts one half."""

    win_rate: float
    lower: float
    upper: float
    level: float
    n: int
    """Games with a verdict: those the rate is made of."""
    n_unjudged: int
    """Games without a readable verdict, left out of the rate."""
    wins: int
    losses: int
    ties: int


class TextStatistics(NamedTuple):
    """Length and completeness of a model's texts: a score says little without them."""

    words: float
    """Mean number of words."""
    ended: float
    """Share of texts that look finished."""
    repeated_4grams: float
    """Mean share of word 4-grams that occurred earlier in the same text."""


def win_rate(
    games: Iterable[Game], verdicts: Iterable[Verdict], *, level: float = 0.95, resamples: int = 2000, seed: int = 0
) -> WinRate:
    """Return how often the model under test was preferred over `games`, by the verdicts of one judge.

    The latest verdict on a game counts. A game without a verdict, or whose verdict is None, is unjudged: counted, and
    never taken for a tie. The interval comes from a seeded bootstrap over prompts; with fewer than ten prompts, or
    where all results are equal, from Wilson's formula, because a bootstrap of identical results has width 0. Raises
    `InvalidInput` where nothing was judged, where judges are mixed, or where a verdict belongs to none of the games.
    """
    played = {game.id: game for game in games}
    latest = _latest(verdicts, played)
    by_prompt: dict[str, list[float]] = {}
    for game_id, game in played.items():
        verdict = latest.get(game_id)
        if verdict is not None and verdict.preferred is not None:
            by_prompt.setdefault(chat_hash(game.prompt), []).append(_result(game, verdict))
    results = [result for prompt in by_prompt.values() for result in prompt]
    if not results:
        raise InvalidInput(
            f"None of the {len(played)} games has a verdict, so there is no win rate. Judge some of them first, or "
            "look at what the judge replied."
        )
    lower, upper = interval(
        [sum(prompt) for prompt in by_prompt.values()],
        [len(prompt) for prompt in by_prompt.values()],
        level=level,
        resamples=resamples,
        seed=seed,
    )
    wins, losses = results.count(1.0), results.count(0.0)
    return WinRate(
        win_rate=100 * sum(results) / len(results),
        lower=lower,
        upper=upper,
        level=level,
        n=len(results),
        n_unjudged=len(played) - len(results),
        wins=wins,
        losses=losses,
        ties=len(results) - wins - losses,
    )


def text_statistics(texts: Sequence[str]) -> TextStatistics:
    """Return length and completeness of `texts`; raise `InvalidInput` where there are none."""
    if not texts:
        raise InvalidInput("There are no texts to count words in.")
    return TextStatistics(
        words=sum(len(words(text)) for text in texts) / len(texts),
        ended=sum(map(is_whole, texts)) / len(texts),
        repeated_4grams=sum(map(repeated_4grams, texts)) / len(texts),
    )


def _latest(verdicts: Iterable[Verdict], played: Mapping[str, Game]) -> dict[str, Verdict]:
    latest: dict[str, Verdict] = {}
    for verdict in sorted(verdicts, key=lambda verdict: verdict.created):
        if verdict.game_id not in played:
            raise InvalidInput(
                f"Verdict '{verdict.id}' is about game '{verdict.game_id}', which is not among the games."
            )
        latest[verdict.game_id] = verdict
    judges = sorted({verdict.judge for verdict in latest.values()})
    if len(judges) > 1:
        raise InvalidInput(f"The verdicts come from {len(judges)} judges ({', '.join(judges)}). Score each by itself.")
    return latest


def _result(game: Game, verdict: Verdict) -> float:
    if verdict.preferred == "tie":
        return 0.5
    return 1.0 if (verdict.preferred == "first") == game.first_is_model else 0.0
