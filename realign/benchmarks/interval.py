"""How sure a mean of 0s, halves and 1s is: a bootstrap over prompts, or Wilson's interval where that says nothing."""

from collections.abc import Sequence
from statistics import NormalDist
from typing import NamedTuple

import numpy as np

from realign.errors import InvalidInput

FEWEST_TO_RESAMPLE = 10
"""With fewer prompts the bootstrap sees too few distinct samples, and its interval comes out too narrow."""

FEWEST_RESAMPLES = 100


class Interval(NamedTuple):
    """Both ends, in percent."""

    lower: float
    upper: float


def interval(sums: Sequence[float], weights: Sequence[float], *, level: float, resamples: int, seed: int) -> Interval:
    """Return the interval of 100 · Σ sums / Σ weights, where each prompt brought one sum of results and one weight.

    A bootstrap over prompts; with fewer than ten of them, or where all came out the same, Wilson's interval instead: a
    bootstrap of identical results has width 0 and would claim certainty.
    """
    results, totals = np.asarray(sums, dtype=np.float64), np.asarray(weights, dtype=np.float64)
    if len(results) < FEWEST_TO_RESAMPLE or np.ptp(results / totals) == 0:
        return wilson(float(results.sum() / totals.sum()), len(results), level)
    return bootstrap(sums, weights, level=level, resamples=resamples, seed=seed)


def bootstrap(sums: Sequence[float], weights: Sequence[float], *, level: float, resamples: int, seed: int) -> Interval:
    """Return the percentile interval of 100 · Σ sums / Σ weights over units drawn with replacement.

    A unit is what is independent of the others: a prompt with all its games. The interval holds the rate itself.
    """
    _check_level(level)
    if resamples < FEWEST_RESAMPLES:
        raise InvalidInput(f"An interval needs {FEWEST_RESAMPLES} resamples or more; {resamples} was given.")
    results, totals = np.asarray(sums, dtype=np.float64), np.asarray(weights, dtype=np.float64)
    generator = np.random.default_rng(seed)
    drawn = np.empty(resamples)
    for i in range(resamples):
        sample = generator.integers(len(results), size=len(results))
        drawn[i] = results[sample].sum() / totals[sample].sum()
    lower, upper = np.quantile(drawn, [(1 - level) / 2, (1 + level) / 2])
    rate = float(results.sum() / totals.sum())
    return Interval(100 * min(float(lower), rate), 100 * max(float(upper), rate))


def wilson(rate: float, n: int, level: float) -> Interval:
    """Return Wilson's score interval of a share `rate` among `n`, in percent; it has a width even at 0 and at 1."""
    _check_level(level)
    z = NormalDist().inv_cdf((1 + level) / 2)
    centre = (rate + z * z / (2 * n)) / (1 + z * z / n)
    half = z * ((rate * (1 - rate) + z * z / (4 * n)) / n) ** 0.5 / (1 + z * z / n)
    return Interval(100 * max(0.0, min(rate, centre - half)), 100 * min(1.0, max(rate, centre + half)))


def _check_level(level: float) -> None:
    if not 0 < level < 1:
        raise InvalidInput(f"The level of an interval lies between 0 and 1, as 0.95 does; {level} was given.")
