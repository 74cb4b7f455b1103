"""Items written before anybody asks for them: drafts and revisions in batches, a little ahead of everybody at work."""

from collections import Counter
from collections.abc import Callable, Generator

from realign import orders, pairing
from realign.datasets.checks import refusal_reason
from realign.generation.live import LiveModels
from realign.generation.recipe import draft_of, revision_of
from realign.generation.templates import DEFAULT_TEMPLATE, revision_prompt
from realign.models.catalog import ModelSpec
from realign.records import Decoding, Draft, Prompt, Revision
from realign.store import Store

PER_SEAT = 4
"""Items kept ready for each seat."""
TRIES = 2
AT_ONCE = 8
"""Texts written at once: on two cores eight take hardly longer than one."""


def write_ahead(
    store: Store,
    models: LiveModels,
    policy: ModelSpec,
    reviser: ModelSpec,
    *,
    computing: Callable[[], bool],
    n_seats: Callable[[], int],
    tried: Counter[str],
    new_id: Callable[[], str],
) -> Generator[None]:
    """Write what the next items lack until enough are ready; yield after each batch.

    A batch ends at once when somebody asks for a model, or a run begins to compute; texts that were finished by then
    are stored, the others are written later. `tried` counts, by prompt, how often nothing came of it though nobody
    asked: such a prompt is left to the person it comes up for, who is told why.
    """
    while not computing():
        wanted = PER_SEAT * max(1, n_seats())
        lacking = wanted - store.ready(wanted)
        hopeless = {prompt_id for prompt_id, n in tried.items() if n >= TRIES}
        found = store.unready(min(lacking, AT_ONCE) + len(hopeless)) if lacking > 0 else []
        bare = [prompt for prompt in found if prompt.id not in hopeless][:AT_ONCE]
        if not bare:
            return
        drafts: dict[str, Draft | None] = {prompt.id: _own_draft(store, policy, prompt) for prompt in bare}
        undrafted = [prompt for prompt in bare if drafts[prompt.id] is None]
        for prompt, written in _draft(models, policy, undrafted, computing, new_id):
            store.add_drafts([written])
            drafts[prompt.id] = written
        yield
        drafted = [(prompt, draft) for prompt in bare if (draft := drafts[prompt.id]) is not None]
        revised: set[str] = set()
        for temperature in orders.REVISING_AGAIN:
            decoding = orders.REVISING.model_copy(update={"temperature": temperature})
            made = _revise(models, reviser, drafted, decoding, computing, new_id)
            store.add_revisions(made.values())
            revised |= made.keys()
            yield
            # A revision of no use is stored and asked for again, more freely, as it is while a person waits.
            drafted = [
                (prompt, draft)
                for prompt, draft in drafted
                if draft.id in made and refusal_reason(draft.text, made[draft.id].text)
            ]
        if computing():
            return
        # Reached only while nobody waits: who asks for a model ends this at a yield.
        tried.update(prompt.id for prompt in bare if (draft := drafts[prompt.id]) is None or draft.id not in revised)


def _draft(
    models: LiveModels,
    policy: ModelSpec,
    prompts: list[Prompt],
    stopped: Callable[[], bool],
    new_id: Callable[[], str],
) -> list[tuple[Prompt, Draft]]:
    answers = models.write_aside(policy, [prompt.messages for prompt in prompts], orders.DRAFTING, stopped=stopped)
    return [
        (prompt, draft_of(new_id(), prompt, answer, models.backend(policy), orders.DRAFTING))
        for prompt, answer in zip(prompts, answers, strict=True)
        if answer is not None
    ]


def _revise(
    models: LiveModels,
    reviser: ModelSpec,
    drafted: list[tuple[Prompt, Draft]],
    decoding: Decoding,
    stopped: Callable[[], bool],
    new_id: Callable[[], str],
) -> dict[str, Revision]:
    """Return the finished revisions by the id of their draft."""
    chats = [revision_prompt(DEFAULT_TEMPLATE, prompt.messages, draft.text) for prompt, draft in drafted]
    answers = models.write_aside(reviser, chats, decoding, [draft.text for _, draft in drafted], stopped=stopped)
    return {
        draft.id: revision_of(new_id(), draft, answer, models.backend(reviser), decoding, DEFAULT_TEMPLATE)
        for (_, draft), answer in zip(drafted, answers, strict=True)
        if answer is not None
    }


def _own_draft(store: Store, policy: ModelSpec, prompt: Prompt) -> Draft | None:
    own = [draft for draft in store.drafts_of(prompt.id) if pairing.wrote(policy, draft)]
    return own[-1] if own else None
