"""What the screens ask: one page of a search, where a round stands, which runs can be promoted or judged."""

from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import date
from typing import NamedTuple, get_args

from realign.judges import PERSON
from realign.models.catalog import ModelSpec
from realign.pairing import FOR_POLICY, PreparedPairs, all_pairs
from realign.records import Actor, Decided, Game, Pair, PairKind, Ruling
from realign.runs import RunView
from realign.store import DayTally, Store

KINDS: tuple[PairKind, ...] = get_args(PairKind)


class Found(NamedTuple):
    """One page of what a search found, how many there are in all, and how many of everything is stored."""

    rows: Sequence[Decided] | Sequence[Pair]
    total: int
    counts: dict[str, int]


class Pace(NamedTuple):
    """How everybody has decided, day by day, and one annotator's habits."""

    days: list[DayTally]
    """Everybody's days, oldest first, people added up."""
    by_annotator: dict[str, DayTally]
    """Each annotator's days added up."""


class Round(NamedTuple):
    """What each step of a round has to work with."""

    decided: int
    sampled: int
    """Decided prompts with several drafts of the policy in use."""
    reviser_pairs: int
    unrevised: int
    on_policy_pairs: int
    revision_pairs: int
    policy: str
    reviser: str


def find_decided(store: Store, text: str, ruling: Ruling | None, *, offset: int, limit: int) -> Found:
    """Search what was decided, newest first."""
    rows = store.decided(text, ruling, limit=limit, offset=offset, newest_first=True)
    return Found(rows, store.count_decided(text, ruling), _counts(store))


def find_pairs(store: Store, prepared: PreparedPairs, text: str, *, offset: int, limit: int) -> Found:
    """Search prompt, chosen and rejected text of pairs, whatever their case, newest first."""
    wanted = text.casefold()
    found = [
        pair
        for pair in reversed(prepared.pairs)
        if any(wanted in words.casefold() for words in (pair.prompt[-1].content, pair.chosen, pair.rejected))
    ]
    kinds = Counter(f"{pair.kind.replace('_', '-')} pairs" for pair in prepared.pairs)
    return Found(found[offset : offset + limit], len(found), {**_counts(store), **kinds})


def pace(store: Store) -> Pace:
    """Add up the days of all annotators, and of each."""
    days: dict[date, DayTally] = {}
    people: dict[str, DayTally] = {}
    for tally in store.by_day():
        days[tally.day] = _added(days.get(tally.day), tally)
        people[tally.annotator] = _added(people.get(tally.annotator), tally)
    return Pace([days[day] for day in sorted(days)], people)


def round_so_far(store: Store, policy: ModelSpec, reviser: ModelSpec) -> Round:
    """Count what each step of a round has to work with."""
    prepared = all_pairs(store, ("on_policy", "revision"), policy)
    kinds = Counter(pair.kind for pair in prepared.pairs)
    drafts = Counter(draft.prompt_id for draft in store.all_drafts() if draft.model.adapter == policy.adapter_run)
    counts = store.counts()
    return Round(
        decided=sum(counts.values()),
        sampled=sum(n > 1 for n in drafts.values()),
        reviser_pairs=kinds["revision"],
        unrevised=len(store.drafts_without_revision()),
        on_policy_pairs=kinds["on_policy"],
        revision_pairs=sum(pair.kind == "revision" and pair.relation in FOR_POLICY for pair in prepared.pairs),
        policy=policy.label,
        reviser=reviser.label,
    )


def promotable(views: Iterable[RunView], actor: Actor) -> list[RunView]:
    """Return the runs that made an adapter for `actor`, newest first."""
    return [view for view in views if view.info.kind == actor and has_adapter(view)]


def has_adapter(view: RunView) -> bool:
    """Say whether a run has left an adapter that can be loaded."""
    return (view.run.output / "adapter" / "adapter_config.json").is_file()


def next_game(store: Store, views: Iterable[RunView]) -> Game | None:
    """Return the next game that waits for a person, of the newest run that people judge."""
    for view in views:
        if view.info.kind == "benchmark" and view.info.config["judge"] == PERSON:
            game = store.next_game(view.info.name, PERSON)
            if game:
                return game
    return None


def _added(one: DayTally | None, other: DayTally) -> DayTally:
    if one is None:
        return other
    return other._replace(
        rulings={
            ruling: one.rulings.get(ruling, 0) + other.rulings.get(ruling, 0)
            for ruling in {**one.rulings, **other.rulings}
        },
        n_hunks=one.n_hunks + other.n_hunks,
        n_kept=one.n_kept + other.n_kept,
        active_ms=one.active_ms + other.active_ms,
    )


def _counts(store: Store) -> dict[str, int]:
    return {"prompts": store.n_prompts(), **{ruling: n for ruling, n in store.counts().items() if n}}
