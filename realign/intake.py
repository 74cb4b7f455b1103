"""What comes into the store from outside: files that a person brings, and what ended runs have made."""

import logging
from collections.abc import Callable, Collection, Sequence
from datetime import datetime
from pathlib import Path
from typing import NamedTuple, TypeVar

from pydantic import BaseModel, ValidationError

from realign.benchmarks.score import score_of
from realign.datasets import formats
from realign.errors import NotFound, RealignError, StorageFailed
from realign.pairing import add_counts
from realign.records import Decided, Draft, Game, Pair, Revision, Score, Verdict
from realign.runs import ENDED, Run, RunView
from realign.store import Store

log = logging.getLogger("realign.intake")

R = TypeVar("R", bound=BaseModel)


class ImportReport(NamedTuple):
    """What became of a file's rows."""

    format: str
    read: int
    kept: int
    dropped: dict[str, int]


def take_file(
    store: Store,
    path: Path,
    format: str | None,  # noqa: A002 - the word on the screen
    *,
    held_out: Collection[str],
    origin: str,
    now: datetime,
    new_id: Callable[[], str],
) -> ImportReport:
    """Store a file's prompts, pairs or decided items, all or nothing; what `held_out` names by hash is left out."""
    taken = formats.read(path, format, origin=origin, now=now, new_id=new_id)
    prompts = [prompt for prompt in taken.prompts if prompt.content_hash not in held_out]
    foreign = [pair for pair in taken.pairs if not _was_decided_here(store, pair)]
    pairs = [pair for pair in foreign if pair.prompt_hash not in held_out]
    decided = [item for item in taken.decided if item.prompt.content_hash not in held_out]
    n_taken = len(taken.prompts) + len(foreign) + len(taken.decided)
    n_left = len(prompts) + len(pairs) + len(decided)
    added = store.add_prompts(prompts)
    new_pairs, known_pairs = store.add_pairs(pairs)
    new_decided = sum(_take_decided(store, item) for item in decided)
    dropped = dict(taken.dropped)
    add_counts(dropped, {"decided here already": len(taken.pairs) - len(foreign)})
    known = added.duplicates + known_pairs + len(decided) - new_decided
    add_counts(dropped, {"held out for the benchmark": n_taken - n_left, "known already": known})
    return ImportReport(taken.format, taken.read, added.added + new_pairs + new_decided, dropped)


def take_ended(
    store: Store, views: Sequence[RunView], untaken: set[str], *, now: datetime, new_id: Callable[[], str]
) -> None:
    """Bring home every run of `views` (newest first) that has ended and was not taken before.

    One that cannot be taken must not hide the others: it is logged, named in `untaken`, and tried again at the next
    start.
    """
    for view in reversed(views):  # drafts before the revisions of them
        name = view.info.name
        if view.state not in ENDED or name in untaken or store.is_collected(name):
            continue
        try:
            take_run(store, view.run, now=now, new_id=new_id)
            store.mark_collected(name)
        except RealignError as error:
            log.warning("Nothing was taken from the run %s: %s", name, error)
            untaken.add(name)


def take_run(store: Store, run: Run, *, now: datetime, new_id: Callable[[], str]) -> None:
    """Bring home what `run` has made so far; doing so again changes nothing."""
    kind = run.info().kind
    if kind == "draft":
        store.add_drafts(_made(run, "drafts", Draft))
    elif kind == "revise":
        store.add_revisions(_made(run, "revisions", Revision))
    elif kind == "benchmark":
        store.add_games(_made(run, "games", Game))
        verdicts = _made(run, "verdicts", Verdict)
        for verdict in verdicts:
            store.add_verdict(verdict)
        for judge in {verdict.judge for verdict in verdicts}:
            store.set_score(score(store, run, judge, now=now, new_id=new_id))


def score(store: Store, run: Run, judge: str, *, now: datetime, new_id: Callable[[], str]) -> Score:
    """Return the score of a benchmark run by the verdicts that `judge` has given so far."""
    games, verdicts = store.games(run.name), store.verdicts(run.name, judge)
    return score_of(run.name, run.info().config, games, verdicts, judge, now=now, new_id=new_id())


def _was_decided_here(store: Store, pair: Pair) -> bool:
    """Say whether a pair comes from an own export, whose decision gives it anyway."""
    if pair.decision_id is None:
        return False
    try:
        store.decision(pair.decision_id)
    except NotFound:
        return False
    return True


def _take_decided(store: Store, item: Decided) -> bool:
    """Store one decided item under the prompt that is here already, if it is; say whether it was new."""
    if not store.add_prompts([item.prompt]).added:
        prompt = store.prompt_by_hash(item.prompt.content_hash)
        if store.live_decision(prompt.id):
            return False
        item = Decided(
            prompt,
            item.draft.model_copy(update={"prompt_id": prompt.id}),
            item.revision,
            item.decision.model_copy(update={"prompt_id": prompt.id, "supersedes": None}),
        )
    store.add_drafts([item.draft])
    store.add_revisions([item.revision])
    store.decide(item.decision.model_copy(update={"supersedes": None}))
    return True


def _made(run: Run, name: str, record: type[R]) -> list[R]:
    try:
        return [record.model_validate(row) for row in run.made(name)]
    except (ValueError, OSError) as error:  # pydantic's, JSON's and UTF-8's complaints are all ValueErrors
        path = run.output / f"{name}.jsonl"
        reason = error.errors()[0]["msg"] if isinstance(error, ValidationError) else error
        raise StorageFailed(f"{path} cannot be read: {reason}. It is damaged or was changed by hand.") from error
