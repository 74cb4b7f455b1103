"""The prompts that come with the studio: readable, varied, and the held-out ones told apart from the others."""

import json
import unicodedata
from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

import pytest
from rapidfuzz.fuzz import token_sort_ratio
from rapidfuzz.process import cdist

from realign.records import Message, Prompt

DATA = Path(__file__).parent.parent / "data"
CATEGORIES = {"explain", "write", "list", "summarise", "code", "plan", "compare", "roleplay"}
KEYS = ["id", "category", "language", "messages"]
WRITTEN = datetime(2026, 12, 1, tzinfo=UTC)
TOO_ALIKE = 80


class Shipped(NamedTuple):
    """One file of prompts and what it must hold."""

    name: str
    prefix: str
    n_prompts: int
    n_per_category: int
    n_not_english: int
    n_languages: int
    """Other than English."""
    n_multi_turn: int
    n_system: int

    @property
    def lines(self) -> list[str]:
        return (DATA / self.name).read_text(encoding="utf-8").split("\n")

    @property
    def prompts(self) -> list[Prompt]:
        return [Prompt(**json.loads(line), origin=self.name, created=WRITTEN) for line in self.lines[:-1]]


EVERYDAY = Shipped("prompts.jsonl", "everyday", 132, 12, 18, 8, 14, 14)
HELD_OUT = Shipped("heldout.jsonl", "heldout", 56, 7, 6, 6, 5, 5)

each_file = pytest.mark.parametrize("shipped", [EVERYDAY, HELD_OUT], ids=lambda shipped: shipped.prefix)


def last_user_messages(prompts: Sequence[Prompt]) -> list[str]:
    return [prompt.messages[-1].content for prompt in prompts]


def too_alike(some: Sequence[Prompt], others: Sequence[Prompt]) -> list[tuple[str, str]]:
    """Return the ids of two different prompts whose last user messages are nearly the same."""
    ratios = cdist(last_user_messages(some), last_user_messages(others), scorer=token_sort_ratio)
    return [
        (one.id, other.id)
        for one, row in zip(some, ratios, strict=True)
        for other, ratio in zip(others, row, strict=True)
        if one.id != other.id and ratio >= TOO_ALIKE
    ]


@each_file
def test_every_line_is_a_prompt_with_exactly_the_four_keys_and_the_file_ends_with_a_line_break(
    shipped: Shipped,
) -> None:
    assert shipped.lines[-1] == ""
    for line in shipped.lines[:-1]:
        assert list(json.loads(line)) == KEYS
    assert len(shipped.prompts) >= shipped.n_prompts


@each_file
def test_the_ids_are_unique_and_count_up_from_one(shipped: Shipped) -> None:
    ids = [prompt.id for prompt in shipped.prompts]
    assert ids == [f"{shipped.prefix}-{number:03d}" for number in range(1, len(ids) + 1)]


@each_file
def test_every_category_is_known_and_occurs_often_enough(shipped: Shipped) -> None:
    counts = Counter(prompt.category for prompt in shipped.prompts)
    assert set(counts) == CATEGORIES
    assert min(counts.values()) >= shipped.n_per_category, counts


@each_file
def test_some_prompts_are_in_other_languages(shipped: Shipped) -> None:
    others = [prompt.language for prompt in shipped.prompts if prompt.language != "en"]
    assert all(others)
    assert len(others) >= shipped.n_not_english
    assert len(set(others)) >= shipped.n_languages


@each_file
def test_some_conversations_have_several_turns(shipped: Shipped) -> None:
    several = [p for p in shipped.prompts if sum(message.role == "user" for message in p.messages) > 1]
    assert len(several) >= shipped.n_multi_turn


@each_file
def test_some_conversations_begin_with_a_system_message(shipped: Shipped) -> None:
    assert sum(prompt.messages[0].role == "system" for prompt in shipped.prompts) >= shipped.n_system


@each_file
def test_a_system_message_comes_first_only_and_then_user_and_assistant_take_turns(shipped: Shipped) -> None:
    for prompt in shipped.prompts:
        spoken = [message.role for message in prompt.messages if message.role != "system"]
        assert spoken == ["user", "assistant"] * (len(spoken) // 2) + ["user"], prompt.id
        assert [message.role for message in prompt.messages][-len(spoken) :] == spoken, prompt.id
        assert len(prompt.messages) - len(spoken) <= 1, prompt.id


@each_file
def test_the_first_twelve_are_single_turns_in_english(shipped: Shipped) -> None:
    for prompt in shipped.prompts[:12]:
        assert prompt.language == "en", prompt.id
        assert [message.role for message in prompt.messages] == ["user"], prompt.id


@each_file
def test_no_text_holds_control_tokens_or_outer_white_space_and_all_are_normalised(shipped: Shipped) -> None:
    for prompt in shipped.prompts:
        for message in prompt.messages:
            assert "<|" not in message.content, prompt.id
            assert message.content == message.content.strip(), prompt.id
            assert message.content, prompt.id
            assert unicodedata.is_normalized("NFC", message.content), prompt.id


@each_file
def test_no_two_prompts_of_a_file_are_the_same_or_nearly_the_same(shipped: Shipped) -> None:
    prompts = shipped.prompts
    assert len({prompt.content_hash for prompt in prompts}) == len(prompts)
    assert too_alike(prompts, prompts) == []


def test_held_out_prompts_are_neither_the_same_nor_nearly_the_same_as_the_others() -> None:
    everyday, held_out = EVERYDAY.prompts, HELD_OUT.prompts
    assert {prompt.content_hash for prompt in everyday}.isdisjoint(prompt.content_hash for prompt in held_out)
    assert too_alike(everyday, held_out) == []


def test_a_near_copy_would_be_noticed() -> None:
    def asked(name: str, text: str) -> Prompt:
        return Prompt(id=name, messages=(Message(role="user", content=text),), created=WRITTEN)

    one, other = asked("a", "Name three birds that can swim."), asked("b", "Name four birds that can swim.")
    assert too_alike([one], [other]) == [("a", "b")]


def test_the_guidelines_fit_on_a_page_and_have_no_heading_of_the_first_level() -> None:
    text = (DATA / "guidelines.md").read_text(encoding="utf-8")
    headings = [line for line in text.splitlines() if line.startswith("#")]
    assert headings
    assert all(heading.startswith("##") for heading in headings)
    assert len(text.split()) <= 750


def test_the_licence_names_cc0() -> None:
    assert "CC0-1.0" in (DATA / "LICENSE.md").read_text(encoding="utf-8")
