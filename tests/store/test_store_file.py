"""What the file on the disk survives, and what is said where it cannot be used."""

import ctypes
import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from stored_records import LATER, NOON, decision, draft, fill, minutes, prompt

from realign.errors import InvalidInput, StorageFailed
from realign.store import Store
from realign.store.tables import metadata

ROOT = Path(__file__).parent.parent.parent


def file_of(url: str) -> Path:
    return Path(url.removeprefix("sqlite:///"))


def python(code: str, *arguments: str, **options: Any) -> subprocess.Popen[str]:
    """Start Python on `code`, which finds the records of this folder."""
    environ = {**os.environ, "PYTHONPATH": f"{ROOT}{os.pathsep}{Path(__file__).parent}"}
    command = [sys.executable, "-c", code, *arguments]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environ, **options)


def test_everything_is_there_after_reopening(url: str) -> None:
    first = Store(url)
    fill(first, "a")
    first.decide(decision("1", "a"))
    first.close()
    second = Store(url)
    assert second.decided()[0].decision == decision("1", "a")
    second.close()


def test_the_migrations_end_where_the_tables_are_defined(store: Store, url: str) -> None:
    with sqlalchemy.create_engine(url).connect() as connection:
        context = MigrationContext.configure(connection, opts={"compare_type": True})
        assert compare_metadata(context, metadata) == []


def test_an_upgrade_that_fails_half_way_leaves_nothing_behind(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: Any) -> None:
        raise sqlite3.OperationalError("no more")

    with monkeypatch.context() as patch:
        patch.setattr("alembic.op.create_index", fails)
        with pytest.raises(StorageFailed, match="refused the last step"):
            Store(url)
    with sqlite3.connect(file_of(url)) as connection:
        assert connection.execute("SELECT name FROM sqlite_master").fetchall() == []
    connection.close()
    Store(url).close()


def test_every_commit_waits_for_the_disk(store: Store, url: str) -> None:
    with store._database.writing() as connection:
        told = [connection.exec_driver_sql(f"PRAGMA {name}").scalar() for name in ("journal_mode", "synchronous")]
        assert told == ["wal", 2]
        assert connection.exec_driver_sql("PRAGMA foreign_keys").scalar() == 1


def test_six_processes_may_open_new_databases_at_once(tmp_path: Path) -> None:
    code = """
import sys, time
from realign.store import Store
from stored_records import prompt
for number in range(20):
    time.sleep(max(0, float(sys.argv[2]) + number / 10 - time.time()))
    store = Store(f"sqlite:///{sys.argv[1]}/{number}.sqlite3")
    store.add_prompts([prompt(sys.argv[3])])
    store.close()
"""
    together = str(time.time() + 2)
    started = [python(code, str(tmp_path), together, str(number)) for number in range(6)]
    assert [(process.communicate()[1], process.returncode) for process in started] == [("", 0)] * 6
    for number in range(20):
        store = Store(f"sqlite:///{tmp_path}/{number}.sqlite3")
        assert store.n_prompts() == 6
        store.close()


def test_a_decision_is_there_once_when_the_process_is_killed_right_after(store: Store, url: str) -> None:
    fill(store, "a", "b")
    code = """
import os, signal, sys
from realign.store import Store
from stored_records import decision
store = Store(sys.argv[1])
store.decide(decision("1", "a"))
os.kill(os.getpid(), signal.SIGKILL)
"""
    process = python(code, url)
    assert (process.communicate()[1], process.returncode) == ("", -signal.SIGKILL)
    reopened = Store(url)
    assert reopened.history("a") == [decision("1", "a")]
    assert reopened.decide(decision("1", "a")) == decision("1", "a")
    assert reopened.count_decided() == 1
    reopened.close()


def test_a_full_disk_loses_nothing_that_was_stored(url: str) -> None:
    store = Store(url)
    fill(store, "a", "b")
    store.decide(decision("1", "a"))
    store.close()

    def limit(connection: sqlite3.Connection, _: Any) -> None:
        pages = connection.execute("PRAGMA page_count").fetchone()[0]
        connection.execute(f"PRAGMA max_page_count = {pages}")

    sqlalchemy.event.listen(sqlalchemy.Engine, "connect", limit)
    try:
        full = Store(url)
        with pytest.raises(StorageFailed, match=r"disk that holds .*realign\.sqlite3 is full\. Free some space"):
            full.add_drafts([draft("long", "b", "x" * 1_000_000)])
        with pytest.raises(StorageFailed):
            full.decide(decision("2", "b", final="x" * 1_000_000))
        assert full.history("a") == [decision("1", "a")]
        assert full.history("b") == []
        full.close()
    finally:
        sqlalchemy.event.remove(sqlalchemy.Engine, "connect", limit)
    store = Store(url)
    assert store.decide(decision("2", "b", final="x" * 1_000_000)).id == "2"
    store.close()


def test_a_write_cut_short_by_the_system_is_said_and_what_was_stored_stays(store: Store, url: str) -> None:
    fill(store, "a", "b")
    store.decide(decision("1", "a"))
    code = """
import resource, signal, sys
from realign.errors import StorageFailed
from realign.store import Store
from stored_records import decision
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
store = Store(sys.argv[1])
resource.setrlimit(resource.RLIMIT_FSIZE, (500_000, 500_000))
try:
    store.decide(decision("2", "b", final="x" * 2_000_000))
except StorageFailed as error:
    print(error)
print(store.count_decided())
"""
    process = python(code, url)
    output, errors = process.communicate()
    assert errors == ""
    assert "refused to read or write" in output and str(file_of(url)) in output
    assert output.splitlines()[-1] == "1"
    assert store.history("b") == []


