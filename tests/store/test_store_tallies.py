import random
from collections import Counter, defaultdict
from datetime import date, datetime, timedelta, timezone

import pytest
import sqlalchemy
from stored_records import LATER, NOON, begun, decision, draft_twice, fill, minutes, preference

from realign.records import Decision
from realign.store import DayTally, Store

DAY = date(2026, 12, 1)


def test_progress_adds_up_hunks_rulings_and_time_of_one_annotator(store: Store) -> None:
    fill(store, *"abcdef")
    store.decide(decision("1", "a", "accepted", kept="yyy", active_ms=4000))
    store.decide(decision("2", "b", "edited", kept="yn", active_ms=8000))
    store.decide(decision("3", "c", "rejected", kept="nn", active_ms=3000))
    store.decide(decision("4", "d", "tied", kept="nnnn", active_ms=1000))
    store.decide(decision("5", "e", "accepted", annotator="Bob", kept="y", active_ms=500))
    mine = {"accepted": 1, "edited": 1, "rejected": 1, "tied": 1}
    ann = store.progress("Ann", NOON)
    assert (ann.n_hunks, ann.n_kept, ann.mine, ann.mean_s) == (7, 4, mine, 4.0)
    assert ann.mine["flagged"] == 0
    assert (ann.total, ann.decided, ann.waiting) == (6, 5, 1)
    bob = store.progress("Bob", NOON)
    assert (bob.n_hunks, bob.n_kept, bob.mine, bob.mean_s) == (1, 1, {"accepted": 1}, 0.5)
    assert store.progress("Cy", NOON)[5:] == (0, 0, {}, None)


def test_a_changed_or_withdrawn_decision_counts_no_more(store: Store) -> None:
    fill(store, "a", "b")
    store.decide(decision("1", "a", kept="yy", active_ms=1000))
    store.decide(decision("2", "a", "edited", annotator="Bob", kept="yn", active_ms=2000, supersedes="1"))
    store.decide(decision("3", "b", kept="y", active_ms=5000))
    store.decide(decision("4", "b", "withdrawn", annotator="Bob", kept="y", active_ms=5000, supersedes="3"))
    assert store.progress("Ann", NOON)[5:] == (0, 0, {}, None)
    assert store.progress("Bob", NOON)[5:] == (2, 1, {"edited": 1}, 2.0)
    assert store.counts() == {"edited": 1}
    assert store.by_day() == [DayTally(DAY, "Bob", {"edited": 1}, 2, 1, 2000)]
    assert (store.count_decided(), store.count_decided(annotator="Ann"), store.count_decided(ruling="edited")) == (
        1,
        0,
        1,
    )


def test_sending_a_decision_twice_counts_it_once(store: Store) -> None:
    fill(store, "a")
    for _ in range(2):
        store.decide(decision("1", "a", kept="y", active_ms=10))
    assert store.by_day() == [DayTally(DAY, "Ann", {"accepted": 1}, 1, 1, 10)]


