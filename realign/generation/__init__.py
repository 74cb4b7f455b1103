"""Text from models: one protocol, whatever it comes from.

`ModelShelf` keeps every base model in memory once and hands out backends on it, so that policy, reviser and
reference share their weights. A new kind of backend is one entry in `BACKENDS`.
"""

import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple, Protocol

from realign.errors import pick
from realign.models.catalog import ModelSpec
from realign.records import Chat, Decoding, Finish, ModelRef

Say = Callable[[str], None]


class Answer(NamedTuple):
    """A text that is done."""

    text: str
    finish: Finish
    n_tokens: int


class Writing(NamedTuple):
    """A text that is still being written."""

    text: str
    n_tokens: int
    tokens_per_s: float


def never() -> bool:
    """Say that nothing has been stopped."""
    return False


class Backend(Protocol):
    """Something that answers conversations."""

    model: ModelRef
    """Exactly what writes here; stored with every text."""

    def generate(
        self,
        chats: Sequence[Chat],
        decoding: Decoding,
        guesses: Sequence[str] = (),
        stopped: Callable[[], bool] = never,
    ) -> list[Answer]:
        """Answer every conversation; the answers come in the order of `chats`.

        `guesses`, if any, holds for each a text that its answer likely copies, such as the draft of a revision. Once
        `stopped` says so, what has ended is kept and the rest comes back as `cancelled`.
        """
        ...

    def stream(self, chat: Chat, decoding: Decoding, guess: str = "") -> Iterator[Writing | Answer]:
        """Answer one conversation as it is written; the last item is the `Answer`. Closing the iterator stops it."""
        ...


class ModelShelf:
    """Every base model in memory once, by what it is loaded from."""

    def __init__(self, say: Say = print) -> None:
        self._say = say
        self._lock = threading.Lock()
        self._bases: dict[tuple[str, ...], Any] = {}

    def backend(self, spec: ModelSpec) -> Backend:
        """Return a backend for `spec`, loading its base where no other backend has done so yet."""
        open_one = pick("server" if spec.is_server else "local", BACKENDS, "backend")
        with self._lock:
            return open_one(spec, self._bases, self._say)


def _local(spec: ModelSpec, bases: dict[tuple[str, ...], Any], say: Say) -> Backend:
    from realign.generation.local import LocalBackend, SharedBase
    from realign.models.loading import load

    key = (spec.source, str(spec.cache), spec.device, spec.precision)
    if key not in bases:
        bases[key] = SharedBase(load(spec, say))
    return LocalBackend(spec, bases[key])


def _server(spec: ModelSpec, bases: dict[tuple[str, ...], Any], say: Say) -> Backend:
    from realign.generation.server import ServerBackend
    from realign.settings import from_environment

    key = from_environment().api_key
    return ServerBackend(spec, key.get_secret_value() if key else None)


BACKENDS: dict[str, Callable[[ModelSpec, dict[tuple[str, ...], Any], Say], Backend]] = {
    "local": _local,
    "server": _server,
}


def open_backend(spec: ModelSpec) -> Backend:
    """Return a backend for `spec` on a shelf of its own."""
    return ModelShelf().backend(spec)
