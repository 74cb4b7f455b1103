import json
import math
import os
import time
from pathlib import Path

import pytest
import torch
from peft import PeftModel
from safetensors.torch import load_file
from transformers import AutoModelForCausalLM

from realign import runs
from realign.errors import InvalidInput, RealignError, RunStopped, StorageFailed
from realign.models.loading import load
from realign.runs import LiveRun, Run
from realign.training import policy, reviser
from realign.training.callbacks import RunCallback
from realign.training.config import TrainConfig, config_for
from realign.training.fit import train
from realign.training.losses import LOSSES
from tests.training.setups import live_run, new_run, pair, pairs, trainer_for

LN_2 = 0.6931


def config(stage="policy", **changes) -> TrainConfig:
    small = {"max_steps": 3, "batch_size": 4, "micro_batch": 2, "learning_rate": 1e-3, "warmup_ratio": 0.0}
    return config_for(stage, "small", **{**small, **changes})


def adapter_weights(run: Run) -> dict[str, torch.Tensor]:
    return load_file(run.output / "adapter" / "adapter_model.safetensors")


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory, tiny: Path) -> LiveRun:
    """A policy run of three updates on both kinds, carried out."""
    run = live_run(tmp_path_factory.mktemp("trained") / "runs", config(), tiny, pairs(8, 4))
    run.end("finished", "", policy.run(run))
    return run


def assert_starts_at_ln_2(run: Run) -> None:
    first = run.metrics()[0]
    assert first["step"] == 0
    assert first["loss"] == pytest.approx(LN_2, abs=1e-4)
    assert first["margin"] == pytest.approx(0, abs=1e-6)


def test_the_reviser_starts_at_ln_2(tmp_path: Path, tiny: Path) -> None:
    run = live_run(tmp_path, config("reviser"), tiny, pairs(revision=12))
    assert reviser.run(run)["pairs"] == {"revision": 12}
    assert_starts_at_ln_2(run)


def test_the_policy_starts_at_ln_2_with_both_kinds_and_learns(trained: LiveRun) -> None:
    assert_starts_at_ln_2(trained)
    result = trained.view().status.result
    assert (result["steps"], result["pairs"]) == (3, {"on_policy": 8, "revision": 4})
    assert [row["step"] for row in trained.metrics()] == [0, 1, 2]
    assert result["last_loss"] < result["first_loss"]
    assert result["margin"] > 0


@pytest.mark.parametrize("lora", [True, False])
def test_a_promoted_adapter_is_trained_further_from_ln_2(
    tmp_path: Path, tiny: Path, trained: LiveRun, lora: bool
) -> None:
    run = live_run(tmp_path, config(lora=lora), tiny, pairs(8, 4), adapter=trained.output / "adapter")
    policy.run(run)
    assert_starts_at_ln_2(run)
    if lora:
        before, after = adapter_weights(trained), adapter_weights(run)
        assert before.keys() == after.keys()
        assert any(not torch.equal(before[name], after[name]) for name in before)
        assert not (run.output / "adapter" / "ref").exists()


def test_after_three_updates_plain_peft_loads_an_adapter_that_changes_the_model(trained: LiveRun, tiny: Path) -> None:
    assert sorted(path.name for path in (trained.output / "adapter").iterdir()) == [
        "README.md",
        "adapter_config.json",
        "adapter_model.safetensors",
    ]
    ids = torch.tensor([[1, 5, 9, 40]])
    base = AutoModelForCausalLM.from_pretrained(tiny, dtype=torch.float32)
    with torch.no_grad():
        before = base(ids).logits
        after = PeftModel.from_pretrained(base, trained.output / "adapter")(ids).logits
    assert (before - after).abs().max() > 1e-3


