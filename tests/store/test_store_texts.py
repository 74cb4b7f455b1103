import pytest
from stored_records import draft, fill, pair, prompt, revision

from realign.errors import NotFound
from realign.store import AddedPrompts, Store


def test_prompts_come_back_equal_and_in_the_order_they_were_added(store: Store) -> None:
    added = [prompt(name) for name in ("b", "a", "c")]
    assert store.add_prompts(added) == AddedPrompts(added=3, duplicates=0)
    assert store.prompts() == added
    assert store.prompts(limit=2) == added[:2]
    assert store.prompt("a") == added[1]
    assert store.prompt_by_hash(added[2].content_hash) == added[2]
    assert store.n_prompts() == 3


def test_a_prompt_with_a_known_conversation_is_a_duplicate_whatever_its_id_case_and_white_space(store: Store) -> None:
    batch = [prompt("a", "What is up?"), prompt("b", "what  IS up?"), prompt("c", "Something else")]
    assert store.add_prompts(batch) == AddedPrompts(added=2, duplicates=1)
    assert store.add_prompts(batch) == AddedPrompts(added=0, duplicates=3)
    assert [kept.id for kept in store.prompts()] == ["a", "c"]


def test_adding_nothing_is_no_error(store: Store) -> None:
    assert store.add_prompts([]) == AddedPrompts(0, 0)
    assert (store.add_drafts([]), store.add_revisions([]), store.add_pairs([])) == (0, 0, (0, 0))


def test_what_is_not_there_is_named(store: Store) -> None:
    with pytest.raises(NotFound, match="no prompt 'x'"):
        store.prompt("x")
    with pytest.raises(NotFound, match="content hash beef"):
        store.prompt_by_hash("beef")
    with pytest.raises(NotFound, match="no draft 'x'"):
        store.draft("x")
    with pytest.raises(NotFound, match="no revision 'x'"):
        store.revision("x")


def test_drafts_and_revisions_are_stored_once_and_listed_oldest_first(store: Store) -> None:
    store.add_prompts([prompt("a"), prompt("b")])
    drafts = [draft("d2", "a"), draft("d1", "a"), draft("d3", "b")]
    assert store.add_drafts(drafts) == 3
    assert store.add_drafts([*drafts, draft("d4", "b")]) == 1
    assert store.drafts_of("a") == drafts[:2]
    assert [kept.id for kept in store.all_drafts()] == ["d2", "d1", "d3", "d4"]
    revisions = [revision("r2", "d1"), revision("r1", "d1")]
    assert store.add_revisions(revisions) == 2
    assert store.add_revisions(iter(revisions)) == 0
    assert store.revisions_of("d1") == revisions
    assert (store.draft("d3"), store.revision("r1")) == (drafts[2], revisions[1])


def test_a_draft_of_an_unknown_prompt_is_refused_with_the_whole_batch(store: Store) -> None:
    store.add_prompts([prompt("a")])
    with pytest.raises(NotFound, match="names 'nobody', which is not among the stored prompts"):
        store.add_drafts([draft("d1", "a"), draft("d2", "nobody")])
    assert store.all_drafts() == []
    with pytest.raises(NotFound, match="not among the stored drafts"):
        store.add_revisions([revision("r1", "d1")])


def test_prompts_without_draft_leave_the_list_once_one_is_written(store: Store) -> None:
    store.add_prompts([prompt("a"), prompt("b"), prompt("c")])
    store.add_drafts([draft("d1", "b")])
    assert [waiting.id for waiting in store.prompts_without_draft()] == ["a", "c"]
    assert [waiting.id for waiting in store.prompts_without_draft(limit=1)] == ["a"]


def test_only_the_latest_draft_of_a_prompt_waits_for_a_revision(store: Store) -> None:
    store.add_prompts([prompt("a"), prompt("b"), prompt("c")])
    store.add_drafts([draft("b1", "b"), draft("a1", "a"), draft("a2", "a"), draft("c1", "c")])
    store.add_revisions([revision("r1", "a1"), revision("r2", "c1")])
    waiting = [(asked.id, latest.id) for asked, latest in store.drafts_without_revision()]
    assert waiting == [("a", "a2"), ("b", "b1")]
    assert [latest.id for _, latest in store.drafts_without_revision(limit=1)] == ["a2"]


def test_a_pair_from_a_file_is_known_by_its_prompt_and_texts(store: Store) -> None:
    assert store.add_pairs([pair("yes", "no"), pair("yes", "no"), pair("no", "yes")]) == (2, 1)
    assert store.add_pairs([pair("yes", "no")]) == (0, 1)
    assert store.imported_pairs() == [pair("yes", "no"), pair("no", "yes")]
    assert store.n_imported_pairs() == 2


def test_a_large_file_is_one_call(store: Store) -> None:
    names = [str(number) for number in range(40_000)]  # more than SQLite allows variables in one statement
    assert store.add_prompts(prompt(name) for name in names).added == 40_000
    assert store.add_drafts(draft(f"d{name}", name) for name in names) == 40_000
    assert store.n_prompts() == 40_000


def test_odd_texts_come_back_as_they_were(store: Store) -> None:
    odd = "zero \x00 byte, 🦔, 'quotes\"; DROP TABLE drafts; --, \u202e right to left\r\n"
    fill(store, "a")
    store.add_drafts([draft("odd", "a", odd)])
    assert store.draft("odd").text == odd
