"""How one run looks while it goes on: state, curves, fresh answers, log; and the table of all runs."""

import re
from typing import Any

import gradio as gr

from realign.runs import RunView
from realign.ui.drawn import Value, drawn

HEADERS = ["run", "kind", "what", "state", "done", "by"]
WIDTHS = ["32%", "10%", "24%", "12%", "12%", "10%"]
MAX_POINTS = 500
COUNTS = ("wins", "ties", "losses", "n_unjudged")
LOGPS = {"logps_chosen": "accent", "logps_rejected": "out"}


class RunPanes:
    """The components that show one run."""

    def __init__(self) -> None:
        self.state = drawn("pane", state(None), elem_id="run")
        with gr.Row(equal_height=True):
            self.loss = drawn("curve", elem_id="loss")
            self.margin = drawn("curve", elem_id="margin")
        self.logps = drawn("curve", elem_id="logps")
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
        points = metrics[:: len(metrics) // MAX_POINTS + 1]
        samples = _samples(view)
        return {
            self.state: state(view),
            self.loss: _curve("Loss", points, {"loss": "accent"}),
            self.margin: _curve("Margin", points, {"margin": "accent"}),
            self.logps: _curve("Log-probability", points, LOGPS),
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
    shown += _benchmark_rows(result) if view.info.kind == "benchmark" and result else _result_rows(result)
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
            {"role": "prompt", "text": _asked(sample["prompt"])},
            {"role": "before", "text": sample["before"]},
            {"role": "after", "text": sample["after"]},
        ]
    return {"title": "Fresh answers", "note": "to three fixed prompts, before and after", "turns": turns}


def _asked(prompt: str) -> str:
    """Return the last message of the user in a conversation that was decoded from its tokens, where roles show."""
    parts = re.split(r"(?m)^(system|user|assistant)\s*$", prompt)
    said = [text.strip() for role, text in zip(parts[1::2], parts[2::2], strict=True) if role == "user"]
    return said[-1] if said else prompt.strip()


def _result_rows(result: dict[str, Any]) -> list[list[str]]:
    rows = []
    for name, value in result.items():
        words = ", ".join(f"{n} {kind}" for kind, n in value.items()) if isinstance(value, dict) else _figure(value)
        rows.append([name.replace("_", " "), words])
    return rows


def _benchmark_rows(result: dict[str, Any]) -> list[list[str]]:
    """Return win rate and counts, with what a win rate says little without: length and completeness of both sides."""
    model, baseline = result["model"], result["baseline"]
    shares = [("ended by itself", "ended"), ("repeated 4-grams", "repeated_4grams")]
    rows = [
        ["words, baseline → model", f"{baseline['words']:.0f} → {model['words']:.0f}"],
        *([f"{what}, baseline → model", f"{baseline[key]:.0%} → {model[key]:.0%}"] for what, key in shares),
    ]
    if "win_rate" not in result:
        return [["games", f"{result['n']}, judged blind by people below"], *rows]
    interval = f"{result['lower']:.1f} to {result['upper']:.1f}, {100 * result['level']:.0f} %"
    return [
        ["win rate", f"{result['win_rate']:.1f} % ({interval})"],
        ["won · tied · lost · unjudged", " · ".join(str(result[key]) for key in COUNTS)],
        *rows,
    ]


def _curve(title: str, points: list[dict[str, Any]], columns: dict[str, str]) -> Value:
    """Return the curves of `columns` (name → colour); a run without them, such as one that drafts, shows no plot."""
    series: list[Value] = [
        {"name": name, "colour": colour, "points": [[row["step"], row[name]] for row in points if name in row]}
        for name, colour in columns.items()
    ]
    drawn_series = [line for line in series if line["points"]]
    if not drawn_series:
        return {}
    first, last = (" · ".join(f"{line['points'][at][1]:.3f}" for line in drawn_series) for at in (0, -1))
    note = f"from {first}" if len(drawn_series) == 1 else "chosen · rejected (red)"
    return {"title": title, "note": note, "right": last, "series": drawn_series}


def _figure(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _duration(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
