"""One item in front of one person: brought, written, decided, taken back, gone through again.

An annotator is the name in the record; a seat is one browser of theirs, and holds at most one item at a time.
"""

from collections import Counter
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from typing import NamedTuple

from pydantic import Field

from realign import orders, pairing
from realign.ahead import write_ahead
from realign.curation import hunks
from realign.curation.form import Form
from realign.curation.merge import carry_over
from realign.curation.ruling import rule, side_of, to_redo, withdraw, work_of
from realign.datasets.checks import flags, refusal_reason
from realign.errors import Conflict, InvalidInput, NotFound
from realign.generation import Answer, Writing
from realign.generation.live import LiveModels
from realign.generation.recipe import draft_of, revision_of
from realign.generation.templates import DEFAULT_TEMPLATE, revision_prompt
from realign.models.catalog import ModelSpec
from realign.records import (
    Actor,
    Decision,
    Draft,
    Item,
    Prompt,
    Record,
    Revision,
    Ruling,
    Unfinished,
    Work,
)
from realign.store import DayTally, Lease, Progress, Store

__all__ = ["Asking", "DayTally", "Desk", "History", "Progress", "Writing"]

LEASE = timedelta(minutes=30)
LOG = 200
"""How far back a redo looks."""
MOST_CANDIDATES = 8
MAX_INSTRUCTION = 2000


class Asking(Record):
    """How a person wants another revision."""

    instruction: str = Field("", max_length=MAX_INSTRUCTION)
    temperature: float = Field(0.7, ge=0, le=2)
    template: str = DEFAULT_TEMPLATE
    n: int = Field(1, ge=1, le=MOST_CANDIDATES)
    seed: int | None = Field(None, ge=0, lt=2**31)
    """None takes one that this draft has not seen."""


class History(NamedTuple):
    """Everything that was ever written for a prompt or decided on it, oldest first."""

    drafts: list[Draft]
    revisions: list[Revision]
    decisions: list[Decision]


