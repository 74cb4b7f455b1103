"""The database file: opened, brought up to date, and its failures put into words."""

import sqlite3
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import filelock
from alembic import command
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import URL, Connection, Engine, create_engine, event, inspect, make_url
from sqlalchemy.exc import ArgumentError, DBAPIError
from sqlalchemy.exc import TimeoutError as NoConnection

from realign.errors import InvalidInput, StorageFailed

MIGRATIONS = Path(__file__).parent / "migrations"
PATIENCE = 10.0
"""Seconds to wait while another process writes."""

_migrating = threading.Lock()  # alembic keeps its context in a module, so one migration at a time per process

REFUSALS = {
    sqlite3.SQLITE_FULL: "The disk that holds {path} is full. Free some space and do the last step again.",
    sqlite3.SQLITE_IOERR: "The disk that holds {path} refused to read or write ({cause}). Check that it has space left "
    "and is still there, then do the last step again.",
    sqlite3.SQLITE_READONLY: "{path} may not be written to. Give this account write permission for the file and its "
    "folder, or set REALIGN_HOME to another folder.",
    sqlite3.SQLITE_CANTOPEN: "{path} cannot be opened. Check that its folder exists and may be written to, or set "
    "REALIGN_HOME to another folder.",
    sqlite3.SQLITE_BUSY: "{path} was held by another process for more than {patience:.0f} seconds. Close the other "
    "program that uses it, then do the last step again.",
    sqlite3.SQLITE_NOTADB: "{path} is not a database of ReAlign Studio. Move it away, or set REALIGN_HOME to another "
    "folder.",
    sqlite3.SQLITE_CORRUPT: "{path} is damaged ({cause}). Stop the program, keep a copy of the file, and restore a "
    "backup or recover it with `sqlite3 FILE .recover`.",
}
OTHER = "{path} refused the last step ({cause}). Do it again; if it fails again, report this sentence."


class Database:
    """One SQLite file with its connections; safe to share between threads."""

    def __init__(self, url: str) -> None:
        """Open the file that `url` (`sqlite:///path`) names, with its folder, and bring its tables up to date.

        Raises `InvalidInput` for another kind of address and `StorageFailed` where the file cannot be used.
        """
        self.path = _file_of(url)
        self._engine = _engine(self.path)
        self._turn = threading.Lock()
        self._writing_engine = self._engine.execution_options(begin="IMMEDIATE")
        with ExitStack() as if_it_fails, self._in_words():
            if_it_fails.callback(self.close)
            self._bring_up_to_date()
            if_it_fails.pop_all()

    def close(self) -> None:
        """Close every connection."""
        self._engine.dispose()

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """Give one consistent view of everything stored."""
        with self._in_words(), self._engine.begin() as connection:
            yield connection

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """Give the only writing transaction there is: all of it is on the disk at the end, or nothing."""
        # SQLite itself lets whoever waits sleep ever longer before asking again, also when the way is free long since.
        if not self._turn.acquire(timeout=PATIENCE):
            raise StorageFailed(REFUSALS[sqlite3.SQLITE_BUSY].format(path=self.path, patience=PATIENCE))
        try:
            with self._in_words(), self._writing_engine.begin() as connection:
                yield connection
        finally:
            self._turn.release()

    @contextmanager
    def _in_words(self) -> Iterator[None]:
        """Turn what the database or its disk says into `StorageFailed`."""
        try:
            yield
        except (DBAPIError, NoConnection, sqlite3.Error) as error:
            cause = error.orig if isinstance(error, DBAPIError) else error
            code = getattr(cause, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & 0xFF  # the rest only details it
            sentence = REFUSALS.get(code, OTHER)
            raise StorageFailed(sentence.format(path=self.path, cause=cause, patience=PATIENCE)) from error

    def _bring_up_to_date(self) -> None:
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            # Switching a new file to WAL does not wait for others as a transaction does, hence a lock beside the file.
            with filelock.FileLock(f"{self.path}.lock", timeout=PATIENCE), _migrating:
                self._migrate()
        except filelock.Timeout as error:
            raise StorageFailed(REFUSALS[sqlite3.SQLITE_BUSY].format(path=self.path, patience=PATIENCE)) from error
        except OSError as error:
            raise StorageFailed(
                f"The folder {self.path.parent} cannot be used for the database: {error.strerror}. Give this account "
                "write permission for it, or set REALIGN_HOME to another folder."
            ) from error

    def _migrate(self) -> None:
        config = Config()
        config.set_main_option("script_location", str(MIGRATIONS).replace("%", "%%"))
        script = ScriptDirectory.from_config(config)
        with self._writing_engine.begin() as connection:
            found = MigrationContext.configure(connection).get_current_revision()
            if found == script.get_current_head():
                return
            if found is None and inspect(connection).get_table_names():
                raise StorageFailed(REFUSALS[sqlite3.SQLITE_NOTADB].format(path=self.path))
            if found not in {None, *(revision.revision for revision in script.walk_revisions())}:
                raise StorageFailed(
                    f"{self.path} was written by a newer version of ReAlign Studio (its tables are at '{found}') and "
                    "was left as it is. Install that version, or name another folder in REALIGN_HOME."
                )
            config.attributes["connection"] = connection
            command.upgrade(config, "head")


def _file_of(url: str) -> Path:
    try:
        parsed = make_url(url)
    except ArgumentError as error:
        raise InvalidInput(f"'{url}' is not a database address. Write sqlite:///path/to/file.") from error
    if parsed.get_backend_name() != "sqlite" or parsed.database in (None, "", ":memory:"):
        raise InvalidInput(f"The database '{parsed.render_as_string()}' is not a file. Write sqlite:///path/to/file.")
    return Path(str(parsed.database)).absolute()


def _engine(path: Path) -> Engine:
    engine = create_engine(URL.create("sqlite", database=str(path)), connect_args={"timeout": PATIENCE})

    @event.listens_for(engine, "connect")
    def set_up(connection: sqlite3.Connection, _: Any) -> None:
        connection.isolation_level = None  # the driver would begin by itself, too late and without IMMEDIATE
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("PRAGMA foreign_keys = ON")

    @event.listens_for(engine, "begin")
    def begin(connection: Connection) -> None:
        # Past SQLAlchemy, which would spend more on this than the database does, with every transaction.
        driver: Any = connection.connection.dbapi_connection
        driver.execute(f"BEGIN {connection.get_execution_options().get('begin', 'DEFERRED')}")

    return engine
