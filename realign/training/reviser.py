"""Stage 1: train the reviser to improve drafts, on what people decided about its revisions."""

from typing import Any

from realign.models.loading import load
from realign.runs import LiveRun
from realign.training.fit import train


def run(run: LiveRun) -> dict[str, Any]:
    """Train the reviser on the run's pairs; see `realign.training.fit.train`."""
    return train(run, "reviser", load)
