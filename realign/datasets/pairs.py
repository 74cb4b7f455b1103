"""From decisions and ranked drafts to pairs; whatever gives none is counted by its reason."""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

from realign.records import Chat, Decided, Draft, Pair, PairKind, Preference, Prompt, Relation, is_empty

Render = Callable[[Decided], Chat]
"""Writes the conversation that asked for a decided item's revision, in the wording the revision names."""

UNCHANGED = "unchanged"
EMPTY = "chosen text empty"


class PairBuild(NamedTuple):
    """Pairs, and what gave none."""

    pairs: tuple[Pair, ...]
    dropped: dict[str, int]
    """How many comparisons gave no pair, by reason; a decision or prompt that offers no comparison counts once."""


def build_pairs(decided: Iterable[Decided], *, kinds: Collection[PairKind], render: Render) -> PairBuild:
    """Return the `revision` and `plain` pairs that people's decisions give.

    An accepted or edited text is better than its draft, an edited one also better than the untouched revision (which
    only the reviser can learn from), a rejected revision worse than its draft. `render` gives the revision prompt.
    """
    pairs: list[Pair] = []
    dropped: Counter[str] = Counter()
    for item in decided:
        ruling = item.decision.ruling
        if ruling not in ("accepted", "edited", "rejected"):
            dropped[ruling] += 1
            continue
        for kind in ("revision", "plain"):
            if kind in kinds:
                _add(item, kind, render, pairs, dropped)
    return PairBuild(tuple(pairs), dict(dropped))


def on_policy_pairs(
    prompts: Mapping[str, Prompt],
    drafts: Iterable[Draft],
    rate: Callable[[Chat, str], float],
    *,
    min_gap: float = 0.02,
    origin: str,
) -> PairBuild:
    """Return for each prompt the best of its drafts over the worst, where `rate` sees a gap of at least `min_gap`."""
    by_prompt: dict[str, list[str]] = {}
    for draft in drafts:
        by_prompt.setdefault(draft.prompt_id, []).append(draft.text)
    pairs: list[Pair] = []
    dropped: Counter[str] = Counter()
    for prompt_id, texts in by_prompt.items():
        if prompt_id not in prompts:
            dropped["prompt unknown"] += 1
            continue
        prompt = prompts[prompt_id]
        ranked = _best_and_worst(prompt.messages, texts, rate, min_gap)
        if isinstance(ranked, str):
            dropped[ranked] += 1
        else:
            pairs.append(_pair("on_policy", "best_over_worst", prompt.messages, *ranked, prompt, origin=origin))
    return PairBuild(tuple(pairs), dict(dropped))


def preferred_pairs(
    preferences: Iterable[Preference], prompts: Mapping[str, Prompt], drafts: Mapping[str, Draft]
) -> PairBuild:
    """Return for each draft that a person found better the pair with the other one; both must be among `drafts`."""
    pairs: list[Pair] = []
    dropped: Counter[str] = Counter()
    for preference in preferences:
        if preference.preferred in (None, "tie"):
            dropped["drafts tied" if preference.preferred else "drafts passed over"] += 1
            continue
        if not {preference.left_id, preference.right_id} <= drafts.keys():
            dropped["draft of another policy than the one in use"] += 1
            continue
        left, right = drafts[preference.left_id].text, drafts[preference.right_id].text
        chosen, rejected = (left, right) if preference.preferred == "left" else (right, left)
        if chosen == rejected or is_empty(chosen):
            dropped[UNCHANGED if chosen == rejected else EMPTY] += 1
            continue
        prompt = prompts[preference.prompt_id]
        pairs.append(
            _pair(
                "on_policy", "preferred_draft", prompt.messages, chosen, rejected, prompt, origin=preference.annotator
            )
        )
    return PairBuild(tuple(pairs), dict(dropped))


def _best_and_worst(
    chat: Chat, texts: Sequence[str], rate: Callable[[Chat, str], float], min_gap: float
) -> tuple[str, str] | str:
    """Return the best and the worst of `texts`, or the reason why they give no pair."""
    if len(texts) == 1:
        return "only one draft"
    if len(set(texts)) == 1:
        return "all drafts equal"
    ratings = {text: rate(chat, text) for text in texts}
    best, worst = max(ratings, key=ratings.__getitem__), min(ratings, key=ratings.__getitem__)
    # Written so that a rating that is not a number gives no pair either.
    if best == worst or not ratings[best] - ratings[worst] >= min_gap:
        return "drafts too close to rank"
    return EMPTY if is_empty(best) else (best, worst)


def _add(item: Decided, kind: PairKind, render: Render, pairs: list[Pair], dropped: Counter[str]) -> None:
    chat = render(item) if kind == "revision" else item.prompt.messages
    for relation, chosen, rejected in _comparisons(item, kind):
        if chosen == rejected:
            dropped[UNCHANGED] += 1
        elif is_empty(chosen):
            dropped[EMPTY] += 1
        else:
            decision = item.decision
            pairs.append(
                _pair(
                    kind, relation, chat, chosen, rejected, item.prompt, decision=decision.id, origin=decision.annotator
                )
            )


def _comparisons(item: Decided, kind: PairKind) -> list[tuple[Relation, str, str]]:
    draft, revision, final = item.draft.text, item.revision.text, item.decision.final_text
    if item.decision.ruling == "rejected":
        return [("draft_over_revision", draft, revision)]
    found: list[tuple[Relation, str, str]] = [("final_over_draft", final, draft)]
    if item.decision.ruling == "edited" and kind == "revision":
        found.append(("final_over_revision", final, revision))
    return found


def _pair(
    kind: PairKind,
    relation: Relation,
    chat: Chat,
    chosen: str,
    rejected: str,
    prompt: Prompt,
    *,
    decision: str | None = None,
    origin: str,
) -> Pair:
    return Pair(
        kind=kind,
        relation=relation,
        prompt=chat,
        chosen=chosen,
        rejected=rejected,
        prompt_hash=prompt.content_hash,
        decision_id=decision,
        origin=origin,
    )
