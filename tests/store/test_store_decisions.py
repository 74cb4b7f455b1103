import pytest
from stored_records import NOON, decision, draft, fill, minutes, prompt, revision

from realign.errors import Conflict, InvalidInput, NotFound
from realign.records import Decided
from realign.store import Progress, Store


def ids(found: list[Decided]) -> list[str]:
    return [each.decision.id for each in found]


def test_a_double_click_with_one_id_stores_one_decision_and_the_first_stands(store: Store) -> None:
    fill(store, "a")
    first = store.decide(decision("1", "a", "accepted"))
    assert store.decide(decision("1", "a", "rejected", final="other")) == first
    assert store.history("a") == [first]
    assert store.decision("1") == store.live_decision("a") == first


def test_a_second_decision_must_name_the_one_that_stands(store: Store) -> None:
    fill(store, "a")
    store.decide(decision("1", "a", annotator="Ann"))
    with pytest.raises(Conflict, match=r"Ann has decided on this prompt in the meantime: accepted\."):
        store.decide(decision("2", "a", annotator="Bob"))
    store.decide(decision("3", "a", "edited", supersedes="1"))
    with pytest.raises(Conflict):
        store.decide(decision("4", "a", supersedes="1"))
    assert [each.id for each in store.history("a")] == ["1", "3"]
    assert store.live_decision("a") == store.decision("3")


def test_a_withdrawn_decision_makes_the_prompt_wait_again_and_stays_in_the_history(store: Store) -> None:
    fill(store, "a")
    store.decide(decision("1", "a"))
    store.decide(decision("2", "a", "withdrawn", supersedes="1"))
    assert store.live_decision("a") is None
    assert store.count_decided() == 0
    lease = store.lease("Bob", NOON, minutes(30), "3")
    assert lease is not None and lease.prompt == prompt("a")
    store.decide(decision("3", "a", annotator="Bob"))
    assert [each.id for each in store.history("a")] == ["1", "2", "3"]


def test_nothing_can_be_taken_back_twice_or_without_a_decision(store: Store) -> None:
    fill(store, "a")
    with pytest.raises(Conflict, match="taken back already"):
        store.decide(decision("1", "a", "withdrawn"))
    store.decide(decision("2", "a"))
    store.decide(decision("3", "a", "withdrawn", supersedes="2"))
    with pytest.raises(Conflict, match="taken back already"):
        store.decide(decision("4", "a", supersedes="2"))


def test_a_decision_on_texts_that_do_not_belong_together_is_refused(store: Store) -> None:
    fill(store, "a", "b")
    with pytest.raises(InvalidInput, match="draft 'd-b' answers prompt 'b'"):
        store.decide(decision("1", "a").model_copy(update={"draft_id": "d-b", "revision_id": "r-b"}))
    with pytest.raises(InvalidInput, match="revision 'r-b' is of draft 'd-b'"):
        store.decide(decision("1", "a").model_copy(update={"revision_id": "r-b"}))
    with pytest.raises(NotFound, match="no prompt 'x'"):
        store.decide(decision("1", "x"))
    with pytest.raises(NotFound, match="no decision '1'"):
        store.decision("1")


def test_the_last_decision_of_an_annotator_is_their_latest_that_still_stands(store: Store) -> None:
    fill(store, "a", "b", "c")
    assert store.last_decision("Ann") is None
    for number, name in enumerate("abc"):
        store.decide(decision(f"{number}", name))
    store.decide(decision("3", "c", annotator="Bob", supersedes="2"))
    store.decide(decision("4", "b", "withdrawn", supersedes="1"))
    assert store.last_decision("Ann") == store.decision("0")
    assert store.last_decision("Bob") == store.decision("3")


def test_the_log_of_an_annotator_holds_what_stands_and_what_does_not_newest_first(store: Store) -> None:
    fill(store, "a", "b")
    store.decide(decision("1", "a"))
    store.decide(decision("2", "b", annotator="Bob"))
    store.decide(decision("3", "a", "withdrawn", supersedes="1"))
    store.decide(decision("4", "a", "edited"))
    store.decide(decision("5", "a", "tied", annotator="Bob", supersedes="4"))
    assert [each.id for each in store.log("Ann", 10)] == ["4", "3", "1"]
    assert [each.id for each in store.log("Ann", 2)] == ["4", "3"]
    assert [each.id for each in store.log("Bob", 10)] == ["5", "2"]
    assert store.log("Cy", 10) == []


def test_back_and_forward_walk_the_decisions_of_one_annotator_that_stand(store: Store) -> None:
    fill(store, *"abcde")
    for number, name in enumerate("abcd"):
        store.decide(decision(f"{number}", name))
    store.decide(decision("bob", "e", annotator="Bob"))
    assert store.neighbour("Ann", None, forward=False) == "d"
    assert store.neighbour("Ann", "e", forward=False) == "d"
    assert [store.neighbour("Ann", name, forward=False) for name in "dcba"] == ["c", "b", "a", None]
    assert [store.neighbour("Ann", name, forward=True) for name in "abcd"] == ["b", "c", "d", None]
    assert [store.neighbour("Ann", name, forward=True) for name in (None, "e", "unknown")] == [None] * 3
    assert store.neighbour("Bob", "e", forward=False) is None
    assert store.neighbour("Cy", None, forward=False) is None


