"""Train: one round of ReAlign, step by step, watched live."""

from typing import Any, get_args

import gradio as gr

from realign.choices import LOSSES, PRESETS, TrainConfig, config_for
from realign.errors import InvalidInput
from realign.records import Actor
from realign.studio import Studio
from realign.ui import run_view
from realign.ui.boundary import spoken
from realign.ui.drawn import Value, drawn

TITLE = "Train"
QUIET: dict[str, Any] = {"show_progress": "hidden", "api_visibility": "private"}

SAMPLE, REVISER, REVISE, POLICY, PROMOTE = "sample", "reviser", "revise", "policy", "promote"
TITLES = {
    SAMPLE: "1 Sample drafts",
    REVISER: "2 Train the reviser",
    REVISE: "3 Revise",
    POLICY: "4 Train the policy",
    PROMOTE: "5 Promote",
}
STARTS = {
    SAMPLE: "Sample drafts",
    REVISER: "Train the reviser",
    REVISE: "Write revisions",
    POLICY: "Train the policy",
    PROMOTE: "Promote",
}
MAX_STEPS = "max_steps"
"""Stands outside "More": on a laptop it is the first thing to set."""
POLICY_ONLY = ("revision_weight", "revision_as_task")
KNOBS = tuple(name for name in TrainConfig.model_fields if name not in ("stage", "loss"))
BASE = "base"
METHOD_NOTE = (
    "Stages and loss are our reading of the ReAlign paper (Findings of EMNLP 2025, no. 642); its abstract alone is "
    "public to us."
)


def build(studio: Studio, page: gr.Blocks, opened: gr.Tab) -> None:
    """Lay the tab out and wire it."""
    Train(studio, page, opened)


