"""What a run is asked to do: its config and its frozen inputs, gathered from the store before it is launched."""

import importlib.metadata
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import NamedTuple

from pydantic import BaseModel

from realign import runs
from realign.benchmarks.score import BenchmarkConfig
from realign.errors import InvalidInput
from realign.generation.recipe import DraftConfig, ReviseConfig
from realign.generation.templates import DEFAULT_TEMPLATE
from realign.models.catalog import ModelSpec
from realign.pairing import training_pairs
from realign.records import Decoding, Prompt
from realign.runs import Kind, Run
from realign.settings import Settings, worker_environment
from realign.store import Store
from realign.training.config import TrainConfig

VERSIONED = ("torch", "transformers", "trl", "peft", "accelerate", "gradio")
DRAFTING = Decoding(temperature=0.7)
SAMPLING = Decoding(temperature=0.8)
REVISING = Decoding(temperature=0.3)
REVISING_AGAIN = (0.3, 0.7, 1.0)
"""Temperatures of the first revision and of the further tries after a copy of the draft."""
BENCHMARKING = Decoding(temperature=0.0)


class Order(NamedTuple):
    """Everything a run folder is made from."""

    kind: Kind
    title: str
    config: BaseModel
    inputs: Mapping[str, Sequence[BaseModel]]
    parents: tuple[str, ...] = ()


class TrainingOrder(BaseModel):
    """The config of a training run."""

    train: TrainConfig
    model: ModelSpec


def launch(order: Order, settings: Settings, *, annotator: str, now: datetime, salt: str) -> Run:
    """Freeze `order` into a run folder and start its worker, which outlives this process."""
    run = runs.create(
        settings.runs,
        order.kind,
        order.title,
        order.config.model_dump(mode="json"),
        order.inputs,
        annotator=annotator,
        parents=order.parents,
        versions={name: importlib.metadata.version(name) for name in VERSIONED},
        now=now,
        salt=salt,
    )
    runs.launch(run, worker_environment(settings))
    return run


def draft(store: Store, policy: ModelSpec, *, n_samples: int, limit: int | None, seed: int) -> Order:
    """Drafts for the prompts that have none; with several samples, for the decided prompts, or for all if none is.

    Pairs of both kinds then speak of the same prompts. Raises `InvalidInput` where no prompt waits.
    """
    if n_samples > 1:
        prompts = [item.prompt for item in store.decided(limit=limit)] or store.prompts(limit)
    else:
        prompts = store.prompts_without_draft(limit)
    if not prompts:
        raise InvalidInput("No prompt waits for a draft. Import prompts, or ask for several drafts of each.")
    decoding = SAMPLING.model_copy(update={"seed": seed}) if n_samples > 1 else DRAFTING
    config = DraftConfig(model=policy, decoding=decoding, n_samples=n_samples)
    return Order("draft", f"{len(prompts)} prompts × {n_samples}", config, {"prompts": prompts})


def revise(store: Store, reviser: ModelSpec, *, limit: int | None) -> Order:
    """A revision of the latest draft of every undecided prompt without one; raises `InvalidInput` where none waits."""
    found = store.drafts_without_revision()
    waiting = [(prompt, text) for prompt, text in found if store.live_decision(prompt.id) is None][:limit]
    if not waiting:
        raise InvalidInput("No draft waits for a revision. Write drafts first.")
    config = ReviseConfig(model=reviser, decoding=REVISING, template=DEFAULT_TEMPLATE)
    prompts, drafts = [prompt for prompt, _ in waiting], [text for _, text in waiting]
    inputs: dict[str, Sequence[BaseModel]] = {"prompts": prompts, "drafts": drafts}
    return Order("revise", f"{len(waiting)} drafts", config, inputs)


def train(store: Store, config: TrainConfig, model: ModelSpec, policy: ModelSpec) -> Order:
    """A training run on everything decided so far; raises `InvalidInput` where there is nothing to train on."""
    if model.is_server:
        raise InvalidInput(f"{model.source} is a server and cannot be trained here. Name local weights instead.")
    chosen = training_pairs(store, config, policy)
    if not chosen.pairs:
        reasons = ", ".join(f"{n} × {reason}" for reason, n in chosen.dropped.items()) or "nothing was decided yet"
        raise InvalidInput(f"There is nothing to train on ({reasons}). Accept or edit some revisions first.")
    parents = (model.adapter_run,) if model.adapter_run else ()
    title = f"{len(chosen.pairs)} pairs, {config.loss}"
    return Order(config.stage, title, TrainingOrder(train=config, model=model), {"pairs": chosen.pairs}, parents)


def benchmark(prompts: Sequence[Prompt], model: ModelSpec, baseline: ModelSpec, judge: str) -> Order:
    """Both models' answers to `prompts`, judged by `judge`; raises `InvalidInput` where there is nothing to compare."""
    if model == baseline:
        raise InvalidInput("Both sides are the same model. Choose two different ones.")
    if not prompts:
        raise InvalidInput("A benchmark needs at least one prompt.")
    config = BenchmarkConfig(
        model=model,
        baseline=baseline,
        model_label=model.label,
        baseline_label=baseline.label,
        judge=judge,
        decoding=BENCHMARKING,
    )
    title = f"{len(prompts)} prompts, judged by {judge}"
    parents = tuple(spec.adapter_run for spec in (model, baseline) if spec.adapter_run)
    return Order("benchmark", title, config, {"prompts": prompts}, parents)
