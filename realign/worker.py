"""`python -m realign.worker RUN`: carry out one run. The one place that catches a run's failure.

The worker opens no database and knows nothing of the app: it reads the frozen run folder and writes into it.
"""

import importlib
import sys
import traceback
from pathlib import Path

from realign.errors import RealignError, RunStopped
from realign.runs import Kind, LiveRun

RECIPES: dict[Kind, str] = {
    "draft": "realign.generation.recipe",
    "revise": "realign.generation.recipe",
    "reviser": "realign.training.reviser",
    "policy": "realign.training.policy",
    "benchmark": "realign.benchmarks.recipe",
}


def main(arguments: list[str]) -> int:
    """Run the recipe of the folder named in `arguments`; return the exit code."""
    if len(arguments) != 1:
        print("usage: python -m realign.worker RUN", file=sys.stderr)
        return 2
    run = LiveRun(Path(arguments[0]))
    try:
        info = run.info()
        run.claim()
    except RealignError as error:
        print(error, file=sys.stderr)
        return 2
    try:
        result = importlib.import_module(RECIPES[info.kind]).run(run)
    except RunStopped as stopped:
        run.end("stopped", str(stopped))
    except RealignError as error:
        run.end("failed", str(error))
        print(error, file=sys.stderr)
        return 1
    except Exception as error:  # the boundary: whatever happened is written down before the process ends
        traceback.print_exc()
        run.end("failed", _sentence(error))
        return 1
    else:
        run.end("finished", "", result)
    return 0


def _sentence(error: Exception) -> str:
    # By name: the GPU's own error is torch's, and a worker that drafts through a server never loads torch.
    if type(error).__name__ in {"MemoryError", "OutOfMemoryError"}:
        return "Out of memory. Choose a smaller batch, shorter texts, or LoRA instead of full fine-tuning."
    return f"{type(error).__name__}: {error}. The log has the details."


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
