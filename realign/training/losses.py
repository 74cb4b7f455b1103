"""The losses one can choose: each names its paper, its TRL arguments and the values it was made for."""

import math
from typing import Any, NamedTuple


class Loss(NamedTuple):
    """A preference loss with its own starting values; β and the learning rate of another loss do not fit it."""

    what: str
    """One sentence that a newcomer understands."""
    paper: str
    trl: dict[str, Any]
    """Arguments of TRL's `DPOConfig`."""
    beta: float
    learning_rate: float
    """For LoRA; our own starting point."""
    full_learning_rate: float
    """For all weights; where the paper or TRL names one, that."""
    first_loss: float | None
    """Its value while the model still equals its reference; none where that depends on the data or on β."""


LOSSES: dict[str, Loss] = {
    "dpo": Loss(
        "Makes the chosen answer likelier than the rejected one, measured from the starting model.",
        "Rafailov et al. 2023, arXiv 2305.18290",
        {"loss_type": ["sigmoid"]},
        beta=0.1,
        learning_rate=5e-5,
        full_learning_rate=1e-6,
        first_loss=math.log(2),
    ),
    "dpo_norm": Loss(
        "DPO per token instead of per answer, so that long answers do not count more.",
        "Lambert et al. 2024 (Tülu 3), arXiv 2411.15124",
        {"loss_type": ["sigmoid_norm"]},
        beta=10.0,
        learning_rate=2e-5,
        full_learning_rate=1e-6,
        first_loss=math.log(2),
    ),
    "rpo": Loss(
        "DPO that also teaches the chosen answer directly, so that it does not become less likely on the way.",
        "Pang et al. 2024, arXiv 2404.19733",
        {"loss_type": ["sigmoid", "sft"], "loss_weights": [1.0, 0.1]},
        beta=0.1,
        learning_rate=5e-5,
        full_learning_rate=1e-6,
        first_loss=None,
    ),
    "apo_zero": Loss(
        "Raises the chosen and lowers the rejected answer separately; fits data that is better than the model, such "
        "as revisions.",
        "D'Oosterlinck et al. 2024, arXiv 2408.06266",
        {"loss_type": ["apo_zero"]},
        beta=0.1,
        learning_rate=2e-5,
        full_learning_rate=2e-7,
        first_loss=1.0,
    ),
    "ipo": Loss(
        "Aims at a fixed distance between chosen and rejected instead of ever more; β is that distance's inverse.",
        "Azar et al. 2023, arXiv 2310.12036",
        {"loss_type": ["ipo"]},
        beta=0.1,
        learning_rate=2e-5,
        full_learning_rate=1e-6,
        first_loss=None,
    ),
    "robust": Loss(
        "DPO that expects one decision in ten to be the wrong way round.",
        "Chowdhury et al. 2024, arXiv 2403.00409",
        {"loss_type": ["robust"], "label_smoothing": 0.1},
        beta=0.1,
        learning_rate=5e-5,
        full_learning_rate=1e-6,
        first_loss=math.log(2),
    ),
}
