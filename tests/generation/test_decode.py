"""The decoding loop: what it writes is what transformers writes, guesses and neighbours notwithstanding."""

import random
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from tiny import make_tiny_model
from transformers import GenerationConfig

from realign.generation.decode import LIKELIEST, Bounds, Choice, draws, write_many, write_one
from realign.generation.few_rows import _grouped_attention
from realign.generation.guesses import FIRST, MOST, Guesses
from realign.generation.local import LocalBackend, SharedBase
from realign.models.catalog import ModelSpec
from realign.models.loading import load
from realign.records import Chat, Decoding, Message
from realign.settings import EMBEDDED

GREEDY = Decoding(temperature=0, top_p=1.0, max_new_tokens=60, seed=0)
SAMPLED = Decoding(temperature=0.9, top_p=0.9, max_new_tokens=40, seed=0)
END, PAD = 1, 1


@pytest.fixture(scope="module")
def spec(tmp_path_factory: pytest.TempPathFactory) -> ModelSpec:
    folder = make_tiny_model(tmp_path_factory.mktemp("tiny"))
    return ModelSpec(source=str(folder), cache=folder, device="cpu", precision="fp32")


@pytest.fixture(scope="module")
def base(spec: ModelSpec) -> SharedBase:
    return SharedBase(load(spec, print))


@pytest.fixture(scope="module")
def plain(spec: ModelSpec) -> Any:
    """The same model as transformers has it."""
    return unchanged(spec)


def unchanged(spec: ModelSpec) -> Any:
    model = load(spec, print).model
    model.generation_config = GenerationConfig()
    return model


def bounds(decoding: Decoding, stopped: Callable[[], bool] = lambda: False, end: int = END) -> Bounds:
    return Bounds([end], decoding.max_new_tokens, stopped)


def random_prompts(n: int, seed: int = 0) -> list[list[int]]:
    source = random.Random(seed)
    return [[source.randrange(2, 300) for _ in range(source.randrange(3, 60))] for _ in range(n)]


def expected(model: Any, prompt: list[int], decoding: Decoding, end: int = END) -> list[int]:
    """What plain `generate` writes."""
    ids = torch.tensor([prompt])
    out = model.generate(
        ids,
        attention_mask=torch.ones_like(ids),
        max_new_tokens=decoding.max_new_tokens,
        do_sample=False,
        eos_token_id=end,
        pad_token_id=end,
    )
    return out[0, len(prompt) :].tolist()


def written(
    base: SharedBase, prompt: list[int], decoding: Decoding, guess: list[int] | None = None, end: int = END
) -> list[list[int]]:
    """Our tokens, step by step."""
    with base.using(None) as model:
        choice = Choice(decoding, draws(decoding, 1))
        return list(write_one(model, prompt, choice, bounds(decoding, end=end), guess or []))


def joined(steps: list[list[int]]) -> list[int]:
    return [token for step in steps for token in step]


def damaged(text: list[int], source: random.Random) -> list[int]:
    """The same text with about every eighth token changed, missing or doubled."""
    out: list[int] = []
    for token in text:
        kind = source.randrange(24)
        out += (
            [source.randrange(2, 300)] if kind == 0 else [] if kind == 1 else [token, token] if kind == 2 else [token]
        )
    return out


# Greedy


def test_greedy_texts_are_those_of_plain_generate_whatever_is_guessed(base: SharedBase, plain: Any) -> None:
    """60 random prompts, each without guess, with its own answer, with that answer damaged, and with nonsense."""
    source = random.Random(1)
    for prompt in random_prompts(60):
        right = expected(plain, prompt, GREEDY)
        for guess in ([], right, damaged(right, source), random_prompts(1, source.randrange(99))[0]):
            assert joined(written(base, prompt, GREEDY, guess)) == right


def test_a_guess_that_is_right_saves_most_steps(base: SharedBase, plain: Any) -> None:
    prompt = random_prompts(1)[0]
    right = expected(plain, prompt, GREEDY, end=-1)
    assert len(written(base, prompt, GREEDY, right, end=-1)) <= 2 + len(right) // FIRST
    assert len(written(base, prompt, GREEDY)) > 10


