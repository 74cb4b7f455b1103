import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest
from stored_records import LATER, NOON, begun, decision, draft, draft_twice, fill, minutes, preference, prompt, revision

from realign.errors import Conflict, NotFound
from realign.records import Prompt
from realign.store import Lease, Store


def test_prompts_are_leased_in_order_and_each_to_one_annotator(store: Store) -> None:
    store.add_prompts([prompt("a"), prompt("b")])
    assert store.lease("Ann", NOON, LATER, "id-1") == Lease(prompt("a"), "id-1", NOON)
    assert store.lease("Bob", NOON, LATER, "id-2") == Lease(prompt("b"), "id-2", NOON)
    assert store.lease("Cy", NOON, LATER, "id-3") is None


def test_a_reload_gets_the_same_lease_with_its_old_id_and_start_and_a_later_end(store: Store) -> None:
    store.add_prompts([prompt("a"), prompt("b")])
    first = store.lease("Ann", NOON, LATER, "id-1")
    assert store.lease("Ann", minutes(20), minutes(50), "id-2") == first
    assert store.lease("Ann", minutes(40), minutes(70), "id-3", prompt_id="a") == first


def test_a_lease_ends_at_its_time_and_the_prompt_goes_to_the_next_who_asks(store: Store) -> None:
    store.add_prompts([prompt("a")])
    store.lease("Ann", NOON, LATER, "id-1")
    assert store.lease("Bob", minutes(29), minutes(59), "id-2") is None
    assert store.lease("Bob", LATER, minutes(60), "id-3") == Lease(prompt("a"), "id-3", LATER)


def test_a_released_prompt_waits_again(store: Store) -> None:
    store.add_prompts([prompt("a")])
    store.lease("Ann", NOON, LATER, "id-1")
    store.release("Ann")
    store.release("Ann")
    assert store.lease("Bob", NOON, LATER, "id-2") == Lease(prompt("a"), "id-2", NOON)


def test_a_prompt_with_a_revision_to_look_at_comes_before_older_ones_without(store: Store) -> None:
    store.add_prompts([prompt("a"), prompt("b"), prompt("c")])
    store.add_drafts([draft("d-b", "b"), draft("d-c", "c")])
    store.add_revisions([revision("r-c", "d-c")])
    order = [store.lease(annotator, NOON, LATER, annotator) for annotator in ("Ann", "Bob", "Cy")]
    assert [lease.prompt.id for lease in order if lease] == ["c", "a", "b"]


def test_a_chosen_prompt_is_leased_decided_or_not_and_replaces_the_other_lease(store: Store) -> None:
    fill(store, "a", "b")
    store.decide(decision("done", "b"))
    store.lease("Ann", NOON, LATER, "id-1")
    chosen = store.lease("Ann", NOON, LATER, "id-2", prompt_id="b")
    assert chosen == Lease(prompt("b"), "id-2", NOON)
    assert store.lease("Bob", NOON, LATER, "id-3") == Lease(prompt("a"), "id-3", NOON)


def test_a_chosen_prompt_in_other_hands_is_a_conflict_and_keeps_what_one_has(store: Store) -> None:
    store.add_prompts([prompt("a"), prompt("b")])
    store.lease("Ann", NOON, LATER, "id-1")
    own = store.lease("Bob", NOON, LATER, "id-2")
    with pytest.raises(Conflict, match="Somebody else is working on this prompt"):
        store.lease("Bob", NOON, LATER, "id-3", prompt_id="a")
    with pytest.raises(NotFound, match="no prompt 'x'"):
        store.lease("Bob", NOON, LATER, "id-3", prompt_id="x")
    assert store.lease("Bob", NOON, LATER, "id-4") == own


def test_deciding_ends_the_lease(store: Store) -> None:
    fill(store, "a", "b")
    lease = store.lease("Ann", NOON, LATER, "id-1")
    assert lease is not None
    store.decide(decision(lease.decision_id, "a"))
    assert store.lease("Ann", NOON, LATER, "id-2") == Lease(prompt("b"), "id-2", NOON)


def work_through(store: Store, annotator: str, start: threading.Barrier, seen: Callable[[Prompt], None]) -> None:
    start.wait()
    for number in range(25):
        lease = store.lease(annotator, NOON, LATER, f"{annotator}-{number}")
        assert lease is not None
        seen(lease.prompt)
        store.decide(decision(lease.decision_id, lease.prompt.id, annotator=annotator))


@pytest.mark.parametrize("n_stores", [1, 2])
def test_eight_annotators_at_once_decide_200_prompts_once_each(url: str, n_stores: int) -> None:
    stores = [Store(url) for _ in range(n_stores)]
    names = [f"p{number}" for number in range(200)]
    fill(stores[0], *names)
    start, seen = threading.Barrier(8), list[Prompt]()
    with ThreadPoolExecutor(8) as pool:
        tasks = [pool.submit(work_through, stores[n % n_stores], f"person {n}", start, seen.append) for n in range(8)]
        for task in tasks:
            task.result()
    assert sorted(prompt.id for prompt in seen) == sorted(names)
    for store in stores:
        assert store.count_decided() == 200
        assert store.lease("late", NOON, LATER, "late") is None
        store.close()


