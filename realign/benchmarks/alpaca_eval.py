"""AlpacaEval 2 annotations → win rate and length-controlled win rate, equal to the published numbers.

A row compares the baseline's answer (`output_1`) with the model's (`output_2`); its preference lies between 1 (the
baseline wins) and 2 (the model wins). q = preference − 1 is the share of the win that goes to the model.
"""

import csv
import io
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np
from pydantic import BaseModel, ConfigDict, model_validator

from realign.benchmarks.files import Placed, parsed, read_rows, read_text
from realign.benchmarks.length_control import RESAMPLES, DifficultyBy, Gamed, LengthControlled, Rows, length_controlled
from realign.errors import InvalidInput

TIE = 0.5


class Annotation(BaseModel):
    """One row of `annotations.json`; other fields are passed over."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    instruction: str
    output_1: str
    output_2: str
    preference: float | None
    """1 to 2; 0 is an old code for a tie; null, or NaN, is unjudged."""
    generator_1: str = ""
    generator_2: str = ""
    annotator: str = ""

    @model_validator(mode="after")
    def _in_range(self) -> Self:
        if self.q is not None and not 0 <= self.q <= 1:
            raise ValueError(f"the preference {self.preference} is neither 0 nor between 1 and 2")
        return self

    @property
    def q(self) -> float | None:
        """The model's share of the win, or None where no judge ruled; two identical answers are a tie."""
        if self.output_1 == self.output_2 or self.preference == 0:
            return TIE
        return None if self.preference is None or math.isnan(self.preference) else self.preference - 1


class AlpacaEvalScore(NamedTuple):
    """What AlpacaEval 2 reports of one model; rates and errors in percent."""

    model: str
    baseline: str
    judge: str
    win_rate: float
    standard_error: float
    discrete_win_rate: float
    """Every preference rounded to a win or a loss first; ties count one half."""
    n: int
    n_unjudged: int
    n_wins: int
    n_wins_baseline: int
    n_draws: int
    avg_length: int
    """Mean characters of the model's answers."""
    weighted: bool
    """Whether preferences carry probabilities; False: whole verdicts only, as when a server gives no logprobs."""
    length_controlled: LengthControlled | None
    """None without the gamed rows: unregularised, the number moves by up to 2.5 points."""


def read_annotations(path: Path) -> list[Mapping[str, Any]]:
    """Return the rows of an `annotations.json`; raise `InvalidInput` that names file, row and field."""
    placed = read_rows(path)
    for row in placed:
        parsed(Annotation, row)
    return [row.row for row in placed]


def read_gamed(path: Path, prompts: Path | None = None) -> Gamed:
    """Return the rows of `df_gamed.csv`, which regularise the fit and hold each instruction's difficulty.

    The file numbers its instructions without quoting them; `prompts` is the benchmark's list of instructions in that
    order (`alpaca_eval.json`, the baseline's answers). Without it difficulties can be attached by position only.
    """
    table = csv.DictReader(io.StringIO(read_text(path)))
    columns = ("index", "preference", "std_delta_len", "instruction_difficulty")
    if missing := [column for column in columns if column not in (table.fieldnames or ())]:
        raise InvalidInput(f"{path.name} lacks the column '{missing[0]}'. It should be df_gamed.csv of AlpacaEval 2.")
    rows = [[_number(path.name, n, column, row[column]) for column in columns] for n, row in enumerate(table, 1)]
    difficulty = {int(index): value for index, _, _, value in rows}
    if sorted(difficulty) != list(range(len(difficulty))):
        raise InvalidInput(f"{path.name}: the column 'index' should number the instructions from 0 without a gap.")
    ordered = tuple(difficulty[index] for index in range(len(difficulty)))
    return Gamed(
        q=tuple(q for _, q, _, _ in rows),
        deltas=tuple(delta for _, _, delta, _ in rows),
        difficulties=tuple(value for _, _, _, value in rows),
        by_position=ordered,
        by_instruction=_by_instruction(prompts, ordered) if prompts else None,
    )


