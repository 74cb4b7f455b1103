"""Draft and revise runs from frozen inputs to output files, with a backend that answers from a script."""

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from realign.errors import InvalidInput, ModelUnavailable, RunStopped
from realign.generation import Answer, Writing
from realign.generation.recipe import BATCH, DraftConfig, ReviseConfig, by_length, write
from realign.generation.templates import DEFAULT_TEMPLATE, TEMPLATES, revision_prompt
from realign.models.catalog import ModelSpec
from realign.records import Chat, Decoding, Draft, Message, ModelRef, Prompt, Revision
from realign.runs import Kind, LiveRun, create, read_jsonl, stop

NOON = datetime(2026, 12, 1, 12, tzinfo=UTC)
DECODING = Decoding(temperature=0.8, top_p=0.95, max_new_tokens=16, seed=5)
SPEC = ModelSpec(source="scripted", cache=Path("/nowhere"))


class Scripted:
    """Answers with the last message in capitals and the seed, and remembers what it was asked."""

    def __init__(self, spec: ModelSpec) -> None:
        self.model = ModelRef(source=spec.source, adapter=spec.adapter_run)
        self.asked: list[Chat] = []
        self.guesses: list[str] = []

    def generate(self, chats: Sequence[Chat], decoding: Decoding, guesses: Sequence[str] = ()) -> list[Answer]:
        self.asked += chats
        self.guesses += guesses
        return [Answer(f"{chat[-1].content.upper()} {decoding.seed}", "length", 3) for chat in chats]

    def stream(self, chat: Chat, decoding: Decoding) -> Iterator[Writing | Answer]:
        yield from self.generate([chat], decoding)


def prompts(n: int) -> list[Prompt]:
    """Prompts whose lengths go up and down, so that batches by length mix their order."""
    texts = [f"{i}{' word' * (7 * i % 5)}" for i in range(n)]
    return [
        Prompt(id=f"p{i}", messages=(Message(role="user", content=text),), created=NOON) for i, text in enumerate(texts)
    ]


def drafts(of: Sequence[Prompt]) -> list[Draft]:
    return [
        Draft(
            id=f"d-{prompt.id}",
            prompt_id=prompt.id,
            text=f"Draft of {prompt.id}.",
            model=ModelRef(source="policy"),
            decoding=DECODING,
            finish="stop",
            created=NOON,
        )
        for prompt in of
    ]


def started(root: Path, kind: Kind, config: DraftConfig | ReviseConfig, **inputs: Sequence[Any]) -> LiveRun:
    made = create(root, kind, "A run", config.model_dump(mode="json"), inputs, annotator="ada", now=NOON, salt="7f3a")
    run = LiveRun(made.path)
    run.claim()
    return run


def test_each_prompt_gets_its_samples_with_a_seed_of_their_own(tmp_path: Path) -> None:
    asked = prompts(20)
    run = started(tmp_path, "draft", DraftConfig(model=SPEC, decoding=DECODING, n_samples=2), prompts=asked)
    assert write(run, Scripted) == {"drafts": 40}
    written = [Draft.model_validate(row) for row in read_jsonl(run.output / "drafts.jsonl")]
    assert len({draft.id for draft in written}) == 40
    for prompt in asked:
        own = [draft for draft in written if draft.prompt_id == prompt.id]
        assert [draft.decoding.seed for draft in own] == [5, 1005]
        assert [draft.text for draft in own] == [f"{prompt.messages[0].content.upper()} {seed}" for seed in (5, 1005)]
    assert {draft.finish for draft in written} == {"length"}
    assert {draft.model.source for draft in written} == {"scripted"}
    view = run.view()
    assert (view.status.done, view.status.total) == (40, 40)


def test_a_revision_answers_the_template_filled_with_prompt_and_draft(tmp_path: Path) -> None:
    asked = prompts(18)
    config = ReviseConfig(model=SPEC, decoding=DECODING, template=DEFAULT_TEMPLATE)
    run = started(tmp_path, "revise", config, prompts=asked, drafts=drafts(asked))
    backends: list[Scripted] = []

    def opener(spec: ModelSpec) -> Scripted:
        backends.append(Scripted(spec))
        return backends[-1]

    assert write(run, opener) == {"revisions": 18}
    assert sorted(backends[0].guesses) == sorted(f"Draft of {prompt.id}." for prompt in asked)
    written = [Revision.model_validate(row) for row in read_jsonl(run.output / "revisions.jsonl")]
    assert sorted(revision.draft_id for revision in written) == sorted(draft.id for draft in drafts(asked))
    assert {revision.template for revision in written} == {DEFAULT_TEMPLATE}
    for prompt, draft in zip(asked, drafts(asked), strict=True):
        filled = revision_prompt(DEFAULT_TEMPLATE, prompt.messages, draft.text)
        assert filled in backends[0].asked
        [own] = [revision for revision in written if revision.draft_id == draft.id]
        assert own.text == f"{filled[-1].content.upper()} 5"


