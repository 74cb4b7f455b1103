"""A run is a folder: made whole, launched once, claimed once, and never taken for alive when it is not."""

import itertools
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import psutil
import pytest
from chat_server import ChatServer, Says, Sends

from realign import runs
from realign.errors import Conflict, InvalidInput, NotFound, RunStopped, StorageFailed
from realign.models.catalog import ModelSpec
from realign.records import Decoding, Message, Prompt
from realign.runs import LiveRun, Run

NOON = datetime(2026, 12, 1, 14, 15, 3, tzinfo=UTC)
ROOT = Path(__file__).parent.parent

PROMPTS = [
    Prompt(id=f"p{i}", messages=(Message(role="user", content=f"Frage {i}: wie heißt „雨“?"),), created=NOON)
    for i in range(3)
]


def make(root: Path, **changes: Any) -> Run:
    asked: dict[str, Any] = {
        "kind": "draft",
        "title": "Three drafts",
        "config": {},
        "inputs": {"prompts": PROMPTS},
        "annotator": "ada",
        "now": NOON,
        "salt": "7f3a",
    }
    return runs.create(root, **(asked | changes))


def drafting(root: Path, source: str) -> Run:
    config = {"model": ModelSpec(source=source, cache=root), "decoding": Decoding(max_new_tokens=8)}
    return make(root, config={name: value.model_dump(mode="json") for name, value in config.items()})


def until(true: Callable[[], bool], seconds: float = 30) -> None:
    """Wait for `true`, and fail where it does not come."""
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end, "it did not happen in time"
        time.sleep(0.02)


# Creation


def test_a_run_is_made_whole_with_its_inputs_frozen(tmp_path: Path) -> None:
    run = make(tmp_path / "runs", parents=["20261130-090000-draft-aaaa"], versions={"torch": "2.13.0"})
    assert run.name == "20261201-141503-draft-7f3a"
    assert [Prompt.model_validate(row) for row in run.rows("prompts")] == PROMPTS
    info = run.info()
    assert (info.kind, info.title, info.annotator, info.created) == ("draft", "Three drafts", "ada", NOON)
    assert (info.parents, info.versions) == (("20261130-090000-draft-aaaa",), {"torch": "2.13.0"})
    assert [path.name for path in (tmp_path / "runs").iterdir()] == [run.name]


def test_names_sort_by_time_and_the_list_shows_the_newest_first(tmp_path: Path) -> None:
    for days in (2, 0, 1):
        make(tmp_path, now=NOON + timedelta(days=days))
    assert [view.info.created.day for view in runs.listing(tmp_path)] == [3, 2, 1]


def test_two_runs_of_one_second_are_kept_apart(tmp_path: Path) -> None:
    assert make(tmp_path, salt="0001").name != make(tmp_path, salt="0002").name
    assert len(runs.listing(tmp_path)) == 2


def test_a_name_that_is_taken_does_not_touch_the_run_that_has_it(tmp_path: Path) -> None:
    make(tmp_path, title="first")
    with pytest.raises(StorageFailed, match="not empty"):
        make(tmp_path, title="second")
    assert [view.info.title for view in runs.listing(tmp_path)] == ["first"]


def test_an_input_that_breaks_off_leaves_nothing_behind(tmp_path: Path) -> None:
    def broken() -> Iterator[Prompt]:
        yield PROMPTS[0]
        raise InvalidInput("Row 2 is faulty.")

    with pytest.raises(InvalidInput, match="Row 2"):
        make(tmp_path, inputs={"prompts": broken()})
    assert list(tmp_path.iterdir()) == []


def test_a_nearly_full_disk_is_refused_with_both_numbers(tmp_path: Path) -> None:
    with pytest.raises(StorageFailed, match=r"Only \d+ MB are free .* a run needs 1000000000000 MB.*REALIGN_HOME"):
        make(tmp_path, min_free_bytes=10**18)
    assert list(tmp_path.iterdir()) == []


def test_a_file_in_the_place_of_the_folder_is_said(tmp_path: Path) -> None:
    (tmp_path / "runs").write_text("")
    with pytest.raises(StorageFailed, match="runs cannot be used"):
        make(tmp_path / "runs")


# Reading


def test_a_fresh_run_is_created_and_not_died(tmp_path: Path) -> None:
    view = make(tmp_path).view()
    assert (view.state, view.seconds_left) == ("created", None)


@pytest.mark.parametrize("name", ["", ".", "..", "../other", "a/b", "/etc", ".hidden", "a\x00b", "x" * 300, "a\n"])
def test_what_is_no_name_is_refused_before_the_disk_is_asked(tmp_path: Path, name: str) -> None:
    with pytest.raises(InvalidInput, match="is not the name of a run"):
        runs.load(tmp_path / "runs", name)


def test_an_unknown_run_is_not_found(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match="no run '20261201-141503-draft-7f3a'"):
        runs.load(tmp_path, "20261201-141503-draft-7f3a")


