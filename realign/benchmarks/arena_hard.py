"""Arena-Hard judgments → score and interval.

Every prompt is judged twice: in game 1 the baseline is A and the model is B, in game 2 they are swapped. A strong
verdict (`>>`) counts three times. Every battle is against the baseline, so the Bradley–Terry model of v0.1 gives the
weighted mean of the battles; v2.0 takes that mean by definition. Style control is not applied.
"""

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple, Self

from pydantic import AliasChoices, BaseModel, ConfigDict, Field, model_validator

from realign.benchmarks.files import Placed, parsed, read_rows
from realign.benchmarks.interval import Interval, bootstrap, interval
from realign.errors import InvalidInput, pick

Resample = Literal["prompts", "battles"]

RESAMPLES: dict[Resample, int] = {"prompts": 2000, "battles": 100}


class Battle(NamedTuple):
    """What one verdict is worth to the side shown as A: a result of 0 to 1, and how often it counts."""

    result: float
    copies: int


STRONG = 3

VERDICTS: dict[str, Battle] = {
    "A>>B": Battle(1.0, STRONG),
    "A>B": Battle(1.0, 1),
    "A=B": Battle(0.5, 1),
    "A<B": Battle(0.0, 1),
    "A<<B": Battle(0.0, STRONG),
    "B>>A": Battle(0.0, STRONG),
    "B>A": Battle(0.0, 1),
    "B=A": Battle(0.5, 1),
    "B<A": Battle(1.0, 1),
    "B<<A": Battle(1.0, STRONG),
}

_DOUBLE = re.compile(r"\[\[([AB<>=]+)\]\]")
_SINGLE = re.compile(r"\[([AB<>=]+)\]")


def only_verdict(text: str) -> str | None:
    """Return the verdict of a v0.1 judgment; None where it holds none, two different ones, or an unknown one."""
    found = set(_DOUBLE.findall(text))
    return found.pop() if len(found) == 1 and found <= VERDICTS.keys() else None


def last_verdict(text: str) -> str | None:
    """Return the last verdict of a v2.0 judgment, in double brackets or else in single ones; None where unknown."""
    found = _DOUBLE.findall(text.upper()) or _SINGLE.findall(text.upper())
    return found[-1] if found and found[-1] in VERDICTS else None


class Version(NamedTuple):
    """What differs between the versions of Arena-Hard."""

    verdict: Callable[[str], str | None]
    whole_prompts: bool
    """Whether a prompt is dropped when either of its games has no verdict, or only that game."""
    level: float


VERSIONS: dict[str, Version] = {
    "v0.1": Version(only_verdict, whole_prompts=False, level=0.95),
    "v2.0": Version(last_verdict, whole_prompts=True, level=0.90),
}


class JudgedGame(BaseModel):
    """One game as the judge left it; `score` is its verdict where the file holds it already."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    score: str | None = None
    judgment: str | dict[str, Any] | None = None

    @model_validator(mode="after")
    def _says_something(self) -> Self:
        if not self.model_fields_set:
            raise ValueError("a game needs 'score' or 'judgment'")
        return self

    @property
    def text(self) -> str:
        """What the judge wrote."""
        words = self.judgment.get("answer") if isinstance(self.judgment, dict) else self.judgment
        return words if isinstance(words, str) else ""


class Judgment(BaseModel):
    """One prompt with both of its games: a line of a judgment file; other fields are passed over."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    uid: str = Field(validation_alias=AliasChoices("uid", "question_id"))
    model: str
    judge: str = ""
    category: str = ""
    games: tuple[JudgedGame | None, JudgedGame | None]


class ArenaHardScore(NamedTuple):
    """How a model fares against the baseline; `score`, `lower` and `upper` in percent."""

    model: str
    judge: str
    version: str
    category: str
    score: float
    lower: float
    upper: float
    level: float
    resample: Resample
    n_prompts: int
    n_games: int
    """Games that count."""
    n_unjudged: int
    """Games left out: those without a verdict and, in v2.0, the other game of their prompt."""


