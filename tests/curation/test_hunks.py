"""Accepting and refusing hunks: whatever the texts, nothing is lost and nothing is invented."""

import random
import time

import pytest
import regex
from hypothesis import given, settings
from hypothesis import strategies as st
from mixed_texts import draft_and_revision

from realign.curation.hunks import Comparison, Hunk, apply, compare, edits, matching_refusals, word_change
from realign.records import Edit


def everything(comparison: Comparison) -> range:
    return range(len(comparison.hunks))


def cuts(text: str) -> set[int]:
    """Where a text may be cut without splitting what a reader sees as one character."""
    ends = [0]
    for cluster in regex.findall(r"\X", text):
        ends.append(ends[-1] + len(cluster))
    return set(ends)


# --- whatever the texts ----------------------------------------------------------------------------------------------


@settings(max_examples=400, deadline=None)
@given(draft_and_revision())
def test_accepting_all_hunks_gives_the_revision_and_refusing_all_gives_the_draft(texts: tuple[str, str]) -> None:
    draft, revision = texts
    comparison = compare(draft, revision)
    assert apply(comparison, ()) == revision
    assert apply(comparison, everything(comparison)) == draft
    assert (comparison.hunks == ()) == (draft == revision)


@settings(max_examples=300, deadline=None)
@given(draft_and_revision())
def test_no_hunk_splits_a_character_as_a_reader_sees_it(texts: tuple[str, str]) -> None:
    draft, revision = texts
    in_draft, in_revision = cuts(draft), cuts(revision)
    read, written = 0, 0
    for piece in compare(draft, revision).pieces:
        old, new = (piece, piece) if isinstance(piece, str) else (piece.old, piece.new)
        read, written = read + len(old), written + len(new)
        assert read in in_draft
        assert written in in_revision


@settings(max_examples=300, deadline=None)
@given(draft_and_revision(), st.randoms(use_true_random=False))
def test_refusals_found_in_a_text_give_that_text_again(texts: tuple[str, str], chance: random.Random) -> None:
    comparison = compare(*texts)
    refused = frozenset(index for index in everything(comparison) if chance.random() < 0.5)
    final_text = apply(comparison, refused)
    found = matching_refusals(comparison, final_text)
    assert found is not None
    assert apply(comparison, found) == final_text


@settings(max_examples=200, deadline=None)
@given(draft_and_revision())
def test_the_untouched_revision_refuses_nothing(texts: tuple[str, str]) -> None:
    assert matching_refusals(compare(*texts), texts[1]) == frozenset()


@settings(max_examples=200, deadline=None)
@given(draft_and_revision())
def test_hunks_are_numbered_in_order_and_each_changes_something(texts: tuple[str, str]) -> None:
    comparison = compare(*texts)
    assert [hunk.index for hunk in comparison.hunks] == list(everything(comparison))
    assert [piece for piece in comparison.pieces if isinstance(piece, Hunk)] == list(comparison.hunks)
    for hunk in comparison.hunks:
        assert hunk.old != hunk.new
        assert hunk.op == ("insert" if not hunk.old else "delete" if not hunk.new else "replace")


# --- numbers a person can check --------------------------------------------------------------------------------------


def test_one_changed_word_is_one_hunk_between_unchanged_text() -> None:
    comparison = compare("The cat sat.", "The dog sat.")
    assert comparison.pieces == ("The ", Hunk(0, "replace", "cat", "dog"), " sat.")
    assert not comparison.fallback


def test_equal_texts_have_no_hunk() -> None:
    assert compare("Tea.", "Tea.") == Comparison(("Tea.",), (), False)


def test_two_empty_texts_have_no_piece() -> None:
    assert compare("", "") == Comparison((), (), False)


def test_from_nothing_everything_is_inserted_and_to_nothing_everything_is_deleted() -> None:
    assert compare("", "Hello there").hunks == (Hunk(0, "insert", "", "Hello there"),)
    assert compare("Hello there", "").hunks == (Hunk(0, "delete", "Hello there", ""),)


def test_two_distant_changes_can_be_decided_apart() -> None:
    comparison = compare(
        "A cat likes warm milk in the early morning, and then sleeps.",
        "A dog likes warm milk in the early morning, and then barks.",
    )
    assert [(hunk.old, hunk.new) for hunk in comparison.hunks] == [("cat", "dog"), ("sleeps", "barks")]
    assert apply(comparison, {0}) == "A cat likes warm milk in the early morning, and then barks."
    assert apply(comparison, {1}) == "A dog likes warm milk in the early morning, and then sleeps."