def test_training_all_weights_writes_a_whole_model(tmp_path: Path, tiny: Path) -> None:
    run = live_run(tmp_path, config(lora=False), tiny, pairs(8, 4))
    policy.run(run)
    assert_starts_at_ln_2(run)
    written = AutoModelForCausalLM.from_pretrained(run.output / "model", dtype=torch.float32).state_dict()
    base = AutoModelForCausalLM.from_pretrained(tiny, dtype=torch.float32).state_dict()
    assert all(not torch.equal(written[name], base[name]) for name in base if name.endswith("q_proj.weight"))
    assert (run.output / "model" / "tokenizer.json").is_file()


def test_the_report_says_what_was_trained_on_and_how_it_began(trained: LiveRun) -> None:
    report = json.loads((trained.output / "report.json").read_text())
    assert (report["rows"]["loaded"], report["rows"]["kept"], report["steps"]) == (12, 12, 3)
    assert "⟦It is the number 0.<|im_end|>⟧" in report["rows"]["decoded_example"]
    assert report["first"]["loss"] == pytest.approx(LN_2, abs=1e-4)
    assert {kind: measured["n"] for kind, measured in report["reference_logps"].items()} == {
        "on_policy": 4,
        "revision": 4,
    }
    samples = [json.loads(line) for line in (trained.output / "samples.jsonl").read_text().splitlines()]
    assert [sorted(sample) for sample in samples] == [["after", "before", "prompt"]] * 3


@pytest.mark.parametrize("loss", LOSSES)
def test_every_loss_makes_one_update_with_finite_metrics(tmp_path: Path, tiny: Path, loss: str) -> None:
    run = live_run(tmp_path, config(loss=loss, max_steps=1), tiny, pairs(2, 2))
    policy.run(run)
    (row,) = run.metrics()
    assert all(math.isfinite(value) for value in row.values())
    assert row["grad_norm"] > 0
    assert row["n_pairs"] == 4
    expected = LOSSES[loss].first_loss
    assert expected is None or row["loss"] == pytest.approx(expected, abs=1e-4)


def test_saving_memory_changes_neither_loss_nor_gradient(tmp_path: Path, tiny: Path) -> None:
    usual, saving = (
        live_run(tmp_path, config(**changes), tiny, pairs(8, 4))
        for changes in ({}, {"gradient_checkpointing": True, "micro_batch": 1})
    )
    policy.run(usual), policy.run(saving)
    for one, other in zip(usual.metrics(), saving.metrics(), strict=True):
        assert one["loss"] == pytest.approx(other["loss"], abs=1e-4)
        assert one["margin"] == pytest.approx(other["margin"], abs=1e-4)
        assert one["grad_norm"] == pytest.approx(other["grad_norm"], rel=1e-3)
        assert one["n_pairs"] == other["n_pairs"]


def test_the_number_of_pairs_seen_is_right_also_after_a_last_smaller_update(tmp_path: Path, tiny: Path) -> None:
    run = live_run(tmp_path, config(max_steps=0), tiny, pairs(6))
    policy.run(run)
    assert [row["n_pairs"] for row in run.metrics()] == [4, 6]


def test_pairs_that_the_settings_do_not_need_are_counted(tmp_path: Path, tiny: Path) -> None:
    run = live_run(tmp_path, config(max_steps=1, revision_weight=0.0), tiny, pairs(10, 5))
    assert policy.run(run)["pairs"] == {"on_policy": 4}
    assert json.loads((run.output / "report.json").read_text())["rows"]["dropped"] == {
        "revision pair, and their weight is 0": 5,
        "more than max_steps 1 needs": 6,
    }


def test_a_run_without_a_usable_pair_says_why(tmp_path: Path, tiny: Path) -> None:
    run = live_run(tmp_path, config(), tiny, [pair(1, chosen=""), pair(2, chosen="x", rejected="x")])
    with pytest.raises(InvalidInput, match="1 chosen is empty, 1 chosen and rejected are the same"):
        policy.run(run)


def test_a_reviser_run_refuses_settings_for_the_policy(tmp_path: Path, tiny: Path) -> None:
    with pytest.raises(InvalidInput, match="asks to train a policy in a run that trains a reviser"):
        reviser.run(live_run(tmp_path, config("policy"), tiny, pairs(2)))


