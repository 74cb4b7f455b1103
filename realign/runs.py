"""A run is a folder: created whole, launched once, read by anyone, written by its worker alone.

    run.json        kind, title, config, parents, versions; never changed
    inputs/*.jsonl  what the run works on, frozen when the run is created
    launch.json     who started it and when, empty until the lock is held; its existence makes a second launch fail
    status.json     replaced whole by the worker        metrics.jsonl   one object a line
    log.txt         everything the worker printed       stop            a person asked it to stop
    lock            held by the worker as a sign of life: a process id can be reused, a held lock cannot
    output/         what it made

A reader never trusts the status alone: a run whose status says "running" while nobody holds its lock has died.
"""

import contextlib
import fcntl
import json
import logging
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal, NamedTuple

import psutil
from pydantic import BaseModel, ConfigDict, ValidationError

from realign.errors import Conflict, InvalidInput, NotFound, RealignError, RunStopped, StorageFailed

log = logging.getLogger("realign.runs")

Kind = Literal["draft", "revise", "reviser", "policy", "benchmark"]
State = Literal["created", "starting", "running", "finished", "stopped", "failed", "died"]
ENDED: frozenset[State] = frozenset({"finished", "stopped", "failed", "died"})

MIN_FREE_BYTES = 200_000_000
"""A run is not created on a disk with less room than this: its last checkpoint would be lost."""

_NAME = re.compile(r"\w[\w.-]{0,99}")
_TERMINAL_CODE = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\-_])")


class RunInfo(BaseModel):
    """`run.json`: what was asked for, exactly."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    name: str
    kind: Kind
    title: str
    config: dict[str, Any]
    parents: tuple[str, ...] = ()
    versions: dict[str, str] = {}
    annotator: str = ""
    created: datetime


class Status(BaseModel):
    """`status.json`: how far the worker says it is."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    state: State
    message: str = ""
    done: int = 0
    total: int = 0
    started: datetime | None = None
    updated: datetime | None = None
    result: dict[str, Any] = {}


class RunView(NamedTuple):
    """One run as a reader sees it, with the state derived from status and sign of life."""

    run: "Run"
    info: RunInfo
    status: Status
    state: State

    @property
    def seconds_left(self) -> float | None:
        """Estimate from the pace so far; none before the first unit is done or once the run has ended."""
        status = self.status
        if self.state != "running" or not status.done or not status.total or not status.started or not status.updated:
            return None
        return (status.updated - status.started).total_seconds() / status.done * (status.total - status.done)


class Run:
    """A run's folder, as readers use it."""

    def __init__(self, path: Path) -> None:
        self.path = path.absolute()

    @property
    def name(self) -> str:
        return self.path.name

    @property
    def output(self) -> Path:
        return self.path / "output"

    def info(self) -> RunInfo:
        """Return what was asked for; raise `NotFound` where the folder holds no readable run."""
        file = self.path / "run.json"
        try:
            return RunInfo.model_validate_json(file.read_bytes())
        except FileNotFoundError as error:
            raise NotFound(f"There is no run '{self.name}' in {self.path.parent}.") from error
        except ValidationError as error:
            raise InvalidInput(f"{file} is not a run description: {error.errors()[0]['msg']}.") from error

    def rows(self, name: str) -> Iterator[dict[str, Any]]:
        """Yield the frozen rows of input `name`."""
        return read_jsonl(self.path / "inputs" / f"{name}.jsonl")

    def made(self, name: str) -> Iterator[dict[str, Any]]:
        """Yield the rows of output `name` written so far; nothing while there is no such file."""
        path = self.output / f"{name}.jsonl"
        return read_jsonl(path) if path.exists() else iter(())

    def view(self) -> RunView:
        """Return state and progress as they are now."""
        info = self.info()
        # In this order: the lock is held before a launch is written down, and until after the worker's last word is.
        launched = self._launched()
        alive = self.alive()
        status = self._status()
        if status is None:
            state: State = "created" if not launched else "starting" if alive else "died"
            status = Status(state=state)
        state = status.state if status.state in ENDED or alive or status.state == "created" else "died"
        if state == "died":
            message = "The worker ended without a word: it was killed, the disk is full, or the machine restarted."
            status = status.model_copy(update={"message": message})
        return RunView(self, info, status, state)

    def alive(self) -> bool:
        """Say whether a worker holds this run's lock."""
        try:
            turn, lock = (self.path / "run.json").open("rb"), (self.path / "lock").open("rb")
        except FileNotFoundError:
            return False
        with turn, lock:
            fcntl.flock(
                turn, fcntl.LOCK_EX
            )  # readers take turns, or two that look at once take each other for a worker
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                return True
        return False

    def metrics(self, after: int = 0) -> list[dict[str, Any]]:
        """Return the metric rows from line `after` on; a line still being written is left for the next call."""
        try:
            lines = (self.path / "metrics.jsonl").read_bytes().split(b"\n")
        except FileNotFoundError:
            return []
        return [json.loads(line) for line in lines[:-1][after:] if line.strip()]

    def log_tail(self, size: int = 16_384) -> str:
        """Return the end of the log, at most `size` bytes; colours are removed, progress bars show their last state."""
        try:
            with (self.path / "log.txt").open("rb") as file:
                file.seek(max(0, file.seek(0, os.SEEK_END) - size))
                text = file.read().decode("utf-8", errors="replace")
        except FileNotFoundError:
            return ""
        lines = _TERMINAL_CODE.sub("", text).split("\n")
        return "\n".join(line.rstrip("\r").rsplit("\r", 1)[-1] for line in lines)

    def _launched(self) -> bool:
        try:
            return (self.path / "launch.json").stat().st_size > 0
        except FileNotFoundError:
            return False

    def _status(self) -> Status | None:
        try:
            return Status.model_validate_json((self.path / "status.json").read_bytes())
        except FileNotFoundError:
            return None


