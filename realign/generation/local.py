"""Text from weights in memory, through transformers.

One base serves any number of adapters; one request computes at a time, others wait for its lock.
"""

import contextlib
import queue
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from peft import PeftModel
from safetensors import SafetensorError
from transformers import GenerationConfig

from realign.errors import InvalidInput, ModelUnavailable
from realign.generation import Answer, Writing, never
from realign.generation.decode import Bounds, Choice, draws, write_many, write_one
from realign.generation.few_rows import quicken
from realign.models.catalog import ModelSpec
from realign.models.control_tokens import control_tokens, defuse
from realign.models.loading import Loaded, adapter_hash
from realign.records import Chat, Decoding, Finish, ModelRef

if TYPE_CHECKING:
    from transformers import PreTrainedModel

UPDATES_PER_S = 20
BATCH = 16

ALONE = 4
"""Conversations up to which guesses beat a batch: a guess brings some six tokens a step, which costs 1.4 times as much.
"""


class SharedBase:
    """A base model and the adapters loaded onto it so far."""

    def __init__(self, loaded: Loaded) -> None:
        self.tokenizer = loaded.tokenizer
        self.revision = loaded.revision
        self.end_ids = _end_ids(loaded)
        """Tokens that end an answer."""
        # The habits that a model's makers ship, such as a repetition penalty, would come on top of the decoding that is
        # stored with every text.
        loaded.model.generation_config = GenerationConfig()
        quicken(loaded.model)
        self.lock = threading.Lock()
        self._model: PreTrainedModel | PeftModel = loaded.model
        self._adapters: set[str] = set()

    @property
    def max_length(self) -> int:
        """Longest conversation the model was built for, in tokens."""
        return int(self._model.config.max_position_embeddings)

    def add(self, folder: Path, name: str) -> None:
        """Load an adapter under `name`, once; raise `ModelUnavailable` where it does not fit this base."""
        with self.lock:
            if name in self._adapters:
                return
            try:
                if isinstance(self._model, PeftModel):
                    self._model.load_adapter(str(folder), adapter_name=name)
                else:
                    self._model = PeftModel.from_pretrained(self._model, str(folder), adapter_name=name)
            except (OSError, ValueError, KeyError, RuntimeError, SafetensorError) as error:
                reason = str(error).splitlines()[0]
                raise ModelUnavailable(f"The adapter in {folder} does not fit its base model: {reason}") from error
            self._adapters.add(name)
            self._model.eval()

    @contextlib.contextmanager
    def using(self, adapter: str | None) -> Iterator[Any]:
        """Give the model with `adapter` switched on, or the bare base, to one caller at a time."""
        with self.lock:
            if not isinstance(self._model, PeftModel):
                yield self._model
            elif adapter is None:
                with self._model.disable_adapter():
                    yield self._model
            else:
                self._model.set_adapter(adapter)
                yield self._model


def _end_ids(loaded: Loaded) -> list[int]:
    shipped = loaded.model.generation_config.eos_token_id
    listed = shipped if isinstance(shipped, list) else [shipped]
    return sorted({i for i in (loaded.tokenizer.eos_token_id, *listed) if i is not None})