def test_a_description_that_is_none_names_its_file(tmp_path: Path) -> None:
    run = make(tmp_path)
    (run.path / "run.json").write_text("{")
    with pytest.raises(InvalidInput, match=r"run\.json is not a run description"):
        runs.load(tmp_path, run.name)


def test_where_there_are_no_runs_the_list_is_empty(tmp_path: Path) -> None:
    assert runs.listing(tmp_path / "nowhere") == []
    (tmp_path / ".half.new").mkdir()
    (tmp_path / "notes").mkdir()
    assert runs.listing(tmp_path) == []


def test_a_torn_last_metrics_line_is_left_for_the_next_look(tmp_path: Path) -> None:
    run = LiveRun(make(tmp_path).path)
    assert run.metrics() == []
    run.metric({"step": 1, "loss": 0.6931})
    run.metric({"step": 2, "loss": 0.5})
    with (run.path / "metrics.jsonl").open("ab") as file:
        file.write(b'{"step": 3, "lo')
    assert [row["step"] for row in run.metrics()] == [1, 2]
    assert [row["step"] for row in run.metrics(after=1)] == [2]
    with (run.path / "metrics.jsonl").open("ab") as file:
        file.write(b'ss": 0.4}\n')
    assert run.metrics(after=2) == [{"step": 3, "loss": 0.4}]


def test_a_torn_last_output_line_is_left_out(tmp_path: Path) -> None:
    file = tmp_path / "rows.jsonl"
    file.write_bytes('{"text": "雨"}\n{"text": "ha'.encode())
    assert list(runs.read_jsonl(file)) == [{"text": "雨"}]


def test_the_log_shows_the_last_state_of_a_progress_bar_and_no_colours(tmp_path: Path) -> None:
    run = make(tmp_path)
    assert run.log_tail() == ""
    (run.path / "log.txt").write_bytes(
        b"start\r\n 10%|#  \r 50%|## \r100%|###\n\x1b[31;1mred\x1b[0m end\n\x1b[?25l\x1b[K80%\r90%"
    )
    assert run.log_tail() == "start\n100%|###\nred end\n90%"


def test_the_log_is_read_from_its_end_even_within_a_letter(tmp_path: Path) -> None:
    run = make(tmp_path)
    (run.path / "log.txt").write_bytes(("雨" * 10_000).encode())
    assert run.log_tail(size=7) == "\ufffd雨雨"


# The worker's side


def test_a_run_is_claimed_once(tmp_path: Path) -> None:
    run = make(tmp_path)
    LiveRun(run.path).claim()
    with pytest.raises(Conflict, match="was started before"):
        LiveRun(run.path).claim()
    assert run.view().state == "running"


def test_progress_says_how_long_it_will_take(tmp_path: Path) -> None:
    live = LiveRun(make(tmp_path).path)
    live.claim()
    live.progress(0, 4, "Loading")
    assert live.view().seconds_left is None
    time.sleep(0.25)
    live.progress(1, 4, "Writing")
    view = live.view()
    assert (view.status.done, view.status.total, view.status.message) == (1, 4, "Writing")
    assert view.seconds_left == pytest.approx(3 * 0.25, abs=0.3)


def test_a_stop_ends_the_work_at_its_next_sign_of_progress(tmp_path: Path) -> None:
    live = LiveRun(make(tmp_path).path)
    live.claim()
    live.progress(1, 4)
    runs.stop(live)
    with pytest.raises(RunStopped, match="Stopped after 2 of 4"):
        live.progress(2, 4)


def test_the_last_word_stands_without_a_sign_of_life(tmp_path: Path) -> None:
    live = LiveRun(make(tmp_path).path)
    live.claim()
    live.end("finished", result={"drafts": 3})
    view = Run(live.path).view()
    assert (view.state, view.status.result, view.seconds_left) == ("finished", {"drafts": 3}, None)


def test_a_status_is_replaced_whole_while_others_read_it(tmp_path: Path) -> None:
    live = LiveRun(make(tmp_path).path)
    live.claim()
    done = threading.Event()

    def write() -> None:
        for number in itertools.count():
            live.end("running", "x" * (number % 5_000))
            if done.is_set():
                return

    writer = threading.Thread(target=write)
    writer.start()
    for _ in range(200):
        assert Run(live.path).view().state == "running"
    done.set()
    writer.join()
    assert list(live.path.glob(".*")) == []