def test_a_folder_that_may_not_be_written_to_is_named(store: Store, url: str) -> None:
    folder = file_of(url).parent
    store.close()
    code = """
import sys
from realign.errors import StorageFailed
from realign.store import Store
for url in sys.argv[1:]:
    try:
        Store(url)
    except StorageFailed as error:
        print(error)
"""

    def obey_permissions() -> None:
        """Even root shall be refused: give up the right to pass over permissions (CAP_DAC_OVERRIDE)."""
        ctypes.CDLL(None).prctl(24, 1, 0, 0, 0)

    folder.chmod(0o555)
    try:
        process = python(code, url, f"sqlite:///{folder}/new/realign.sqlite3", preexec_fn=obey_permissions)
        output, errors = process.communicate()
    finally:
        folder.chmod(0o755)
    assert errors == ""
    existing, new = output.splitlines()
    assert str(folder) in existing and "REALIGN_HOME" in existing
    assert str(folder / "new") in new and "Permission denied" in new


def test_a_file_that_is_no_database_is_named_and_left_alone(url: str) -> None:
    file_of(url).parent.mkdir()
    file_of(url).write_text("My diary, which is longer than the header of a database. " * 20)
    before = file_of(url).read_bytes()
    with pytest.raises(StorageFailed, match=r"realign\.sqlite3 is not a database of ReAlign Studio\. Move it away"):
        Store(url)
    assert file_of(url).read_bytes() == before


def test_a_database_of_another_program_is_left_alone(url: str) -> None:
    file_of(url).parent.mkdir()
    with sqlite3.connect(file_of(url)) as connection:
        connection.execute("CREATE TABLE songs (title)")
    with pytest.raises(StorageFailed, match="is not a database of ReAlign Studio"):
        Store(url)
    assert connection.execute("SELECT name FROM sqlite_master").fetchall() == [("songs",)]
    connection.close()


def test_a_folder_in_place_of_the_file_is_named(url: str) -> None:
    file_of(url).mkdir(parents=True)
    with pytest.raises(StorageFailed, match=r"realign\.sqlite3 cannot be opened"):
        Store(url)


def test_a_file_in_place_of_the_folder_is_named(url: str) -> None:
    file_of(url).parent.write_text("")
    with pytest.raises(StorageFailed, match=r"The folder .*home cannot be used for the database"):
        Store(url)


def test_a_database_of_a_newer_version_is_refused_and_left_alone(store: Store, url: str) -> None:
    fill(store, "a")
    store.close()
    with sqlite3.connect(file_of(url)) as connection:
        connection.execute("UPDATE alembic_version SET version_num = '9999'")
    connection.close()
    with pytest.raises(StorageFailed, match=r"newer version of ReAlign Studio \(its tables are at '9999'\)"):
        Store(url)
    with sqlite3.connect(file_of(url)) as connection:
        assert connection.execute("SELECT count(*) FROM prompts").fetchone() == (1,)
    connection.close()


def test_a_database_held_by_another_program_is_said_so_after_a_while(
    store: Store, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.close()
    monkeypatch.setattr("realign.store.engine.PATIENCE", 0.2)
    impatient = Store(url)
    other = sqlite3.connect(file_of(url), isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(StorageFailed, match="held by another process"):
        impatient.add_prompts([prompt("a")])
    assert impatient.n_prompts() == 0
    other.execute("ROLLBACK")
    other.close()
    assert impatient.add_prompts([prompt("a")]).added == 1
    impatient.close()


def test_who_waits_too_long_for_a_write_in_the_same_process_is_told_and_the_next_write_goes_through(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("realign.store.engine.PATIENCE", 0.2)
    with store._database.writing(), ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(store.add_prompts, [prompt("a")])
        with pytest.raises(StorageFailed, match="held by another process"):
            waiting.result()
    assert store.add_prompts([prompt("a")]).added == 1


@pytest.mark.parametrize("address", ["postgresql://host/db", "sqlite://", "sqlite:///:memory:", "realign.sqlite3"])
def test_an_address_that_is_no_file_is_refused(address: str) -> None:
    with pytest.raises(InvalidInput, match="Write sqlite:///path/to/file"):
        Store(address)


def test_fields_a_record_has_no_more_are_left_out_when_it_is_read(store: Store, url: str) -> None:
    fill(store, "a")
    stored = json.loads(draft("d-a", "a").model_dump_json())
    stored["mood"] = "good"
    stored["model"]["colour"] = "blue"
    with sqlite3.connect(file_of(url)) as connection:
        connection.execute("UPDATE drafts SET record = ?", [json.dumps(stored)])
    connection.close()
    assert store.draft("d-a") == draft("d-a", "a")


def test_a_stored_record_that_cannot_be_read_names_its_field(store: Store, url: str) -> None:
    fill(store, "a")
    with sqlite3.connect(file_of(url)) as connection:
        connection.execute("UPDATE drafts SET record = json_set(record, '$.finish', 'exploded')")
    connection.close()
    with pytest.raises(StorageFailed, match=r"stored Draft cannot be read: .*field 'finish'"):
        store.draft("d-a")


def test_a_queue_of_20_000_prompts_leases_the_last_one(store: Store) -> None:
    names = [str(number) for number in range(20_000)]
    fill(store, *names)
    with store._database.writing() as connection:
        connection.exec_driver_sql("UPDATE prompts SET live_decision = 'long ago' WHERE number < 20000")
    began = time.perf_counter()
    lease = store.lease("Ann", NOON, LATER, "1")
    took = time.perf_counter() - began
    assert lease is not None and lease.prompt.id == names[-1]
    began = time.perf_counter()
    store.progress("Ann", minutes(1))
    print(f"lease {took * 1000:.1f} ms, progress {(time.perf_counter() - began) * 1000:.1f} ms")
