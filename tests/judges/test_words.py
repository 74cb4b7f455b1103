"""Words, sentences and list items are counted as a person would count them."""

import pytest

from realign.judges.words import is_blank, list_items, sentences, words


@pytest.mark.parametrize(
    ("text", "n"),
    [
        ("The well-known cat's nap — it ended.", 6),
        ("  ", 0),
        ("Привет, мир!", 2),
        ("你好世界", 4),
        ("नमस्ते दुनिया", 2),
    ],
)
def test_words_are_what_stands_between_spaces_and_each_letter_where_there_are_none(text: str, n: int) -> None:
    assert len(words(text)) == n


def test_a_title_an_initial_and_a_list_number_end_no_sentence() -> None:
    assert sentences("Dr. Smith met J. Doe in Rome. They talked! Why?\n1. Because of art.") == [
        "Dr. Smith met J. Doe in Rome.",
        "They talked!",
        "Why?",
        "1. Because of art.",
    ]


def test_a_trailing_off_in_mid_sentence_ends_no_sentence() -> None:
    assert len(sentences("He waited... and waited. Nothing came.")) == 2


def test_only_the_outermost_list_lines_outside_code_are_items() -> None:
    text = "Ideas:\n- one\n  - deeper\n* **two**\n```\n- not this\n```\n1) three"
    assert [item.text for item in list_items(text)] == ["one", "**two**", "three"]


def test_zero_width_characters_are_blank() -> None:
    assert is_blank(" \u200b\n")
    assert not is_blank("🎉")