class LiveRun(Run):
    """The same folder in the hands of its worker, the only one that writes to it."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self._current = Status(state="running", started=datetime.now(UTC))
        self._written = 0.0

    def claim(self) -> None:
        """Take this run over; raise `Conflict` when a worker has had it before.

        The lock stays held until this process ends, so that a worker started by hand shows signs of life too.
        """
        try:
            os.close(os.open(self.path / "claimed", os.O_CREAT | os.O_EXCL | os.O_WRONLY))
        except FileExistsError as error:
            raise Conflict(f"Run {self.name} was started before. Start a new run with the same settings.") from error
        fcntl.flock(os.open(self.path / "lock", os.O_RDWR | os.O_CREAT), fcntl.LOCK_SH)
        self.output.mkdir(exist_ok=True)
        self.write_status(self._current)

    def progress(self, done: int, total: int, message: str = "") -> None:
        """Say how far the work is; raise `RunStopped` once a person has asked to stop.

        Written at most five times a second, and always for the first and the last unit.
        """
        self._current = self._current.model_copy(update={"done": done, "total": total, "message": message})
        if done in (0, total) or time.monotonic() - self._written > 0.2:
            self.write_status(self._current)
        if self.stop_requested():
            raise RunStopped(f"Stopped after {done} of {total}.")

    def metric(self, row: Mapping[str, Any]) -> None:
        """Append one metric row."""
        with (self.path / "metrics.jsonl").open("ab") as file:
            file.write(json.dumps(row, ensure_ascii=False).encode() + b"\n")

    def append(self, name: str, record: BaseModel) -> None:
        """Append one record to `output/<name>.jsonl`."""
        with (self.output / f"{name}.jsonl").open("ab") as file:
            file.write(record.model_dump_json().encode() + b"\n")

    def stop_requested(self) -> bool:
        """Say whether a person asked this run to stop."""
        return (self.path / "stop").exists()

    def end(self, state: State, message: str = "", result: Mapping[str, Any] | None = None) -> None:
        """Write the last word."""
        update = {"state": state, "message": message, "result": dict(result or {})}
        self.write_status(self._current.model_copy(update=update))

    def write_status(self, status: Status) -> None:
        """Replace `status.json` whole."""
        self._current = status.model_copy(update={"updated": datetime.now(UTC)})
        write_whole(self.path / "status.json", self._current.model_dump_json(indent=1).encode())
        self._written = time.monotonic()


def create(
    root: Path,
    kind: Kind,
    title: str,
    config: Mapping[str, Any],
    inputs: Mapping[str, Iterable[BaseModel]],
    *,
    annotator: str,
    parents: Sequence[str] = (),
    versions: Mapping[str, str] | None = None,
    now: datetime,
    salt: str,
    min_free_bytes: int = MIN_FREE_BYTES,
) -> Run:
    """Freeze `config` and `inputs` into a new run folder and return it.

    The folder is built aside and renamed, so that no reader ever sees half of it. Its name sorts by time; `salt` (four
    hexadecimal digits or more) keeps two runs of one second apart. Raises `StorageFailed` when the disk has less room
    than `min_free_bytes`.
    """
    try:
        root.mkdir(parents=True, exist_ok=True)
        free = shutil.disk_usage(root).free
    except OSError as error:
        raise StorageFailed(f"The folder for runs {root} cannot be used: {error.strerror}.") from error
    if free < min_free_bytes:
        raise StorageFailed(
            f"Only {free / 1e6:.0f} MB are free on the disk of {root}; a run needs {min_free_bytes / 1e6:.0f} MB. "
            "Free some space, or set REALIGN_HOME to another disk."
        )
    name = f"{now:%Y%m%d-%H%M%S}-{kind}-{salt[:8]}"
    info = RunInfo(
        name=name,
        kind=kind,
        title=title,
        config=dict(config),
        parents=tuple(parents),
        versions=dict(versions or {}),
        annotator=annotator,
        created=now,
    )
    aside = root / f".{name}.new"
    try:
        (aside / "inputs").mkdir(parents=True)
        for input_name, records in inputs.items():
            with (aside / "inputs" / f"{input_name}.jsonl").open("wb") as file:
                for record in records:
                    file.write(record.model_dump_json().encode() + b"\n")
        write_whole(aside / "run.json", info.model_dump_json(indent=1).encode())
        (aside / "lock").touch()
        aside.rename(root / name)
    except OSError as error:
        raise StorageFailed(f"The run could not be written to {root}: {error.strerror}.") from error
    finally:
        shutil.rmtree(aside, ignore_errors=True)  # gone already when all went well
    return Run(root / name)


def launch(run: Run, environ: Mapping[str, str]) -> None:
    """Start the run's worker in its own session, so that it outlives this process; raise `Conflict` the second time."""
    try:
        descriptor = os.open(run.path / "launch.json", os.O_CREAT | os.O_EXCL | os.O_WRONLY)
    except FileExistsError as error:
        raise Conflict(f"Run {run.name} was launched before. Start a new run with the same settings.") from error
    lock = os.open(run.path / "lock", os.O_RDWR)
    try:
        fcntl.flock(lock, fcntl.LOCK_SH)
        with os.fdopen(descriptor, "w") as file:
            json.dump({"launched": datetime.now(UTC).isoformat(), "by_pid": os.getpid()}, file)
        with (run.path / "log.txt").open("ab") as log:
            subprocess.Popen(
                [sys.executable, "-m", "realign.worker", str(run.path)],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                env=dict(environ),
                cwd=Path(__file__).parent.parent,
                start_new_session=True,
                pass_fds=(lock,),
            )
    finally:
        os.close(lock)  # the worker's copy keeps the lock held