class Train:
    """The components of the tab and what they do."""

    def __init__(self, studio: Studio, page: gr.Blocks, opened: gr.Tab) -> None:
        self.studio = studio
        self._lay_out()
        self._wire(page, opened)

    def _lay_out(self) -> None:
        self.watched: gr.State = gr.State("")
        self.seen: gr.State = gr.State(())
        with gr.Row(equal_height=False):
            with gr.Column(scale=1, min_width=330):
                with gr.Column(elem_classes="r-card r-inner"):
                    self.step = gr.Radio(
                        [(title, name) for name, title in TITLES.items()],
                        value=SAMPLE,
                        label="One round",
                        elem_id="step",
                    )
                    self.facts = drawn("pane", elem_id="facts", classes="r-plain")
                with gr.Column(elem_classes="r-card r-inner"):
                    self._settings()
            with gr.Column(scale=2, min_width=330):
                self.view = run_view.RunPanes()
        self.runs = gr.Dataframe(
            headers=run_view.HEADERS,
            datatype="str",
            interactive=False,
            label="Runs: choose one to look at it",
            elem_id="runs",
            max_height=300,
            column_widths=run_view.WIDTHS,
            buttons=[],
        )
        gr.HTML(f'<p class="r-empty">{METHOD_NOTE}</p>', js_on_load=None)
        with gr.Row(elem_classes="r-actions"):
            self.start = gr.Button(STARTS[SAMPLE], variant="primary", elem_id="start")
            self.stop = gr.Button("Stop and keep", elem_id="stop")
            self.note = drawn("state", elem_id="run-note", classes="r-wide r-state")
        self.clock = gr.Timer(1, active=False)

    def _settings(self) -> None:
        with gr.Column(visible=True, min_width=0) as self.sampling:
            self.n_samples = gr.Slider(
                2,
                8,
                value=4,
                step=1,
                label="Drafts of each prompt",
                elem_id="n-samples",
                info="The best and the worst of them make a pair.",
            )
            self.limit = gr.Number(
                value=0, precision=0, minimum=0, label="Prompts at most", info="0 takes all that were decided."
            )
        with gr.Column(visible=False, min_width=0) as self.training:
            presets = " ".join(f"{name}: {preset.what}" for name, preset in PRESETS.items())
            self.preset = gr.Dropdown(list(PRESETS), value="demo", label="Preset", info=presets, elem_id="preset")
            self.max_steps = _knob(MAX_STEPS)
            with gr.Accordion("More", open=False):
                losses = [(f"{name}: {loss.what}", name) for name, loss in LOSSES.items()]
                self.loss = gr.Dropdown(losses, value="dpo", label="Loss", info=_help("loss"))
                self.knobs = {name: _knob(name) for name in KNOBS if name != MAX_STEPS}
            self.report = drawn("pane", elem_id="report", classes="r-plain")
        with gr.Column(visible=False, min_width=0) as self.promoting:
            self.actor = gr.Radio(list(get_args(Actor)), value="reviser", label="Use as", elem_id="actor")
            self.candidate = gr.Dropdown([BASE], value=BASE, label="Run", elem_id="candidate")

    def _wire(self, page: gr.Blocks, opened: gr.Tab) -> None:
        knobs = [self.max_steps, *self.knobs.values()]
        config = [self.step, self.preset, self.loss, *knobs]
        panes = [*self.view.components, self.note, self.runs, self.seen]
        choosing = [
            self.facts,
            self.sampling,
            self.n_samples,
            self.training,
            self.promoting,
            self.start,
            self.candidate,
            self.report,
        ]
        opened.select(spoken(lambda: gr.Timer(active=True)), None, self.clock, **QUIET)
        opened.select(spoken(self.choose), [*config, self.actor], [*choosing, *knobs], **QUIET)
        page.load(spoken(self.latest), None, self.watched, **QUIET)
        self.step.change(spoken(self.choose), [*config, self.actor], [*choosing, *knobs], **QUIET)
        for choice in (self.preset, self.loss):
            choice.change(spoken(self.switch), config, [self.report, *knobs], **QUIET)
        for knob in knobs:
            knob.change(spoken(self.check), config, self.report, trigger_mode="always_last", **QUIET)
        self.actor.change(spoken(self.candidates), self.actor, self.candidate, **QUIET)
        self.start.click(
            spoken(self.begin),
            [self.n_samples, self.limit, self.actor, self.candidate, *config],
            [self.watched, self.seen],
            **QUIET,
        ).success(spoken(self.choose), [*config, self.actor], [*choosing, *knobs], **QUIET)
        self.stop.click(spoken(self.halt), self.watched, None, **QUIET)
        self.runs.select(spoken(self.look_at), None, [self.watched, self.seen], **QUIET)
        self.clock.tick(spoken(self.follow), [self.watched, self.seen], panes, queue=False, **QUIET)

    # --- what the events do ------------------------------------------------------------------------------------------

    def choose(self, step: str, preset: str, loss: str, *rest: Any) -> dict[Any, Any]:
        """Show what a step has and lacks, and its settings."""
        knobs, actor = rest[:-1], rest[-1]
        training = step in (REVISER, POLICY)
        changed: dict[Any, Any] = {
            self.facts: self._facts(step),
            self.sampling: gr.Column(visible=step in (SAMPLE, REVISE)),
            self.n_samples: gr.Slider(visible=step == SAMPLE),
            self.training: gr.Column(visible=training),
            self.promoting: gr.Column(visible=step == PROMOTE),
            self.start: gr.Button(STARTS[step]),
            self.report: self.check(step, preset, loss, *knobs) if training else {},
            self.candidate: self.candidates(actor),
        }
        return {**changed, **self._defaults(step, preset, loss)}

    def check(self, step: str, preset: str, loss: str, *knobs: Any) -> Value:
        """Return the pre-flight report on what would be trained."""
        if step not in (REVISER, POLICY):
            return {}
        return _report(self.studio.check(self._config(step, preset, loss, knobs)))

    def switch(self, step: str, preset: str, loss: str, *knobs: Any) -> dict[Any, Any]:
        """Follow another preset or loss: each field left empty shows what it says, and the report is made again."""
        return {self.report: self.check(step, preset, loss, *knobs), **self._defaults(step, preset, loss)}

    def candidates(self, actor: Actor) -> gr.Dropdown:
        """Offer the runs whose adapter can be promoted."""
        names = [view.info.name for view in self.studio.promotable(actor)]
        return gr.Dropdown([BASE, *names], value=names[0] if names else BASE)

    def begin(
        self, n_samples: int, limit: int, actor: Actor, candidate: str, step: str, preset: str, loss: str, *knobs: Any
    ) -> tuple[Any, Any]:
        """Start the run of the chosen step, or promote."""
        who, at_most = self.studio.settings.annotator, int(limit or 0) or None
        if step == PROMOTE:
            self.studio.promote(actor, None if candidate == BASE else candidate, annotator=who)
            gr.Info(f"From now on the {actor} is {candidate}.")
            return gr.skip(), gr.skip()
        if step == SAMPLE:
            run = self.studio.draft(annotator=who, n_samples=int(n_samples), limit=at_most)
        elif step == REVISE:
            run = self.studio.revise(annotator=who, limit=at_most)
        else:
            run = self.studio.train(self._config(step, preset, loss, knobs), annotator=who)
        return run.name, ()

    def halt(self, watched: str) -> None:
        """Ask the run in view to stop."""
        if not watched:
            raise InvalidInput("No run is in view. Choose one in the table.")
        self.studio.stop(watched)
        gr.Info("The run finishes its step, keeps what it has, and ends.")

    def latest(self) -> str:
        """Name the run that goes on, or the newest."""
        views = self.studio.runs()
        going = [view for view in views if view.state in ("starting", "running")]
        return (going or views)[0].info.name if views else ""

    def look_at(self, event: gr.SelectData) -> tuple[str, tuple[()]]:
        """Put a run of the table in view."""
        return str(event.row_value[0]), ()

    def follow(self, watched: str, seen: tuple[Any, ...]) -> dict[Any, Any]:
        """Show what has changed since `seen`."""
        views = self.studio.collect()
        view = next((view for view in views if view.info.name == watched), views[0] if views else None)
        rows = run_view.rows(views)
        now = (run_view.token(view), rows)
        if now == seen:
            return {self.seen: gr.skip()}
        return {
            **self.view.show(view),
            self.note: run_view.note(view),
            self.runs: gr.Dataframe(value=rows),
            self.seen: now,
        }

    def _defaults(self, step: str, preset: str, loss: str) -> dict[Any, Any]:
        """Show in each empty field what preset and loss say, and hide what the step does not use."""
        config = self._config(step, preset, loss, ("",) * len(KNOBS))
        updates = {}
        for name, knob in {MAX_STEPS: self.max_steps, **self.knobs}.items():
            shown: dict[str, Any] = {"visible": name not in POLICY_ONLY or step == POLICY}
            if isinstance(knob, gr.Textbox):
                shown["placeholder"] = str(getattr(config, name))
            updates[knob] = gr.update(**shown)
        return updates

    # --- what the screen shows ---------------------------------------------------------------------------------------

    def _config(self, step: str, preset: str, loss: str, knobs: tuple[Any, ...]) -> TrainConfig:
        stage: Actor = "reviser" if step == REVISER else "policy"
        names = (MAX_STEPS, *self.knobs)
        given = {name: value for name, value in zip(names, knobs, strict=True) if value not in (None, "", PRESET)}
        for name in ("lora", "revision_as_task", "gradient_checkpointing"):
            if name in given:
                given[name] = given[name] == "yes"
        return config_for(stage, preset, loss=loss, **given)

    def _facts(self, step: str) -> Value:
        now = self.studio.round()
        facts: dict[str, list[list[str]]] = {
            SAMPLE: [["decided prompts", str(now.decided)], ["with several drafts", str(now.sampled)]],
            REVISER: [["pairs from decisions", str(now.reviser_pairs)]],
            REVISE: [["drafts without a revision", str(now.unrevised)]],
            POLICY: [["on-policy pairs", str(now.on_policy_pairs)], ["revision pairs", str(now.revision_pairs)]],
            PROMOTE: [],
        }
        models = [["policy in use", now.policy], ["reviser in use", now.reviser]]
        return {"title": TITLES[step][2:], "rows": [*facts[step], *models]}


