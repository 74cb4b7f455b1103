"""What is said of a revision before a person sees it, and why one is refused."""

import pytest
from decided_items import draft, revision

from realign.datasets.checks import flags, refusal_reason, talks_about_the_task
from realign.records import is_empty


def test_a_sound_revision_has_no_flag_and_no_refusal() -> None:
    assert flags(draft("The sky is blue."), revision("The sky looks blue.")) == ()
    assert refusal_reason("The sky is blue.", "The sky looks blue.") is None


@pytest.mark.parametrize(
    ("first", "revised", "flag"),
    [
        ("Tea.", "Tea.", "identical"),
        ("Tea.", "\u200b\n", "empty"),
        ("Tea.", "Tea.</s>", "control tokens"),
        ("Tea<|im_end|>", "Tea now", "control tokens"),
        ("Tea is good.", "Improved text: Tea is", "task talk"),
        ("Tea", "Tea is good for you.", "length"),
        ("Tea is very good for you.", "Tea.", "length"),
    ],
)
def test_each_fault_has_its_flag(first: str, revised: str, flag: str) -> None:
    assert flag in flags(draft(first), revision(revised))


def test_a_text_cut_at_the_token_limit_is_flagged_on_either_side() -> None:
    assert flags(draft("Tea is", finish="length"), revision("Tea is good")) == ("truncated",)
    assert flags(draft("Tea is"), revision("Tea is good", finish="length")) == ("truncated",)


def test_exactly_three_times_as_long_is_not_flagged_and_one_character_more_is() -> None:
    assert flags(draft("x" * 10), revision("y" * 30)) == ()
    assert flags(draft("x" * 10), revision("y" * 31)) == ("length",)


@pytest.mark.parametrize(
    "text",
    [
        "Here is the improved answer:\n\nTea.",
        "Here's a revised version of your text: Tea.",
        "Sure! Here is a better response: Tea.",
        "Certainly, below is an improved version:",
        "Here is the text, rewritten:",
        "**Revised answer:** Tea.",
        "Improved version\n\nTea.",
        "I have rewritten the text to be clearer.",
        "I've improved the answer.",
        "The answer has been revised as follows: Tea.",
        "Here is my rewrite: Tea.",
    ],
)
def test_talk_about_the_task_is_known_in_many_wordings(text: str) -> None:
    assert talks_about_the_task(text)
    assert refusal_reason("Tea.", text) == "The revision talks about the task instead of answering."


@pytest.mark.parametrize(
    "text",
    [
        "Here is a better way to cook rice.",
        "Here are five easy dinners.",
        "Better answers need better questions.",
        "The text has been lost.",
        "I improved my garden last year.",
        "Sure! Tea is nice.",
    ],
)
def test_an_answer_that_only_sounds_like_it_is_none(text: str) -> None:
    assert not talks_about_the_task(text)


def test_where_the_draft_talks_so_too_the_prompt_asked_for_it() -> None:
    first, revised = "Here is the improved text: Tea good.", "Here is the improved text: Tea is good."
    assert refusal_reason(first, revised) is None


@pytest.mark.parametrize(
    "text", ["", " \r\n\t", "\u200b", "\u200d\ufeff", "\u2060\u00ad", "\u3164", "\u2800", "\x00\x1b"]
)
def test_nothing_to_read_is_empty(text: str) -> None:  # D17
    assert is_empty(text)
    assert refusal_reason("Tea.", text) == "The revision is empty."


@pytest.mark.parametrize("text", [".", "0", "茶", "\u200bx", "👍", "\u0301"])
def test_anything_to_read_is_not_empty(text: str) -> None:
    assert not is_empty(text)


@pytest.mark.parametrize(
    "token",
    [
        "<|im_end|>",
        "<|im_start|>",
        "<|eot_id|>",
        "</s>",
        "<s>",
        "[/INST]",
        "<<SYS>>",
        "<end_of_turn>",
        "<｜end▁of▁sentence｜>",
    ],
)
def test_control_tokens_of_the_common_templates_are_refused(token: str) -> None:  # D15
    assert refusal_reason("Tea.", f"Tea.{token}") == "The revision holds control tokens."


@pytest.mark.parametrize("text", ["a < b || c > d", "x <| f |> y", "<span>", "[INSTALL]"])
def test_code_that_only_looks_like_a_control_token_is_not_refused(text: str) -> None:
    assert refusal_reason("Tea.", text) is None


def test_a_revision_equal_to_its_draft_is_refused() -> None:
    assert refusal_reason("Tea.", "Tea.") == "The revision is the draft, unchanged."
