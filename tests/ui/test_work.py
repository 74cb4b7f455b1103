"""What the browser hands in is checked against the item that the server keeps."""

from datetime import UTC, datetime

import pytest

from realign.curation.form import Form
from realign.curation.hunks import compare
from realign.errors import Conflict, InvalidInput
from realign.records import Item, Message, Prompt, Work
from realign.ui import work
from realign.ui.curate_screen import Shown, View, unblinded, work_of

NOW = datetime(2026, 12, 1, tzinfo=UTC)
COMPARISON = compare("One two three four.", "One three five.")
GIVEN = {"key": "c:r", "refused": [0], "final_text": "One two three five.", "active_ms": 1200}


def item() -> Item:
    prompt = Prompt(id="p", messages=(Message(role="user", content="Count."),), created=NOW)
    return Item(prompt, None, None, "c", NOW, None)


def test_what_was_handed_in_is_the_persons_work_and_the_time_they_took() -> None:
    handed = work.handed({**GIVEN, "reasons": ["tone"], "ratings": {"helpful": 5}}, "c:r", COMPARISON)
    assert handed.active_ms == 1200
    assert handed.work == Work(
        refused=(0,), final_text="One two three five.", reasons=("tone",), ratings={"helpful": 5}
    )


def test_work_on_another_item_than_the_one_in_front_is_not_stored() -> None:
    with pytest.raises(Conflict, match="nothing was stored"):
        work.handed(GIVEN, "d:r", COMPARISON)


@pytest.mark.parametrize(
    "wrong",
    [
        None,
        "text",
        {},
        {**GIVEN, "refused": ["first"]},
        {**GIVEN, "refused": [99]},
        {**GIVEN, "refused": [-1]},
        {**GIVEN, "ratings": {"helpful": 6}},
        {**GIVEN, "final_text": None},
        {**GIVEN, "active_ms": -5},
        {**GIVEN, "unknown": 1},
    ],
)
def test_nonsense_from_outside_is_refused_in_words(wrong: object) -> None:
    with pytest.raises(InvalidInput, match="Reload the page"):
        work.handed(wrong, "c:r", COMPARISON)


def test_each_hunk_is_drawn_with_the_words_it_takes_and_brings() -> None:
    drawn = [piece for piece in work.pieces(COMPARISON) if not isinstance(piece, str)]
    assert sum(piece["minus"] for piece in drawn) == 2
    assert sum(piece["plus"] for piece in drawn) == 1


def test_without_texts_there_is_nothing_to_work_on() -> None:
    assert work_of(Shown(View(), item()), None, Form())["mode"] == "wait"


def test_the_better_side_becomes_a_ruling_on_the_revision() -> None:
    for decision_id in (f"c{n}" for n in range(20)):
        there = item()._replace(decision_id=decision_id)
        on_the_right = work.key_of(there).startswith(decision_id) and unblinded("accepted", there) == "rejected"
        assert unblinded("rejected", there) == ("accepted" if on_the_right else "rejected")
        assert unblinded("tied", there) == "tied"


def test_habits_that_make_no_sense_are_left_out() -> None:
    for habits in (None, [], "x", {"task": "other", "rendered": "yes"}):
        assert View.of(habits, blind=False) == View("revisions", False, False)
    assert View.of({"task": "two", "rendered": True}, blind=True) == View("two", True, True)