def test_back_passes_over_what_was_taken_back_or_changed_by_another_and_a_change_comes_last(store: Store) -> None:
    fill(store, *"abcd")
    for number, name in enumerate("abcd"):
        store.decide(decision(f"{number}", name))
    store.decide(decision("4", "b", "withdrawn", supersedes="1"))
    store.decide(decision("5", "c", annotator="Bob", supersedes="2"))
    store.decide(decision("6", "a", "edited", supersedes="0"))
    assert store.neighbour("Ann", None, forward=False) == "a"
    assert store.neighbour("Ann", "a", forward=False) == "d"
    assert store.neighbour("Ann", "d", forward=False) is None
    assert store.neighbour("Ann", "d", forward=True) == "a"
    assert store.neighbour("Ann", "b", forward=False) == "a"


def test_decided_gives_each_live_decision_with_its_own_texts(store: Store) -> None:
    fill(store, "a", "b")
    store.add_drafts([draft("later", "a")])
    first, second = store.decide(decision("1", "b")), store.decide(decision("2", "a"))
    assert store.decided() == [
        Decided(prompt("b"), draft("d-b", "b"), revision("r-b", "d-b"), first),
        Decided(prompt("a"), draft("d-a", "a"), revision("r-a", "d-a"), second),
    ]


def test_decided_is_filtered_counted_and_paged(store: Store) -> None:
    fill(store, *"abcde")
    store.decide(decision("A", "a", "accepted"))
    store.decide(decision("B", "b", "edited"))
    store.decide(decision("C", "c", "accepted"))
    store.decide(decision("D", "d", "edited", annotator="Bob"))
    store.decide(decision("E", "e", "tied", annotator="Bob"))
    assert ids(store.decided(ruling="accepted")) == ["A", "C"]
    assert ids(store.decided(annotator="Bob")) == ["D", "E"]
    assert ids(store.decided(ruling="edited", annotator="Bob")) == ["D"]
    assert ids(store.decided(limit=2, offset=1)) == ["B", "C"]
    assert ids(store.decided(offset=3)) == ["D", "E"]
    assert ids(store.decided(limit=2, newest_first=True)) == ["E", "D"]
    assert store.count_decided() == 5
    assert store.count_decided(ruling="edited", annotator="Ann") == 1
    assert store.counts() == {"accepted": 2, "edited": 2, "tied": 1}
    assert store.counts()["rejected"] == 0


def test_text_is_found_in_every_part_whatever_its_case(store: Store) -> None:
    store.add_prompts([prompt("a", "ÄPFEL in the prompt")])
    store.add_drafts([draft("d-a", "a", "ΣΊΣΥΦΟΣ in the draft")])
    store.add_revisions([revision("r-a", "d-a", "Cafe\u0301 in the revision")])
    store.decide(decision("1", "a", final="Straße, МОСКВА and 日本 in the final text"))
    for text in ("äpfel", "σίσυφος", "CAFÉ", "strasse", "москва", "日本", "final TEXT"):
        assert store.count_decided(text=text) == 1, text
        assert ids(store.decided(text=text)) == ["1"], text
    assert store.count_decided(text="apfel") == 0


@pytest.mark.parametrize("text", ["100%", "a_b", "C:\\dir", "it's", '"'])  # fmt: skip
def test_signs_in_the_searched_text_mean_themselves(store: Store, text: str) -> None:
    fill(store, "a", "b")
    store.decide(decision("1", "a", final=f"before {text} after"))
    store.decide(decision("2", "b", final="100 aXb C:dir its"))
    assert ids(store.decided(text=text)) == ["1"]


def test_progress_counts_everybody_and_paces_the_annotator_over_ten_minutes(store: Store) -> None:
    fill(store, *"abcdefgh")
    store.decide(decision("old", "a", decided=minutes(0)))
    for number, name in enumerate("bcd"):
        store.decide(decision(f"{number}", name, "edited", decided=minutes(15 + number)))
    store.decide(decision("bob", "e", "rejected", annotator="Bob", decided=minutes(18)))
    store.decide(decision("mistake", "f", decided=minutes(19)))
    store.decide(decision("undo", "f", "withdrawn", supersedes="mistake", decided=minutes(19)))
    rulings = {"accepted": 1, "edited": 3, "rejected": 1}
    assert store.progress("Ann", minutes(20))[:5] == Progress(8, 5, 3, rulings, 0.3, 0, 0, {}, None)[:5]
    assert store.progress("Bob", minutes(20)).per_minute == 0.1
    assert store.progress("Cy", minutes(20)).per_minute == 0
