"""One training run from its frozen pairs to its adapter: what the reviser's and the policy's recipe share."""

import contextlib
import copy
import random
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import torch
from peft import LoraConfig, PeftModel
from pydantic import ValidationError
from safetensors import SafetensorError

from realign.errors import InvalidInput, ModelUnavailable, RealignError, RunStopped, StorageFailed
from realign.models.catalog import ModelSpec
from realign.models.loading import Loaded, choose_device, computes_bf16
from realign.records import Pair, Record
from realign.runs import LiveRun, write_whole
from realign.training.callbacks import Measured, RunCallback
from realign.training.config import Stage, TrainConfig
from realign.training.losses import LOSSES
from realign.training.rows import RowBuild, RowReport, prepare
from realign.training.samples import Sample, sample_prompts, write_answers
from realign.training.trainer import ReAlignTrainer, build_trainer

LoadModel = Callable[[ModelSpec, Callable[[str], None]], Loaded]


MEASURED_ROWS = 4
"""Pairs of each kind whose likelihood under the reference is measured before training."""


class TokenLogps(Record):
    """Mean log-probability of an answer's token under the reference, in nats, averaged over pairs."""

    chosen: float
    rejected: float
    n: int
    """Pairs measured."""


class Report(Record):
    """`output/report.json`: what was trained on, and how it began and ended."""

    rows: RowReport
    reference_logps: dict[str, TokenLogps]
    """By kind of pair: how likely the reference finds the answers. The method expects the chosen answers of revision
    pairs, read after prompt and draft, to be likelier than those of plain pairs."""
    steps: int = 0
    first: Measured | None = None
    """Loss and margin before the first update."""
    last: Measured | None = None
    """Loss and margin before the last update."""
    seconds: float = 0.0


class Start(NamedTuple):
    """Where training starts from and what it is measured against."""

    model: Any
    reference: Any | None
    """A frozen copy; none where the reference is the model with its adapter switched off, or the adapter's copy."""
    peft_config: LoraConfig | None
    """The adapter to add; none where there is one already or all weights are trained."""


def train(run: LiveRun, stage: Stage, load_model: LoadModel) -> dict[str, Any]:
    """Train on the run's pairs and write `output/adapter` (or `output/model` without LoRA), report and samples.

    A run that a person stops keeps what it has learnt so far. Raises `InvalidInput` where no pair can be trained on,
    `RealignError` where training breaks down or memory runs out, `StorageFailed` where the result cannot be written.
    """
    config, spec = _frozen(run, stage)

    def say(message: str) -> None:
        run.progress(0, 0, message)

    with _memory_said_plainly():
        loaded = load_model(_training_spec(spec, config), say)
        say("Preparing the pairs")
        build = _rows(run, config, loaded)
        start = starting_point(loaded.model, spec, config)
        # bf16 for the arithmetic alone loses no update, and is nearly twice as fast where the machine has it.
        mixed = spec.precision != "fp32" and computes_bf16(choose_device(spec.device))
        trainer = build_trainer(*start, loaded.tokenizer, build.rows, config, run.output, mixed_precision=mixed)
        return _Fit(run, config, loaded, build, trainer).carry_out()


class _Fit:
    """The parts of one run, put together."""

    def __init__(
        self, run: LiveRun, config: TrainConfig, loaded: Loaded, build: RowBuild, trainer: ReAlignTrainer
    ) -> None:
        self._run = run
        self._tokenizer = loaded.tokenizer
        self._build = build
        self._trainer = trainer
        self._callback = RunCallback(run, first_loss=LOSSES[config.loss].first_loss)
        trainer.add_callback(self._callback)

    def carry_out(self) -> dict[str, Any]:
        """Measure, train, save; return the run's result."""
        report = Report(rows=self._build.report, reference_logps=self._reference_logps())
        self._write(report)
        prompts = sample_prompts(self._build.rows)
        before = self._answers(prompts)
        try:
            self._trainer.train()
        except RunStopped:
            if self._trainer.state.global_step:
                self._finish(report)
            raise
        report = self._finish(report)
        for prompt, old, new in zip(prompts, before, self._answers(prompts), strict=True):
            text = self._tokenizer.decode(prompt, skip_special_tokens=True)
            self._run.append("samples", Sample(prompt=text, before=old, after=new))
        return _result(report)

    def _reference_logps(self) -> dict[str, TokenLogps]:
        found: dict[str, TokenLogps] = {}
        for kind in sorted(self._build.report.by_kind):
            measured: list[tuple[float, float]] = []
            for row in [row for row in self._build.rows if row.kind == kind][:MEASURED_ROWS]:
                self._run.progress(0, 0, f"Measuring the starting model ({kind} pair {len(measured) + 1})")
                measured.append(self._trainer.reference_logps(row))
            n = len(measured)
            chosen, rejected = (sum(side) / n for side in zip(*measured, strict=True))
            found[kind] = TokenLogps(chosen=chosen, rejected=rejected, n=n)
        return found

    def _answers(self, prompts: Sequence[list[int]]) -> list[str]:
        return write_answers(self._trainer.model, self._tokenizer, prompts)

    def _finish(self, report: Report) -> Report:
        with _disk_said_plainly(self._run.output):
            save(self._trainer.model, self._tokenizer, self._run.output)
        ended = {
            "steps": self._trainer.state.global_step,
            "first": self._callback.first,
            "last": self._callback.last,
            "seconds": round(self._callback.seconds, 3),
        }
        report = report.model_copy(update=ended)
        self._write(report)
        return report

    def _write(self, report: Report) -> None:
        with _disk_said_plainly(self._run.output):
            write_whole(self._run.output / "report.json", report.model_dump_json(indent=1).encode())


