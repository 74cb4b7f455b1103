"""What is written down when a person rules on an item: what stands, not which button was pressed."""

from datetime import UTC, datetime, timedelta

import pytest

from realign.curation.ruling import rule, withdraw
from realign.errors import InvalidInput
from realign.records import Decision, Decoding, Draft, Item, Message, ModelRef, Prompt, Revision, Ruling, Work

NOON = datetime(2026, 12, 1, 12, 0, tzinfo=UTC)
MODEL = ModelRef(source="tiny")


def item(draft: str = "The cat sat.", revision: str = "The dog sat.", superseded: Decision | None = None) -> Item:
    return Item(
        Prompt(id="p", messages=(Message(role="user", content="Who sat?"),), created=NOON),
        Draft(id="d", prompt_id="p", text=draft, model=MODEL, decoding=Decoding(), finish="stop", created=NOON),
        Revision(
            id="r",
            draft_id="d",
            text=revision,
            model=MODEL,
            template="single-turn-v1",
            decoding=Decoding(),
            finish="stop",
            created=NOON,
        ),
        decision_id="c",
        started=NOON,
        superseded=superseded,
    )


def ruled(ruling: Ruling, final_text: str = "", refused: tuple[int, ...] = (), of: Item | None = None) -> Decision:
    later = NOON + timedelta(seconds=2.5)
    work = Work(final_text=final_text, refused=refused, comment=" ok ")
    return rule(of or item(), ruling, work, annotator="Ann", now=later)


@pytest.mark.parametrize(
    ("final_text", "ruling"),
    [("The dog sat.", "accepted"), ("The fox sat.", "edited"), ("The cat sat.", "rejected")],
)
@pytest.mark.parametrize("pressed", ["accepted", "edited"])
def test_the_text_that_stands_says_what_the_ruling_is(pressed: Ruling, final_text: str, ruling: Ruling) -> None:
    decision = ruled(pressed, final_text)
    assert (decision.ruling, decision.final_text) == (ruling, final_text)


@pytest.mark.parametrize("ruling", ["rejected", "tied", "skipped", "flagged"])
def test_where_the_revision_does_not_stand_the_draft_does_and_every_hunk_is_refused(ruling: Ruling) -> None:
    decision = ruled(ruling, "whatever was in the box")
    assert (decision.ruling, decision.final_text) == (ruling, "The cat sat.")
    assert [edit.accepted for edit in decision.edits] == [False]


def test_an_accepted_decision_has_the_same_fields_whether_edited_or_not() -> None:  # A5
    assert (
        ruled("accepted", "The dog sat.").model_dump().keys() == ruled("accepted", "The fox sat.").model_dump().keys()
    )


def test_each_hunk_is_recorded_with_what_was_done_with_it() -> None:
    of = item("A red car stops at the old bridge here.", "A blue car stops at the new bridge here.")
    decision = ruled("accepted", "A blue car stops at the old bridge here.", (1,), of)
    assert decision.ruling == "edited"
    assert [(edit.old, edit.new, edit.accepted) for edit in decision.edits] == [
        ("red", "blue", True),
        ("old", "new", False),
    ]


def test_an_edit_that_was_written_over_by_hand_counts_as_refused_and_a_touched_up_one_as_kept() -> None:
    of = item("A red car stops at the old bridge here.", "A blue car stops at the brand new stone bridge here.")
    decision = ruled("accepted", "A blue car stops at the brand new wooden bridge here.", (), of)
    assert [edit.accepted for edit in decision.edits] == [True, True]
    decision = ruled("accepted", "Something else entirely.", (), of)
    assert [edit.accepted for edit in decision.edits] == [False, False]


@pytest.mark.parametrize("final_text", ["", " \n"])
def test_an_empty_text_cannot_be_accepted(final_text: str) -> None:  # D17
    with pytest.raises(InvalidInput, match="The final text is empty"):
        ruled("accepted", final_text)


def test_there_is_no_ruling_before_there_is_a_revision() -> None:
    with pytest.raises(InvalidInput, match="no revision to decide on yet"):
        ruled("skipped", of=item()._replace(revision=None))


def test_time_and_comment_are_kept_and_an_earlier_decision_is_named() -> None:
    first = ruled("accepted", "The dog sat.")
    assert (first.active_ms, first.comment, first.supersedes) == (2500, "ok", None)
    assert ruled("rejected", of=item(superseded=first)).supersedes == "c"


def test_taking_a_decision_back_is_a_decision_that_names_it() -> None:
    back = withdraw(ruled("accepted", "The dog sat."), decision_id="c2", annotator="Bob", now=NOON)
    assert (back.id, back.ruling, back.supersedes, back.annotator) == ("c2", "withdrawn", "c", "Bob")