def score_annotations(
    rows: Sequence[Mapping[str, Any]],
    gamed: Gamed | None,
    *,
    c: float | None = None,
    difficulty_by: DifficultyBy = "instruction",
    resamples: int = RESAMPLES,
) -> AlpacaEvalScore:
    """Return the score of one model's annotations.

    `c` fixes the strength of the regularisation, which is chosen by cross-validation otherwise; some published numbers
    need the one they were made with. `resamples` fits make the length-controlled rate's bootstrap error. Raises
    `InvalidInput` where a row is faulty, where fewer than two rows were judged, or where the rows belong to several
    models or judges.
    """
    annotations = [parsed(Annotation, Placed(f"Row {n}", row)) for n, row in enumerate(rows, 1)]
    _refuse_mixtures(annotations)
    judged = [(row, q) for row in annotations if (q := row.q) is not None]
    if len(judged) < 2:
        raise InvalidInput(
            f"{len(judged)} of the {len(annotations)} rows have a preference; a win rate and its error need two. Look "
            "at what the judge replied, and judge again."
        )
    results = np.array([q for _, q in judged])
    n, n_draws, n_wins = len(results), int(np.sum(results == TIE)), int(np.sum(results > TIE))
    return AlpacaEvalScore(
        model=annotations[0].generator_2,
        baseline=annotations[0].generator_1,
        judge=annotations[0].annotator,
        win_rate=float(100 * results.mean()),
        standard_error=float(100 * results.std(ddof=1) / math.sqrt(n)),
        discrete_win_rate=100 * (n_wins + n_draws / 2) / n,
        n=n,
        n_unjudged=len(annotations) - n,
        n_wins=n_wins,
        n_wins_baseline=n - n_wins - n_draws,
        n_draws=n_draws,
        avg_length=int(np.mean([len(row.output_2) for row in annotations])),
        weighted=not set(results.tolist()) <= {0.0, TIE, 1.0},
        length_controlled=_length_controlled(judged, gamed, c, difficulty_by, resamples) if gamed else None,
    )


def preference_from_logprobs(logprobs: Mapping[str, float], *, switched: bool) -> float | None:
    """Return the preference (1 to 2) that the judge's first token stands for; None where it names neither answer.

    `logprobs` holds the likeliest first tokens: `m` names the answer shown first, `M` the one shown second, and a
    letter that is missing has no probability. `switched`: the model's answer was shown first.
    """
    first, second = (math.exp(logprobs[letter]) if letter in logprobs else 0.0 for letter in "mM")
    if not first + second:
        return None
    preference = 2 - first / (first + second)
    return 3 - preference if switched else preference


def _length_controlled(
    judged: Sequence[tuple[Annotation, float]],
    gamed: Gamed,
    c: float | None,
    difficulty_by: DifficultyBy,
    resamples: int,
) -> LengthControlled:
    rows = Rows(
        instructions=tuple(row.instruction for row, _ in judged),
        deltas=tuple(len(row.output_1) - len(row.output_2) for row, _ in judged),
        q=tuple(q for _, q in judged),
        identical=all(row.output_1 == row.output_2 for row, _ in judged),
    )
    return length_controlled(rows, gamed, c=c, difficulty_by=difficulty_by, resamples=resamples)


def _refuse_mixtures(annotations: Sequence[Annotation]) -> None:
    for field, what in (("generator_2", "models"), ("generator_1", "baselines"), ("annotator", "judges")):
        if len(names := sorted({getattr(row, field) for row in annotations})) > 1:
            raise InvalidInput(f"The rows mix {what} (field '{field}': {', '.join(names)}). Score each by itself.")
    first: dict[str, int] = {}
    for n, row in enumerate(annotations, 1):
        if first.setdefault(row.instruction, n) != n:
            raise InvalidInput(f"Row {n} repeats the instruction of row {first[row.instruction]}. Keep one of them.")


def _by_instruction(prompts: Path, ordered: Sequence[float]) -> dict[str, float]:
    placed = read_rows(prompts)
    if len(placed) != len(ordered):
        raise InvalidInput(
            f"{prompts.name} holds {len(placed)} instructions, but there are {len(ordered)} difficulties."
        )
    for place, row in placed:
        if not isinstance(row.get("instruction"), str):
            raise InvalidInput(f"{place} lacks the field 'instruction'.")
    return {row["instruction"]: value for (_, row), value in zip(placed, ordered, strict=True)}


def _number(name: str, n: int, column: str, value: str | None) -> float:
    try:
        number = float(value or "")
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise InvalidInput(f"{name}, row {n}, column '{column}': '{value}' is not a number.")
    return number
