from dataclasses import fields

import pytest
import trl

from realign.errors import InvalidInput
from realign.training.config import PRESETS, TrainConfig, config_for
from realign.training.losses import LOSSES


@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize("stage", ["reviser", "policy"])
def test_every_preset_makes_a_config_for_both_stages(preset: str, stage) -> None:
    assert config_for(stage, preset).stage == stage


def test_choosing_another_loss_brings_its_own_beta_and_learning_rate_along() -> None:
    dpo, norm = config_for("policy", "small"), config_for("policy", "small", loss="dpo_norm")
    assert (dpo.beta, dpo.learning_rate) == (0.1, 5e-5)
    assert (norm.beta, norm.learning_rate) == (10.0, 2e-5)


def test_beta_and_learning_rate_that_a_person_gave_stay_whatever_the_loss() -> None:
    config = config_for("policy", "small", loss="dpo_norm", beta=3.0, learning_rate=None)
    assert (config.beta, config.learning_rate) == (3.0, 2e-5)


def test_training_all_weights_takes_the_smaller_learning_rate_of_the_loss() -> None:
    assert config_for("reviser", "small", loss="apo_zero", lora=False).learning_rate == 2e-7


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"batch_size": 0}, "batch_size cannot be 0"),
        ({"learning_rate": -1}, "learning_rate cannot be -1"),
        ({"batch_size": 6, "micro_batch": 4}, "batch_size 6 is not a multiple of micro_batch 4"),
        ({"epoch": 2}, "epoch cannot be 2"),
        ({"loss": "dop"}, "no loss 'dop'. Choose one of: apo_zero, dpo"),
    ],
)
def test_a_value_that_cannot_be_taken_is_named_with_its_field(changes: dict, said: str) -> None:
    with pytest.raises(InvalidInput, match=said):
        config_for("policy", "small", **changes)


def test_an_unknown_preset_lists_the_known_ones() -> None:
    with pytest.raises(InvalidInput, match="careful, demo, small"):
        config_for("policy", "fast")


def test_every_setting_explains_itself() -> None:
    assert [name for name, field in TrainConfig.model_fields.items() if not field.description] == []


def test_every_loss_uses_arguments_that_trl_knows() -> None:
    known = {field.name for field in fields(trl.DPOConfig)}
    assert {argument for loss in LOSSES.values() for argument in loss.trl} <= known