def starting_point(model: Any, spec: ModelSpec, config: TrainConfig) -> Start:
    """Return the model to train, its reference and the adapter to add.

    With LoRA the reference is the same model with the new adapter off; an adapter that is trained further is its own
    reference, as a frozen copy that TRL keeps beside it. Without LoRA the reference is a frozen copy of everything.
    """
    if spec.adapter:
        model = _with_adapter(model, spec.adapter, trainable=config.lora)
    if not config.lora:
        if spec.adapter:
            model = model.merge_and_unload()
        model.requires_grad_(True)
        return Start(model, copy.deepcopy(model), None)
    if spec.adapter:
        return Start(model, None, None)
    adapter = LoraConfig(
        r=config.lora_rank,
        lora_alpha=config.lora_alpha,
        target_modules="all-linear",
        task_type="CAUSAL_LM",
    )
    return Start(model, None, adapter)


def save(model: Any, tokenizer: Any, output: Path) -> None:
    """Write the adapter to `output/adapter`, or without one the whole model to `output/model`; all or nothing."""
    is_adapter = isinstance(model, PeftModel)
    folder = output / ("adapter" if is_adapter else "model")
    aside = output / f".{folder.name}.new"
    if is_adapter:
        # "auto" would ask the Hub whether the vocabulary has grown.
        model.save_pretrained(str(aside), selected_adapters=["default"], save_embedding_layers=False)
    else:
        model.save_pretrained(str(aside))
        tokenizer.save_pretrained(str(aside))
    aside.rename(folder)


def _frozen(run: LiveRun, stage: Stage) -> tuple[TrainConfig, ModelSpec]:
    frozen = run.info().config
    try:
        config, spec = TrainConfig.model_validate(frozen["train"]), ModelSpec.model_validate(frozen["model"])
    except (KeyError, ValidationError) as error:
        raise InvalidInput(f"The settings in {run.path / 'run.json'} cannot be used: {error}") from error
    if config.stage != stage:
        raise InvalidInput(f"{run.path / 'run.json'} asks to train a {config.stage} in a run that trains a {stage}.")
    return config, spec


def _training_spec(spec: ModelSpec, config: TrainConfig) -> ModelSpec:
    """Return `spec` with the number format to train in: fp32, except for LoRA on CUDA, where the person's choice holds.

    bf16 has three digits. Measured on a two-layer model on a CPU, both start at ln 2 and margin 0, but after five
    updates the margin is 0.15 instead of 0.35 with LoRA, and 0.00 instead of 0.02 with all weights: those updates are
    rounded away.
    """
    if choose_device(spec.device) == "cuda" and config.lora:
        return spec
    return spec.model_copy(update={"precision": "fp32"})


def _rows(run: LiveRun, config: TrainConfig, loaded: Loaded) -> RowBuild:
    pairs = [Pair.model_validate(row) for row in run.rows("pairs")]
    left_out: Counter[str] = Counter()
    if config.stage == "policy" and config.revision_weight == 0:
        wanted = [pair for pair in pairs if pair.kind != "revision"]
        left_out["revision pair, and their weight is 0"] = len(pairs) - len(wanted)
        pairs = wanted
    needed = config.max_steps * config.batch_size
    if 0 < needed < len(pairs):
        left_out[f"more than max_steps {config.max_steps} needs"] = len(pairs) - needed
        pairs = random.Random(config.seed).sample(pairs, needed)
    limit = min(config.max_length, loaded.model.config.max_position_embeddings)
    build = prepare(pairs, loaded.tokenizer, max_length=limit)
    report = build.report.with_dropped(+left_out)
    if not build.rows:
        reasons = ", ".join(f"{n} {reason}" for reason, n in report.dropped.items()) or "there were no pairs"
        raise InvalidInput(
            f"There is nothing to train on: {reasons}. Decide on more revisions, or change the settings."
        )
    return RowBuild(build.rows, report)


def _with_adapter(model: Any, folder: Path, *, trainable: bool) -> PeftModel:
    try:
        return PeftModel.from_pretrained(model, str(folder), is_trainable=trainable)
    except (OSError, ValueError, KeyError, RuntimeError) as error:
        reason = str(error).splitlines()[0]
        raise ModelUnavailable(f"The adapter in {folder} does not fit its base model: {reason}") from error


def _result(report: Report) -> dict[str, Any]:
    first, last = report.first, report.last
    return {
        "steps": report.steps,
        "pairs": report.rows.by_kind,
        "first_loss": first and first.loss,
        "last_loss": last and last.loss,
        "margin": last and last.margin,
        "seconds": report.seconds,
    }


@contextlib.contextmanager
def _memory_said_plainly() -> Iterator[None]:
    try:
        yield
    except (MemoryError, RuntimeError) as error:
        if isinstance(error, RuntimeError) and not (
            isinstance(error, torch.OutOfMemoryError) or "can't allocate memory" in str(error)
        ):
            raise
        raise RealignError(
            "Memory ran out. Lower micro_batch or max_length, turn on gradient_checkpointing, or train with lora; "
            "the result of a lower micro_batch is the same."
        ) from error


@contextlib.contextmanager
def _disk_said_plainly(folder: Path) -> Iterator[None]:
    try:
        yield
    except (OSError, SafetensorError) as error:
        raise StorageFailed(
            f"The result could not be written to {folder}: {error}. Free some space and train again; the pairs are "
            "kept."
        ) from error
