"""Items that are written before anybody asks: enough of them, in batches, and never in somebody's way."""

import json
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from realign.records import Message
from realign.studio import Studio
from tests.desk_texts import SEAT, make_studio
from tests.tiny import make_tiny_model

PATIENCE_S = 60


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_tiny_model(tmp_path_factory.mktemp("tiny"), max_length=2048)


@pytest.fixture
def studio(tmp_path: Path, tiny: Path) -> Iterator[Studio]:
    studio = make_studio(tmp_path, tiny, n_prompts=14)
    yield studio
    studio.store.close()


def until(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not holds():
        assert time.monotonic() < deadline, f"not within {PATIENCE_S} s"
        time.sleep(0.02)


def idle(studio: Studio) -> bool:
    return not any(thread.name == "write-ahead" for thread in threading.enumerate())


def test_four_items_are_kept_ready_for_each_seat_and_then_it_stops(studio: Studio) -> None:
    for seat in (SEAT, "another"):
        assert studio.desk.next_revision(seat, "Ann") is not None
    studio.write_ahead()
    until(lambda: studio.store.ready(100) >= 8)
    until(lambda: idle(studio))
    assert studio.store.ready(100) == 8
    item = studio.desk.next_revision("a third", "Ben")
    assert item is not None
    assert item.revision is not None  # it waits for nobody


def test_nothing_is_written_ahead_while_a_run_computes(studio: Studio) -> None:
    studio.desk.write_ahead(computing=lambda: True)
    until(lambda: idle(studio))
    assert studio.store.ready(100) == 0


def test_a_run_that_begins_to_compute_ends_a_batch_at_once(studio: Studio) -> None:
    asked: list[int] = []

    def computing() -> bool:
        asked.append(1)
        return len(asked) > 3

    studio.desk.write_ahead(computing)
    until(lambda: idle(studio))
    assert studio.store.ready(100) == 0
    assert [len(studio.store.drafts_of(prompt.id)) for prompt in studio.store.prompts()] == [0] * 14


def test_somebody_who_waits_gets_the_model_and_what_was_cut_off_is_written_later(studio: Studio) -> None:
    studio.write_ahead()
    said = list(studio.chat((Message(role="user", content="Hello"),)))
    assert said
    until(lambda: idle(studio))
    studio.write_ahead()
    until(lambda: studio.store.ready(100) >= 4)
    until(lambda: idle(studio))
    drafts = [draft for prompt in studio.store.prompts() for draft in studio.store.drafts_of(prompt.id)]
    assert "cancelled" not in {draft.finish for draft in drafts}  # half a text is never stored


def test_after_a_promotion_what_waits_is_written_again_by_the_model_in_use(studio: Studio) -> None:
    studio.write_ahead()
    until(lambda: studio.store.ready(100) >= 4)
    until(lambda: idle(studio))
    studio.promote("policy", None, annotator="Ann")
    assert studio.store.ready(100) == 0


def test_a_prompt_that_no_model_can_take_keeps_nothing_from_the_others(tmp_path: Path, tiny: Path) -> None:
    studio = make_studio(tmp_path, tiny, n_prompts=0)
    rows = [{"prompt": "far too long " * 900}, *({"prompt": f"Name {n} birds."} for n in range(3))]
    path = tmp_path / "rows.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    studio.import_file(path)
    studio.write_ahead()
    until(lambda: studio.store.ready(100) >= 3)
    until(lambda: idle(studio))  # and it does not try for ever
    assert [len(studio.store.drafts_of(prompt.id)) for prompt in studio.store.prompts()] == [0, 1, 1, 1]
    studio.store.close()
