"""What a benchmark run was asked to do, and the record of how it came out."""

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from realign.benchmarks.win_rate import win_rate
from realign.models.catalog import ModelSpec
from realign.records import Decoding, Game, Score, Verdict


class BenchmarkConfig(BaseModel):
    """What a benchmark run works with: the config of its `run.json`."""

    model_config = ConfigDict(frozen=True, extra="forbid", protected_namespaces=(), use_attribute_docstrings=True)

    model: ModelSpec
    baseline: ModelSpec
    model_label: str
    """Name of the model on screens and in the score."""
    baseline_label: str
    benchmark: str = "heldout"
    judge: str
    """`person`, or a name in `JUDGES`."""
    decoding: Decoding
    seed: int = 0
    """Decides which side of each game the model is on."""
    batch_size: int = Field(16, ge=1)


def score_of(
    run_name: str,
    config: Mapping[str, Any],
    games: Iterable[Game],
    verdicts: Iterable[Verdict],
    judge: str,
    *,
    now: datetime,
    new_id: str,
) -> Score:
    """Return the score of a benchmark run by the verdicts of `judge`; verdicts of other judges are passed over.

    `config` is the config of the run's `run.json`. Raises `InvalidInput` where that judge judged nothing.
    """
    asked = BenchmarkConfig.model_validate(config)
    rate = win_rate(games, [verdict for verdict in verdicts if verdict.judge == judge])
    return Score(
        id=new_id,
        run=run_name,
        benchmark=asked.benchmark,
        model=asked.model_label,
        baseline=asked.baseline_label,
        judge=judge,
        win_rate=rate.win_rate,
        lower=rate.lower,
        upper=rate.upper,
        level=rate.level,
        n=rate.n,
        n_unjudged=rate.n_unjudged,
        decoding=asked.decoding,
        created=now,
    )