def test_edits_record_each_hunk_with_what_the_person_did() -> None:
    comparison = compare("A red car stops at the old bridge here.", "A blue car stops at the new bridge here.")
    assert edits(comparison, {1}) == (
        Edit(op="replace", old="red", new="blue", accepted=True),
        Edit(op="replace", old="old", new="new", accepted=False),
    )


def test_words_are_counted_on_both_sides_and_spaces_and_marks_are_not() -> None:
    assert word_change(compare("It is, well, good.", "It is good.")) == (1, 0)
    assert word_change(compare("One cat.", "One large black dog.")) == (1, 3)


def test_chinese_words_are_counted_by_character() -> None:
    assert word_change(compare("我喜欢茶", "我喜欢咖啡")) == (1, 2)


def test_a_text_of_the_persons_own_matches_no_refusals() -> None:
    comparison = compare("The cat sat.", "The dog sat.")
    assert matching_refusals(comparison, "The cat sat.") == {0}
    assert matching_refusals(comparison, "The fox sat.") is None
    assert matching_refusals(comparison, "The dog sat. Yes.") is None


def test_a_line_ending_is_kept_as_it_was() -> None:
    comparison = compare("One\r\nTwo\r\n", "One\r\nThree\r\n")
    assert comparison.hunks == (Hunk(0, "replace", "Two", "Three"),)
    assert apply(comparison, ()) == "One\r\nThree\r\n"


def test_right_to_left_text_changes_by_the_word() -> None:
    assert compare("שלום עולם יפה", "שלום עיר יפה").hunks == (Hunk(0, "replace", "עולם", "עיר"),)


def test_a_family_emoji_and_an_accent_are_replaced_whole() -> None:
    assert compare("👩‍👩‍👧‍👦!", "👩‍👩‍👦!").hunks == (Hunk(0, "replace", "👩‍👩‍👧‍👦", "👩‍👩‍👦"),)
    assert compare("e\u0301!", "e\u0300!").hunks == (Hunk(0, "replace", "e\u0301", "e\u0300"),)


# --- size ------------------------------------------------------------------------------------------------------------

CHANCE = random.Random(1)
WORDS = [f"word{CHANCE.randrange(5000)}" for _ in range(23_000)]
LINES = [" ".join(WORDS[n : n + 10]) for n in range(0, len(WORDS), 10)]
LONG: dict[str, tuple[str, str]] = {
    "nothing in common": (" ".join(WORDS), " ".join(CHANCE.choices(WORDS, k=23_000))),
    "every seventh word": (" ".join(WORDS), " ".join("new" if n % 7 == 0 else word for n, word in enumerate(WORDS))),
    "every tenth line": ("\n".join(LINES), "\n".join("new" if n % 10 == 0 else line for n, line in enumerate(LINES))),
    "one word": ("x" * 200_000, "x" * 199_999 + "y"),
    "marks": ("!?" * 100_000, "?!" * 100_000),
    "blank lines": ("a\n" * 100_000, "a\n\n" * 66_000),
    "Chinese": ("".join(map(chr, CHANCE.choices(range(0x4E00, 0x5E00), k=66_000))), "茶" * 66_000),
    "marks on one letter": ("e" + "\u0301" * 200_000, "e" + "\u0301" * 199_999),
    "repeated insertion": ("a b c d " * 1_000, "a b c d " * 25_000),
}


@pytest.mark.parametrize("name", LONG)
def test_200_kb_are_compared_within_two_seconds_of_one_core(name: str) -> None:
    draft, revision = LONG[name]
    start = time.process_time()
    comparison = compare(draft, revision)
    found = matching_refusals(comparison, revision)
    assert time.process_time() - start < 2
    assert found == frozenset()
    assert (apply(comparison, ()), apply(comparison, everything(comparison))) == (revision, draft)


def test_texts_too_long_for_words_are_compared_by_line() -> None:
    by_line = compare(*LONG["every tenth line"])
    assert (len(by_line.hunks), by_line.fallback) == (230, False)


def test_texts_too_long_even_for_lines_are_one_hunk_and_say_so() -> None:
    coarse = compare(*LONG["nothing in common"])
    assert (len(coarse.hunks), coarse.fallback) == (1, True)