def read_judgments(path: Path) -> list[Mapping[str, Any]]:
    """Return the rows of a judgment file; raise `InvalidInput` that names file, line and field."""
    placed = read_rows(path)
    for row in placed:
        parsed(Judgment, row)
    return [row.row for row in placed]


def score_judgments(
    rows: Sequence[Mapping[str, Any]],
    version: str,
    *,
    category: str | None = None,
    resample: Resample = "prompts",
    seed: int = 0,
) -> ArenaHardScore:
    """Return the score of one model by one judge, in one category where the file holds several.

    The interval resamples prompts: two games and three copies of a strong verdict belong together. "battles" resamples
    as the reference does, 100 times, for comparison; it claims to know more than it does. Raises `InvalidInput` where
    a row is faulty, where nothing was judged, or where rows of several models, judges or categories are mixed.
    """
    rules = pick(version, VERSIONS, "version of Arena-Hard")
    judgments = [parsed(Judgment, Placed(f"Row {n}", row)) for n, row in enumerate(rows, 1)]
    if category is not None:
        judgments = [judgment for judgment in judgments if judgment.category == category]
    _refuse_mixtures(judgments)
    played = [battles for judgment in judgments if (battles := battles_of(judgment, rules))]
    if not played:
        raise InvalidInput(
            f"None of the {2 * len(judgments)} games has a verdict, so there is no score. Look at what the judge "
            "replied, and judge again."
        )
    every = [battle for battles in played for battle in battles]
    lower, upper = _interval(played, resample, rules.level, seed)
    n_games = len(every)
    return ArenaHardScore(
        model=judgments[0].model,
        judge=judgments[0].judge,
        version=version,
        category=judgments[0].category,
        score=100 * sum(battle.result * battle.copies for battle in every) / sum(battle.copies for battle in every),
        lower=lower,
        upper=upper,
        level=rules.level,
        resample=resample,
        n_prompts=len(played),
        n_games=n_games,
        n_unjudged=2 * len(judgments) - n_games,
    )


def battles_of(judgment: Judgment, rules: Version) -> list[Battle]:
    """Return the battles of one prompt as the model sees them; games without a verdict are left out."""
    as_b, as_a = (_verdict(game, rules) for game in judgment.games)
    if rules.whole_prompts and (as_a is None or as_b is None):
        return []
    turned = [] if as_b is None else [Battle(1 - VERDICTS[as_b].result, VERDICTS[as_b].copies)]
    return turned + ([] if as_a is None else [VERDICTS[as_a]])


def _verdict(game: JudgedGame | None, rules: Version) -> str | None:
    if game is None:
        return None
    if "score" in game.model_fields_set:
        return game.score if game.score in VERDICTS else None
    return rules.verdict(game.text)


def _interval(played: Sequence[Sequence[Battle]], resample: Resample, level: float, seed: int) -> Interval:
    if resample == "battles":
        copies = [battle.result for battles in played for battle in battles for _ in range(battle.copies)]
        return bootstrap(copies, [1.0] * len(copies), level=level, resamples=RESAMPLES[resample], seed=seed)
    sums = [sum(battle.result * battle.copies for battle in battles) for battles in played]
    weights = [float(sum(battle.copies for battle in battles)) for battles in played]
    return interval(sums, weights, level=level, resamples=RESAMPLES[resample], seed=seed)


def _refuse_mixtures(judgments: Sequence[Judgment]) -> None:
    for field, what in (("model", "models"), ("judge", "judges"), ("category", "categories")):
        if len(names := sorted({getattr(judgment, field) for judgment in judgments})) > 1:
            raise InvalidInput(f"The rows mix {what} (field '{field}': {', '.join(names)}). Score each by itself.")
    repeated = [uid for uid, n in Counter(judgment.uid for judgment in judgments).items() if n > 1]
    if repeated:
        raise InvalidInput(f"The prompt '{repeated[0]}' was judged in several rows. Keep one of them.")
