"""Pairs and runs to train on in tests."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from realign import runs
from realign.models.catalog import ModelSpec
from realign.models.loading import load
from realign.records import Message, Pair, PairKind
from realign.runs import LiveRun
from realign.training.config import TrainConfig
from realign.training.fit import starting_point
from realign.training.rows import prepare
from realign.training.trainer import ReAlignTrainer, build_trainer


def pair(number: int = 0, kind: PairKind = "on_policy", **changes: Any) -> Pair:
    """A pair about one number; `changes` replaces fields."""
    fields: dict[str, Any] = {
        "kind": kind,
        "relation": "final_over_draft",
        "prompt": (Message(role="user", content=f"What is {number}?"),),
        "chosen": f"It is the number {number}.",
        "rejected": f"I do not know about {number}, sorry.",
        "prompt_hash": str(number),
    }
    return Pair(**{**fields, **changes})


def pairs(on_policy: int = 0, revision: int = 0) -> list[Pair]:
    """So many pairs of each kind, all different; revision pairs have longer answers."""
    plain = [pair(number) for number in range(on_policy)]
    better = " It comes after the one before."
    return plain + [
        pair(number, "revision", chosen=f"{number} is a number.{better}") for number in range(100, 100 + revision)
    ]


def spec_of(folder: Path, adapter: Path | None = None) -> ModelSpec:
    return ModelSpec(source=str(folder), cache=folder.parent, adapter=adapter, device="cpu", precision="fp32")


def new_run(root: Path, config: TrainConfig, model: Path, rows: list[Pair], adapter: Path | None = None) -> runs.Run:
    """A run that waits to be launched."""
    frozen = {
        "train": config.model_dump(mode="json"),
        "model": spec_of(model, adapter).model_dump(mode="json"),
    }
    n = len(list(root.iterdir())) if root.is_dir() else 0
    return runs.create(
        root,
        config.stage,
        "test",
        frozen,
        {"pairs": rows},
        annotator="ann",
        now=datetime(2026, 12, 1, tzinfo=UTC),
        salt=f"{n:04x}",
    )


def live_run(root: Path, config: TrainConfig, model: Path, rows: list[Pair], adapter: Path | None = None) -> LiveRun:
    """A run in the hands of this process."""
    run = LiveRun(new_run(root, config, model, rows, adapter).path)
    run.claim()
    return run


def trainer_for(
    root: Path, config: TrainConfig, model: Path, rows: list[Pair], adapter: Path | None = None
) -> ReAlignTrainer:
    """A trainer that has not trained yet."""
    spec = spec_of(model, adapter)
    loaded = load(spec, lambda _: None)
    prepared = prepare(rows, loaded.tokenizer, max_length=config.max_length).rows
    start = starting_point(loaded.model, spec, config)
    return build_trainer(*start, loaded.tokenizer, prepared, config, root / "trainer", mixed_precision=False)
