import pytest
from stored_records import fill, game, promotion, prompt, revision, score, verdict

from realign.errors import NotFound
from realign.store import Store


def test_the_latest_promotion_says_what_is_in_use(store: Store) -> None:
    assert store.promoted("policy") is None
    store.promote(promotion("1", "run-1"))
    store.promote(promotion("2", None))
    store.promote(promotion("1", "run-1"))
    assert store.promoted("policy") == promotion("2", None)
    assert store.promoted("reviser") is None
    assert [each.id for each in store.promotions()] == ["2", "1"]


def test_a_promotion_leaves_no_waiting_prompt_ready_until_the_new_models_have_written(store: Store) -> None:
    fill(store, "a", "b")
    assert (store.ready(10), store.unready(10)) == (2, [])
    store.promote(promotion("1", "run-1"))
    assert (store.ready(10), store.unready(10)) == (0, [prompt("a"), prompt("b")])
    store.add_revisions([revision("new", "d-b")])
    store.promote(promotion("1", "run-1"))
    assert (store.ready(10), store.unready(10)) == (1, [prompt("a")])


def test_games_are_stored_once_and_listed_for_their_run(store: Store) -> None:
    assert store.add_games([game("2"), game("1"), game("3", run="run-2")]) == 3
    assert store.add_games([game("1"), game("4")]) == 1
    assert store.games("run-1") == [game("2"), game("1"), game("4")]
    assert store.games("run-9") == []


def test_a_judge_meets_every_game_once_in_order(store: Store) -> None:
    store.add_games([game("2"), game("1"), game("0", run="run-2")])
    assert store.next_game("run-1", "Ann") == game("2")
    store.add_verdict(verdict("v1", "2"))
    assert store.next_game("run-1", "Ann") == game("1")
    assert store.next_game("run-1", "Bob") == game("2")
    store.add_verdict(verdict("v2", "1", preferred=None))
    assert store.next_game("run-1", "Ann") is None


def test_a_verdict_is_stored_once_and_the_latest_of_a_judge_counts(store: Store) -> None:
    store.add_games([game("1"), game("2", run="run-2")])
    for each in (verdict("v1", "1", preferred=None), verdict("v2", "1"), verdict("v3", "1", judge="Bob")):
        store.add_verdict(each)
        store.add_verdict(each)
    assert store.verdicts("run-1") == [verdict("v2", "1"), verdict("v3", "1", judge="Bob")]
    assert store.verdicts("run-1", judge="Bob") == [verdict("v3", "1", judge="Bob")]
    assert store.verdicts("run-2") == []
    with pytest.raises(NotFound, match="names '9', which is not among the stored games"):
        store.add_verdict(verdict("v4", "9"))


def test_a_withdrawn_verdict_counts_no_more_and_the_game_comes_again(store: Store) -> None:
    store.add_games([game("1")])
    store.add_verdict(verdict("v1", "1", preferred="second"))
    store.add_verdict(verdict("v2", "1", preferred="first"))
    store.withdraw_verdict("1", "Ann")
    assert store.verdicts("run-1") == [verdict("v1", "1", preferred="second")]
    store.withdraw_verdict("1", "Ann")
    assert store.verdicts("run-1") == []
    assert store.next_game("run-1", "Ann") == game("1")
    with pytest.raises(NotFound, match="Ann has no verdict on game '1' to take back"):
        store.withdraw_verdict("1", "Ann")


def test_a_score_replaces_the_one_of_the_same_run_and_judge(store: Store) -> None:
    store.set_score(score("1", "run-1", "Ann", 40))
    store.set_score(score("2", "run-1", "rubric", 50))
    store.set_score(score("3", "run-1", "Ann", 60))
    assert [(each.judge, each.win_rate) for each in store.scores()] == [("Ann", 60), ("rubric", 50)]


def test_a_run_is_collected_once_it_is_marked(store: Store) -> None:
    assert not store.is_collected("run-1")
    store.mark_collected("run-1")
    store.mark_collected("run-1")
    assert store.is_collected("run-1")
    assert not store.is_collected("run-2")
