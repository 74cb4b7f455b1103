"""Hunks in every script: a draft and a revision that shares most of it, in letters, signs and emoji from everywhere."""

import random
from collections.abc import Collection
from datetime import UTC, datetime

import pytest
import regex
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from realign.curation.hunks import Comparison, apply, compare, edits, matching_refusals
from realign.records import Decision, Decoding, Draft, ModelRef, Revision, Unfinished

SCRIPTS = (
    *("Latin", "Greek", "Cyrillic", "Armenian", "Georgian", "Hebrew", "Arabic", "Syriac", "Devanagari", "Bengali"),
    *("Gurmukhi", "Tamil", "Telugu", "Malayalam", "Sinhala", "Thai", "Lao", "Khmer", "Myanmar", "Tibetan", "Mongolian"),
    *("Ethiopic", "Cherokee", "Han", "Hiragana", "Katakana", "Bopomofo", "Hangul", "Balinese", "Javanese", "Adlam"),
    *("Deseret", "Brahmi", "Chakma"),
)
EVERYTHING = "".join(chr(code) for code in range(0x80, 0x20000) if not 0xD800 <= code <= 0xDFFF)

LETTERS = {
    script: regex.findall(rf"[\p{{Script={script}}}&&\p{{L}}]", EVERYTHING + "abcXYZ", regex.V1) for script in SCRIPTS
}
MARKS = {script: regex.findall(rf"[\p{{Script={script}}}&&\p{{M}}]", EVERYTHING, regex.V1) for script in SCRIPTS}
# Some vowels, such as the Thai sara am, are letters but part of the character before them.
INITIALS = {
    script: [letter for letter in LETTERS[script] if not regex.fullmatch(r"\X", " " + letter)] for script in SCRIPTS
}
JAMO = "".join(map(chr, [*range(0x1100, 0x1113), *range(0x1161, 0x1176), *range(0x11A8, 0x11C3)]))
SIGNS = (
    *("👩‍👩‍👧‍👦", "👩🏽‍🚀", "👍🏿", "👍", "🏽", "🇫🇷", "🇩🇪", "🇫", "🏴󠁧󠁢󠁥󠁮󠁧󠁿", "❤️", "❤", "1️⃣", "👁️‍🗨️"),
    *("\u200d", "\u200c", "\u200b", "\ufeff", "\u2060", "\u00ad", "\ufe0f"),  # zero width
    *("\u200e", "\u200f", "\u061c", "\u202e", "\u202c", "\u2067", "\u2069"),  # direction
    *("\u0301", "\u0308\u0323", "\u20dd", "\u0e31", "\u094d", "\u1a60", "\u0f71\u0f72"),  # combining
    *("𝔘𝔫𝔦", "𠮷", "𓀀", "🀄", "\U000e0041", "\U0010ffff", "\ue000"),
    *("if (a != b) {\n\treturn a[i]->x;\n}\n", "`x = y**2`", "https://a.invalid/?q=1&r=2", "don't", "3,14", "№5"),
    *(".", ",", "。", "、", "؟", "।", "።", "།", "«", "…", "-", "'", "’", "་", "\u1680"),
)
SPACES = (" ", "  ", "\n", "\n\n", "\t", "\r\n", "\u00a0", "\u3000", "\u2009", " \n ", "\u2028", "")


def words(script: str) -> st.SearchStrategy[str]:
    """Words that start with a letter of the script that stands by itself, and go on with its letters and marks."""
    inside = st.one_of(st.sampled_from(LETTERS[script]), st.sampled_from(MARKS[script] or LETTERS[script]))
    word = st.tuples(st.sampled_from(INITIALS[script]), st.lists(inside, max_size=5).map("".join)).map("".join)
    return st.one_of(word, st.text(JAMO, min_size=1, max_size=6)) if script == "Hangul" else word


any_word = st.sampled_from(SCRIPTS).flatmap(words)


