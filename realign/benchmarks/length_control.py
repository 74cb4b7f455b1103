"""The length-controlled win rate of AlpacaEval 2: what the win rate would be if both answers were equally long.

    logit P(model wins) = a · tanh(Δ / sd(Δ)) + b · γ + c · g

Δ is the baseline's length minus the model's, in characters; γ the difficulty of the instruction; g is 1 for the model's
rows and 0 for the gamed rows of the baseline (told to be verbose or concise), which hold a and b in place.
"""

from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from realign.errors import InvalidInput

DifficultyBy = Literal["instruction", "position"]
Vector = npt.NDArray[np.float64]

GAMED_WEIGHT = 0.1
FOLDS = 5
RANDOM_STATE = 123
RESAMPLES = 200


class Gamed(NamedTuple):
    """The gamed rows of the baseline, and every instruction's difficulty."""

    q: tuple[float, ...]
    deltas: tuple[float, ...]
    """Length differences, already divided by their standard deviation."""
    difficulties: tuple[float, ...]
    by_position: tuple[float, ...]
    """Difficulty of each instruction in the benchmark's order."""
    by_instruction: Mapping[str, float] | None


class Rows(NamedTuple):
    """The judged rows of one model."""

    instructions: tuple[str, ...]
    deltas: tuple[int, ...]
    """Characters of the baseline's answer minus those of the model's."""
    q: tuple[float, ...]
    identical: bool
    """Whether every answer equals the baseline's."""


class Weights(NamedTuple):
    """The fitted coefficients."""

    length: float
    difficulty: float
    model: float


class LengthControlled(NamedTuple):
    """The length-controlled win rate, in percent, and how it was had."""

    win_rate: float
    standard_error: float
    """As published: of the mean of the predictions, leaving out that the fit itself is uncertain."""
    bootstrap_error: float
    """Standard deviation over resampled instructions with a fit for each: the honest one."""
    c: float
    """Inverse strength of the L1 regularisation that was used."""
    weights: Weights
    difficulty_by: DifficultyBy


class _Design(NamedTuple):
    features: Vector
    q: Vector
    weights: Vector

    def take(self, chosen: npt.NDArray[np.int64]) -> "_Design":
        return _Design(self.features[chosen], self.q[chosen], self.weights[chosen])


def length_controlled(
    rows: Rows,
    gamed: Gamed,
    *,
    c: float | None,
    difficulty_by: DifficultyBy,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> LengthControlled:
    """Fit the regression and return the win rate it predicts for answers of equal length.

    The baseline against itself is 50 by definition. `c` is chosen by cross-validation where none is given; `resamples`
    fits (two or more) make the bootstrap error.
    """
    if c is not None and not c > 0:
        raise InvalidInput(f"c is the inverse strength of the regularisation, above 0; {c} was given.")
    if rows.identical:
        return LengthControlled(50.0, 0.0, 0.0, c or 0.0, Weights(0.0, 0.0, 0.0), difficulty_by)
    difficulty = _difficulties(rows, gamed, difficulty_by)
    deltas, q = np.array(rows.deltas, dtype=np.float64), np.array(rows.q)
    design = _design(deltas, difficulty, q, gamed)
    chosen = best_c(design) if c is None else c
    weights = _fit(design, chosen)
    predictions = _predict(weights, difficulty)
    generator = np.random.default_rng(seed)
    resampled = []
    for _ in range(resamples):
        drawn = generator.integers(len(q), size=len(q))
        fitted = _fit(_design(deltas[drawn], difficulty[drawn], q[drawn], gamed), chosen)
        resampled.append(predicted_win_rate(fitted, difficulty[drawn]))
    return LengthControlled(
        win_rate=predicted_win_rate(weights, difficulty),
        standard_error=float(100 * predictions.std(ddof=1) / np.sqrt(len(predictions))),
        bootstrap_error=float(np.std(resampled, ddof=1)),
        c=float(chosen),
        weights=weights,
        difficulty_by=difficulty_by,
    )


def predicted_win_rate(weights: Weights, difficulty: Vector) -> float:
    """Return the win rate, in percent, that fitted weights predict for answers of equal length."""
    return float(100 * _predict(weights, difficulty).mean())


def best_c(design: _Design) -> float:
    """Return the C of the published grid with the best held-out log-likelihood over five folds.

    A fold's score is the plain mean over its rows of weight times log-likelihood, not divided by the weights' sum.
    """
    from sklearn.model_selection import GroupKFold  # type: ignore[import-untyped]

    grid = np.logspace(-4, 4, 10)
    scores = np.zeros(len(grid))
    rows = np.arange(len(design.q))
    for train, test in GroupKFold(FOLDS).split(design.features, groups=rows):
        held_out = design.take(test)
        for i, c in enumerate(grid):
            weights = _fit(design.take(train), float(c))
            logits = held_out.features @ np.array(weights)
            likelihood = -held_out.q * np.logaddexp(0, -logits) - (1 - held_out.q) * np.logaddexp(0, logits)
            scores[i] += np.mean(held_out.weights * likelihood) / FOLDS
    return float(grid[np.argmax(scores)])


def _difficulties(rows: Rows, gamed: Gamed, difficulty_by: DifficultyBy) -> Vector:
    if difficulty_by == "position":
        if len(rows.q) > len(gamed.by_position):
            raise InvalidInput(f"There are {len(rows.q)} rows for {len(gamed.by_position)} difficulties.")
        return np.array(gamed.by_position[: len(rows.q)])
    if gamed.by_instruction is None:
        raise InvalidInput(
            "Difficulties are attached by instruction, and the gamed rows do not quote theirs. Name the benchmark's "
            "list of instructions too, or attach difficulties by position."
        )
    known = gamed.by_instruction
    unknown: Sequence[str] = [instruction for instruction in rows.instructions if instruction not in known]
    if unknown:
        raise InvalidInput(
            f"{len(unknown)} instructions are not in the benchmark, the first of them '{unknown[0][:60]}'. A length-"
            "controlled win rate needs the benchmark's own instructions, unchanged."
        )
    return np.array([known[instruction] for instruction in rows.instructions])


def _design(deltas: Vector, difficulty: Vector, q: Vector, gamed: Gamed) -> _Design:
    spread = deltas.std(ddof=1)
    length = np.tanh(deltas / spread) if spread else np.zeros(len(deltas))
    fixed = np.column_stack([np.tanh(gamed.deltas), gamed.difficulties, np.zeros(len(gamed.q))])
    own = np.column_stack([length, difficulty, np.ones(len(q))])
    return _Design(
        features=np.vstack([fixed, own]),
        q=np.concatenate([gamed.q, q]),
        weights=np.concatenate([np.full(len(gamed.q), GAMED_WEIGHT), np.ones(len(q))]),
    )


def _fit(design: _Design, c: float) -> Weights:
    from sklearn.linear_model import LogisticRegression  # type: ignore[import-untyped]

    regression = LogisticRegression(C=c, l1_ratio=1, solver="liblinear", fit_intercept=False, random_state=RANDOM_STATE)
    n = len(design.q)
    regression.fit(
        np.vstack([design.features, design.features]),
        np.concatenate([np.ones(n), np.zeros(n)]),
        sample_weight=np.concatenate([design.weights * design.q, design.weights * (1 - design.q)]),
    )
    length, difficulty, model = regression.coef_[0]
    return Weights(float(length), float(difficulty), float(model))


def _predict(weights: Weights, difficulty: Vector) -> Vector:
    return np.asarray(1 / (1 + np.exp(-(weights.difficulty * difficulty + weights.model))), dtype=np.float64)