def test_a_batch_writes_what_plain_generate_writes_one_by_one(base: SharedBase, plain: Any) -> None:
    """Prompts of many lengths, some of which end early and leave the batch."""
    prompts = random_prompts(24, seed=5)
    right = [expected(plain, prompt, GREEDY) for prompt in prompts]
    with base.using(None) as model:
        got = write_many(model, prompts, Choice(GREEDY, draws(GREEDY, 24)), bounds(GREEDY), PAD)
    assert got == right


@pytest.mark.model
def test_the_embedded_model_writes_what_plain_generate_writes(model_cache: Path) -> None:
    """In fp32, without guess, with the answer as guess, and with it damaged."""
    spec = ModelSpec(source=EMBEDDED, cache=model_cache, device="cpu", precision="fp32")
    plain, base = unchanged(spec), SharedBase(load(spec, print))
    backend, source = LocalBackend(spec, base), random.Random(3)
    for text in ("Why is the sky blue?", "Write a haiku about rain.", "Was ist ein Baum?", "Sort a list in Python."):
        [prompt] = backend._prompts([(Message(role="user", content=text),)], GREEDY)
        right = expected(plain, prompt, GREEDY, end=2)
        for guess in ([], right, damaged(right, source)):
            assert joined(written(base, prompt, GREEDY, guess, end=2)) == right


# Sampling


def test_a_guess_changes_no_sampled_text(base: SharedBase) -> None:
    """For 40 seeds: the text without guess, guessed exactly and guessed with errors."""
    source = random.Random(2)
    for seed in range(40):
        decoding = SAMPLED.model_copy(update={"seed": seed})
        text = joined(written(base, [5, 9, 77], decoding))
        assert joined(written(base, [5, 9, 77], decoding, text)) == text
        assert joined(written(base, [5, 9, 77], decoding, damaged(text, source))) == text


@pytest.mark.parametrize(("top_p", "width"), [(1.0, 8), (0.8, 8), (0.9, 4 * LIKELIEST), (1.0, 4 * LIKELIEST)])
def test_tokens_are_drawn_as_often_as_they_are_likely(top_p: float, width: int) -> None:
    """8,000 draws; probabilities cut to the likeliest tokens that hold `top_p`, as transformers cuts them."""
    from transformers import TopPLogitsWarper

    decoding = Decoding(temperature=0.7, top_p=top_p, max_new_tokens=8000, seed=1)
    logits = torch.randn(width, generator=torch.Generator().manual_seed(0))
    cut = TopPLogitsWarper(top_p)(None, logits[None] / 0.7)[0] if top_p < 1 else logits / 0.7
    likely = cut.softmax(dim=-1)
    choice = Choice(decoding, draws(decoding, 1))
    counts: Counter[int] = Counter()
    for start in range(0, 8000, 1000):
        counts.update(choice(logits.expand(1000, -1), 0, slice(start, start + 1000)))
    drawn = torch.tensor([counts[token] for token in range(width)]) / 8000
    assert (drawn[likely == 0] == 0).all()
    # Five standard errors of a share of 8,000.
    assert ((drawn - likely).abs() <= 5 * (likely * (1 - likely) / 8000).sqrt() + 1e-9).all()


def test_equal_conversations_get_texts_of_their_own_and_the_same_ones_again(spec: ModelSpec, base: SharedBase) -> None:
    backend = LocalBackend(spec, base)
    eight: list[Chat] = [(Message(role="user", content="Hi"),)] * 8
    answers = backend.generate(eight, SAMPLED)
    assert len({answer.text for answer in answers}) == 8
    assert backend.generate(eight, SAMPLED) == answers
    assert backend.generate(eight[:1], SAMPLED) == answers[:1]


def test_equal_conversations_decoded_greedily_are_answered_alike(spec: ModelSpec, base: SharedBase) -> None:
    backend = LocalBackend(spec, base)
    one, two = ((Message(role="user", content=text),) for text in ("Hi", "Why?"))
    first, second = backend.generate([one, two], GREEDY)
    assert backend.generate([one, two, one, one], GREEDY, ["a", "b", "c", "d"]) == [first, second, first, first]


# Stopping


