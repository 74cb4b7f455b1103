"""The same verbs in the terminal: `python -m realign`.

Exit code 0, or 2 with one clear sentence on stderr. With `--json` a command prints one JSON object on stdout.
"""

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.exceptions import TyperException

from realign import doctor as examination
from realign.choices import EXPORTS, JUDGES, PERSON, PRESETS, config_for
from realign.errors import InvalidInput, RealignError, RunStopped, pick
from realign.records import Actor, PairKind, Score
from realign.runs import ENDED, Run, RunView
from realign.settings import Settings, from_environment, quieten
from realign.store import Store
from realign.studio import Studio

app = typer.Typer(
    name="realign",
    help="Curate a reviser's edits, train a small policy on them, and see whether it got better.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)

AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object on stdout.")]
Wait = Annotated[bool, typer.Option(help="Wait until the run ends; --no-wait only starts it.")]
Limit = Annotated[int | None, typer.Option(min=1, help="At most so many.")]


def main() -> None:
    """Run the command line; every failure is one sentence on stderr and exit code 2."""
    quieten()
    try:
        app(standalone_mode=False)
    except RealignError as error:
        print(error, file=sys.stderr)
        sys.exit(2)
    except typer.Exit as error:
        sys.exit(error.exit_code)
    except TyperException as error:  # a wrong argument; an empty line is answered with the help
        said = error.format_message() if hasattr(error, "format_message") else str(error)
        print(f"{said} See: python -m realign --help" if len(sys.argv) > 1 else said, file=sys.stderr)
        sys.exit(2)
    except (KeyboardInterrupt, typer.Abort):
        print("Interrupted. Runs that were started go on.", file=sys.stderr)
        sys.exit(2)


@app.command("import")
def import_(
    file: Path,
    format: Annotated[str | None, typer.Option(help="Name of the format; found from the fields if left out.")] = None,  # noqa: A002
    as_json: AsJson = False,
) -> None:
    """Take prompts, pairs or decided items from FILE, all or nothing."""
    report = _studio().import_file(file, format)
    lines = [f"{report.kept} of {report.read} rows taken from {file.name} ({report.format})."]
    lines += [f"  left out: {n} {reason}" for reason, n in report.dropped.items()]
    _say(as_json, report._asdict(), lines)


@app.command()
def export(
    file: Path,
    format: Annotated[str, typer.Option(help=f"One of: {', '.join(EXPORTS)}.")] = "trl",  # noqa: A002
    kind: Annotated[
        list[str] | None, typer.Option(help="Kind of pairs, may be repeated: plain, revision, on_policy.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Write pairs, or with --format native everything decided, to FILE."""
    kinds: dict[str, PairKind] = {"plain": "plain", "revision": "revision", "on_policy": "on_policy"}
    chosen = [pick(name, kinds, "kind of pairs") for name in kind or ["plain"]]
    n = _studio().export(file, format, chosen)
    _say(as_json, {"file": str(file), "format": format, "rows": n}, [f"{n} rows written to {file}."])


@app.command()
def draft(
    samples: Annotated[int, typer.Option(min=1, max=64, help="Drafts of each prompt.")] = 1,
    limit: Limit = None,
    wait: Wait = True,
    as_json: AsJson = False,
) -> None:
    """Let the policy answer the prompts that have no draft; with --samples, several times those decided on."""
    studio = _studio()
    _follow(studio, studio.draft(annotator=_name(studio), n_samples=samples, limit=limit), wait, as_json)


@app.command()
def revise(limit: Limit = None, wait: Wait = True, as_json: AsJson = False) -> None:
    """Let the reviser improve every draft that waits."""
    studio = _studio()
    _follow(studio, studio.revise(annotator=_name(studio), limit=limit), wait, as_json)


@app.command()
def train(
    stage: Annotated[str, typer.Argument(help="reviser or policy")],
    preset: Annotated[str, typer.Option(help=f"One of: {', '.join(PRESETS)}.")] = "small",
    set_: Annotated[
        list[str] | None, typer.Option("--set", help="A knob, as in --set beta=0.1; may be repeated.")
    ] = None,
    check: Annotated[bool, typer.Option("--check", help="Only say what would be trained on.")] = False,
    wait: Wait = True,
    as_json: AsJson = False,
) -> None:
    """Train the reviser or the policy on everything decided so far."""
    stages: dict[str, Actor] = {"reviser": "reviser", "policy": "policy"}
    config = config_for(pick(stage, stages, "stage"), preset, **dict(_knob(word) for word in set_ or ()))
    studio = _studio()
    if not check:
        _follow(studio, studio.train(config, annotator=_name(studio)), wait, as_json)
        return
    report = studio.check(config)
    lines = [f"{report.kept} of {report.loaded} pairs would be trained on: {report.by_kind}."]
    lines += [f"  left out: {n} {reason}" for reason, n in report.dropped.items()]
    _say(as_json, report.model_dump(), lines)


@app.command()
def benchmark(
    model: Annotated[str, typer.Option(help="Run that trained the policy to test, or base.")] = "base",
    against: Annotated[str, typer.Option(help="Run of the policy to compare with, or base.")] = "base",
    judge: Annotated[str, typer.Option(help=f"One of: {', '.join([*JUDGES, PERSON])}.")] = "rubric",
    limit: Limit = None,
    wait: Wait = True,
    as_json: AsJson = False,
) -> None:
    """Let two policies answer the held-out prompts and judge which answers are better."""
    studio = _studio()
    one, other = (None if name == "base" else name for name in (model, against))
    run = studio.benchmark(one, other, judge=judge, annotator=_name(studio), n_prompts=limit)
    _follow(studio, run, wait, as_json)


@app.command()
def score(as_json: AsJson = False) -> None:
    """List the scores, newest first."""
    studio = _studio()
    studio.collect()
    scores = studio.scores()
    rows = [row.model_dump(mode="json") for row in scores]
    _say(as_json, {"scores": rows}, [_score_line(row) for row in scores] or ["No score yet."])


@app.command("runs")
def list_runs(
    stop: Annotated[
        str | None, typer.Option(help="Ask this run to finish its step, keep what it has, and end.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """List the runs, newest first, or stop one."""
    studio = _studio()
    if stop:
        studio.stop(stop)
        _say(as_json, {"stopping": stop}, [f"{stop} finishes its step and ends."])
        return
    views = studio.collect()
    lines = [f"{view.info.name}  {view.state:9}  {view.info.title}" for view in views]
    _say(as_json, {"runs": [_run_row(view) for view in views]}, lines or ["No run yet."])


@app.command()
def promote(
    actor: Annotated[str, typer.Argument(help="reviser or policy")],
    run: Annotated[str, typer.Argument(help="Run whose adapter is used from now on, or base.")],
    as_json: AsJson = False,
) -> None:
    """From now on use the model that RUN made."""
    actors: dict[str, Actor] = {"reviser": "reviser", "policy": "policy"}
    studio = _studio()
    made = studio.promote(pick(actor, actors, "actor"), None if run == "base" else run, annotator=_name(studio))
    _say(as_json, made.model_dump(mode="json"), [f"From now on the {actor} is {run}."])


@app.command()
def doctor(
    fetch: Annotated[bool, typer.Option("--fetch", help="Bring the models that are missing.")] = False,
    as_json: AsJson = False,
) -> None:
    """Say what this installation has, what it lacks, and the command that mends it."""
    settings = from_environment()
    if fetch:
        examination.fetch(settings, lambda sentence: print(sentence, file=sys.stderr))
    found = examination.examine(settings)
    lines = [f"{row.state:8} {row.name:13} {row.what}{f'  →  {row.mend}' if row.mend else ''}" for row in found]
    _say(as_json, {"findings": [row.as_row() for row in found]}, lines)


# --- what the commands share -----------------------------------------------------------------------------------------


def _studio() -> Studio:
    settings: Settings = from_environment()
    studio = Studio(settings, Store(settings.database))
    studio.fill_if_empty()
    return studio


def _name(studio: Studio) -> str:
    return studio.settings.annotator


def _say(as_json: bool, value: dict[str, Any], lines: list[str]) -> None:
    print(json.dumps(value, ensure_ascii=False) if as_json else "\n".join(lines))


def _follow(studio: Studio, run: Run, wait: bool, as_json: bool) -> None:
    """Show a run's progress on stderr until it ends, bring its results home, and print how it came out."""
    view = run.view()
    if wait:
        view = _wait(run, _show_in_place if sys.stderr.isatty() else lambda _: None)
        studio.collect()
    if view.state == "stopped":
        raise RunStopped(f"{run.name} was stopped: {view.status.message}")
    if view.state in ("failed", "died"):
        raise InvalidInput(f"{run.name} {view.state}: {view.status.message} Its log: {run.path / 'log.txt'}")
    result = [f"  {name.replace('_', ' ')}: {value}" for name, value in view.status.result.items()]
    _say(as_json, _run_row(view), [f"{run.name} {view.state}", *result])


def _show_in_place(line: str) -> None:
    print(f"\r\x1b[K{line}", end="", file=sys.stderr, flush=True)


def _wait(run: Run, show: Callable[[str], None]) -> RunView:
    try:
        while True:
            view = run.view()
            if view.state in ENDED:
                return view
            left = f", {view.seconds_left:.0f} s left" if view.seconds_left else ""
            show(f"{view.state}: {view.status.message} {view.status.done} of {view.status.total}{left}")
            time.sleep(0.5)
    finally:
        show("")


def _run_row(view: RunView) -> dict[str, Any]:
    return {
        "run": view.info.name,
        "kind": view.info.kind,
        "title": view.info.title,
        "state": view.state,
        "done": view.status.done,
        "total": view.status.total,
        "message": view.status.message,
        "result": view.status.result,
    }


def _score_line(score: Score) -> str:
    interval = f"{score.win_rate:.1f} % ({score.lower:.1f} to {score.upper:.1f})"
    return f"{score.model} against {score.baseline}: {interval}, n {score.n}, judge {score.judge}, {score.run}"


def _knob(word: str) -> tuple[str, Any]:
    name, equals, value = word.partition("=")
    if not equals or name == "stage":
        raise InvalidInput(f"'{word}' is no knob: write it as name=value, such as beta=0.1.")
    return name, value
