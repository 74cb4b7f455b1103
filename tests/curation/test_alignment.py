"""Which stretches count as changed: by whole words, joined where that reads better."""

import pytest
import regex
from hypothesis import given, settings
from mixed_texts import any_text, draft_and_revision

from realign.curation.alignment import align, n_words, tokens


def changes(draft: str, revision: str) -> list[tuple[str, str]]:
    """What became of what, in reading order."""
    aligned = align(draft, revision)
    return [
        ("".join(aligned.old[b.old_start : b.old_end]), "".join(aligned.new[b.new_start : b.new_end]))
        for b in aligned.blocks
    ]


@settings(max_examples=400, deadline=None)
@given(any_text)
def test_tokens_joined_give_the_text_and_end_where_characters_end(text: str) -> None:
    found = tokens(text)
    assert "".join(found) == text
    assert all(found)
    assert [cluster for token in found for cluster in regex.findall(r"\X", token)] == regex.findall(r"\X", text)


@settings(max_examples=300, deadline=None)
@given(draft_and_revision())
def test_between_two_blocks_both_texts_are_equal(texts: tuple[str, str]) -> None:
    old, new, blocks, _ = align(*texts)
    read, written = 0, 0
    for block in blocks:
        assert old[read : block.old_start] == new[written : block.new_start]
        read, written = block.old_end, block.new_end
    assert old[read:] == new[written:]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("I don't know.", ["I", " ", "don't", " ", "know", "."]),
        ("a well-known 3.14, yes", ["a", " ", "well-known", " ", "3.14", ",", " ", "yes"]),
        ("1,000 – 2", ["1,000", " ", "–", " ", "2"]),
        ("a\r\n\r\n b", ["a", "\r\n\r\n ", "b"]),
        ("我爱茶", ["我", "爱", "茶"]),
        ("カタカナ語", ["カタカナ", "語"]),
        ("👍🏽🇫🇷🇩🇪", ["👍🏽", "🇫🇷", "🇩🇪"]),
        ("cafe\u0301!", ["cafe\u0301", "!"]),
    ],
)
def test_a_token_is_a_word_a_mark_or_white_space(text: str, found: list[str]) -> None:
    assert tokens(text) == found


def test_words_are_counted_without_marks_and_spaces() -> None:
    assert n_words("Well, I don't know 3.14 – do you?") == 7
    assert n_words("我爱茶。") == 3
    assert n_words(" …!") == 0


def test_a_phrase_of_which_only_a_short_word_stays_is_one_change() -> None:
    assert changes("a very good idea of mine", "a truly poor notion of yours") == [
        ("very good idea of mine", "truly poor notion of yours")
    ]


def test_two_changed_words_side_by_side_are_one_change() -> None:
    assert changes("He said no twice.", "He answered yes twice.") == [("said no", "answered yes")]


def test_changes_in_two_paragraphs_stay_apart() -> None:
    assert changes("First one.\n\nLast one.", "First two.\n\nFinal one.") == [("one", "two"), ("Last", "Final")]


def test_changes_in_two_list_items_stay_apart() -> None:
    assert changes("- apples\n- pears", "- plums\n- figs") == [("apples", "plums"), ("pears", "figs")]


def test_an_added_list_item_is_added_with_its_own_line() -> None:
    assert changes("- tea\n- milk\n", "- tea\n- sugar\n- milk\n") == [("", "- sugar\n")]


def test_an_added_sentence_ends_where_it_ends() -> None:
    assert changes("I like tea. I like milk.", "I like tea. I like rice. I like milk.") == [("", "I like rice. ")]


def test_a_removed_repetition_is_one_deletion_at_a_sentence_end() -> None:
    assert changes("Go home. Go home. Sleep.", "Go home. Sleep.") == [("Go home. ", "")]
