"""Which pairs a training run gets: from decisions, from ranked drafts of the policy in use, and from imported files."""

from collections.abc import Collection
from typing import NamedTuple

from realign.datasets.pairs import build_pairs, on_policy_pairs, preferred_pairs
from realign.generation.templates import revision_prompt
from realign.judges.rubric import rate
from realign.models.catalog import ModelSpec
from realign.records import Chat, Decided, Draft, Item, Pair, PairKind, Revision
from realign.store import Lease, Store
from realign.training.config import TrainConfig

RANKER = "rubric"
REVISION: PairKind = "revision"


class PreparedPairs(NamedTuple):
    """Pairs of every kind asked for, and what gave none, by reason."""

    pairs: tuple[Pair, ...]
    dropped: dict[str, int]


def all_pairs(store: Store, kinds: Collection[PairKind], policy: ModelSpec) -> PreparedPairs:
    """Return every pair of `kinds`; on-policy pairs come only from drafts that `policy` itself wrote."""
    made: list[Pair] = []
    dropped: dict[str, int] = {}
    decided_kinds = [kind for kind in kinds if kind != "on_policy"]
    if decided_kinds:
        built = build_pairs(store.decided(), kinds=decided_kinds, render=_render)
        made += built.pairs
        dropped |= built.dropped
    if "on_policy" in kinds:
        own, strange = _own_drafts(store, policy)
        prompts = {prompt.id: prompt for prompt in store.prompts()}
        preferences = store.preferences()
        preferred = preferred_pairs(preferences, prompts, {draft.id: draft for draft in own})
        # Where a person has compared two drafts, the ranker has no say.
        by_people = {preference.prompt_id for preference in preferences}
        unjudged = [draft for draft in own if draft.prompt_id not in by_people]
        ranked = on_policy_pairs(prompts, unjudged, _rating, origin=RANKER)
        for build in (preferred, ranked):
            made += build.pairs
            add_counts(dropped, build.dropped)
        add_counts(dropped, {"draft of another policy than the one in use": strange})
    known = {_content(pair) for pair in made}
    imported = [pair for pair in store.imported_pairs() if pair.kind in kinds]
    fresh = [pair for pair in imported if _content(pair) not in known]
    add_counts(dropped, {"imported pair that a decision gives as well": len(imported) - len(fresh)})
    return PreparedPairs((*made, *fresh), dropped)


def training_pairs(store: Store, config: TrainConfig, policy: ModelSpec) -> PreparedPairs:
    """Return what a run of `config.stage` trains on.

    The reviser learns from every comparison a person made. The policy learns from ranked drafts of its own and from
    final text over draft, asked as a revision task or, for the ablation, as a plain answer.
    """
    if config.stage == "reviser":
        return all_pairs(store, (REVISION,), policy)
    second: PairKind = REVISION if config.revision_as_task else "plain"
    found = all_pairs(store, ("on_policy", second), policy)
    kept = tuple(pair for pair in found.pairs if pair.kind == "on_policy" or pair.relation in FOR_POLICY)
    dropped = dict(found.dropped)
    add_counts(dropped, {"comparison that only the reviser learns from": len(found.pairs) - len(kept)})
    if config.revision_as_task:
        kept += tuple(pair for pair in store.imported_pairs() if pair.kind == "plain")
    return PreparedPairs(kept, dropped)


FOR_POLICY = ("final_over_draft", "imported")
"""Comparisons the policy learns from: its own draft against what became of it."""


def add_counts(counts: dict[str, int], more: dict[str, int]) -> None:
    """Add `more` to `counts` in place; a count of nothing leaves no entry."""
    for reason, n in more.items():
        if n:
            counts[reason] = counts.get(reason, 0) + n


def wrote(model: ModelSpec, text: Draft | Revision) -> bool:
    """Say whether `model` itself wrote this text."""
    return (text.model.source, text.model.adapter) == (model.source, model.adapter_run)


def item_of(store: Store, lease: Lease, policy: ModelSpec, reviser: ModelSpec) -> Item:
    """Return what the screen shows of a leased prompt: its decided texts, or the newest that can be decided on.

    What waits is decided on texts of the models in use; a text of an earlier model stays stored and is not shown.
    """
    prompt, live = lease.prompt, store.live_decision(lease.prompt.id)
    if live:
        texts = store.draft(live.draft_id), store.revision(live.revision_id)
        candidates = tuple(store.revisions_of(live.draft_id))
        return Item(prompt, *texts, lease.decision_id, lease.started, live, candidates)
    drafts = [draft for draft in store.drafts_of(prompt.id) if wrote(policy, draft)]
    if not drafts:
        return Item(prompt, None, None, lease.decision_id, lease.started, None)
    for draft in reversed(drafts):  # a draft that was only sampled or compared has no revision
        revisions = tuple(revision for revision in store.revisions_of(draft.id) if wrote(reviser, revision))
        if revisions:
            return Item(prompt, draft, revisions[-1], lease.decision_id, lease.started, None, revisions)
    return Item(prompt, drafts[-1], None, lease.decision_id, lease.started, None)


def _content(pair: Pair) -> tuple[str, ...]:
    return (pair.kind, pair.prompt_hash, pair.chosen, pair.rejected)


def _own_drafts(store: Store, policy: ModelSpec) -> tuple[list[Draft], int]:
    drafts = store.all_drafts()
    own = [draft for draft in drafts if wrote(policy, draft)]
    return own, len(drafts) - len(own)


def _render(decided: Decided) -> Chat:
    revision = decided.revision
    return revision_prompt(revision.template, decided.prompt.messages, decided.draft.text, revision.instruction)


def _rating(prompt: Chat, text: str) -> float:
    return rate(prompt, text).total
