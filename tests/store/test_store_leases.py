import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest
from stored_records import LATER, NOON, decision, draft, fill, minutes, prompt, revision

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


def test_what_is_written_ahead_is_undecided_without_a_draft_and_in_nobodys_hands(store: Store) -> None:
    store.add_prompts([prompt("a"), prompt("b"), prompt("c"), prompt("d")])
    store.lease("Ann", NOON, LATER, "id-1")
    store.add_drafts([draft("b-draft", "b")])
    assert store.unwritten(10) == [prompt("c"), prompt("d")]
    assert store.unwritten(1) == [prompt("c")]