def test_days_are_days_in_utc_oldest_first_and_by_annotator(store: Store) -> None:
    fill(store, *"abcd")
    kamchatka = datetime(2026, 12, 2, 11, 0, tzinfo=timezone(timedelta(hours=12)))
    store.decide(decision("1", "a", decided=minutes(24 * 60)))
    store.decide(decision("2", "b", annotator="Bob", decided=kamchatka, active_ms=7))
    store.decide(decision("3", "c", "tied", decided=NOON, kept="nn"))
    store.decide(decision("4", "d", "skipped", decided=NOON))
    ann_first = DayTally(DAY, "Ann", {"tied": 1, "skipped": 1}, 0, 0, 0)
    ann_second = DayTally(DAY + timedelta(days=1), "Ann", {"accepted": 1}, 0, 0, 0)
    assert store.by_day() == [ann_first, DayTally(DAY, "Bob", {"accepted": 1}, 0, 0, 7), ann_second]
    assert store.by_day("Ann") == [ann_first, ann_second]
    assert store.by_day("Cy") == []


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_after_200_random_steps_the_tallies_say_what_counting_says(store: Store, seed: int) -> None:
    dice = random.Random(seed)
    names = [f"p{number}" for number in range(15)]
    fill(store, *names)
    for step in range(200):
        name, live = dice.choice(names), None
        live = store.live_decision(name)
        choices = ["accepted", "edited", "rejected", "tied", "skipped", "flagged"] + ["withdrawn"] * 3 * bool(live)
        store.decide(
            decision(
                f"{step}",
                name,
                dice.choice(choices),
                annotator=dice.choice(["Ann", "Bob"]),
                decided=minutes(dice.randrange(5000)),
                kept="".join(dice.choices("yn", k=dice.randrange(5))),
                active_ms=dice.randrange(10_000),
                supersedes=live.id if live else None,
            )
        )
    live_ones = [each for name in names if (each := store.live_decision(name))]
    assert 0 < len(live_ones) < len(names) or len(live_ones) == len(names)
    assert sorted(each.decision.id for each in store.decided()) == sorted(each.id for each in live_ones)
    assert store.counts() == Counter(each.ruling for each in live_ones)
    assert store.count_decided() == len(live_ones)
    days = defaultdict[tuple[date, str], list[Decision]](list)
    for each in live_ones:
        days[each.decided.date(), each.annotator].append(each)
    assert store.by_day() == [DayTally(*key, *counted(made)) for key, made in sorted(days.items())]
    for name in ("Ann", "Bob"):
        mine = [each for each in live_ones if each.annotator == name]
        rulings, n_hunks, n_kept, active_ms = counted(mine)
        mean = active_ms / len(mine) / 1000 if mine else None
        assert store.progress(name, NOON)[5:] == (n_hunks, n_kept, rulings, mean)
        latest = max((each.id for each in mine), key=int, default=None)
        assert getattr(store.last_decision(name), "id", None) == latest


def counted(made: list[Decision]) -> tuple[Counter[str], int, int, int]:
    """Rulings, hunks, kept hunks and active milliseconds of decisions, counted one by one."""
    edits = [edit for each in made if each.ruling in ("accepted", "edited", "rejected") for edit in each.edits]
    kept = sum(edit.accepted for edit in edits)
    return Counter(each.ruling for each in made), len(edits), kept, sum(each.active_ms for each in made)


def test_no_step_of_an_annotator_reads_a_whole_table_or_sorts_one(store: Store) -> None:
    fill(store, *"abcd")
    draft_twice(store, "x", "y")
    store.decide(decision("1", "a"))
    asked: list[tuple[str, object]] = []

    def note(_c: object, _cursor: object, statement: str, parameters: object, _x: object, many: bool) -> None:
        asked.append((statement, parameters[0] if many else parameters))  # type: ignore[index]

    engine = store._database._engine
    sqlalchemy.event.listen(engine, "before_cursor_execute", note)
    store.lease("Ann", NOON, LATER, "2", annotator="Ann")
    store.lease("Bob", NOON, LATER, "3", prompt_id="c", annotator="Bob")
    store.keep(begun("b", "2"))
    store.unfinished("Ann", "r-b")
    store.drop_unfinished("Ann", "r-b")
    store.decide(decision("2", "b"))
    store.decide(decision("4", "b", "withdrawn", supersedes="2"))
    store.lease_for_preference("Ann", NOON, LATER, "p")
    store.prefer(preference("p", "x"))
    store.live_preference("x")
    store.last_preference("Ann")
    store.withdraw_preference("p")
    store.unready(2)
    store.ready(2)
    store.n_seats(NOON)
    store.release("Ann")
    store.last_decision("Ann")
    store.live_decision("a")
    store.log("Ann", 5)
    store.history("a")
    for forward in (True, False):
        store.neighbour("Ann", "a", forward=forward)
    store.progress("Ann", NOON)
    store.counts()
    store.count_decided()
    store.n_prompts()
    store.drafts_of("a")
    store.revisions_of("d-a")
    sqlalchemy.event.remove(engine, "before_cursor_execute", note)

    large = ("prompts", "drafts", "revisions", "decisions", "preferences", "unfinished")
    whole = tuple(f"SCAN {name}" for name in large)
    slow = []
    with store._database.reading() as connection:
        for statement, parameters in asked:
            if not statement.startswith(("BEGIN", "PRAGMA")):
                plan = connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {statement}", parameters)
                steps = [step for *_, step in plan]
                sorts = "USE TEMP" in "".join(steps) and "tallies" not in statement
                if sorts or any(step.startswith(whole) for step in steps):
                    slow.append((steps, statement))
    assert len(asked) > 50
    assert slow == []
