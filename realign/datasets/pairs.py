"""From decisions and ranked drafts to pairs; whatever gives none is counted by its reason."""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import NamedTuple

from realign.datasets.checks import is_empty
from realign.records import Chat, Decided, Draft, Pair, PairKind, Prompt, Relation

Render = Callable[[Decided], Chat]


class PairBuild(NamedTuple):
    """The pairs, and how many items gave none, by reason."""

    pairs: tuple[Pair, ...]
    dropped: dict[str, int]


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
    by_prompt: dict[str, list[Draft]] = {}
    for draft in drafts:
        by_prompt.setdefault(draft.prompt_id, []).append(draft)
    pairs: list[Pair] = []
    dropped: Counter[str] = Counter()
    for prompt_id, written in by_prompt.items():
        prompt = prompts[prompt_id]
        texts = list(dict.fromkeys(draft.text for draft in written if not is_empty(draft.text)))
        if len(written) < 2:
            dropped["only one draft"] += 1
        elif len(texts) < 2:
            dropped["all drafts equal"] += 1
        else:
            ranked = sorted(texts, key=lambda text: rate(prompt.messages, text))
            gap = rate(prompt.messages, ranked[-1]) - rate(prompt.messages, ranked[0])
            if gap < min_gap:
                dropped["drafts too close to rank"] += 1
            else:
                chat = prompt.messages
                pairs.append(_pair("on_policy", "best_over_worst", chat, ranked[-1], ranked[0], prompt, origin=origin))
    return PairBuild(tuple(pairs), dict(dropped))


def _add(item: Decided, kind: PairKind, render: Render, pairs: list[Pair], dropped: Counter[str]) -> None:
    chat = render(item) if kind == "revision" else item.prompt.messages
    for relation, chosen, rejected in _comparisons(item, kind):
        if chosen == rejected:
            dropped["unchanged"] += 1
        elif is_empty(chosen):
            dropped["chosen text empty"] += 1
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
