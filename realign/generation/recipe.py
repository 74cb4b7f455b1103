"""Runs that write text: drafts for a file of prompts, or revisions for a file of drafts."""

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, Field

from realign.generation import Answer, Backend, open_backend
from realign.generation.templates import revision_prompt
from realign.models.catalog import ModelSpec
from realign.records import Chat, Decoding, Draft, Prompt, Revision
from realign.runs import LiveRun

T = TypeVar("T")

BATCH = 16


class DraftConfig(BaseModel):
    """What a draft run works with."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    model: ModelSpec
    decoding: Decoding
    n_samples: int = Field(1, ge=1)
    """Drafts for each prompt, each with a seed of its own."""


class ReviseConfig(BaseModel):
    """What a revise run works with."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    model: ModelSpec
    decoding: Decoding
    template: str


def run(run: LiveRun) -> dict[str, Any]:
    """Write drafts or revisions, as the run's kind says, into `output/`."""
    return write(run, open_backend)


def write(run: LiveRun, opener: Callable[[ModelSpec], Backend]) -> dict[str, Any]:
    """The same with the opener of backends passed in."""
    if run.info().kind == "draft":
        return _draft(run, opener)
    return _revise(run, opener)


def _draft(run: LiveRun, opener: Callable[[ModelSpec], Backend]) -> dict[str, Any]:
    config = DraftConfig.model_validate(run.info().config)
    prompts = [Prompt.model_validate(row) for row in run.rows("prompts")]
    total = len(prompts) * config.n_samples
    run.progress(0, total, "Loading the policy")
    backend = opener(config.model)
    done = 0
    for sample in range(config.n_samples):
        decoding = config.decoding.model_copy(update={"seed": config.decoding.seed + 1000 * sample})
        for batch in by_length(prompts, lambda prompt: prompt.messages):
            answers = backend.generate([prompt.messages for prompt in batch], decoding)
            for prompt, answer in zip(batch, answers, strict=True):
                draft_id = f"{run.name}-{prompt.id}-{sample}"
                run.append("drafts", draft_of(draft_id, prompt, answer, backend, decoding))
            done += len(batch)
            run.progress(done, total, "Writing drafts")
    return {"drafts": done}


def _revise(run: LiveRun, opener: Callable[[ModelSpec], Backend]) -> dict[str, Any]:
    config = ReviseConfig.model_validate(run.info().config)
    prompts = {row["id"]: Prompt.model_validate(row) for row in run.rows("prompts")}
    drafts = [Draft.model_validate(row) for row in run.rows("drafts")]
    asked = {
        draft.id: revision_prompt(config.template, prompts[draft.prompt_id].messages, draft.text) for draft in drafts
    }
    run.progress(0, len(drafts), "Loading the reviser")
    backend = opener(config.model)
    done = 0
    for batch in by_length(drafts, lambda draft: asked[draft.id]):
        guesses = [draft.text for draft in batch]
        answers = backend.generate([asked[draft.id] for draft in batch], config.decoding, guesses)
        for draft, answer in zip(batch, answers, strict=True):
            revision_id = f"{run.name}-{draft.id}"
            run.append("revisions", revision_of(revision_id, draft, answer, backend, config.decoding, config.template))
        done += len(batch)
        run.progress(done, len(drafts), "Writing revisions")
    return {"revisions": done}


def by_length(items: Sequence[T], chat: Callable[[T], Chat]) -> list[list[T]]:
    """Split `items` into batches of like length, so that little is padded."""
    ordered = sorted(items, key=lambda item: sum(len(message.content) for message in chat(item)))
    return [ordered[start : start + BATCH] for start in range(0, len(ordered), BATCH)]


def draft_of(draft_id: str, prompt: Prompt, answer: Answer, backend: Backend, decoding: Decoding) -> Draft:
    """Return the record of an answer to `prompt`."""
    return Draft(
        id=draft_id,
        prompt_id=prompt.id,
        text=answer.text,
        model=backend.model,
        decoding=decoding,
        finish=answer.finish,
        created=datetime.now(UTC),
    )


def revision_of(
    revision_id: str,
    draft: Draft,
    answer: Answer,
    backend: Backend,
    decoding: Decoding,
    template: str,
    instruction: str = "",
) -> Revision:
    """Return the record of a revision of `draft`."""
    return Revision(
        id=revision_id,
        draft_id=draft.id,
        text=answer.text,
        model=backend.model,
        template=template,
        instruction=instruction,
        decoding=decoding,
        finish=answer.finish,
        created=datetime.now(UTC),
    )