@st.composite
def texts(draw: st.DrawFn) -> tuple[str, str]:
    """A draft, mostly of one script, and what a few edits make of it: some to words, some to any single character."""
    script = draw(st.sampled_from(SCRIPTS))
    piece = st.one_of(words(script), words(script), any_word, st.sampled_from(SIGNS))
    pieces = draw(st.lists(st.tuples(piece, st.sampled_from(SPACES)).map("".join), min_size=1, max_size=16))
    draft = "".join(pieces)
    for _ in range(draw(st.integers(1, 4))):
        at = draw(st.integers(0, len(pieces)))
        pieces[at : at + draw(st.integers(0, 2))] = draw(
            st.lists(st.one_of(piece, st.sampled_from(SPACES)), max_size=2)
        )
    revision = "".join(pieces)
    for _ in range(draw(st.integers(0, 2))):
        at = draw(st.integers(0, len(revision)))
        revision = (
            revision[:at] + draw(st.sampled_from(("", *SIGNS, *SPACES))) + revision[at + draw(st.integers(0, 1)) :]
        )
    return draft, revision


def some(comparison: Comparison, chance: random.Random) -> frozenset[int]:
    return frozenset(hunk.index for hunk in comparison.hunks if chance.random() < 0.5)


def cuts(text: str) -> set[int]:
    """Where a text may be cut without splitting what a reader sees as one character."""
    return {0, *(found.end() for found in regex.finditer(r"\X", text))}


def test_every_script_has_letters_to_draw_from() -> None:
    assert len(SCRIPTS) == 34
    assert min(len(letters) for letters in LETTERS.values()) >= 3


@settings(max_examples=500, deadline=None)
@given(texts())
def test_all_accepted_is_the_revision_and_all_refused_is_the_draft_in_every_script(pair: tuple[str, str]) -> None:
    draft, revision = pair
    comparison = compare(draft, revision)
    assert apply(comparison, ()) == revision
    assert apply(comparison, range(len(comparison.hunks))) == draft


@settings(max_examples=500, deadline=None)
@given(texts())
def test_no_hunk_starts_or_ends_inside_a_character_of_any_script(pair: tuple[str, str]) -> None:
    in_draft, in_revision = map(cuts, pair)
    read, written = 0, 0
    for piece in compare(*pair).pieces:
        old, new = (piece, piece) if isinstance(piece, str) else (piece.old, piece.new)
        read, written = read + len(old), written + len(new)
        assert read in in_draft
        assert written in in_revision


# --- save and reload -------------------------------------------------------------------------------------------------

NOON = datetime(2026, 12, 1, 12, 0, tzinfo=UTC)
WRITTEN = {"model": ModelRef(source="tiny"), "decoding": Decoding(), "finish": "stop", "created": NOON}


def decided(comparison: Comparison, refused: frozenset[int]) -> Decision:
    return Decision(
        id="c",
        prompt_id="p",
        draft_id="d",
        revision_id="r",
        ruling="edited",
        final_text=apply(comparison, refused),
        edits=edits(comparison, refused),
        annotator="Ann",
        started=NOON,
        decided=NOON,
    )


def assert_gives(comparison: Comparison, refused: Collection[int], text: str) -> None:
    """Both the refusals and those that the text itself tells give the text."""
    assert apply(comparison, refused) == text
    matching = matching_refusals(comparison, text)
    assert matching is not None
    assert apply(comparison, matching) == text


@settings(max_examples=200, deadline=None)
@given(texts())
def test_texts_that_were_saved_and_read_again_have_the_same_hunks(pair: tuple[str, str]) -> None:
    draft = Draft(id="d", prompt_id="p", text=pair[0], **WRITTEN)
    revision = Revision(id="r", draft_id="d", text=pair[1], template="single-turn-v1", **WRITTEN)
    read = Draft.model_validate_json(draft.model_dump_json()), Revision.model_validate_json(revision.model_dump_json())
    assert compare(read[0].text, read[1].text) == compare(*pair)


@settings(max_examples=300, deadline=None)
@given(texts(), st.randoms(use_true_random=False))
def test_any_choice_of_hunks_that_was_decided_and_saved_is_read_again(
    pair: tuple[str, str], chance: random.Random
) -> None:
    comparison = compare(*pair)
    refused = some(comparison, chance)
    decision = decided(comparison, refused)
    again = Decision.model_validate_json(decision.model_dump_json())
    assert again == decision
    found = {index for index, edit in enumerate(again.edits) if not edit.accepted}
    assert found == refused
    assert_gives(comparison, found, again.final_text)