PRESET = "as the preset says"


def _help(name: str) -> str:
    return TrainConfig.model_fields[name].description or ""


def _knob(name: str) -> Any:
    """Return the form field of one setting; left empty it is what the preset or the loss says."""
    field = TrainConfig.model_fields[name]
    label = name.replace("_", " ").capitalize().replace("Lora", "LoRA")
    if field.annotation is bool:
        return gr.Radio([PRESET, "yes", "no"], value=PRESET, label=label, info=_help(name))
    return gr.Textbox("", label=label, info=_help(name), placeholder=PRESET, elem_id=name.replace("_", "-"))


def _report(report: Any) -> Value:
    rows = [["pairs found", str(report.loaded)]]
    rows += [[f"left out: {reason}", str(n)] for reason, n in report.dropped.items()]
    rows += [[f"trained: {kind.replace('_', '-')} pairs", str(n)] for kind, n in report.by_kind.items()]
    rows.append(["longest, in tokens", str(report.longest)])
    value: Value = {"title": "Pre-flight check", "note": f"{report.kept} of {report.loaded} pairs", "rows": rows}
    if report.length_ratio is not None:
        rows.append(["chosen to rejected length", f"{report.length_ratio:.2f}"])
        if not 0.8 <= report.length_ratio <= 1.25:
            longer = "shorter" if report.length_ratio < 1 else "longer"
            value["warning"] = (
                f"Chosen texts are {longer} than rejected ones ({report.length_ratio:.2f} times the words). The model "
                "may learn length rather than quality: watch the length in the benchmark."
            )
    if not report.kept:
        value["warning"] = "There is nothing to train on yet. Accept or edit some revisions in Curate first."
    return value
