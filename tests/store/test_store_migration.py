"""A database of the first version, filled by hand as that version filled it, and what an upgrade makes of it."""

import sqlite3
from collections.abc import Iterable
from contextlib import closing
from datetime import date, timedelta
from pathlib import Path

import pytest
import sqlalchemy
from alembic import command
from alembic.config import Config
from stored_records import LATER, NOON, decision, draft, fill, minutes, preference, prompt, revision

from realign.errors import StorageFailed
from realign.records import Decision
from realign.store import DayTally, Lease, Store
from realign.store.engine import MIGRATIONS

CHAIN = (
    decision("1", "a", kept="yyn", active_ms=3000),
    decision("2", "b", "edited", kept="yn", active_ms=1000, decided=minutes(24 * 60)),
    decision("3", "a", "rejected", annotator="Bob", kept="nnn", active_ms=9000, supersedes="1"),
    decision("4", "c", "tied", kept="n", active_ms=2000),
    decision("5", "d"),
    decision("6", "d", "withdrawn", supersedes="5"),
)
LIVE = {"a": "3", "b": "2", "c": "4"}


def text_of(moment: object) -> str:
    return f"{moment:%Y-%m-%d %H:%M:%S.%f}"


def rows_of(decisions: Iterable[Decision]) -> list[tuple[str, ...]]:
    return [
        (d.id, d.prompt_id, d.draft_id, d.revision_id, d.ruling, d.annotator, text_of(d.decided), "final", as_it_was(d))
        for d in decisions
    ]


def as_it_was(made: Decision) -> str:
    """A decision as the first version wrote it, without the fields it did not know."""
    return made.model_dump_json(exclude={"ratings", "revision_side", "blind"})


@pytest.fixture
def old(url: str) -> str:
    """The address of a filled database of the first version: six prompts, six decisions, one lease."""
    file = Path(url.removeprefix("sqlite:///"))
    file.parent.mkdir(parents=True)
    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS))
    engine = sqlalchemy.create_engine(url)
    with engine.begin() as connection:
        config.attributes["connection"] = connection
        command.upgrade(config, "0001")
    engine.dispose()
    names = "abcdef"
    drafts = [draft(f"d-{name}", name) for name in names[:5]] + [draft("a2", "a")]
    with closing(sqlite3.connect(file)) as raw, raw:
        raw.executemany(
            "INSERT INTO prompts (id, content_hash, live_decision, unrevised, searched, record) VALUES (?,?,?,?,?,?)",
            [
                (name, asked.content_hash, LIVE.get(name), name in "ef", "searched", asked.model_dump_json())
                for name in names
                for asked in [prompt(name)]
            ],
        )
        raw.executemany(
            "INSERT INTO drafts (id, prompt_id, searched, record) VALUES (?,?,?,?)",
            [(each.id, each.prompt_id, "draft", each.model_dump_json()) for each in drafts],
        )
        raw.executemany(
            "INSERT INTO revisions (id, draft_id, searched, record) VALUES (?,?,?,?)",
            [
                (
                    f"r-{name}",
                    f"d-{name}",
                    "revision",
                    revision(f"r-{name}", f"d-{name}").model_dump_json(exclude={"instruction"}),
                )
                for name in names[:4]
            ],
        )
        raw.executemany(
            "INSERT INTO decisions (id, prompt_id, draft_id, revision_id, ruling, annotator, decided, searched, record)"
            " VALUES (?,?,?,?,?,?,?,?,?)",
            rows_of(CHAIN),
        )
        raw.execute("INSERT INTO leases VALUES ('e', 'Ann', 'id-1', ?, ?)", [text_of(NOON), text_of(LATER)])
    return url


def test_an_upgrade_keeps_every_text_decision_and_lease(old: str) -> None:
    store = Store(old)
    assert store.prompts() == [prompt(name) for name in "abcdef"]
    assert [each.id for each in store.all_drafts()] == ["d-a", "d-b", "d-c", "d-d", "d-e", "a2"]
    assert [store.revisions_of(f"d-{name}") for name in "abcd"] == [[revision(f"r-{n}", f"d-{n}")] for n in "abcd"]
    assert [made for name in "abcdef" for made in store.history(name)] == sorted(CHAIN, key=lambda made: made.prompt_id)
    assert {name: each.id for name in "abcdef" if (each := store.live_decision(name))} == LIVE
    assert [each.decision.id for each in store.decided()] == ["2", "3", "4"]
    assert store.lease("Ann", minutes(1), LATER, "id-2") == Lease(prompt("e"), "id-1", NOON, "revision")
    store.close()


def test_an_upgrade_adds_up_what_was_decided_before(old: str) -> None:
    store = Store(old)
    first, second = date(2026, 12, 1), date(2026, 12, 2)
    assert store.by_day() == [
        DayTally(first, "Ann", {"tied": 1}, 0, 0, 2000),
        DayTally(first, "Bob", {"rejected": 1}, 3, 0, 9000),
        DayTally(second, "Ann", {"edited": 1}, 2, 1, 1000),
    ]
    assert store.counts() == {"edited": 1, "rejected": 1, "tied": 1}
    ann = store.progress("Ann", NOON + timedelta(days=1))
    assert ann == (6, 3, 3, store.counts(), 0.1, 2, 1, {"edited": 1, "tied": 1}, 1.5)
    store.decide(decision("7", "b", "withdrawn", supersedes="2"))
    assert store.progress("Ann", NOON)[5:] == (0, 0, {"tied": 1}, 2.0)
    store.close()


def test_an_upgraded_queue_goes_on_where_it_was(old: str) -> None:
    store = Store(old)
    assert [each.id for each in store.unready(10)] == ["f"]
    assert (store.ready(10), store.n_seats(NOON)) == (1, 1)
    assert store.last_decision("Ann") == CHAIN[3]
    assert [each.id for each in store.log("Ann", 10)] == ["6", "5", "4", "2", "1"]
    assert store.neighbour("Ann", "c", forward=False) == "b"
    compared = store.lease_for_preference("Bob", NOON, LATER, "p")
    assert compared is not None and compared.prompt.id == "a"
    stored = store.prefer(preference("p", "a").model_copy(update={"left_id": "d-a", "right_id": "a2"}))
    assert store.live_preference("a") == stored
    store.close()


def test_an_upgrade_that_fails_half_way_leaves_the_old_database_as_it_was(
    old: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def dump() -> list[str]:
        with closing(sqlite3.connect(old.removeprefix("sqlite:///"))) as raw:
            return list(raw.iterdump())

    def fails(*_: object) -> None:
        raise sqlite3.OperationalError("no more")

    before = dump()
    with monkeypatch.context() as patch:
        patch.setattr("alembic.op.drop_table", fails)
        with pytest.raises(StorageFailed, match="refused the last step"):
            Store(old)
    assert dump() == before
    store = Store(old)
    assert store.count_decided() == 3
    fill(store, "g")
    store.close()
