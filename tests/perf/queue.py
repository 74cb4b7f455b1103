"""How long the next item takes to come, while eight people decide once a second, at 1,000 and at 100,000 prompts.

    python tests/perf/queue.py

Fills one store of each size, half of it decided, starts the app on each as a process, and lets eight pages work on them
in turns through the endpoints the browser uses. Measured from sending a decision until the answer is read, which holds
the whole next item. Takes about three minutes. The last line is the 95th percentile at 100,000 prompts.
"""

import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent

if __name__ == "__main__":
    # This folder is where Python looks first, and would find this file where the standard library wants its own.
    sys.path[0:1] = [str(ROOT), str(ROOT / "tests")]
    import queue  # noqa: F401

    sys.path.append(str(HERE))
    from eight_annotators import main

    main()
else:  # a script beside this one, or what it imports, wants the standard library's module of this name
    standard = next(Path(folder, "queue.py") for folder in sys.path if Path(folder, "heapq.py").is_file())
    exec(compile(standard.read_text(encoding="utf-8"), standard, "exec"))
