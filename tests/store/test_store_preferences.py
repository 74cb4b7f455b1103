import pytest
from stored_records import LATER, NOON, draft, draft_twice, preference, prompt

from realign.errors import Conflict, InvalidInput, NotFound
from realign.store import Lease, Store


def test_a_double_click_with_one_id_stores_one_preference_and_the_first_stands(store: Store) -> None:
    draft_twice(store, "a")
    first = store.prefer(preference("1", "a", "left"))
    assert store.prefer(preference("1", "a", "right")) == first
    assert store.live_preference("a") == first
    assert store.preferences() == [first]


def test_a_second_preference_must_name_the_one_that_stands(store: Store) -> None:
    draft_twice(store, "a")
    store.prefer(preference("1", "a"))
    with pytest.raises(Conflict, match="Ann has compared drafts of this prompt in the meantime"):
        store.prefer(preference("2", "a", annotator="Bob"))
    changed = store.prefer(preference("3", "a", "tie", annotator="Bob", supersedes="1"))
    with pytest.raises(Conflict):
        store.prefer(preference("4", "a", supersedes="1"))
    assert store.live_preference("a") == changed
    assert store.preferences() == [changed]


def test_live_preferences_are_listed_oldest_first_also_those_passed_over(store: Store) -> None:
    draft_twice(store, "a", "b", "c")
    for name, preferred in (("b", "left"), ("a", None), ("c", "tie")):
        store.prefer(preference(f"on {name}", name, preferred))
    assert [(each.id, each.preferred) for each in store.preferences()] == [
        ("on b", "left"),
        ("on a", None),
        ("on c", "tie"),
    ]
    assert store.live_preference("a") == preference("on a", "a", None)


def test_the_last_preference_of_an_annotator_is_their_latest_that_still_stands(store: Store) -> None:
    draft_twice(store, "a", "b", "c")
    assert store.last_preference("Ann") is None
    for name in "abc":
        store.prefer(preference(f"on {name}", name))
    store.prefer(preference("bob", "c", annotator="Bob", supersedes="on c"))
    store.withdraw_preference("on b")
    assert store.last_preference("Ann") == preference("on a", "a")
    assert store.last_preference("Bob") == preference("bob", "c", annotator="Bob", supersedes="on c")


def test_a_withdrawn_preference_makes_the_prompt_wait_again_and_cannot_be_withdrawn_twice(store: Store) -> None:
    draft_twice(store, "a")
    store.prefer(preference("1", "a"))
    assert store.lease_for_preference("Ann", NOON, LATER, "2") is None
    store.withdraw_preference("1")
    assert store.live_preference("a") is None
    assert store.preferences() == []
    assert store.prefer(preference("1", "a")) == preference("1", "a")
    assert store.live_preference("a") is None
    assert store.lease_for_preference("Ann", NOON, LATER, "2") == Lease(prompt("a"), "2", NOON, "preference")
    with pytest.raises(Conflict, match="taken back or changed already"):
        store.withdraw_preference("1")
    with pytest.raises(Conflict, match="taken back already"):
        store.prefer(preference("3", "a", supersedes="1"))
    with pytest.raises(NotFound, match="no preference 'x'"):
        store.withdraw_preference("x")
    store.prefer(preference("4", "a", "right"))
    assert store.live_preference("a") == preference("4", "a", "right")


def test_a_preference_ends_the_lease_on_its_prompt(store: Store) -> None:
    draft_twice(store, "a", "b")
    store.lease_for_preference("Ann", NOON, LATER, "1")
    store.prefer(preference("1", "a"))
    assert store.n_seats(NOON) == 0
    assert store.lease_for_preference("Ann", NOON, LATER, "2") == Lease(prompt("b"), "2", NOON, "preference")


def test_only_two_drafts_of_the_prompt_itself_can_be_compared(store: Store) -> None:
    draft_twice(store, "a", "b")
    store.add_drafts([draft("a3", "a")])
    right = preference("1", "a")
    for update in ({"right_id": "b2"}, {"left_id": "gone"}, {"right_id": "a1"}):
        with pytest.raises(InvalidInput, match="are not two drafts of prompt 'a'"):
            store.prefer(right.model_copy(update=update))
    with pytest.raises(NotFound, match="names 'x', which is not among the stored prompts"):
        store.prefer(right.model_copy(update={"prompt_id": "x"}))
    assert store.preferences() == []
    store.prefer(right.model_copy(update={"right_id": "a3"}))
    assert [each.right_id for each in store.preferences()] == ["a3"]
