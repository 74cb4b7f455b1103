"""How one run looks while it goes on: state, curves, fresh answers, log; and the table of all runs."""

from typing import Any

import gradio as gr
import pandas as pd

from realign.runs import RunView
from realign.ui.drawn import Value, drawn
from realign.ui.theme import ACCENT, REJECTED

HEADERS = ["run", "kind", "what", "state", "done", "by"]
WIDTHS = ["32%", "10%", "24%", "12%", "12%", "10%"]
MAX_POINTS = 500
CURVES = ["chosen", "rejected"]


class RunPanes:
    """The components that show one run."""

    def __init__(self) -> None:
        self.state = drawn("pane", state(None), elem_id="run")
        with gr.Row():
            self.loss = _plot("Loss: with dpo, ln 2 = 0.693 before the first update", "loss")
            self.margin = _plot("Margin, chosen minus rejected: 0 before the first update", "margin")
        self.logps = _plot("Log-probability of chosen and rejected answers", "log-probability", color="answer")
        with gr.Column(visible=False, min_width=0) as self.fresh:
            self.samples = drawn("pane", elem_id="samples")
        with gr.Accordion("Log", open=False, elem_id="log"):
            self.log = drawn("pane", {"title": "", "text": "Nothing yet.", "mono": True}, classes="r-plain")

    @property
    def components(self) -> list[Any]:
        """Everything that `show` fills."""
        return [self.state, self.loss, self.margin, self.logps, self.fresh, self.samples, self.log]

    def show(self, view: RunView | None) -> dict[Any, Any]:
        """Return what each component shows of `view`."""
        if view is None:
            return {self.state: state(None)}
        metrics = view.run.metrics()
        points = pd.DataFrame(metrics[:: len(metrics) // MAX_POINTS + 1])
        samples = _samples(view)
        return {
            self.state: state(view),
            self.loss: _drawn(points, ["loss"]),
            self.margin: _drawn(points, ["margin"]),
            self.logps: _drawn(_both(points), ["log-probability", "answer"]),
            self.fresh: gr.Column(visible=bool(samples)),
            self.samples: samples,
            self.log: {"title": "", "text": view.run.log_tail() or "Nothing yet.", "mono": True, "follow": True},
        }


def token(view: RunView | None) -> tuple[Any, ...]:
    """Return something that changes whenever the run's screen should."""
    if view is None:
        return ()
    return (view.info.name, view.state, view.status.done, view.status.message, len(view.run.metrics()))


def rows(views: list[RunView]) -> list[list[str]]:
    """Return the table of runs."""
    return [
        [
            view.info.name,
            view.info.kind,
            view.info.title,
            view.state,
            f"{view.status.done} of {view.status.total}" if view.status.total else "",
            view.info.annotator,
        ]
        for view in views
    ]


def note(view: RunView | None) -> Value:
    """Return the line beside the buttons."""
    if view is None:
        return {"state": "cold", "message": "A run goes on when you close this page."}
    dot = {"running": "busy", "starting": "loading", "finished": "ready", "failed": "failed", "died": "failed"}
    left = view.seconds_left
    words: list[str] = [view.info.kind, view.state]
    if view.status.total and view.state == "running":
        words.append(f"{view.status.done} of {view.status.total}")
    if left is not None:
        words.append(f"{_duration(left)} left")
    goes_on = " · goes on when you close this page" if view.state in ("starting", "running") else ""
    return {"state": dot.get(view.state, "cold"), "message": " · ".join(words) + goes_on}


def state(view: RunView | None) -> Value:
    """Return the card that says how a run stands."""
    if view is None:
        return {"title": "Run", "empty": "No run yet. Choose what to do and start it."}
    status, result = view.status, view.status.result
    shown = [["state", view.state], ["what", view.info.title]]
    if status.total:
        shown.append(["done", f"{status.done} of {status.total}"])
    if view.seconds_left is not None:
        shown.append(["time left", _duration(view.seconds_left)])
    if view.info.parents:
        shown.append(["builds on", ", ".join(view.info.parents)])
    shown += [[name.replace("_", " "), _figure(value)] for name, value in result.items() if not isinstance(value, dict)]
    value: Value = {"title": "Run", "note": view.info.name, "rows": shown}
    if view.state in ("failed", "died"):
        value["warning"] = status.message
    elif status.message:
        shown.insert(1, ["now", status.message])
    return value


def _samples(view: RunView) -> Value:
    found = list(view.run.made("samples"))
    if not found:
        return {}
    turns = []
    for sample in found:
        turns += [
            {"role": "prompt", "text": sample["prompt"]},
            {"role": "before", "text": sample["before"]},
            {"role": "after", "text": sample["after"]},
        ]
    return {"title": "Fresh answers", "note": "to three fixed prompts, before and after", "turns": turns}


def _plot(title: str, column: str, color: str | None = None) -> gr.LinePlot:
    return gr.LinePlot(
        None,
        x="step",
        y=column,
        color=color,
        color_map={"chosen": ACCENT, "rejected": REJECTED} if color else None,
        title=title,
        height=200,
        buttons=[],
        elem_id=column,
        visible=False,
    )


def _drawn(points: pd.DataFrame, columns: list[str]) -> gr.LinePlot:
    """Return a plot's points; a run without them, such as one that writes drafts, shows no plot."""
    there = not points.empty and set(columns) <= set(points)
    return gr.LinePlot(points[["step", *columns]] if there else None, visible=there)


def _both(points: pd.DataFrame) -> pd.DataFrame:
    parts = [
        pd.DataFrame({"step": points["step"], "log-probability": points[f"logps_{name}"], "answer": name})
        for name in CURVES
        if f"logps_{name}" in points
    ]
    return pd.concat(parts, ignore_index=True) if parts else pd.DataFrame()


def _figure(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _duration(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
