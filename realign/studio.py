"""The loop, in order, in one file: what the screens and the terminal call. Read this first.

    import prompts → draft → revise → decide → build pairs → train the reviser → revise → train the policy
    → benchmark → promote, and round again

Each verb delegates: to the store for what is remembered, to a run for what takes long, to the live models for what a
person waits for. Nothing heavy is imported until it is needed, so that the page opens at once.
"""

import threading
import time
import uuid
from collections.abc import Callable, Collection, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from realign import intake, orders, overview, pairing, runs
from realign.curation.form import load_form
from realign.datasets import export, formats
from realign.desk import Desk
from realign.errors import InvalidInput, pick
from realign.generation import Answer, Writing
from realign.generation.live import LiveModels, ModelState
from realign.generation.templates import DEFAULT_TEMPLATE, revision_prompt
from realign.intake import ImportReport
from realign.judges import JUDGES, PERSON, Preferred
from realign.models.catalog import ModelSpec
from realign.overview import Found, Pace, Round
from realign.pairing import PreparedPairs
from realign.records import (
    Actor,
    Chat,
    Game,
    Item,
    Message,
    PairKind,
    Promotion,
    Prompt,
    Ruling,
    Score,
    Verdict,
    is_broken,
    is_empty,
)
from realign.runs import Run, RunView
from realign.settings import Settings
from realign.store import Store
from realign.training.config import TrainConfig
from realign.two_drafts import DraftsDesk

if TYPE_CHECKING:
    from realign.training.rows import RowReport

PLAIN: PairKind = "plain"
DATA = Path(__file__).parent.parent / "data"


