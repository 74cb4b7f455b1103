"""Benchmark: is it better, and how sure are we?"""

from typing import Any

import gradio as gr

from realign.choices import PERSON, Preferred
from realign.errors import InvalidInput
from realign.records import Game, Score
from realign.studio import Studio
from realign.ui import run_view
from realign.ui.boundary import spoken
from realign.ui.drawn import Value, drawn

TITLE = "Benchmark"
KEYS = {"1": "first-better", "0": "no-difference", "2": "second-better"}
QUIET: dict[str, Any] = {"show_progress": "hidden", "api_visibility": "private"}

BASE = "base"
COLUMNS = [
    ["model", ""],
    ["against", "The model compared with."],
    ["judge", "Who said which answer is better; scores of different judges are not compared."],
    ["win rate %", "Share of games in which the model was preferred; a tie counts one half."],
    ["95 % interval", "Bootstrap over prompts; Wilson's formula below ten prompts. The dashed line is 50 %."],
    ["from – to", "The interval's two ends, in percent."],
    ["n", "Games with a verdict."],
    ["unjudged", "Games without a readable verdict; they are left out and never count as ties."],
    ["when", ""],
]


def build(studio: Studio, page: gr.Blocks, opened: gr.Tab) -> None:
    """Lay the tab out and wire it."""
    Benchmark(studio, page, opened)


