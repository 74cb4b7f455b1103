"""What happens while it trains, written onto the run folder; and the checks that end a run gone wrong."""

import math
import time
from typing import Any

from transformers import TrainerCallback

from realign.errors import RealignError
from realign.records import Record
from realign.runs import LiveRun

LOSS_TOLERANCE = 0.01
MARGIN_TOLERANCE = 1e-3

METRICS = {
    "loss": "loss",
    "margin": "rewards/margins",
    "accuracy": "rewards/accuracies",
    "logps_chosen": "logps/chosen",
    "logps_rejected": "logps/rejected",
    "grad_norm": "grad_norm",
    "learning_rate": "learning_rate",
    "n_pairs": "n_pairs",
}
"""Our name of each metric → TRL's."""


class Measured(Record):
    """Loss and margin of one update."""

    loss: float
    margin: float


class RunCallback(TrainerCallback):  # type: ignore[misc]  # transformers is untyped here
    """Writes metrics and progress, and stops: when a person asks, at NaN, or when the reference is not the start."""

    def __init__(self, run: LiveRun, *, first_loss: float | None) -> None:
        self._run = run
        self._first_loss = first_loss
        self._began = 0.0
        self.first: Measured | None = None
        self.last: Measured | None = None

    @property
    def seconds(self) -> float:
        """Time since training began."""
        return time.monotonic() - self._began

    def on_train_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """Start the clock."""
        self._began = time.monotonic()
        self._progress(state)

    def on_substep_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """Notice a wish to stop within an update; what it had gathered so far is dropped."""
        self._progress(state)

    def on_log(self, args: Any, state: Any, control: Any, logs: dict[str, float] | None = None, **_: Any) -> None:
        """Write one metric row an update. `step` counts the updates done before the loss was measured."""
        if logs is None or "loss" not in logs:
            return
        step = state.global_step - 1
        row = {ours: logs[theirs] for ours, theirs in METRICS.items()}
        self._refuse_nan(step, row)
        self.last = Measured(loss=row["loss"], margin=row["margin"])
        if self.first is None:
            self.first = self.last
            self._refuse_strange_reference(self.first)
        self._run.metric({"step": step, **row, "seconds": round(self.seconds, 3)})
        self._progress(state)

    def _progress(self, state: Any) -> None:
        self._run.progress(state.global_step, state.max_steps, "Training")

    def _refuse_nan(self, step: int, row: dict[str, float]) -> None:
        broken = [name for name, value in row.items() if not math.isfinite(value)]
        if broken:
            raise RealignError(
                f"The {broken[0].replace('_', ' ')} became {row[broken[0]]} at step {step}, so the weights are "
                "worthless from there on and were not kept. Choose a lower learning rate; if it happens at step 0, "
                "the starting model itself is damaged."
            )

    def _refuse_strange_reference(self, first: Measured) -> None:
        expected = self._first_loss
        wrong_loss = expected is not None and abs(first.loss - expected) > LOSS_TOLERANCE
        if wrong_loss or abs(first.margin) > MARGIN_TOLERANCE:
            should = "" if expected is None else f" instead of {expected:.4f}"
            raise RealignError(
                f"The reference is not the starting model: before the first update the loss was {first.loss:.4f}"
                f"{should} and the margin {first.margin:.4f} instead of 0. Nothing was kept. Train again in fp32 "
                "(REALIGN_PRECISION=fp32); if that does not help, the starting adapter does not fit its base model."
            )
