"""TRL's DPO trainer, fed with our rows and weighing the two kinds of pairs as the method asks."""

import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import torch
from datasets import Dataset
from torch.utils.data import Sampler
from trl import DPOConfig, DPOTrainer
from trl.trainer.dpo_trainer import DataCollatorForPreference

from realign.training.config import TrainConfig
from realign.training.losses import LOSSES
from realign.training.rows import Row


class Collator(DataCollatorForPreference):  # type: ignore[misc]  # TRL is untyped
    """TRL's collator, which also says which pairs are revision pairs.

    What is trained is marked by position, not by token, so a padding token that equals the end-of-text token hides
    nothing.
    """

    def torch_call(self, examples: list[dict[str, Any]]) -> dict[str, Any]:
        """Return TRL's batch (chosen rows, then rejected rows) with `is_revision`, one bool a pair."""
        batch: dict[str, Any] = super().torch_call(examples)
        batch["is_revision"] = torch.tensor([example["is_revision"] for example in examples])
        return batch


class SpreadSampler(Sampler[int]):
    """Shuffles anew each epoch and spreads the revision pairs evenly, so that every update gets its share of both."""

    def __init__(self, is_revision: Sequence[bool], seed: int) -> None:
        self._groups = [[i for i, revision in enumerate(is_revision) if revision is kind] for kind in (False, True)]
        self._generator = torch.Generator().manual_seed(seed)

    def __len__(self) -> int:
        return sum(map(len, self._groups))

    def __iter__(self) -> Iterator[int]:
        places: list[tuple[float, int]] = []
        for group in self._groups:
            order = torch.randperm(len(group), generator=self._generator).tolist()
            places += [((rank + 0.5) / len(group), group[i]) for rank, i in enumerate(order)]
        return (index for _, index in sorted(places))


class ReAlignTrainer(DPOTrainer):  # type: ignore[misc]  # TRL is untyped
    """DPO on tokenised rows with L = (L_on + λ·L_rev) / (1 + λ).

    L_rev is the mean loss of the revision pairs of one update and L_on that of all other pairs, over all micro-batches
    of the update: how pairs fall into micro-batches changes nothing. An update that holds one kind only takes that
    kind's mean. One exception is TRL's: the likelihood term of `rpo` is a mean over the tokens of one kind in one
    micro-batch, so there a long answer counts more than a short one beside it.

    One process on one device.
    """

    loss_is_scaled_for_ga = True  # the weights of an update's pairs add up to 1 already

    def __init__(self, *, revision_weight: float, **arguments: Any) -> None:
        self.revision_weight = revision_weight
        self._update_counts = {False: 0, True: 0}
        self._call_sizes: list[int] = []
        self._n_pairs = 0
        super().__init__(**arguments)

    def _prepare_dataset(self, dataset: Dataset, *_: Any) -> Dataset:
        return dataset

    def _get_train_sampler(self, train_dataset: Dataset | None = None) -> SpreadSampler:
        return SpreadSampler((train_dataset or self.train_dataset)["is_revision"], self.args.seed)

    def get_batch_samples(self, *arguments: Any) -> tuple[list[dict[str, Any]], None]:
        """Return the micro-batches of the next update, having counted its pairs of each kind."""
        batches, _ = super().get_batch_samples(*arguments)
        kinds = [revision for batch in batches for revision in batch["is_revision"].tolist()]
        self._update_counts = {kind: kinds.count(kind) for kind in (False, True)}
        self._n_pairs += len(kinds)
        return batches, None

    def compute_loss(self, model: Any, inputs: dict[str, Any], *_: Any, **__: Any) -> torch.Tensor:
        """Return this micro-batch's part of the update's loss; the parts of one update add up to it."""
        is_revision = inputs.pop("is_revision")
        loss = torch.zeros((), device=is_revision.device)
        for kind in (False, True):
            chosen = (is_revision == kind).nonzero().flatten()
            if n := len(chosen):
                both = torch.cat((chosen, chosen + len(is_revision)))
                part = self._compute_loss(model, {name: rows[both] for name, rows in inputs.items()}, False)
                self._call_sizes.append(n)
                loss = loss + part * n * self._pair_weight(kind)
        return loss

    def _pair_weight(self, revision: bool) -> float:
        """Return the weight of one pair in the loss of the current update."""
        n = self._update_counts[revision]
        if n == sum(self._update_counts.values()):
            return 1 / n
        share = (self.revision_weight if revision else 1.0) / (1 + self.revision_weight)
        return share / n

    def log(self, logs: dict[str, float], start_time: float | None = None) -> None:
        """Log as TRL does, with the pairs seen so far and the metrics averaged over pairs instead of over calls."""
        metrics = self._metrics["train"]
        sizes = self._call_sizes
        for name, values in metrics.items():
            if len(values) == len(sizes):
                metrics[name] = [sum(v * n for v, n in zip(values, sizes, strict=True)) / sum(sizes)]
        self._call_sizes = []
        super().log({**logs, "n_pairs": self._n_pairs}, start_time)

    def reference_logps(self, row: Row) -> tuple[float, float]:
        """Return the mean log-probability of a token of the chosen and of the rejected answer under the reference."""
        inputs = self._prepare_inputs(self.data_collator([example(row)]))
        del inputs["is_revision"]
        chosen, rejected = self.compute_ref_log_probs(self.ref_model or self.model, inputs)
        return chosen.item() / len(row.chosen_ids), rejected.item() / len(row.rejected_ids)


