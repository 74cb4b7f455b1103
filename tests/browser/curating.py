"""Curate in a browser with texts that are there already: an app on a tiny model, a page of its own for each test."""

import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, Locator, expect

from realign.records import Decided, Decoding, Draft, Message, ModelRef, Prompt, Revision
from realign.store import Store
from tests.conftest import App

DRAFT = "The cat sat on the red mat. It was a very good day. Everyone went home."
REVISION = "The dog sat on the blue mat. It was a good day. Everyone went to bed."
N_HUNKS = 4
"""cat → dog, red → blue, very out, home → to bed."""

SHARED: dict[str, Any] = {"decoding": Decoding(), "finish": "stop", "created": datetime(2026, 12, 1, tzinfo=UTC)}


def seed(home: Path, model: str, texts: list[tuple[str, str, list[str]]]) -> None:
    """Store prompts with a draft and revisions each, as if `model` had written them."""
    home.mkdir(parents=True, exist_ok=True)
    by = ModelRef(source=model)
    with stored(home) as store:
        start = store.n_prompts()
        for n, (asked, draft, revisions) in enumerate(texts, start):
            message = Message(role="user", content=asked)
            prompt = Prompt(id=f"p{n}", messages=(message,), origin="test", created=SHARED["created"])
            assert store.add_prompts([prompt]).added == 1
            store.add_drafts([Draft(id=f"d{n}", prompt_id=f"p{n}", text=draft, model=by, **SHARED)])
            made = [
                Revision(id=f"r{n}-{k}", draft_id=f"d{n}", text=text, model=by, template="single-turn-v1", **SHARED)
                for k, text in enumerate(revisions)
            ]
            store.add_revisions(made)


@contextmanager
def stored(home: Path) -> Iterator[Store]:
    """Open the app's own database beside it."""
    store = Store(f"sqlite:///{home / 'realign.sqlite3'}")
    try:
        yield store
    finally:
        store.close()


def decided(app: App) -> list[Decided]:
    """Everything that stands decided, oldest first."""
    with stored(app.home) as store:
        return store.decided()


def sql(app: App, statement: str) -> None:
    with closing(sqlite3.connect(app.home / "realign.sqlite3", timeout=10)) as database, database:
        database.execute(statement)


def await_nobody(app: App) -> None:
    """Wait until the browsers of an earlier test have left, with all that they still had to say."""
    deadline = time.monotonic() + 10
    with closing(sqlite3.connect(app.home / "realign.sqlite3", timeout=10)) as database:
        while database.execute("SELECT count(*) FROM leases").fetchone() != (0,):
            assert time.monotonic() < deadline, "a browser of an earlier test did not leave"
            time.sleep(0.1)
    time.sleep(0.2)


class Desk:
    """One browser of Ann's, looking at Curate."""

    def __init__(self, app: App, chromium: Browser, **settings: Any) -> None:
        self.app = app
        self.context = chromium.new_context(viewport={"width": 1280, "height": 800}, **settings)
        self.page = self.context.new_page()
        self.requests: list[str] = []
        self.errors: list[str] = []
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))
        self.page.goto(app.address)
        self.ready()

    def ready(self) -> None:
        """Wait until the item can be decided on, and a press is no longer taken for the item before."""
        expect(self.page.locator("#work .r-card").first).to_be_visible(timeout=60_000)
        expect(self.page.locator("#final textarea")).to_be_visible(timeout=60_000)
        self.page.wait_for_function("!realign.justDrawn()")

    @property
    def final(self) -> Locator:
        return self.page.locator("#final textarea")

    @property
    def hunks(self) -> Locator:
        return self.page.locator("#changes .r-hunk")

    @property
    def prompt(self) -> str:
        return self.page.locator("#prompt .r-words").inner_text()

    def press(self, *keys: str) -> None:
        for key in keys:
            self.page.keyboard.press(key)

    def refused(self) -> list[int]:
        states = [hunk.get_attribute("aria-pressed") for hunk in self.hunks.all()]
        return [at for at, state in enumerate(states) if state == "false"]

    def next(self, *keys: str) -> None:
        """Press `keys` and wait for another item."""
        before = self.prompt
        self.press(*keys)
        expect(self.page.locator("#prompt .r-words")).not_to_have_text(before, timeout=10_000)
        self.ready()

    def saved(self) -> None:
        """Wait until what was done is in the database."""
        expect(self.page.locator(".r-kept")).to_contain_text("saved", timeout=10_000)

    def close(self) -> None:
        self.context.close()
        assert self.errors == []