def test_an_unknown_template_is_refused_before_a_model_is_opened(tmp_path: Path) -> None:
    def opener(spec: ModelSpec) -> Scripted:
        raise AssertionError(spec)

    config = ReviseConfig(model=SPEC, decoding=DECODING, template="poem-v9")
    run = started(tmp_path, "revise", config, prompts=prompts(1), drafts=drafts(prompts(1)))
    with pytest.raises(InvalidInput, match=r"no template 'poem-v9'\. Choose one of"):
        write(run, opener)


def test_a_stop_keeps_what_was_written_so_far(tmp_path: Path) -> None:
    run = started(tmp_path, "draft", DraftConfig(model=SPEC, decoding=DECODING), prompts=prompts(40))

    class StopsAtOnce(Scripted):
        def generate(self, chats: Sequence[Chat], decoding: Decoding, guesses: Sequence[str] = ()) -> list[Answer]:
            stop(run)
            return super().generate(chats, decoding, guesses)

    with pytest.raises(RunStopped, match="Stopped after 16 of 40"):
        write(run, StopsAtOnce)
    assert len(list(read_jsonl(run.output / "drafts.jsonl"))) == 16


def test_a_model_that_fails_half_way_loses_nothing_of_what_was_written(tmp_path: Path) -> None:
    run = started(tmp_path, "draft", DraftConfig(model=SPEC, decoding=DECODING), prompts=prompts(20))

    class FailsTheSecondTime(Scripted):
        def generate(self, chats: Sequence[Chat], decoding: Decoding, guesses: Sequence[str] = ()) -> list[Answer]:
            if self.asked:
                raise ModelUnavailable("The server is over its limit.")
            return super().generate(chats, decoding, guesses)

    with pytest.raises(ModelUnavailable):
        write(run, FailsTheSecondTime)
    assert len(list(read_jsonl(run.output / "drafts.jsonl"))) == 16


def test_no_prompts_make_no_drafts_and_no_error(tmp_path: Path) -> None:
    run = started(tmp_path, "draft", DraftConfig(model=SPEC, decoding=DECODING), prompts=[])
    assert write(run, Scripted) == {"drafts": 0}


def test_fewer_than_one_sample_is_refused() -> None:
    with pytest.raises(ValueError, match="n_samples"):
        DraftConfig(model=SPEC, decoding=DECODING, n_samples=0)


def test_batches_hold_everything_once_from_short_to_long() -> None:
    made = prompts(37)
    batches = by_length(made, lambda prompt: prompt.messages)
    assert [len(batch) for batch in batches] == [BATCH, BATCH, 5]
    flat = [prompt for batch in batches for prompt in batch]
    assert sorted(prompt.id for prompt in flat) == sorted(prompt.id for prompt in made)
    lengths = [len(prompt.messages[0].content) for prompt in flat]
    assert lengths == sorted(lengths)


@pytest.mark.parametrize("template", TEMPLATES)
@pytest.mark.parametrize(
    "before",
    [
        (),
        (Message(role="system", content="Answer in French."),),
        (Message(role="user", content="Hello"), Message(role="assistant", content="Bonjour")),
    ],
    ids=["plain", "with a system message", "with earlier turns"],
)
def test_every_template_holds_all_that_was_said_and_ends_with_the_user(template: str, before: Chat) -> None:
    prompt = (*before, Message(role="user", content="Who wrote Faust?"))
    filled = revision_prompt(template, prompt, "Schiller {did} %s \\1.")
    assert filled[-1].role == "user"
    told = "\n".join(message.content for message in filled)
    for text in (*(message.content for message in prompt), "Schiller {did} %s \\1."):
        assert text in told
    assert sum(message.role == "system" for message in filled) <= 1
