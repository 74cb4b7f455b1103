"""What the changes component is given, and what it may send back."""

import pytest

from realign.curation.hunks import compare
from realign.errors import InvalidInput
from realign.ui.diff_view import changes, chosen

COMPARED = compare("I am writing to ask for a day off.", "I ask for one day off.")


def test_the_note_counts_edits_kept_and_words() -> None:
    n = len(COMPARED.hunks)
    assert n >= 2
    assert changes(COMPARED, {0}, key="k", turn=3)["note"].startswith(f"{n} edits · {n - 1} kept · −")


def test_equal_texts_say_so_instead_of_showing_nothing() -> None:
    value = changes(compare("Same.", "Same."), (), key="k", turn=0)
    assert "pieces" not in value
    assert "same text" in value["empty"]


def test_the_pieces_are_data_whatever_the_text_holds() -> None:
    value = changes(compare("a", "<script>alert(1)</script>"), (), key="k", turn=0)
    assert value["pieces"] == [{"index": 0, "op": "replace", "old": "a", "new": "<script>alert(1)</script>"}]


def test_a_choice_for_an_item_that_has_left_the_screen_is_passed_over() -> None:
    assert chosen({"key": "other", "refused": [0]}, COMPARED, "k") is None


def test_a_choice_is_taken_whole() -> None:
    assert chosen({"key": "k", "refused": [1, 0]}, COMPARED, "k") == {0, 1}


@pytest.mark.parametrize("refused", [[99], [-1], ["0"], [True], [0.0], None, "0", {}])
def test_indices_that_are_no_hunks_are_refused(refused: object) -> None:
    with pytest.raises(InvalidInput, match="another text"):
        chosen({"key": "k", "refused": refused}, COMPARED, "k")


@pytest.mark.parametrize("data", [None, [], "x"])
def test_anything_else_the_browser_sends_is_refused(data: object) -> None:
    with pytest.raises(InvalidInput, match="another text"):
        chosen(data, COMPARED, "k")
