"""Every knob of a training run with its help, and named good settings to start from."""

from typing import Any, Literal, NamedTuple, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from realign.errors import InvalidInput, pick
from realign.training.losses import LOSSES

Stage = Literal["reviser", "policy"]


class TrainConfig(BaseModel):
    """What to train and how. β and the learning rate are the chosen loss's own unless they are given."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True, allow_inf_nan=False)

    stage: Stage
    """`reviser` learns to improve drafts; `policy` learns to answer prompts."""
    loss: str = "dpo"
    """How a preference becomes a change of the weights."""
    beta: float = Field(gt=0)
    """How strongly the model is held to where it started; higher stays closer (for `ipo` the inverse of the aim)."""
    learning_rate: float = Field(gt=0)
    """Size of each update; too high makes the model babble, too low changes nothing."""
    epochs: int = Field(1, ge=1, le=100)
    """How many times every pair is seen."""
    max_steps: int = Field(0, ge=0)
    """Make exactly this many updates, whatever `epochs` says; 0 goes by `epochs`."""
    batch_size: int = Field(16, ge=1)
    """Pairs per update; more is steadier and slower."""
    micro_batch: int = Field(2, ge=1)
    """Pairs computed at once; lower it when memory runs out, the result stays the same."""
    max_length: int = Field(1024, ge=16)
    """Longest prompt and answer together, in tokens; longer pairs are left out and counted."""
    revision_weight: float = Field(1.0, ge=0)
    """Weight λ of revision pairs against the policy's own ranked drafts (policy only); 0 leaves them out."""
    revision_as_task: bool = True
    """Show the policy the draft and ask it to improve it; off trains the plain answer, for comparison (policy only)."""
    lora: bool = True
    """Train a small adapter on top of the frozen model; off trains all weights, which needs far more memory."""
    lora_rank: int = Field(16, ge=1, le=512)
    """Size of the adapter; an adapter that is trained further keeps its own."""
    lora_alpha: int = Field(32, ge=1)
    """How strongly the adapter speaks; usually twice its rank."""
    warmup_ratio: float = Field(0.1, ge=0, lt=1)
    """Share of the updates over which the learning rate rises from zero."""
    gradient_checkpointing: bool = False
    """Compute some things twice to save memory, about a fifth slower."""
    seed: int = Field(0, ge=0)
    """The same seed, pairs and settings give the same adapter on the same machine."""

    @field_validator("loss")
    @classmethod
    def _known_loss(cls, name: str) -> str:
        pick(name, LOSSES, "loss")
        return name

    @model_validator(mode="before")
    @classmethod
    def _values_of_the_loss(cls, values: Any) -> Any:
        if not isinstance(values, dict):
            return values
        loss = LOSSES.get(values.get("loss", "dpo"), LOSSES["dpo"])  # an unknown name is refused by its own check
        rate = loss.learning_rate if values.get("lora", True) else loss.full_learning_rate
        given = {name: value for name, value in values.items() if value is not None}
        return {"beta": loss.beta, "learning_rate": rate, **given}

    @model_validator(mode="after")
    def _whole_micro_batches(self) -> Self:
        if self.batch_size % self.micro_batch:
            raise ValueError(f"batch_size {self.batch_size} is not a multiple of micro_batch {self.micro_batch}")
        return self


class Preset(NamedTuple):
    """A named good setting; β and the learning rate come with the loss."""

    what: str
    values: dict[str, Any]


PRESETS: dict[str, Preset] = {
    "demo": Preset(
        "Ten small updates, about ten minutes without a GPU: shows that everything works.",
        {"max_steps": 10, "batch_size": 4, "micro_batch": 1, "max_length": 768, "lora_rank": 8, "lora_alpha": 16},
    ),
    "small": Preset(
        "One pass over some hundred pairs.",
        {"batch_size": 16, "micro_batch": 2, "max_length": 1024},
    ),
    "careful": Preset(
        "One pass over thousands of pairs on a GPU, in large steady updates.",
        {
            "batch_size": 64,
            "micro_batch": 4,
            "max_length": 2048,
            "lora_rank": 32,
            "lora_alpha": 64,
            "gradient_checkpointing": True,
        },
    ),
}


def config_for(stage: Stage, preset: str = "small", **changes: Any) -> TrainConfig:
    """Return the settings called `preset` with `changes`; raise `InvalidInput` naming the field that cannot be taken.

    A change to None means "not given". Choosing another loss brings that loss's β and learning rate along.
    """
    values = {"stage": stage, **pick(preset, PRESETS, "preset").values}
    values |= {name: value for name, value in changes.items() if value is not None}
    try:
        return TrainConfig.model_validate(values)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        field = ".".join(str(part) for part in first["loc"]) or "batch_size"
        given = f" cannot be {values[field]!r}" if field in values else ""
        raise InvalidInput(f"The setting {field}{given}: {first['msg'].removeprefix('Value error, ')}.") from error