class Desk:
    """What the curation screen calls."""

    compare = staticmethod(hunks.compare)
    merge = staticmethod(hunks.apply)
    word_change = staticmethod(hunks.word_change)
    carry_over = staticmethod(carry_over)
    flags = staticmethod(flags)

    def __init__(
        self,
        store: Store,
        models: LiveModels,
        spec: Callable[[Actor], ModelSpec],
        form: Form,
        *,
        now: Callable[[], datetime],
        new_id: Callable[[], str],
    ) -> None:
        self.store = store
        self.models = models
        self.form = form
        self.spec = spec
        self._tried: Counter[str] = Counter()
        self.now = now
        self.new_id = new_id

    # --- what is in front --------------------------------------------------------------------------------------------

    def next_revision(self, seat: str, annotator: str, prompt_id: str | None = None) -> Item | None:
        """Lease the next waiting prompt, or the one named, to `seat`, with its texts; none when nothing waits.

        What `annotator` has begun comes first, whatever browser they began it in.
        """
        now = self.now()
        lease = self.store.lease(seat, now, now + LEASE, self.new_id(), prompt_id, annotator)
        return lease and self._begun(self._item(lease), annotator)

    def open_item(self, prompt_id: str, seat: str, annotator: str) -> Item:
        """Lease one particular prompt, decided or not, to `seat`."""
        if item := self.next_revision(seat, annotator, prompt_id):
            return item
        raise NotFound("This prompt is gone. Choose another one.")

    def leave(self, seat: str) -> None:
        """Give back the item that `seat` holds, so that someone else can have it."""
        self.store.release(seat)

    def pass_over(self, item: Item, seat: str, annotator: str) -> Item:
        """Leave an item that is still being written, undecided, for a ready one, or else for the one behind it."""
        others = self.store.next_ready() or self.store.unready(1, after=item.prompt.id)
        if not others:
            raise InvalidInput("This is the last prompt that waits. Wait until it is written.")
        return self.open_item(others[0].id, seat, annotator)

    def step(self, item: Item | None, seat: str, annotator: str, *, forward: bool) -> Item | None:
        """Open what `annotator` decided before or after `item`; forward from the last one leads to what waits."""
        prompt_id = self.store.neighbour(annotator, item.prompt.id if item else None, forward=forward)
        if prompt_id:
            return self.open_item(prompt_id, seat, annotator)
        if not forward:
            raise NotFound("There is no earlier decision of yours.")
        if item and item.superseded:
            self.leave(seat)
        return self.next_revision(seat, annotator)

    def choose(self, item: Item, revision_id: str) -> Item:
        """Put another revision of the same draft in front; the decision will be on that one."""
        for revision in item.revisions:
            if revision.id == revision_id:
                return item._replace(revision=revision)
        raise NotFound("This revision is gone. Reload the page.")

    def history(self, prompt_id: str) -> History:
        """Return everything that was ever written for a prompt or decided on it."""
        drafts = self.store.drafts_of(prompt_id)
        revisions = [revision for draft in drafts for revision in self.store.revisions_of(draft.id)]
        return History(drafts, revisions, self.store.history(prompt_id))

    # --- what the models write ---------------------------------------------------------------------------------------

    def write_draft(self, prompt: Prompt) -> Iterator[Writing | Draft]:
        """Let the policy answer `prompt`; the draft is stored before it is yielded as the last item."""
        spec = self.spec("policy")
        decoding = orders.DRAFTING.model_copy(update={"seed": len(self.store.drafts_of(prompt.id))})
        for step in self.models.write(spec, prompt.messages, decoding):
            if isinstance(step, Answer):
                draft = draft_of(self.new_id(), prompt, step, self.models.backend(spec), decoding)
                self.store.add_drafts([draft])
                yield draft
            else:
                yield step

    def write_revision(self, prompt: Prompt, draft: Draft) -> Iterator[Writing | Revision]:
        """Let the reviser improve `draft`; the revision is stored before it is yielded as the last item.

        A revision of no use, such as a copy of the draft, is stored too, and the reviser asked again, more freely.
        """
        for temperature in orders.REVISING_AGAIN:
            for step in self.write_revisions(prompt, draft, Asking(temperature=temperature)):
                if isinstance(step, Writing):
                    yield step
                elif temperature == orders.REVISING_AGAIN[-1] or not refusal_reason(draft.text, step.text):
                    yield step
                    return

    def write_revisions(self, prompt: Prompt, draft: Draft, asking: Asking) -> Iterator[Writing | Revision]:
        """Let the reviser improve `draft` as asked; each revision is stored before it is yielded.

        One streams; several are written at once, which takes hardly longer, and come together.
        """
        if asking.n > 1 and asking.temperature == 0:
            raise InvalidInput("At temperature 0 all revisions would be the same. Raise it, or ask for one.")
        spec = self.spec("reviser")
        instruction = asking.instruction.strip()
        seed = len(self.store.revisions_of(draft.id)) if asking.seed is None else asking.seed
        decoding = orders.REVISING.model_copy(update={"temperature": asking.temperature, "seed": seed})
        chat = revision_prompt(asking.template, prompt.messages, draft.text, instruction)
        if asking.n > 1:
            yield Writing("", 0, 0.0)
            steps: Iterator[Writing | Answer] = iter(
                self.models.write_together(spec, [chat] * asking.n, decoding, [draft.text] * asking.n)
            )
        else:
            steps = self.models.write(spec, chat, decoding, guess=draft.text)
        for step in steps:
            if isinstance(step, Writing):
                yield step
                continue
            backend = self.models.backend(spec)
            revision = revision_of(self.new_id(), draft, step, backend, decoding, asking.template, instruction)
            self.store.add_revisions([revision])
            yield revision

    def write_ahead(self, computing: Callable[[], bool]) -> None:
        """Keep the next items of everybody at work ready, while nobody waits for a model and nothing is `computing`."""
        self.models.meanwhile(
            write_ahead(
                self.store,
                self.models,
                self.spec("policy"),
                self.spec("reviser"),
                computing=computing,
                n_seats=lambda: self.store.n_seats(self.now()),
                tried=self._tried,
                new_id=self.new_id,
            )
        )

    # --- what the person does ----------------------------------------------------------------------------------------

    def work(self, item: Item, annotator: str) -> Work:
        """Return how far `annotator` is with the revision in front: half-done work, an earlier decision, or nothing."""
        if item.revision and (begun := self.store.unfinished(annotator, item.revision.id)):
            return Work(**{name: getattr(begun, name) for name in Work.model_fields})
        return untouched(item)

    def keep(self, item: Item, work: Work, annotator: str) -> datetime | None:
        """Store half-done work on `item`; none where the item was decided meanwhile and nothing was kept."""
        if item.revision is None:
            raise InvalidInput("There is no revision to work on yet. Wait until it is written.")
        now = self.now()
        if work == untouched(item):
            self.store.drop_unfinished(annotator, item.revision.id)
            return now
        unfinished = Unfinished(
            **work.model_dump(),
            decision_id=item.decision_id,
            prompt_id=item.prompt.id,
            revision_id=item.revision.id,
            annotator=annotator,
            saved=now,
        )
        return now if self.store.keep(unfinished) else None

    def decide(
        self,
        item: Item,
        ruling: Ruling,
        work: Work | None = None,
        *,
        annotator: str,
        active_ms: int | None = None,
        blind: bool = False,
    ) -> Decision:
        """Store a ruling on `item` and return it as stored; `curation.ruling` says what becomes of it.

        Raises `InvalidInput` where the form asks for more and `Conflict` where the item was decided otherwise.
        """
        work = work or Work()
        self.form.check(ruling, work)
        decision = rule(
            item,
            ruling,
            work,
            annotator=annotator,
            now=self.now(),
            active_ms=active_ms,
            blind=blind,
            side=side_of(item.decision_id) if blind else "right",
        )
        stored = self.store.decide(decision)
        if (stored.ruling, stored.final_text) != (decision.ruling, decision.final_text):
            raise Conflict(
                f"This item was {stored.ruling} in another window. What you see here was not "
                "stored: copy your text if you need it, then reload the page."
            )
        return stored

    def undo(self, annotator: str, seat: str) -> Item:
        """Take back the last decision of `annotator` and put its item in front of them again, as they left it."""
        last = self.store.last_decision(annotator)
        if last is None:
            raise NotFound("There is nothing to undo: you have not decided anything yet.")
        self.store.release(seat)
        self.store.decide(withdraw(last, decision_id=self.new_id(), annotator=annotator, now=self.now()))
        item = self.open_item(last.prompt_id, seat, annotator)
        draft, revision = self.store.draft(last.draft_id), self.store.revision(last.revision_id)
        item = item._replace(draft=draft, revision=revision, revisions=self._candidates(draft, revision))
        self.keep(item, work_of(last, revision.text), annotator)
        return item

    def redo(self, annotator: str, seat: str) -> Item | None:
        """Decide again what `annotator` took back last, and bring the next item."""
        wanted = to_redo(self.store.log(annotator, LOG))
        if wanted is None:
            raise NotFound("There is nothing to redo: you have decided something since, or undone nothing.")
        decision = self.store.decision(wanted)
        again = {"id": self.new_id(), "decided": self.now(), "supersedes": None}
        self.store.decide(decision.model_copy(update=again))
        return self.next_revision(seat, annotator)

    def progress(self, annotator: str) -> Progress:
        """Return how far `annotator` is."""
        return self.store.progress(annotator, self.now())

    # --- inside ------------------------------------------------------------------------------------------------------

    def _item(self, lease: Lease) -> Item:
        return pairing.item_of(self.store, lease, self.spec("policy"), self.spec("reviser"))

    def _candidates(self, draft: Draft, shown: Revision) -> tuple[Revision, ...]:
        found = tuple(self.store.revisions_of(draft.id))
        return found if shown in found else (*found, shown)

    def _begun(self, item: Item, annotator: str) -> Item:
        """Put in front the candidate that `annotator` worked on last, if any."""
        if len(item.revisions) < 2:
            return item
        begun = [self.store.unfinished(annotator, revision.id) for revision in item.revisions]
        latest = max((work for work in begun if work), key=lambda work: work.saved, default=None)
        return self.choose(item, latest.revision_id) if latest else item


def untouched(item: Item) -> Work:
    """Return the work of somebody who has not touched `item`: as it was decided before, or the revision as it is."""
    if item.revision is None:
        return Work()
    if item.superseded and item.superseded.revision_id == item.revision.id:
        return work_of(item.superseded, item.revision.text)
    return Work(final_text=item.revision.text)