def test_what_is_written_ahead_is_undecided_without_a_revision_and_in_nobodys_hands(store: Store) -> None:
    fill(store, "decided", "revised")
    store.add_prompts([prompt("a"), prompt("b"), prompt("c")])
    store.decide(decision("1", "decided"))
    store.lease("Ann", NOON, LATER, "id-1", prompt_id="a")
    store.add_drafts([draft("b-draft", "b")])
    assert store.unready(10) == [prompt("b"), prompt("c")]
    assert store.unready(1) == [prompt("b")]


def test_a_draft_stored_twice_makes_no_pair_and_a_second_one_does(store: Store) -> None:
    store.add_prompts([prompt("a"), prompt("b")])
    store.add_drafts([draft("b1", "b")])
    store.add_drafts([draft("b1", "b")])
    assert compared(store, "Ann") == "a"
    store.release("Ann")
    store.add_drafts([draft("b2", "b")])
    assert compared(store, "Ann") == "b"


def test_half_done_work_comes_first_in_another_browser_the_last_touched_before_the_others(store: Store) -> None:
    fill(store, *"abcd")
    store.keep(begun("c", saved=minutes(1)))
    store.keep(begun("b", saved=minutes(2)))
    store.keep(begun("d", annotator="Bob", saved=minutes(3)))
    order = [store.lease(f"Ann {n}", NOON, LATER, f"{n}", annotator="Ann") for n in range(4)]
    assert [lease.prompt.id for lease in order if lease] == ["b", "c", "a", "d"]


def test_half_done_work_neither_takes_a_prompt_from_others_nor_reopens_a_decided_one(store: Store) -> None:
    fill(store, *"abc")
    store.keep(begun("b"))
    store.keep(begun("c"))
    store.decide(decision("1", "c", annotator="Bob"))
    store.lease("Bob", NOON, LATER, "id-1", prompt_id="b")
    lease = store.lease("new browser", NOON, LATER, "id-2", annotator="Ann")
    assert lease is not None and lease.prompt.id == "a"


def test_what_a_seat_holds_comes_before_half_done_work(store: Store) -> None:
    fill(store, "a", "b")
    held = store.lease("Ann", NOON, LATER, "id-1", annotator="Ann")
    store.keep(begun("b"))
    assert store.lease("Ann", NOON, LATER, "id-2", annotator="Ann") == held


def test_ready_counts_what_waits_with_a_revision_in_nobodys_hands_up_to_a_limit(store: Store) -> None:
    fill(store, *"abcde")
    store.add_prompts([prompt("bare")])
    assert (store.ready(10), store.ready(3), store.ready(0)) == (5, 3, 0)
    store.decide(decision("1", "a"))
    store.lease("Ann", NOON, LATER, "id-1")
    assert store.ready(10) == 3


def test_seats_are_counted_until_their_lease_ends(store: Store) -> None:
    fill(store, "a", "b")
    assert store.n_seats(NOON) == 0
    store.lease("one", NOON, minutes(10), "id-1")
    store.lease("two", NOON, minutes(20), "id-2")
    assert [store.n_seats(minutes(m)) for m in (9, 10, 20)] == [2, 1, 0]


def test_prompts_with_two_drafts_are_compared_first_and_one_with_a_preference_no_more(store: Store) -> None:
    store.add_prompts([prompt("bare")])
    draft_twice(store, "a", "b")
    assert [compared(store, seat) for seat in ("1", "2", "3", "4")] == ["a", "b", "bare", None]
    store.prefer(preference("p", "a"))
    assert compared(store, "1") is None
    store.release("2")
    assert compared(store, "1") == "b"


def test_a_seat_keeps_its_comparison_with_its_old_id_and_start_over_a_reload(store: Store) -> None:
    draft_twice(store, "a", "b")
    first = store.lease_for_preference("Ann", NOON, LATER, "id-1")
    assert first == Lease(prompt("a"), "id-1", NOON, "preference")
    assert store.lease_for_preference("Ann", minutes(20), minutes(50), "id-2") == first
    assert compared(store, "Bob") == "b"


def test_a_seat_holds_one_prompt_whatever_for_and_a_prompt_is_in_one_seats_hands(store: Store) -> None:
    draft_twice(store, "a", "b")
    assert compared(store, "Ann") == "a"
    assert store.lease("Bob", NOON, LATER, "id-1") == Lease(prompt("b"), "id-1", NOON)
    with pytest.raises(Conflict, match="Somebody else"):
        store.lease("Bob", NOON, LATER, "id-2", prompt_id="a")
    assert store.lease("Ann", NOON, LATER, "id-3") == Lease(prompt("a"), "id-3", NOON, "revision")
    assert compared(store, "Bob") == "b"
    assert store.n_seats(NOON) == 2


def test_turning_to_the_same_prompt_for_another_purpose_is_no_conflict_with_oneself(store: Store) -> None:
    draft_twice(store, "a")
    assert compared(store, "Ann") == "a"
    assert store.lease("Ann", NOON, LATER, "id-1", prompt_id="a") == Lease(prompt("a"), "id-1", NOON)
    assert compared(store, "Ann") == "a"


def compared(store: Store, seat: str) -> str | None:
    """The prompt that `seat` gets to compare drafts of."""
    lease = store.lease_for_preference(seat, NOON, LATER, f"id of {seat}")
    return lease.prompt.id if lease else None
