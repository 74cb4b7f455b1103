"""What a person typed stays when they toggle a hunk afterwards, or the toggle is refused."""

from hypothesis import given, settings
from mixed_texts import draft_and_revision

from realign.curation.merge import carry_over

BEFORE = "A dog likes warm milk in the early morning, and then barks."


def test_a_word_typed_by_hand_stays_where_a_hunk_elsewhere_is_toggled() -> None:
    by_hand = BEFORE.replace("warm", "cold")
    after = BEFORE.replace("barks", "sleeps")
    assert carry_over(BEFORE, by_hand, after) == "A dog likes cold milk in the early morning, and then sleeps."


def test_a_toggle_of_the_very_words_a_person_rewrote_is_no_merge() -> None:
    assert carry_over(BEFORE, BEFORE.replace("dog", "fox"), BEFORE.replace("dog", "cat")) is None


def test_two_insertions_at_one_place_are_no_merge() -> None:
    assert carry_over("One. Two.", "One. By hand. Two.", "One. Toggled. Two.") is None


@settings(max_examples=200, deadline=None)
@given(draft_and_revision())
def test_where_only_one_side_changed_its_text_stands(texts: tuple[str, str]) -> None:
    before, changed = texts
    assert carry_over(before, before, changed) == changed
    assert carry_over(before, changed, before) == changed