@settings(max_examples=300, deadline=None)
@given(texts(), st.randoms(use_true_random=False))
def test_work_that_is_not_finished_comes_back_as_it_was_left(pair: tuple[str, str], chance: random.Random) -> None:
    comparison = compare(*pair)
    refused = some(comparison, chance)
    left = Unfinished(
        decision_id="c",
        prompt_id="p",
        revision_id="r",
        annotator="Ann",
        refused=tuple(sorted(refused)),
        final_text=apply(comparison, refused),
        saved=NOON,
    )
    again = Unfinished.model_validate_json(left.model_dump_json())
    assert again == left
    assert_gives(compare(*pair), again.refused, again.final_text)


# --- white space -----------------------------------------------------------------------------------------------------


def spaced(words: list[str], spaces: list[str]) -> str:
    return "".join(map("".join, zip(words, [*spaces, ""], strict=True)))


@pytest.mark.parametrize("script", SCRIPTS)
@settings(max_examples=15, deadline=None)
@given(st.data())
def test_a_change_of_white_space_alone_is_one_hunk_of_white_space(script: str, data: st.DataObject) -> None:
    spaces = [space for space in SPACES if space]
    chosen = data.draw(st.lists(words(script), min_size=2, max_size=6))
    between = data.draw(st.lists(st.sampled_from(spaces), min_size=len(chosen) - 1, max_size=len(chosen) - 1))
    at = data.draw(st.integers(0, len(between) - 1))
    other = data.draw(st.sampled_from([space for space in spaces if space != between[at]]))
    changed = [*between[:at], other, *between[at + 1 :]]
    # A letter that draws the following space into its own cluster, such as Malayalam's dot reph, is not torn from it.
    assume(all(regex.findall(r"\X", f"{word} ")[-1] == " " for word in chosen))
    comparison = compare(spaced(chosen, between), spaced(chosen, changed))
    assert [(hunk.old, hunk.new) for hunk in comparison.hunks] == [(between[at], other)]


@pytest.mark.parametrize(
    ("draft", "revision", "old", "new"),
    [
        ("我爱茶。", "我 爱茶。", "", " "),
        ("ภาษา ไทย", "ภาษาไทย", " ", ""),
        ("مرحبا بالعالم", "مرحبا  بالعالم", " ", "  "),
        ("안녕\u3000하세요", "안녕 하세요", "\u3000", " "),
        ("नमस्ते\nदुनिया", "नमस्ते\n\nदुनिया", "\n", "\n\n"),
        ("สวัสดี", "สวัสดี\n", "", "\n"),
        ("a\tb", "a\u00a0b", "\t", "\u00a0"),
    ],
)
def test_added_removed_and_changed_white_space_is_a_hunk_of_its_own(
    draft: str, revision: str, old: str, new: str
) -> None:
    assert [(hunk.old, hunk.new) for hunk in compare(draft, revision).hunks] == [(old, new)]


# --- one example a script, with a number ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("draft", "revision", "hunks"),
    [
        ("Η γάτα κοιμάται.", "Η σκύλα κοιμάται.", [("γάτα", "σκύλα")]),
        ("Кошка спит здесь.", "Кошка ест здесь.", [("спит", "ест")]),
        ("القطة تنام هنا", "القطة تأكل هنا", [("تنام", "تأكل")]),
        ("बिल्ली सोती है", "बिल्ली खाती है", [("सोती", "खाती")]),
        ("แมวนอน", "แมวกิน", [("นอ", "กิ")]),
        ("猫在睡觉。", "狗在睡觉。", [("猫", "狗")]),
        ("ねこがねる。", "いぬがねる。", [("ねこ", "いぬ")]),
        ("고양이가 잔다", "고양이가 먹는다", [("잔다", "먹는다")]),
        ("ድመት ትተኛለች", "ድመት ትበላለች", [("ትተኛለች", "ትበላለች")]),
        ("👩🏽‍🚀 flies", "👩🏿‍🚀 flies", [("👩🏽‍🚀", "👩🏿‍🚀")]),
        ("🇫🇷🇩🇪", "🇫🇷🇮🇹", [("🇩🇪", "🇮🇹")]),
    ],
)
def test_one_changed_word_is_one_hunk_in_its_own_script(
    draft: str, revision: str, hunks: list[tuple[str, str]]
) -> None:
    assert [(hunk.old, hunk.new) for hunk in compare(draft, revision).hunks] == hunks