def load(root: Path, name: str) -> Run:
    """Return the run called `name`; raise `NotFound` where there is none."""
    if not _NAME.fullmatch(name):
        raise InvalidInput(f"'{name}' is not the name of a run.")
    run = Run(root / name)
    run.info()
    return run


def listing(root: Path) -> list[RunView]:
    """Return every run, newest first."""
    if not root.is_dir():
        return []
    paths = [path for path in root.iterdir() if not path.name.startswith(".") and (path / "run.json").is_file()]
    views = []
    for path in sorted(paths, reverse=True):
        try:
            views.append(Run(path).view())
        except (RealignError, ValueError, OSError) as error:  # one damaged folder must not hide the others
            log.warning("The run %s is left out of the list: %s", path.name, error)
    return views


def stop(run: Run) -> None:
    """Ask the worker to finish its step, save and exit."""
    (run.path / "stop").touch()


def kill(run: Run) -> int:
    """End every process whose arguments name this run's folder; return how many there were."""
    ended = 0
    for process in psutil.process_iter(["cmdline"]):
        if str(run.path) in (process.info["cmdline"] or ()) and process.pid != os.getpid():
            with contextlib.suppress(psutil.NoSuchProcess):
                process.kill()
                ended += 1
    return ended


def write_whole(path: Path, content: bytes) -> None:
    """Write `path` so that a reader, or a crash, sees the old content or the new and nothing between."""
    aside = path.with_name(f".{path.name}.{os.getpid()}.new")
    with aside.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    aside.replace(path)


def read_jsonl(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the objects of a JSONL file we wrote; a torn last line (the writer was killed) is left out."""
    with path.open("rb") as file:
        for line in file:
            if line.endswith(b"\n") and line.strip():
                yield json.loads(line)
