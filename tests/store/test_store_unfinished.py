import pytest
from stored_records import begun, decision, fill, minutes

from realign.errors import NotFound
from realign.store import Store


def test_half_done_work_is_kept_by_annotator_and_revision_and_the_latest_replaces_the_former(store: Store) -> None:
    fill(store, "a", "b")
    assert store.unfinished("Ann", "r-a") is None
    assert store.keep(begun("a", text="one"))
    assert store.keep(begun("a", text="two", saved=minutes(1)))
    assert store.keep(begun("a", text="his", annotator="Bob"))
    assert store.keep(begun("b", text="other"))
    assert store.unfinished("Ann", "r-a") == begun("a", text="two", saved=minutes(1))
    assert store.unfinished("Bob", "r-a") == begun("a", text="his", annotator="Bob")
    assert store.unfinished("Ann", "r-b") == begun("b", text="other")


def test_starting_over_forgets_the_work_of_one_person_on_one_revision(store: Store) -> None:
    fill(store, "a", "b")
    for each in (begun("a"), begun("b"), begun("a", annotator="Bob")):
        store.keep(each)
    store.drop_unfinished("Ann", "r-a")
    store.drop_unfinished("Ann", "r-a")
    assert store.unfinished("Ann", "r-a") is None
    assert store.unfinished("Ann", "r-b") == begun("b")
    assert store.unfinished("Bob", "r-a") == begun("a", annotator="Bob")


def test_a_decision_ends_the_work_of_its_annotator_on_its_prompt_and_nobody_elses(store: Store) -> None:
    fill(store, "a", "b")
    for each in (begun("a", "1"), begun("b", "2"), begun("a", "3", annotator="Bob")):
        store.keep(each)
    store.decide(decision("1", "a"))
    assert store.unfinished("Ann", "r-a") is None
    assert store.unfinished("Ann", "r-b") == begun("b", "2")
    assert store.unfinished("Bob", "r-a") == begun("a", "3", annotator="Bob")


def test_work_that_is_saved_after_its_decision_is_not_kept(store: Store) -> None:
    fill(store, "a")
    store.decide(decision("1", "a"))
    assert not store.keep(begun("a", "1"))
    assert store.unfinished("Ann", "r-a") is None
    assert store.keep(begun("a", "2"))
    assert store.unfinished("Ann", "r-a") == begun("a", "2")


def test_a_refused_decision_leaves_the_work_as_it_was(store: Store) -> None:
    fill(store, "a")
    store.keep(begun("a", "1"))
    with pytest.raises(NotFound):
        store.decide(decision("1", "a").model_copy(update={"revision_id": "gone"}))
    assert store.unfinished("Ann", "r-a") == begun("a", "1")


def test_work_on_an_unknown_prompt_or_revision_is_refused(store: Store) -> None:
    fill(store, "a")
    with pytest.raises(NotFound, match="names 'x', which is not among the stored prompts"):
        store.keep(begun("a").model_copy(update={"prompt_id": "x"}))
    with pytest.raises(NotFound, match="names 'x', which is not among the stored revisions"):
        store.keep(begun("a").model_copy(update={"revision_id": "x"}))
    assert store.unfinished("Ann", "r-a") is None
