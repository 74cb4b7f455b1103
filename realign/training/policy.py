"""Stage 2: train the policy on its own ranked drafts and on revisions, weighed against each other."""

from typing import Any

from realign.models.loading import load
from realign.runs import LiveRun
from realign.training.fit import train


def run(run: LiveRun) -> dict[str, Any]:
    """Train the policy on the run's pairs; see `realign.training.fit.train`."""
    return train(run, "policy", load)