def test_readers_that_look_at_once_do_not_take_each_other_for_a_worker(tmp_path: Path) -> None:
    run = make(tmp_path)
    found: list[bool] = []

    def look() -> None:
        found.extend(run.alive() for _ in range(300))

    threads = [threading.Thread(target=look) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found.count(True) == 0
    assert len(found) == 1200


# Real workers


@pytest.fixture
def gate() -> Iterator[threading.Event]:
    """Holds back every answer of `slow_server` until it is set."""
    event = threading.Event()
    yield event
    event.set()


@pytest.fixture
def slow_server(gate: threading.Event) -> Iterator[ChatServer]:
    def reply(body: Mapping[str, Any]) -> Says:
        gate.wait(60)
        return Says(["An ", "answer."])

    with ChatServer(reply) as server:
        yield server


def launched(root: Path, server: ChatServer) -> Run:
    """A run whose worker waits for its first answer."""
    run, before = drafting(root, server.source), len(server.seen)
    runs.launch(run, os.environ)
    until(lambda: len(server.seen) == before + len(PROMPTS))
    return run


def test_a_worker_writes_drafts_and_the_second_launch_is_a_conflict(
    tmp_path: Path, slow_server: ChatServer, gate: threading.Event
) -> None:
    run = drafting(tmp_path, slow_server.source)
    runs.launch(run, os.environ)
    assert run.view().state in {"starting", "running"}
    with pytest.raises(Conflict, match="was launched before"):
        runs.launch(run, os.environ)
    gate.set()
    until(lambda: run.view().state == "finished")
    assert run.view().status.result == {"drafts": 3}
    drafts = list(runs.read_jsonl(run.output / "drafts.jsonl"))
    assert sorted(row["prompt_id"] for row in drafts) == ["p0", "p1", "p2"]
    assert {row["text"] for row in drafts} == {"An answer."}
    until(lambda: not run.alive())
    with pytest.raises(Conflict):
        runs.launch(run, os.environ)


def test_a_killed_worker_has_died_without_a_word(tmp_path: Path, slow_server: ChatServer) -> None:
    run = launched(tmp_path, slow_server)
    assert (run.view().state, run.alive()) == ("running", True)
    os.kill(_worker(run).pid, signal.SIGKILL)
    until(lambda: not run.alive())
    view = run.view()
    assert view.state == "died"
    assert "it was killed, the disk is full, or the machine restarted" in view.status.message


def test_kill_ends_the_worker_and_counts_it(tmp_path: Path, slow_server: ChatServer) -> None:
    run, other = launched(tmp_path / "a", slow_server), launched(tmp_path / "b", slow_server)
    assert runs.kill(run) == 1
    until(lambda: run.view().state == "died")
    assert other.view().state == "running"
    assert runs.kill(run) == 0
    assert runs.kill(other) == 1


def test_a_stop_is_a_clean_end(tmp_path: Path, slow_server: ChatServer, gate: threading.Event) -> None:
    run = launched(tmp_path, slow_server)
    runs.stop(run)
    gate.set()
    until(lambda: run.view().state == "stopped")
    assert run.view().status.message == "Stopped after 3 of 3."


def test_a_worker_outlives_its_launcher(tmp_path: Path, slow_server: ChatServer, gate: threading.Event) -> None:
    run = drafting(tmp_path, slow_server.source)
    code = "import os, sys; from realign.runs import *; launch(Run(Path(sys.argv[1])), os.environ)"
    launcher = subprocess.Popen([sys.executable, "-c", code, str(run.path)], cwd=ROOT, start_new_session=True)
    assert launcher.wait(30) == 0
    with pytest.raises(ProcessLookupError):
        os.killpg(launcher.pid, signal.SIGKILL)  # as a terminal that is closed: nothing of the worker is in that group
    until(lambda: len(slow_server.seen) >= len(PROMPTS))
    assert run.view().state == "running"
    gate.set()
    until(lambda: run.view().state == "finished")


def test_a_worker_started_by_hand_shows_signs_of_life_too(tmp_path: Path, slow_server: ChatServer) -> None:
    run = drafting(tmp_path, slow_server.source)
    worker = subprocess.Popen([sys.executable, "-m", "realign.worker", str(run.path)], cwd=ROOT)
    until(lambda: len(slow_server.seen) >= len(PROMPTS))
    assert run.view().state == "running"
    assert runs.kill(run) == 1
    worker.wait(10)
    assert run.view().state == "died"


def test_a_failure_is_a_sentence_in_the_status(tmp_path: Path) -> None:
    with ChatServer(lambda body: Sends(404)) as server:
        run = drafting(tmp_path, server.source)
        runs.launch(run, os.environ)
        until(lambda: run.view().state == "failed")
    assert "has no model 'tiny'" in run.view().status.message
    assert "Traceback" not in run.log_tail()


def test_an_unforeseen_failure_keeps_its_trace_in_the_log(tmp_path: Path) -> None:
    run = make(tmp_path, config={"nonsense": 1})
    runs.launch(run, os.environ)
    until(lambda: run.view().state == "failed")
    assert "The log has the details" in run.view().status.message
    assert "Traceback" in run.log_tail()


@pytest.mark.parametrize(("arguments", "complaint"), [([], "usage"), (["/nowhere"], "There is no run 'nowhere'")])
def test_a_worker_without_a_run_says_so(arguments: list[str], complaint: str) -> None:
    command = [sys.executable, "-m", "realign.worker", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False)
    assert done.returncode == 2
    assert complaint in done.stderr


def _worker(run: Run) -> psutil.Process:
    [process] = [p for p in psutil.process_iter(["cmdline"]) if str(run.path) in (p.info["cmdline"] or ())]
    return process