class Studio:
    """One installation: its settings, its store, its models, its runs; `desk` is where people decide."""

    def __init__(
        self,
        settings: Settings,
        store: Store,
        *,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
        new_id: Callable[[], str] = lambda: uuid.uuid4().hex,
    ) -> None:
        self.settings = settings
        self.store = store
        self.models = LiveModels()
        self.form = load_form(settings.form)
        self.desk = Desk(store, self.models, self.spec, self.form, now=now, new_id=new_id)
        self.drafts_desk = DraftsDesk(self.desk)
        self._now = now
        self._new_id = new_id
        self._collecting = threading.Lock()
        self._untaken: set[str] = set()
        self._looked = 0.0
        self._runs_compute = False

    # --- models in use -----------------------------------------------------------------------------------------------

    def spec(self, actor: Actor) -> ModelSpec:
        """Return the model in use as policy or reviser: the configured base, with the promoted adapter if any."""
        promotion = self.store.promoted(actor)
        return self.spec_of(actor, promotion.run if promotion else None)

    def spec_of(self, actor: Actor, run: str | None) -> ModelSpec:
        """Return the model that `run` made for `actor`, gone or not (loading it will say so); none means the base."""
        settings = self.settings
        source = settings.policy if actor == "policy" else settings.reviser
        spec = ModelSpec(
            source=source, cache=settings.model_cache, device=settings.device, precision=settings.precision
        )
        if run is None:
            return spec
        adapter = Run(settings.runs / run).output / "adapter"
        return spec.model_copy(update={"adapter": adapter, "adapter_run": run})

    def warm_up(self) -> None:
        """Load the models in use in the background."""
        self.models.warm_up(self.spec("policy"), self.spec("reviser"))

    def model_state(self) -> ModelState:
        """Return what the screen should say of the models."""
        return self.models.state()

    # --- prompts in --------------------------------------------------------------------------------------------------

    def import_file(self, path: Path, format: str | None = None, origin: str = "") -> ImportReport:  # noqa: A002
        """Take prompts, pairs or decided items from a file, all or nothing; held-out prompts are counted, not taken."""
        held_out = {prompt.content_hash for prompt in self.held_out()}
        origin, now = origin or path.name, self._now()
        return intake.take_file(
            self.store, path, format, held_out=held_out, origin=origin, now=now, new_id=self._new_id
        )

    def add_prompt(self, text: str, seat: str, annotator: str) -> Item:
        """Queue a prompt that a person typed and put it in front of them; raise `InvalidInput` where it is empty."""
        if is_empty(text):
            raise InvalidInput("The prompt is empty. Type what the policy should answer.")
        if is_broken(text):
            raise InvalidInput("The prompt holds a NUL or half a character. Remove it.")
        messages = (Message(role="user", content=text.strip()),)
        prompt = Prompt(id=self._new_id(), messages=messages, origin="typed", created=self._now())
        if prompt.content_hash in {held.content_hash for held in self.held_out()}:
            raise InvalidInput("This prompt is held out for the benchmark. Type another one.")
        if not self.store.add_prompts([prompt]).added:
            prompt = self.store.prompt_by_hash(prompt.content_hash)
        return self.desk.open_item(prompt.id, seat, annotator)

    def fill_if_empty(self) -> None:
        """Bring the prompts that come with the installation into an empty store, so that a first start has work."""
        if self.store.n_prompts() == 0:
            self.import_file(DATA / "prompts.jsonl", "prompts", "everyday prompts")

    def held_out(self) -> list[Prompt]:
        """Return the benchmark's prompts, which never enter training."""
        kept = DATA / "heldout.jsonl"
        taken = formats.read(kept, "prompts", origin="heldout", now=self._now(), new_id=self._new_id)
        return [prompt.model_copy(update={"id": prompt.source_id}) for prompt in taken.prompts]

    # --- one item, live: `desk` ---------------------------------------------------------------------------------------

    def write_ahead(self) -> None:
        """Keep the next items of everybody at work ready, while nobody waits for a model and no run computes."""
        self.desk.write_ahead(self._computing)

    def _computing(self) -> bool:
        """Say whether a run computes, as of at most two seconds ago: it is asked with every token."""
        if time.monotonic() > self._looked + 2:
            self._runs_compute = any(view.state in ("starting", "running") for view in self.runs())
            self._looked = time.monotonic()
        return self._runs_compute

    def chat(self, messages: Chat) -> Iterator[Writing | Answer]:
        """Let the policy in use answer a conversation; nothing is stored."""
        return self.models.write(self.spec("policy"), messages, orders.DRAFTING)

    def improve(self, messages: Chat, answer: str) -> Iterator[Writing | Answer]:
        """Let the reviser in use improve any answer; nothing is stored."""
        asked = revision_prompt(DEFAULT_TEMPLATE, messages, answer)
        return self.models.write(self.spec("reviser"), asked, orders.REVISING, guess=answer)

    # --- whole files -------------------------------------------------------------------------------------------------

    def draft(self, *, annotator: str, n_samples: int = 1, limit: int | None = None) -> Run:
        """Start a run in which the policy answers prompts that have no draft, or several times those decided on."""
        order = orders.draft(self.store, self.spec("policy"), n_samples=n_samples, limit=limit, seed=len(self.runs()))
        return self._start(order, annotator)

    def revise(self, *, annotator: str, limit: int | None = None) -> Run:
        """Start a run in which the reviser improves the latest draft of every prompt that has no revision yet."""
        return self._start(orders.revise(self.store, self.spec("reviser"), limit=limit), annotator)

    def build_pairs(self, kinds: Collection[PairKind]) -> PreparedPairs:
        """Turn decisions, ranked drafts of the policy in use, and imported pairs into pairs; every drop is counted."""
        return pairing.all_pairs(self.store, kinds, self.spec("policy"))

    def browse(self, *, pairs: bool, text: str, ruling: Ruling | None, offset: int, limit: int) -> Found:
        """Search decisions, or the pairs they give, newest first, and count what there is."""
        if pairs:
            return overview.find_pairs(self.store, self.build_pairs(overview.KINDS), text, offset=offset, limit=limit)
        return overview.find_decided(self.store, text, ruling, offset=offset, limit=limit)

    def pace(self) -> Pace:
        """Return how people have decided, day by day."""
        return overview.pace(self.store)

    def export(self, path: Path, format: str, kinds: Collection[PairKind] = (PLAIN,)) -> int:  # noqa: A002
        """Write pairs, or in the native format decided items, to `path`; return how many rows."""
        if path.resolve() == (self.settings.home / "realign.sqlite3").resolve():
            raise InvalidInput(f"{path} is the database itself. Choose another file.")
        if format == "native":
            return export.write(path, format, decided=self.store.decided())
        return export.write(path, format, pairs=self.build_pairs(kinds).pairs)

    # --- training ----------------------------------------------------------------------------------------------------

    def check(self, config: TrainConfig) -> "RowReport":
        """Pre-flight: say what would be trained on, and what would not and why, before anything starts."""
        from realign.models.loading import load_tokenizer
        from realign.training.rows import prepare

        chosen = pairing.training_pairs(self.store, config, self.spec("policy"))
        tokenizer = load_tokenizer(self.spec(config.stage), self.models.say)
        return prepare(chosen.pairs, tokenizer, max_length=config.max_length).report.with_dropped(chosen.dropped)

    def train(self, config: TrainConfig, *, annotator: str) -> Run:
        """Start a training run of `config.stage` on everything decided so far."""
        return self._start(orders.train(self.store, config, self.spec(config.stage), self.spec("policy")), annotator)

    def round(self) -> Round:
        """Return what each step of a round has to work with."""
        return overview.round_so_far(self.store, self.spec("policy"), self.spec("reviser"))

    def promotable(self, actor: Actor) -> list[RunView]:
        """Return the runs that made an adapter for `actor`, newest first."""
        return overview.promotable(self.runs(), actor)

    def promote(self, actor: Actor, run: str | None, *, annotator: str) -> Promotion:
        """From now on use the adapter that `run` made as policy or reviser; none goes back to the base."""
        if run is not None:
            view = self.run(run).view()
            if view.info.kind != actor:
                raise InvalidInput(f"Run {run} made no {actor}: it is a {view.info.kind} run.")
            if not overview.has_adapter(view):
                raise InvalidInput(f"Run {run} has no adapter to promote: it {view.state}.")
        promotion = Promotion(id=self._new_id(), actor=actor, run=run, annotator=annotator, created=self._now())
        self.store.promote(promotion)
        self.models.warm_up(self.spec(actor))
        return promotion

    # --- benchmark ---------------------------------------------------------------------------------------------------

    def benchmark(
        self, model: str | None, baseline: str | None, *, judge: str, annotator: str, n_prompts: int | None = None
    ) -> Run:
        """Start a run in which two policies, each named by its run or None for the base, answer held-out prompts."""
        pick(judge, {**JUDGES, PERSON: None}, "judge")
        one, other = (self.spec_of("policy", name and self.run(name).name) for name in (model, baseline))
        return self._start(orders.benchmark(self.held_out()[:n_prompts], one, other, judge), annotator)

    def next_game(self) -> Game | None:
        """Return the next game that waits for a person; none when all are judged."""
        return overview.next_game(self.store, self.runs())

    def judge(self, game: Game, preferred: Preferred) -> Game | None:
        """Store a person's verdict on one game and return the next one."""
        verdict = Verdict(id=self._new_id(), game_id=game.id, judge=PERSON, preferred=preferred, created=self._now())
        self.store.add_verdict(verdict)
        score = intake.score(self.store, self.run(game.run), PERSON, now=self._now(), new_id=self._new_id)
        self.store.set_score(score)
        return self.next_game()

    def scores(self) -> list[Score]:
        """Return every score, newest first."""
        return self.store.scores()

    # --- runs --------------------------------------------------------------------------------------------------------

    def runs(self) -> list[RunView]:
        """Return every run, newest first, with its state as it is now."""
        return runs.listing(self.settings.runs)

    def run(self, name: str) -> Run:
        """Return the run called `name`; raise `NotFound` where there is none."""
        return runs.load(self.settings.runs, name)

    def stop(self, name: str) -> None:
        """Ask a run to finish its step, keep what it has, and end."""
        runs.stop(self.run(name))

    def collect(self) -> list[RunView]:
        """Bring home what runs have made since the last call and return all runs; calling it twice changes nothing."""
        views = self.runs()
        with self._collecting:
            intake.take_ended(self.store, views, self._untaken, now=self._now(), new_id=self._new_id)
        return views

    def _start(self, order: orders.Order, annotator: str) -> Run:
        return orders.launch(order, self.settings, annotator=annotator, now=self._now(), salt=self._new_id())
