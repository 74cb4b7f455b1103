"""What this installation has, what it lacks, and the command that mends it."""

import importlib.metadata
import platform
import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal, NamedTuple

import psutil

from realign import runs
from realign.errors import RealignError
from realign.models import embedded
from realign.models.catalog import MODELS, ModelSpec
from realign.models.loading import describe_device, locate
from realign.settings import Settings
from realign.store import Store

LIBRARIES = ("torch", "transformers", "trl", "peft", "accelerate", "gradio", "pandas", "sqlalchemy", "pydantic")
MIN_FREE_BYTES = 2_000_000_000


class Finding(NamedTuple):
    """One thing that was looked at."""

    name: str
    state: Literal["ok", "missing", "warning"]
    what: str
    mend: str = ""
    """The command or step that mends it; empty where nothing is wrong."""

    def as_row(self) -> dict[str, Any]:
        """Return the finding for JSON."""
        return self._asdict()


def examine(settings: Settings) -> list[Finding]:
    """Look at machine, device, versions, models, disk and database."""
    return [
        _machine(),
        _device(settings),
        *_versions(),
        *(
            _model(settings, actor, source)
            for actor, source in (("policy", settings.policy), ("reviser", settings.reviser))
        ),
        _disk(settings.home),
        _database(settings),
        _runs(settings),
    ]


def fetch(settings: Settings, say: Callable[[str], None]) -> None:
    """Bring the weights of policy and reviser onto this machine, so that the first start does not wait for them."""
    for source in {settings.policy, settings.reviser}:
        spec = ModelSpec(source=source, cache=settings.model_cache)
        if not spec.is_server:
            say(f"{spec.label}: {locate(spec, say).folder}")


def _machine() -> Finding:
    memory = psutil.virtual_memory().total / 2**30
    what = f"{platform.system()} {platform.machine()}, {psutil.cpu_count()} cores, {memory:.0f} GiB memory"
    return Finding("machine", "ok", f"{what}, Python {platform.python_version()}")


def _device(settings: Settings) -> Finding:
    try:
        return Finding("device", "ok", describe_device(settings.device, settings.precision))
    except ImportError as error:
        return Finding("device", "missing", f"torch cannot be imported: {error}", "pip install -r requirements.txt")


def _versions() -> list[Finding]:
    found = []
    for name in LIBRARIES:
        try:
            found.append(Finding(name, "ok", importlib.metadata.version(name)))
        except importlib.metadata.PackageNotFoundError:
            found.append(Finding(name, "missing", "not installed", "pip install -r requirements.txt"))
    return found


def _model(settings: Settings, actor: str, source: str) -> Finding:
    spec = ModelSpec(source=source, cache=settings.model_cache)
    entry = MODELS.get(source)
    if spec.is_server:
        return Finding(actor, "ok", f"server {source}")
    if entry and entry.embedded:
        folder = embedded.folder(settings.model_cache)
        if folder:
            return Finding(actor, "ok", f"{entry.title} in {folder}")
        return Finding(actor, "missing", f"{entry.title} was not fetched yet", "python -m realign doctor --fetch")
    if Path(source).expanduser().is_dir():
        return Finding(actor, "ok", f"local folder {source}")
    what = f"{source} comes from the Hub at the first use"
    return Finding(actor, "warning", what, "python -m realign doctor --fetch")


def _disk(home: Path) -> Finding:
    place = next(folder for folder in (home, *home.parents) if folder.exists())
    free = shutil.disk_usage(place).free
    what = f"{free / 1e9:.1f} GB free for {home}"
    if free < MIN_FREE_BYTES:
        return Finding("disk", "warning", what, "free some space, or set REALIGN_HOME to another disk")
    return Finding("disk", "ok", what)


def _database(settings: Settings) -> Finding:
    if not (settings.home / "realign.sqlite3").exists():
        return Finding("database", "ok", f"none yet in {settings.home}; the first start makes it")
    try:
        store = Store(settings.database)
        what = f"{store.n_prompts()} prompts, {store.count_decided()} decisions, SQLite {sqlite3.sqlite_version}"
        store.close()
    except RealignError as error:
        return Finding("database", "missing", str(error), "see the sentence before this")
    return Finding("database", "ok", what)


def _runs(settings: Settings) -> Finding:
    views = runs.listing(settings.runs)
    going = sum(view.state in ("starting", "running") for view in views)
    return Finding("runs", "ok", f"{len(views)} runs, {going} going on")