class LocalBackend:
    """The base with one adapter, or with none."""

    def __init__(self, spec: ModelSpec, base: SharedBase) -> None:
        self._base = base
        self._adapter: str | None = None
        digest = None
        if spec.adapter:
            digest = adapter_hash(spec.adapter)
            self._adapter = f"a{digest[:16]}"
            base.add(spec.adapter, self._adapter)
        self.model = ModelRef(source=spec.source, revision=base.revision, adapter=spec.adapter_run, adapter_hash=digest)

    def generate(
        self,
        chats: Sequence[Chat],
        decoding: Decoding,
        guesses: Sequence[str] = (),
        stopped: Callable[[], bool] = never,
    ) -> list[Answer]:
        """Answer every conversation, `BATCH` at a time; the same one asked twice is read once.

        A step costs little more for sixteen rows than for one: only `ALONE` texts or fewer are guessed.
        """
        if decoding.temperature == 0 and len(set(chats)) < len(chats):  # what is asked twice is answered alike
            distinct = list(dict.fromkeys(chats))
            guessed = [guesses[chats.index(chat)] for chat in distinct] if guesses else ()
            answers = dict(zip(distinct, self.generate(distinct, decoding, guessed, stopped), strict=True))
            return [answers[chat] for chat in chats]
        bounds = Bounds(self._base.end_ids, decoding.max_new_tokens, stopped)
        numbers = draws(decoding, len(chats))
        written: list[list[int]] = []
        for start in range(0, len(chats), BATCH):
            prompts = self._prompts(chats[start : start + BATCH], decoding)
            with self._base.using(self._adapter) as model:
                if guesses and len(prompts) <= ALONE:
                    for i, prompt in enumerate(prompts, start):
                        pieces = write_one(
                            model, prompt, Choice(decoding, numbers[i:]), bounds, self._guess(guesses[i])
                        )
                        written.append([token for piece in pieces for token in piece])
                else:
                    choice = Choice(decoding, numbers[start:])
                    written += write_many(model, prompts, choice, bounds, self._base.tokenizer.pad_token_id)
        return [self._answer(ids, decoding) for ids in written]

    def stream(self, chat: Chat, decoding: Decoding, guess: str = "") -> Iterator[Writing | Answer]:
        """Answer one conversation as it is written."""
        pieces: queue.Queue[list[int] | None] = queue.Queue()
        stop = threading.Event()
        failure: list[BaseException] = []
        [prompt] = self._prompts([chat], decoding)
        bounds = Bounds(self._base.end_ids, decoding.max_new_tokens, stop.is_set)

        def write() -> None:
            try:
                with self._base.using(self._adapter) as model:
                    choice = Choice(decoding, draws(decoding, 1))
                    for piece in write_one(model, prompt, choice, bounds, self._guess(guess)):
                        pieces.put(piece)
            except BaseException as error:  # noqa: BLE001 - it is raised again in the reading thread
                failure.append(error)
            finally:
                pieces.put(None)

        writer = threading.Thread(target=write, name="generate", daemon=True)
        writer.start()
        ids: list[int] = []
        try:
            yield from self._partial_texts(pieces, ids)
        finally:
            stop.set()
            writer.join()
        if failure:
            raise failure[0]
        yield self._answer(ids, decoding)

    def _partial_texts(self, pieces: queue.Queue[list[int] | None], ids: list[int]) -> Iterator[Writing]:
        """Yield the growing text at most `UPDATES_PER_S` times a second, and collect its tokens in `ids`."""
        started = last = None
        while (piece := pieces.get()) is not None:
            now = time.monotonic()
            started = started or now
            ids += piece
            if last is None or now - last > 1 / UPDATES_PER_S:
                last = now
                # Half of a multi-byte character decodes to U+FFFD until its other half is there.
                yield Writing(self._decode(ids).rstrip("\ufffd"), len(ids), len(ids) / max(now - started, 1e-3))

    def _prompts(self, chats: Sequence[Chat], decoding: Decoding) -> list[list[int]]:
        """Return the tokens of every conversation up to where its answer begins."""
        tokenizer = self._base.tokenizer
        special = control_tokens(tokenizer)
        messages = [[{"role": m.role, "content": defuse(m.content, special)} for m in chat] for chat in chats]
        inputs = tokenizer.apply_chat_template(messages, add_generation_prompt=True, return_dict=True)
        prompts: list[list[int]] = inputs["input_ids"]
        longest = max(len(prompt) for prompt in prompts)
        if longest + decoding.max_new_tokens > self._base.max_length:
            which = chats[[len(prompt) for prompt in prompts].index(longest)][-1].content
            raise InvalidInput(
                f"The conversation that ends with '{which[:40]}…' has {longest} tokens; with {decoding.max_new_tokens} "
                f"new ones it would pass the {self._base.max_length} tokens this model takes. Shorten it, or lower the "
                "number of new tokens."
            )
        return prompts

    def _guess(self, text: str) -> list[int]:
        """Return the tokens of a text that is likely copied and then ended."""
        tokenizer = self._base.tokenizer
        if not text:
            return []
        return [
            *tokenizer(defuse(text, control_tokens(tokenizer)), add_special_tokens=False)["input_ids"],
            tokenizer.eos_token_id,
        ]

    def _answer(self, ids: list[int], decoding: Decoding) -> Answer:
        ended = next((i for i, token in enumerate(ids) if token in self._base.end_ids), None)
        if ended is not None:
            ids = ids[:ended]
            return Answer(self._decode(ids).strip(), "stop", len(ids))
        finish: Finish = "length" if len(ids) >= decoding.max_new_tokens else "cancelled"
        return Answer(self._decode(ids).rstrip("\ufffd").strip(), finish, len(ids))

    def _decode(self, ids: list[int]) -> str:
        # A NUL, which byte-level models can write, is taken by no database and no file.
        return str(self._base.tokenizer.decode(ids, skip_special_tokens=True)).replace("\0", "")