class Benchmark:
    """The components of the tab and what they do."""

    def __init__(self, studio: Studio, page: gr.Blocks, opened: gr.Tab) -> None:
        self.studio = studio
        self._lay_out()
        self._wire(opened)

    def _lay_out(self) -> None:
        self.game: gr.State = gr.State(None)
        self.seen: gr.State = gr.State(None)
        n_held_out = len(self.studio.held_out())
        self.scores = drawn("scores", elem_id="scores")
        with gr.Row(equal_height=False):
            with gr.Column(elem_classes="r-card r-inner", scale=1, min_width=300):
                self.model = gr.Dropdown([BASE], value=BASE, label="Model", elem_id="bench-model")
                self.baseline = gr.Dropdown([BASE], value=BASE, label="Against", elem_id="bench-baseline")
                self.judge = gr.Radio(
                    [("people, blind", PERSON), ("rubric (plain checks, for development)", "rubric")],
                    value="rubric",
                    label="Judge",
                    elem_id="bench-judge",
                )
                self.n = gr.Slider(
                    1, n_held_out, value=n_held_out, step=1, label="Held-out prompts", elem_id="bench-n",
                    info="They never enter training.",
                )  # fmt: skip
            with gr.Column(scale=2, min_width=300):
                self.state = drawn("pane", elem_id="bench-run")
        self.prompt = drawn("pane", elem_id="bench-prompt", classes="r-card r-prompt")
        with gr.Row(equal_height=True, visible=False) as self.sides:
            self.first = drawn("pane", elem_id="first")
            self.second = drawn("pane", elem_id="second")
        with gr.Row(elem_classes="r-actions"):
            self.start = gr.Button("New benchmark run", variant="primary", elem_id="bench-start")
            self.first_better = _verdict("First is better", "first-better")
            self.tie = _verdict("No difference", "no-difference")
            self.second_better = _verdict("Second is better", "second-better")
            self.note = drawn("state", elem_id="bench-note", classes="r-wide r-state")
        self.verdicts = [self.first_better, self.tie, self.second_better]
        self.clock = gr.Timer(1, active=False)

    def _wire(self, opened: gr.Tab) -> None:
        live = [self.state, self.note, self.scores, self.seen]
        table = [self.prompt, self.sides, self.first, self.second, self.game, *self.verdicts]
        opened.select(spoken(lambda: gr.Timer(active=True)), None, self.clock, **QUIET)
        opened.select(spoken(self.offer), None, [self.model, self.baseline], **QUIET)
        opened.select(spoken(self.deal), None, table, **QUIET)
        self.start.click(spoken(self.begin), [self.model, self.baseline, self.judge, self.n], self.seen, **QUIET)
        verdicts: list[tuple[gr.Button, Preferred]] = [
            (self.first_better, "first"),
            (self.tie, "tie"),
            (self.second_better, "second"),
        ]
        for button, preferred in verdicts:
            button.click(spoken(self.rule), [gr.State(preferred), self.game], table, **QUIET)
        self.clock.tick(spoken(self.follow), [self.seen, self.game], [*live, *table], queue=False, **QUIET)

    # --- what the events do ------------------------------------------------------------------------------------------

    def offer(self) -> dict[Any, Any]:
        """Offer the base and every policy that was trained."""
        names = [view.info.name for view in self.studio.promotable("policy")]
        return {
            self.model: gr.Dropdown([BASE, *names], value=names[0] if names else BASE),
            self.baseline: gr.Dropdown([BASE, *names], value=BASE),
        }

    def begin(self, model: str, baseline: str, judge: str, n: int) -> None:
        """Start a benchmark run."""
        one, other = (None if name == BASE else name for name in (model, baseline))
        who = self.studio.settings.annotator
        self.studio.benchmark(one, other, judge=judge, annotator=who, n_prompts=int(n))
        gr.Info("Both models answer now; the score appears above when they are judged.")

    def deal(self) -> dict[Any, Any]:
        """Show the next game that waits for a person."""
        return self._table(self.studio.next_game())

    def rule(self, preferred: Preferred, game: Game | None) -> dict[Any, Any]:
        """Store a verdict and show the next game."""
        if game is None:
            raise InvalidInput("No game waits for you. Start a benchmark run judged by people.")
        return self._table(self.studio.judge(game, preferred))

    def follow(self, seen: Any, game: Game | None) -> dict[Any, Any]:
        """Show what has changed since `seen`."""
        views = [view for view in self.studio.collect() if view.info.kind == "benchmark"]
        view = views[0] if views else None
        scores = self.studio.scores()
        now = (run_view.token(view), tuple(score.id for score in scores), tuple(score.n for score in scores))
        if now == seen:
            return {self.seen: gr.skip()}
        dealt = {} if game else self.deal()
        return {
            self.state: run_view.state(view),
            self.note: run_view.note(view),
            self.scores: _leaderboard(scores),
            self.seen: now,
            **dealt,
        }

    # --- what the screen shows ---------------------------------------------------------------------------------------

    def _table(self, game: Game | None) -> dict[Any, Any]:
        if game is None:
            empty = "No game waits for a person. Start a run judged by people to compare two models blind."
            return {
                self.prompt: {"title": "Blind judging", "empty": empty},
                self.sides: gr.Row(visible=False),
                self.game: None,
                **dict.fromkeys(self.verdicts, gr.Button(interactive=False)),
            }
        turns = [{"role": message.role, "text": message.content} for message in game.prompt]
        note = "which answer is better? Sides are drawn by lot and names are hidden"
        return {
            self.prompt: {"title": "Blind judging", "note": note, "turns": turns},
            self.sides: gr.Row(visible=True),
            **dict.fromkeys(self.verdicts, gr.Button(interactive=True)),
            self.first: {"title": "First", "text": game.first},
            self.second: {"title": "Second", "text": game.second},
            self.game: game,
        }


def _verdict(label: str, elem_id: str) -> gr.Button:
    return gr.Button(label, elem_id=elem_id, elem_classes=["r-key-on"], interactive=False)


def _leaderboard(scores: list[Score]) -> Value:
    rows = [
        {
            "model": score.model,
            "baseline": score.baseline,
            "judge": score.judge,
            "rate": score.win_rate,
            "lower": score.lower,
            "upper": score.upper,
            "n": score.n,
            "unjudged": score.n_unjudged,
            "created": score.created.isoformat(),
        }
        for score in scores
    ]
    empty = "No score yet. Choose two models below and start a run."
    return {
        "title": "Everyday prompts, held out",
        "note": "never trained on",
        "columns": COLUMNS,
        "scores": rows,
        "empty": empty,
    }