def test_a_learning_rate_that_destroys_the_weights_ends_the_run_at_the_next_step(tmp_path: Path, tiny: Path) -> None:
    run = live_run(tmp_path, config(learning_rate=1e30), tiny, pairs(12))
    with pytest.raises(RealignError, match=r"became (nan|inf) at step 1.*lower learning rate"):
        policy.run(run)
    assert [row["step"] for row in run.metrics()] == [0]
    assert not (run.output / "adapter").exists()


def test_a_damaged_starting_model_ends_the_run_at_step_0(tmp_path: Path, tiny: Path) -> None:
    def load_damaged(spec, say):
        loaded = load(spec, say)
        loaded.model.model.norm.weight.data[0] = float("nan")
        return loaded

    run = live_run(tmp_path, config(), tiny, pairs(4))
    with pytest.raises(RealignError, match="loss became nan at step 0"):
        train(run, "policy", load_damaged)
    assert run.metrics() == []


def test_another_model_as_reference_is_noticed_before_anything_is_kept(tmp_path: Path, tiny: Path) -> None:
    settings = config(lora=False)
    run = live_run(tmp_path / "runs", settings, tiny, pairs(4))
    trainer = trainer_for(tmp_path, settings, tiny, pairs(4))
    trainer.ref_model.lm_head.weight.data.neg_()
    trainer.add_callback(RunCallback(run, first_loss=LOSSES["dpo"].first_loss))
    with pytest.raises(RealignError, match=r"reference is not the starting model.*instead of 0\.6931"):
        trainer.train()


def test_memory_that_runs_out_is_said_with_what_to_do(tmp_path: Path, tiny: Path) -> None:
    def load_too_much(spec, say):
        raise torch.OutOfMemoryError("CUDA out of memory")

    with pytest.raises(RealignError, match=r"Memory ran out\. Lower micro_batch"):
        train(live_run(tmp_path, config(), tiny, pairs(4)), "policy", load_too_much)


def test_a_result_that_cannot_be_written_is_a_storage_failure(tmp_path: Path, tiny: Path) -> None:
    run = live_run(tmp_path, config(), tiny, pairs(4))
    (run.output / "adapter" / "in_the_way").mkdir(parents=True)
    with pytest.raises(StorageFailed, match=r"could not be written to .*output"):
        policy.run(run)


def test_a_run_stopped_before_its_first_update_keeps_no_adapter(tmp_path: Path, tiny: Path) -> None:
    run = live_run(tmp_path, config(), tiny, pairs(4))
    runs.stop(run)
    with pytest.raises(RunStopped):
        policy.run(run)
    assert list(run.output.iterdir()) == []


def wait_for(run: Run, done, seconds: float = 120) -> None:
    end = time.monotonic() + seconds
    while not done():
        assert time.monotonic() < end, run.log_tail()
        time.sleep(0.1)


def test_a_stopped_worker_keeps_what_it_has_learnt_so_far(tmp_path: Path, tiny: Path) -> None:
    run = new_run(tmp_path, config(max_steps=100_000, epochs=1), tiny, pairs(8, 4))
    runs.launch(run, dict(os.environ))
    wait_for(run, run.metrics)
    runs.stop(run)
    wait_for(run, lambda: run.view().state in runs.ENDED)
    assert run.view().state == "stopped", run.log_tail()
    report = json.loads((run.output / "report.json").read_text())
    assert 1 <= report["steps"] < 100_000
    assert any(weights.abs().max() > 0 for name, weights in adapter_weights(run).items() if "lora_B" in name)


def test_a_launched_worker_trains_and_finishes(tmp_path: Path, tiny: Path) -> None:
    run = new_run(tmp_path, config("reviser"), tiny, pairs(revision=12))
    runs.launch(run, dict(os.environ))
    wait_for(run, lambda: run.view().state in runs.ENDED)
    view = run.view()
    assert (view.state, view.status.result["steps"]) == ("finished", 3), run.log_tail()
    assert_starts_at_ln_2(run)
    assert adapter_weights(run)
