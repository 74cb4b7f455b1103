from collections.abc import Iterator
from pathlib import Path

import pytest

from realign.store import Store


@pytest.fixture
def url(tmp_path: Path) -> str:
    """The address of a database that does not exist yet, in a folder that does not exist yet."""
    return f"sqlite:///{tmp_path / 'home' / 'realign.sqlite3'}"


@pytest.fixture
def store(url: str) -> Iterator[Store]:
    opened = Store(url)
    yield opened
    opened.close()
