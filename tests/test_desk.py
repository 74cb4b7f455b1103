"""One item in front of one person: half-done work, undo and redo, back and forward, several revisions, two drafts."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from realign.desk import Asking
from realign.errors import Conflict, InvalidInput, NotFound
from realign.generation import Writing
from realign.records import Item, Revision, Work
from realign.studio import Studio
from tests.desk_texts import OTHER, SEAT, make_studio, written
from tests.tiny import make_tiny_model

HALF = Work(
    refused=(0,), final_text="One two three four, five.", reasons=("tone",), comment="hm", ratings={"helpful": 4}
)


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_tiny_model(tmp_path_factory.mktemp("tiny"))


@pytest.fixture
def studio(tmp_path: Path, tiny: Path) -> Iterator[Studio]:
    studio = make_studio(tmp_path, tiny)
    yield studio
    studio.store.close()


def accept(studio: Studio, item: Item, text: str = "One two four.") -> None:
    studio.desk.decide(item, "accepted", Work(final_text=text), annotator="Ann")


# --- half-done work -------------------------------------------------------------------------------------------------


def test_half_done_work_is_there_after_a_reload(studio: Studio) -> None:  # A2
    item = written(studio)
    assert studio.desk.work(item, "Ann") == Work(final_text="One two four.")
    assert studio.desk.keep(item, HALF, "Ann") is not None
    again = studio.desk.next_revision(SEAT, "Ann")
    assert again is not None
    assert studio.desk.work(again, "Ann") == HALF


def test_half_done_work_comes_first_in_another_browser_of_the_same_person(studio: Studio) -> None:
    first = written(studio)
    second = written(studio, OTHER)
    studio.desk.keep(second, HALF, "Ann")
    for seat in (SEAT, OTHER):
        studio.desk.leave(seat)
    again = studio.desk.next_revision("a new browser", "Ann")
    assert again is not None
    assert again.prompt == second.prompt
    assert studio.desk.work(again, "Ann") == HALF
    elsewhere = studio.desk.next_revision("Ben's browser", "Ben")
    assert elsewhere is not None
    assert elsewhere.prompt == first.prompt


def test_work_that_comes_after_the_decision_changes_nothing(studio: Studio) -> None:
    item = written(studio)
    accept(studio, item)
    assert studio.desk.keep(item, HALF, "Ann") is None
    assert [decided.decision.final_text for decided in studio.store.decided()] == ["One two four."]
    reopened = studio.desk.open_item(item.prompt.id, SEAT, "Ann")
    assert studio.desk.work(reopened, "Ann") == Work(final_text="One two four.")


def test_work_that_is_undone_by_hand_is_forgotten(studio: Studio) -> None:
    item = written(studio)
    studio.desk.keep(item, HALF, "Ann")
    studio.desk.keep(item, Work(final_text="One two four."), "Ann")
    assert item.revision is not None
    assert studio.store.unfinished("Ann", item.revision.id) is None


def test_one_persons_half_done_work_is_not_shown_to_another(studio: Studio) -> None:  # B9
    item = written(studio)
    studio.desk.keep(item, HALF, "Ann")
    assert studio.desk.work(item, "Ben") == Work(final_text="One two four.")


# --- undo, redo, back, forward --------------------------------------------------------------------------------------


def test_undo_brings_the_item_back_as_it_was_left_and_it_can_be_decided_otherwise(studio: Studio) -> None:
    item = written(studio)
    studio.desk.decide(item, "accepted", HALF, annotator="Ann")
    back = studio.desk.undo("Ann", SEAT)
    assert (back.prompt, back.draft, back.revision) == (item.prompt, item.draft, item.revision)
    assert studio.desk.work(back, "Ann") == HALF
    studio.desk.decide(back, "rejected", annotator="Ann")
    rulings = [decision.ruling for decision in studio.store.history(item.prompt.id)]
    assert rulings == ["edited", "withdrawn", "rejected"]
    assert [decided.decision.ruling for decided in studio.store.decided()] == ["rejected"]


def test_undo_with_nothing_decided_says_so(studio: Studio) -> None:
    with pytest.raises(NotFound, match="nothing to undo"):
        studio.desk.undo("Ann", SEAT)


def test_two_decisions_undone_are_redone_in_their_order(studio: Studio) -> None:
    first = written(studio)
    accept(studio, first)
    second = written(studio)
    studio.desk.decide(second, "tied", annotator="Ann")
    for _ in range(2):
        studio.desk.undo("Ann", SEAT)
    assert studio.store.counts() == {}
    studio.desk.redo("Ann", SEAT)
    assert [row.decision.ruling for row in studio.store.decided()] == ["accepted"]
    following = studio.desk.redo("Ann", SEAT)
    assert [row.decision.ruling for row in studio.store.decided()] == ["accepted", "tied"]
    assert following is not None
    assert following.prompt not in (first.prompt, second.prompt)
    with pytest.raises(NotFound, match="nothing to redo"):
        studio.desk.redo("Ann", SEAT)


def test_a_new_decision_ends_what_can_be_redone(studio: Studio) -> None:
    accept(studio, written(studio))
    back = studio.desk.undo("Ann", SEAT)
    studio.desk.decide(back, "rejected", annotator="Ann")
    with pytest.raises(NotFound, match="nothing to redo"):
        studio.desk.redo("Ann", SEAT)


def test_back_and_forward_go_through_what_was_decided_and_end_at_what_waits(studio: Studio) -> None:
    items = []
    for _ in range(3):
        items.append(written(studio))
        accept(studio, items[-1])
    waiting = studio.desk.next_revision(SEAT, "Ann")
    assert waiting is not None
    at: Item | None = waiting
    for expected in (items[2], items[1], items[0]):
        at = studio.desk.step(at, SEAT, "Ann", forward=False)
        assert at is not None
        assert at.prompt == expected.prompt
    with pytest.raises(NotFound, match="no earlier decision"):
        studio.desk.step(at, SEAT, "Ann", forward=False)
    for expected in (items[1], items[2], waiting):
        at = studio.desk.step(at, SEAT, "Ann", forward=True)
        assert at is not None
        assert at.prompt == expected.prompt
    assert studio.store.counts() == {"accepted": 3}


def test_an_item_that_was_accepted_can_be_skipped_later_and_one_decision_stands(studio: Studio) -> None:  # A9, A14
    accept(studio, written(studio))
    at = studio.desk.step(None, SEAT, "Ann", forward=False)
    assert at is not None
    assert studio.desk.work(at, "Ann") == Work(final_text="One two four.")
    studio.desk.decide(at, "skipped", annotator="Ann")
    assert [row.decision.ruling for row in studio.store.decided()] == ["skipped"]
    assert [decision.ruling for decision in studio.store.history(at.prompt.id)] == ["accepted", "skipped"]


def test_the_history_holds_every_text_and_every_decision(studio: Studio) -> None:
    item = written(studio, SEAT, "One two three.", "One two.", "One three.")
    accept(studio, item, "One three.")
    studio.desk.undo("Ann", SEAT)
    history = studio.desk.history(item.prompt.id)
    assert [len(part) for part in history] == [1, 2, 2]


def test_an_unwritten_item_can_be_passed_over_again_and_again_until_all_have_been_seen(studio: Studio) -> None:
    item = studio.desk.next_revision(SEAT, "Ann")
    assert item is not None
    seen = [item.prompt.messages[0].content]
    for _ in range(6):
        item = studio.desk.pass_over(item, SEAT, "Ann")
        seen.append(item.prompt.messages[0].content)
    assert seen == [f"Name {n} birds." for n in (2, 3, 4, 5, 6, 7, 2)]


# --- several revisions ----------------------------------------------------------------------------------------------


def test_of_three_revisions_the_one_in_front_is_decided_on_and_each_keeps_its_own_work(studio: Studio) -> None:
    item = written(studio, SEAT, "One two three.", "One two.", "One three.", "Two three.")
    one = studio.desk.choose(item, item.revisions[0].id)
    studio.desk.keep(one, Work(final_text="One, two."), "Ann")
    three = studio.desk.choose(one, item.revisions[2].id)
    assert studio.desk.work(three, "Ann").final_text == "Two three."
    again = studio.desk.next_revision(SEAT, "Ann")
    assert again is not None
    assert again.revision == item.revisions[0]  # what was worked on last
    assert studio.desk.work(again, "Ann").final_text == "One, two."
    decision = studio.desk.decide(again, "accepted", Work(final_text="One, two."), annotator="Ann")
    assert decision.revision_id == item.revisions[0].id
    with pytest.raises(NotFound, match="revision is gone"):
        studio.desk.choose(item, "nothing")


def test_four_revisions_at_once_differ_and_hold_what_was_asked(studio: Studio) -> None:
    item = written(studio)
    assert item.draft is not None
    asking = Asking(instruction=" shorter ", temperature=1.5, n=4)
    steps = list(studio.desk.write_revisions(item.prompt, item.draft, asking))
    made = [step for step in steps if isinstance(step, Revision)]
    assert len({revision.text for revision in made}) == len(made) == 4
    assert {(revision.instruction, revision.decoding.temperature) for revision in made} == {("shorter", 1.5)}
    assert [studio.store.revision(revision.id) for revision in made] == made


def test_one_revision_streams_and_is_stored(studio: Studio) -> None:
    item = written(studio)
    assert item.draft is not None
    steps = list(studio.desk.write_revisions(item.prompt, item.draft, Asking(template="multi-turn-v1", seed=7)))
    assert isinstance(steps[0], Writing)
    assert isinstance(steps[-1], Revision)
    assert (steps[-1].template, steps[-1].decoding.seed) == ("multi-turn-v1", 7)
    assert studio.store.revision(steps[-1].id) == steps[-1]


def test_several_revisions_without_chance_are_refused(studio: Studio) -> None:
    item = written(studio)
    assert item.draft is not None
    with pytest.raises(InvalidInput, match="all revisions would be the same"):
        list(studio.desk.write_revisions(item.prompt, item.draft, Asking(temperature=0, n=2)))


# --- what is decided ------------------------------------------------------------------------------------------------


def test_a_blind_decision_says_so_and_on_which_side_the_revision_stood(studio: Studio) -> None:  # B14
    item = written(studio)
    decision = studio.desk.decide(item, "rejected", annotator="Ann", blind=True)
    assert decision.blind
    assert decision.revision_side in ("left", "right")
    assert not studio.desk.decide(written(studio), "tied", annotator="Ann").blind


def test_reasons_ratings_and_comment_are_stored_with_the_decision(studio: Studio) -> None:
    decision = studio.desk.decide(written(studio), "accepted", HALF, annotator="Ann", active_ms=10**9)
    assert (decision.reasons, decision.comment, decision.ratings) == (("tone",), "hm", {"helpful": 4})
    assert decision.active_ms <= (decision.decided - decision.started).total_seconds() * 1000


def test_nothing_is_left_over_for_the_next_item(studio: Studio) -> None:  # A12
    studio.desk.decide(written(studio), "accepted", HALF, annotator="Ann")
    following = written(studio)
    assert studio.desk.work(following, "Ann") == Work(final_text="One two four.")


def test_a_flag_without_a_reason_is_refused_and_the_item_stays(studio: Studio) -> None:
    item = written(studio)
    with pytest.raises(InvalidInput, match="flag needs a reason"):
        studio.desk.decide(item, "flagged", annotator="Ann")
    assert studio.desk.next_revision(SEAT, "Ann") == item
    assert studio.desk.decide(item, "flagged", Work(reasons=("harmful",)), annotator="Ann").ruling == "flagged"


# --- two drafts -----------------------------------------------------------------------------------------------------


def test_two_drafts_are_written_at_once_and_the_better_one_is_stored(studio: Studio) -> None:
    two = studio.drafts_desk.next_two(SEAT)
    assert two is not None
    assert (two.left, two.right) == (None, None)
    two = studio.drafts_desk.write_two(two)
    assert two.left is not None
    assert two.right is not None
    assert two.left.text != two.right.text
    again = studio.drafts_desk.next_two(SEAT)
    assert again is not None
    assert (again.left, again.right) == (two.left, two.right)
    studio.drafts_desk.prefer(two, "left", annotator="Ann")
    pairs = studio.build_pairs(["on_policy"]).pairs
    assert [(pair.relation, pair.chosen, pair.rejected) for pair in pairs] == [
        ("preferred_draft", two.left.text, two.right.text)
    ]
    following = studio.drafts_desk.next_two(SEAT)
    assert following is not None
    assert following.prompt != two.prompt


def test_a_preference_that_is_taken_back_gives_no_pair(studio: Studio) -> None:
    two = studio.drafts_desk.next_two(SEAT)
    assert two is not None
    two = studio.drafts_desk.write_two(two)
    studio.drafts_desk.prefer(two, "right", annotator="Ann")
    back = studio.drafts_desk.undo_preference("Ann", SEAT)
    assert back is not None
    assert back.prompt == two.prompt
    assert all(pair.relation != "preferred_draft" for pair in studio.build_pairs(["on_policy"]).pairs)


def test_a_tie_and_a_prompt_passed_over_give_no_pair_and_are_counted(studio: Studio) -> None:
    for preferred in ("tie", None):
        two = studio.drafts_desk.next_two(SEAT)
        assert two is not None
        studio.drafts_desk.prefer(studio.drafts_desk.write_two(two), preferred, annotator="Ann")
    built = studio.build_pairs(["on_policy"])
    assert built.pairs == ()
    assert (built.dropped["drafts tied"], built.dropped["drafts passed over"]) == (1, 1)


def test_a_prompt_whose_drafts_are_not_there_yet_can_be_passed_over(studio: Studio) -> None:
    two = studio.drafts_desk.next_two(SEAT)
    assert two is not None
    seen = [two.prompt.messages[0].content]
    for _ in range(6):
        two = studio.drafts_desk.pass_over(two, SEAT)
        seen.append(two.prompt.messages[0].content)
    assert seen == [f"Name {n} birds." for n in (2, 3, 4, 5, 6, 7, 2)]  # round, and no one is met twice on the way
    assert studio.drafts_desk.next_two(SEAT) == two
    assert studio.store.preferences() == []


def test_200_prompts_have_the_older_draft_on_the_left_about_half_the_time(studio: Studio) -> None:  # B14
    from realign.curation.ruling import side_of

    n = sum(side_of(f"decision-{number}") == "left" for number in range(200))
    assert 80 <= n <= 120


# --- two seats ------------------------------------------------------------------------------------------------------


def test_a_decision_that_was_made_otherwise_meanwhile_is_not_overwritten(studio: Studio) -> None:
    item = written(studio)
    accept(studio, item)
    with pytest.raises(Conflict, match="was accepted in another window"):
        studio.desk.decide(item, "rejected", annotator="Ann")
    assert len(studio.store.history(item.prompt.id)) == 1
