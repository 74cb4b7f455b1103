"""The models that write while a person waits: loaded in the background, with a state that the screen can show."""

import contextlib
import logging
import threading
from collections.abc import Callable, Generator, Iterator, Sequence
from typing import Literal, NamedTuple

from realign.errors import InvalidInput, ModelUnavailable, RealignError
from realign.generation import Answer, Backend, ModelShelf, Writing, never
from realign.models.catalog import ModelSpec
from realign.records import Chat, Decoding

log = logging.getLogger("realign.generation")


class ModelState(NamedTuple):
    """What the models are doing, in one word and one sentence."""

    state: Literal["cold", "loading", "ready", "busy", "failed"]
    message: str


class LiveModels:
    """Backends by model, opened once and shared by everyone who waits."""

    def __init__(self) -> None:
        self._shelf = ModelShelf(self.say)
        self._opening = threading.Lock()
        self._backends: dict[ModelSpec, Backend] = {}
        self._message = ""
        self._loading = False
        self._failure: RealignError | None = None
        self._n_writing = 0
        self._ahead = threading.Lock()
        self._counting = threading.Lock()

    def warm_up(self, *specs: ModelSpec) -> threading.Thread:
        """Load `specs` in the background; `state` tells how it goes."""
        thread = threading.Thread(target=self._warm, args=(specs,), name="warm-up", daemon=True)
        self._loading = True
        thread.start()
        return thread

    def backend(self, spec: ModelSpec) -> Backend:
        """Return the backend of `spec`, loading it where needed; raise `ModelUnavailable` with what to do."""
        with self._opening:
            if spec not in self._backends:
                self._loading = True
                try:
                    self._backends[spec] = self._shelf.backend(spec)
                    self._failure = None
                except RealignError as error:
                    self._failure = error
                    raise
                finally:
                    self._loading = False
            return self._backends[spec]

    def write(self, spec: ModelSpec, chat: Chat, decoding: Decoding, *, guess: str = "") -> Iterator[Writing | Answer]:
        """Stream one answer, which may copy from `guess`; raise `ModelUnavailable` where the text came out empty."""
        backend = self.backend(spec)
        with self._writing():
            last: Writing | Answer | None = None
            for last in backend.stream(chat, decoding, guess):
                yield last
        if not isinstance(last, Answer) or not last.text:
            raise ModelUnavailable(f"{spec.label} wrote nothing. Try again: another seed gives another text.")

    def write_together(
        self, spec: ModelSpec, chats: Sequence[Chat], decoding: Decoding, guesses: Sequence[str] = ()
    ) -> list[Answer]:
        """Write several answers at once for somebody who waits; raise `ModelUnavailable` where all came out empty."""
        backend = self.backend(spec)
        with self._writing():
            answers = [answer for answer in backend.generate(chats, decoding, guesses) if answer.text]
        if chats and not answers:
            raise ModelUnavailable(f"{spec.label} wrote nothing. Try again: another seed gives another text.")
        return answers

    def write_aside(
        self,
        spec: ModelSpec,
        chats: Sequence[Chat],
        decoding: Decoding,
        guesses: Sequence[str] = (),
        *,
        stopped: Callable[[], bool] = never,
    ) -> list[Answer | None]:
        """Write answers that nobody waits for; once somebody waits, or `stopped` holds, the unfinished ones are None.

        None, too, for a conversation that the model cannot take; it does not stand in the way of the others.
        """
        if not chats:
            return []
        try:
            backend = self.backend(spec)
            answers = backend.generate(chats, decoding, guesses, stopped=lambda: self._n_writing > 0 or stopped())
        except InvalidInput as error:
            if len(chats) == 1:
                log.info("Not written ahead: %s", error)
                return [None]
            alone = zip(chats, guesses or [""] * len(chats), strict=True)
            return [self.write_aside(spec, [chat], decoding, [guess], stopped=stopped)[0] for chat, guess in alone]
        return [answer if answer.text and answer.finish != "cancelled" else None for answer in answers]

    def meanwhile(self, work: Generator[object]) -> None:
        """Go through `work` in the background, as far as it gets until somebody waits for a model."""
        if not self._ahead.acquire(blocking=False):
            return

        def run() -> None:
            try:
                with contextlib.closing(work):
                    for _ in work:
                        if self._n_writing > 0:
                            break
            except RealignError as error:  # nobody waits for this text; who asks for it will be told
                log.warning("Writing ahead ended: %s", error)
            finally:
                self._ahead.release()

        threading.Thread(target=run, name="write-ahead", daemon=True).start()

    def state(self) -> ModelState:
        """Return what the screen should say of the models."""
        if self._failure:
            return ModelState("failed", str(self._failure))
        if self._loading:
            return ModelState("loading", self._message or "Loading the models")
        if self._n_writing > 0:
            waiting = f", {self._n_writing - 1} waiting" if self._n_writing > 1 else ""
            return ModelState("busy", f"The model is writing{waiting}")
        return ModelState("ready", "Models ready") if self._backends else ModelState("cold", "Models not loaded yet")

    def _warm(self, specs: tuple[ModelSpec, ...]) -> None:
        with contextlib.suppress(RealignError):  # kept as the failure that `state` shows
            for spec in specs:
                self.backend(spec)

    @contextlib.contextmanager
    def _writing(self) -> Iterator[None]:
        with self._counting:
            self._n_writing += 1
        try:
            yield
        finally:
            with self._counting:
                self._n_writing -= 1

    def say(self, message: str) -> None:
        """Take note of what the loading is at, such as `Fetching the embedded model (93 MB)`."""
        self._message = message
