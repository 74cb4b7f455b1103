"""One app for all the tests of curating, each with a browser of its own."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from tests.browser.curating import DRAFT, REVISION, Desk, await_nobody, seed, sql
from tests.conftest import App
from tests.tiny import make_tiny_model

N_ITEMS = 150


@pytest.fixture(scope="session")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_tiny_model(tmp_path_factory.mktemp("tiny"), max_length=2048)


@pytest.fixture(scope="module")
def curating(tmp_path_factory: pytest.TempPathFactory, tiny: Path) -> Iterator[App]:
    """An app with items that are all alike but for their prompt."""
    home = tmp_path_factory.mktemp("curating") / "home"
    other = REVISION.replace("blue", "green")
    texts = [(f"Tell story {n}.", DRAFT, [other, REVISION] if n % 10 == 9 else [REVISION]) for n in range(N_ITEMS)]
    seed(home, str(tiny), texts)
    app = App(home, {"REALIGN_POLICY": str(tiny), "REALIGN_REVISER": str(tiny), "REALIGN_DEVICE": "cpu"})
    app.start()
    yield app
    app.kill()


@pytest.fixture
def open_desk(curating: App, chromium: Browser) -> Iterator[Callable[..., Desk]]:
    """Open browsers of Ann's that have nothing begun; they are closed with the test."""
    await_nobody(curating)
    sql(curating, "DELETE FROM unfinished")
    opened: list[Desk] = []

    def open_one(**settings: object) -> Desk:
        opened.append(Desk(curating, chromium, **settings))
        return opened[-1]

    yield open_one
    for desk in opened:
        desk.close()


@pytest.fixture
def desk(open_desk: Callable[..., Desk]) -> Desk:
    return open_desk()