def example(row: Row) -> dict[str, Any]:
    """Return `row` as the trainer's dataset holds it."""
    return {
        "prompt_ids": row.prompt_ids,
        "chosen_ids": row.chosen_ids,
        "rejected_ids": row.rejected_ids,
        "is_revision": row.kind == "revision",
    }


def build_trainer(
    model: Any,
    reference: Any,
    peft_config: Any,
    tokenizer: Any,
    rows: Sequence[Row],
    config: TrainConfig,
    output: Path,
    *,
    mixed_precision: bool,
) -> ReAlignTrainer:
    """Return a trainer for `rows`; without `reference` it is the model with its adapter as it is now, or without any.

    With `mixed_precision` it computes in bf16 and keeps the weights as they are. It prints to the log only, keeps no
    checkpoints and reports to no service.
    """
    n_updates = config.max_steps or math.ceil(len(rows) / config.batch_size) * config.epochs
    arguments = _arguments(config, model, output, mixed_precision, n_updates)
    return ReAlignTrainer(
        revision_weight=config.revision_weight,
        model=model,
        ref_model=reference,
        args=arguments,
        data_collator=Collator(pad_token_id=tokenizer.pad_token_id),
        train_dataset=Dataset.from_list([example(row) for row in rows]),
        processing_class=tokenizer,
        peft_config=peft_config,
    )


def _arguments(config: TrainConfig, model: Any, output: Path, mixed_precision: bool, n_updates: int) -> DPOConfig:
    on_cuda = model.device.type == "cuda"
    arguments = DPOConfig(
        output_dir=str(output),
        beta=config.beta,
        learning_rate=config.learning_rate,
        num_train_epochs=config.epochs,
        max_steps=config.max_steps or -1,
        per_device_train_batch_size=config.micro_batch,
        gradient_accumulation_steps=config.batch_size // config.micro_batch,
        lr_scheduler_type="cosine",
        warmup_steps=int(config.warmup_ratio * n_updates),  # a short run has no update to spend on warming up
        gradient_checkpointing=config.gradient_checkpointing,
        seed=config.seed,
        max_length=None,  # the rows are short enough already; nothing may be cut off unseen
        use_cpu=model.device.type == "cpu",
        bf16=mixed_precision,
        dataloader_pin_memory=on_cuda,
        remove_unused_columns=False,
        logging_steps=1,
        logging_nan_inf_filter=False,  # it would put an earlier loss in the place of NaN
        disable_tqdm=True,
        save_strategy="no",
        report_to=[],
        **LOSSES[config.loss].trl,
    )
    if arguments.n_gpu > 1:
        arguments._n_gpu = 1  # TRL refuses to spread one process over several GPUs
    return arguments
