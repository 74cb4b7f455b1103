import math
from pathlib import Path

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from realign.records import Pair
from realign.training.config import TrainConfig, config_for
from realign.training.fit import save
from realign.training.rows import Row
from realign.training.trainer import ReAlignTrainer, SpreadSampler
from tests.training.setups import pairs, trainer_for

Gradients = dict[str, Tensor]


def config(**changes) -> TrainConfig:
    return config_for("policy", "small", **{"batch_size": 4, "micro_batch": 2, "learning_rate": 1e-2, **changes})


def with_moved_adapter(trainer: ReAlignTrainer) -> ReAlignTrainer:
    """Move the fresh adapter off zero, the same way every time, so that margins are not 0."""
    generator = torch.Generator().manual_seed(1)
    for name, weights in trainer.model.named_parameters():
        if "lora_B" in name:
            weights.data.copy_(torch.randn(weights.shape, generator=generator) * 0.05)
    return trainer


def first_update(trainer: ReAlignTrainer) -> tuple[float, Gradients]:
    """Loss and gradients of the first update, without making it."""
    batches = iter(trainer.get_train_dataloader())
    micro_batches, _ = trainer.get_batch_samples(batches, trainer.args.gradient_accumulation_steps, "cpu")
    total = 0.0
    for batch in micro_batches:
        loss = trainer.compute_loss(trainer.model, batch)
        loss.backward()
        total += loss.item()
    named = trainer.model.named_parameters()
    return total, {name: weights.grad for name, weights in named if weights.grad is not None}


def log_ratio(trainer: ReAlignTrainer, prompt: list[int], answer: list[int]) -> float:
    """log π(answer|prompt) − log π_ref(answer|prompt), the long way round."""

    def log_probability() -> float:
        logits = trainer.model(input_ids=torch.tensor([prompt + answer])).logits[0, len(prompt) - 1 : -1]
        return F.log_softmax(logits, dim=-1).gather(1, torch.tensor(answer)[:, None]).sum().item()

    with torch.no_grad():
        policy = log_probability()
        with trainer.model.disable_adapter():
            return policy - log_probability()


def test_the_loss_is_the_weighted_mean_of_both_kinds_computed_by_hand(tmp_path: Path, tiny: Path) -> None:
    trainer = with_moved_adapter(trainer_for(tmp_path, config(revision_weight=3.0), tiny, pairs(3, 1)))
    losses: dict[bool, list[float]] = {False: [], True: []}
    for row in trainer.train_dataset:
        chosen, rejected = (log_ratio(trainer, row["prompt_ids"], row[side]) for side in ("chosen_ids", "rejected_ids"))
        losses[row["is_revision"]].append(math.log1p(math.exp(-0.1 * (chosen - rejected))))
    by_hand = (sum(losses[False]) / 3 + 3.0 * losses[True][0]) / 4
    loss, _ = first_update(trainer)
    assert loss == pytest.approx(by_hand, abs=1e-5)
    assert abs(loss - math.log(2)) > 1e-3


@pytest.mark.parametrize("micro_batch", [1, 2, 4])
def test_with_weight_1_the_gradient_is_the_mean_of_both_kinds_gradients(
    tmp_path: Path, tiny: Path, micro_batch: int
) -> None:
    def gradients(rows: list[Pair], batch_size: int) -> Gradients:
        settings = config(batch_size=batch_size, micro_batch=min(micro_batch, batch_size))
        return first_update(with_moved_adapter(trainer_for(tmp_path, settings, tiny, rows)))[1]

    both, on_policy, revision = (
        gradients(pairs(3, 1), 4),
        gradients(pairs(3, 0), 3 * micro_batch),
        gradients(pairs(0, 1), 1),
    )
    assert len(both) == 28
    for name, gradient in both.items():
        torch.testing.assert_close(gradient, (on_policy[name] + revision[name]) / 2, atol=1e-5, rtol=1e-4)


def test_with_weight_0_revision_pairs_change_nothing(tmp_path: Path, tiny: Path) -> None:
    mixed = with_moved_adapter(trainer_for(tmp_path, config(revision_weight=0.0), tiny, pairs(2, 2)))
    alone = with_moved_adapter(trainer_for(tmp_path, config(batch_size=2), tiny, pairs(2, 0)))
    (mixed_loss, mixed_gradients), (loss, gradients) = first_update(mixed), first_update(alone)
    assert mixed_loss == pytest.approx(loss, abs=1e-6)
    for name, gradient in gradients.items():
        torch.testing.assert_close(mixed_gradients[name], gradient, atol=1e-6, rtol=1e-4)


def test_every_update_gets_its_share_of_both_kinds_and_every_pair_comes_once() -> None:
    sampler = SpreadSampler([False] * 8 + [True] * 4, seed=3)
    first, second = list(sampler), list(sampler)
    assert sorted(first) == sorted(second) == list(range(12))
    assert first != second
    assert [sum(index >= 8 for index in first[start : start + 3]) for start in range(0, 12, 3)] == [1, 1, 1, 1]


def test_the_reference_likelihood_is_a_mean_per_token(tmp_path: Path, tiny: Path) -> None:
    trainer = with_moved_adapter(trainer_for(tmp_path, config(), tiny, pairs(1)))
    fields = trainer.train_dataset[0]
    prompt, chosen = fields["prompt_ids"], fields["chosen_ids"]
    row = Row(prompt, chosen, fields["rejected_ids"], "on_policy", "imported")
    with torch.no_grad(), trainer.model.disable_adapter():
        logits = trainer.model(input_ids=torch.tensor([prompt + chosen])).logits[0, len(prompt) - 1 : -1]
    by_hand = F.log_softmax(logits, dim=-1).gather(1, torch.tensor(chosen)[:, None]).mean().item()
    assert trainer.reference_logps(row)[0] == pytest.approx(by_hand, abs=1e-4)


def test_an_adapter_trained_further_is_measured_against_a_copy_that_stays_as_it_was(tmp_path: Path, tiny: Path) -> None:
    first = with_moved_adapter(trainer_for(tmp_path, config(), tiny, pairs(4)))
    save(first.model, first.processing_class, tmp_path)
    trainer = trainer_for(tmp_path, config(max_steps=2), tiny, pairs(4), adapter=tmp_path / "adapter")
    trainer.train()
    before, now = dict(first.model.named_parameters()), dict(trainer.model.named_parameters())
    trained = [name for name in before if ".default." in name]
    assert len(trained) == 28
    assert all(torch.equal(before[name], now[name.replace(".default.", ".ref.")]) for name in trained)
    assert not any(torch.equal(before[name], now[name]) for name in trained)
