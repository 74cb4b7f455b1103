"""Models that write while a person waits, with the tiny model."""

import threading
import time
from collections.abc import Callable, Generator
from pathlib import Path

import pytest

from realign.errors import RealignError
from realign.generation import Answer
from realign.generation.live import LiveModels
from realign.models.catalog import ModelSpec
from realign.records import Decoding, Message
from tests.tiny import make_tiny_model

CHAT = (Message(role="user", content="Why is the sky blue?"),)
LONG = Decoding(temperature=1.0, max_new_tokens=400)
SHORT = Decoding(temperature=1.0, max_new_tokens=8)


@pytest.fixture(scope="module")
def spec(tmp_path_factory: pytest.TempPathFactory) -> ModelSpec:
    folder = make_tiny_model(tmp_path_factory.mktemp("tiny"))
    return ModelSpec(source=str(folder), cache=folder / "cache", device="cpu")


def wait_until(holds: Callable[[], bool], seconds: float = 30) -> None:
    deadline = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < deadline, "it did not come to pass"
        time.sleep(0.01)


def test_the_state_says_cold_then_ready_then_busy(spec: ModelSpec) -> None:
    models = LiveModels()
    assert models.state().state == "cold"
    models.warm_up(spec).join(60)
    assert models.state().state == "ready"
    writing = models.write(spec, CHAT, SHORT)
    next(writing)
    assert models.state().state == "busy"
    assert isinstance(list(writing)[-1], Answer)
    assert models.state().state == "ready"


def test_a_model_that_cannot_be_loaded_is_the_state_until_another_loads(spec: ModelSpec, tmp_path: Path) -> None:
    models = LiveModels()
    models.warm_up(ModelSpec(source=str(tmp_path), cache=tmp_path)).join(60)
    assert models.state().state == "failed"
    assert "config.json" in models.state().message
    with pytest.raises(RealignError, match=r"config\.json"):
        models.backend(ModelSpec(source=str(tmp_path), cache=tmp_path))
    models.warm_up(spec).join(60)
    assert models.state().state == "ready"


def test_writing_ahead_gives_way_to_a_person_and_is_not_shown_as_busy(spec: ModelSpec) -> None:
    models = LiveModels()
    models.backend(spec)
    pieces: list[object] = []

    def ahead() -> Generator[object]:
        while True:  # it would go on for ever if nobody came
            for step in models.write(spec, CHAT, LONG):
                pieces.append(step)
                yield step

    models.meanwhile(ahead())
    wait_until(lambda: len(pieces) > 0)
    assert models.state().state == "ready"
    assert isinstance(list(models.write(spec, CHAT, SHORT))[-1], Answer)
    wait_until(lambda: not any(thread.name == "write-ahead" for thread in threading.enumerate()))
    n = len(pieces)
    time.sleep(0.2)
    assert len(pieces) == n
