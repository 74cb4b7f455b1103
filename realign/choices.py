"""Everything a person can choose from, for the screens, the terminal and the documentation test to list."""

from realign.datasets.export import EXPORTS
from realign.datasets.formats import FORMATS
from realign.generation import BACKENDS
from realign.generation.templates import TEMPLATES
from realign.judges import JUDGES, PERSON, Preferred
from realign.models.catalog import MODELS
from realign.training.config import PRESETS, Stage, TrainConfig, config_for
from realign.training.losses import LOSSES

__all__ = [
    "BACKENDS",
    "EXPORTS",
    "FORMATS",
    "JUDGES",
    "LOSSES",
    "MODELS",
    "PERSON",
    "PRESETS",
    "TEMPLATES",
    "Preferred",
    "Stage",
    "TrainConfig",
    "config_for",
]