def test_a_batch_that_is_stopped_ends_at_once_and_keeps_what_had_ended(spec: ModelSpec, base: SharedBase) -> None:
    """Stopped after 30 steps of 400: what ended before stands, the rest has 30 tokens and says `cancelled`."""
    backend = LocalBackend(spec, base)
    long = Decoding(temperature=1.0, top_p=1.0, max_new_tokens=400, seed=0)
    chats: list[Chat] = [(Message(role="user", content=str(i)),) for i in range(16)]
    asked = 0

    def stopped() -> bool:
        nonlocal asked
        asked += 1
        return asked > 30

    whole = backend.generate(chats, long)
    cut = backend.generate(chats, long, stopped=stopped)
    assert asked == 31
    assert {answer.finish for answer in cut} == {"stop", "cancelled"}
    for full, part in zip(whole, cut, strict=True):
        assert part == full if part.finish == "stop" else part.n_tokens == 30


def test_what_is_stopped_before_it_began_comes_back_empty(spec: ModelSpec, base: SharedBase) -> None:
    chats: list[Chat] = [(Message(role="user", content=str(i)),) for i in range(20)]
    answers = LocalBackend(spec, base).generate(chats, SAMPLED, stopped=lambda: True)
    assert {(answer.text, answer.finish, answer.n_tokens) for answer in answers} == {("", "cancelled", 0)}


# Guesses


def test_a_copy_is_guessed_from_its_start_and_after_a_changed_word() -> None:
    guesses = Guesses([9, 9], range(100, 150))
    assert guesses.ahead() == [*range(100, 100 + FIRST)]
    guesses.add([100, 101, 7], FIRST)
    assert guesses.ahead() == []
    guesses.add([103])
    assert guesses.ahead()[:3] == [104, 105, 106]


def test_a_place_that_comes_twice_is_taken_where_it_lies_ahead() -> None:
    guesses = Guesses([], [1, 2, 3, 4, 1, 2, 5, 6])
    guesses.add([1, 2, 3, 4, 7, 1, 2])
    assert guesses.ahead() == [5, 6]


def test_a_text_that_departs_is_guessed_from_what_was_said_before() -> None:
    guesses = Guesses([50, 51, 52, 53], [1, 2, 3])
    guesses.add([50, 51])
    assert guesses.ahead()[:2] == [52, 53]


def test_as_many_are_guessed_as_were_right() -> None:
    guesses = Guesses([], range(1000))
    guesses.add([*range(FIRST + 1)], FIRST)
    assert len(guesses.ahead()) == min(MOST, 2 * FIRST)
    guesses.add([FIRST + 1, 0], MOST)
    guesses.add([1, 2])
    assert len(guesses.ahead()) < FIRST


# Layers


@pytest.mark.parametrize("rows", [1, 5, 90])
def test_heads_that_share_a_key_head_attend_as_they_do_in_transformers(rows: int) -> None:
    """Nine query heads on three key heads, two texts, the first of which has four tokens of padding."""
    from transformers.integrations.sdpa_attention import sdpa_attention_forward

    module = torch.nn.Module()
    module.num_key_value_groups = 3
    draw = torch.Generator().manual_seed(0)
    query, key, value = (torch.randn(2, n, length, 16, generator=draw) for n, length in ((9, rows), (3, 99), (3, 99)))
    mask = torch.ones(2, 1, rows, 99, dtype=torch.bool).tril(99 - rows)
    mask[0, :, :, :4] = False
    ours, _ = _grouped_attention(module, query, key, value, mask, scaling=0.25)
    theirs, _ = sdpa_attention_forward(module, query, key, value, mask, scaling=0.25)
    assert torch.allclose(ours, theirs, atol=1e-5)


def test_weights_are_laid_out_anew_and_not_kept_twice(base: SharedBase, plain: Any) -> None:
    with base.using(None) as model, torch.inference_mode():
        ids = torch.tensor(random_prompts(1)[0])[None]
        assert torch.allclose(model(ids).logits, plain(ids).logits, atol=1e-4)
        ours, theirs = (sum(p.numel() * p.element_size() for p in m.parameters()) for m in (model, plain))
    assert ours == theirs
