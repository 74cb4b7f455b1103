"""Text from weights in memory, through transformers.

One base serves any number of adapters; one request computes at a time, others wait for its lock.
"""

import contextlib
import queue
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from peft import PeftModel
from safetensors import SafetensorError
from transformers import GenerationConfig, StoppingCriteria, StoppingCriteriaList
from transformers.generation.streamers import BaseStreamer

from realign.errors import InvalidInput, ModelUnavailable
from realign.generation import Answer, Writing
from realign.models.catalog import ModelSpec
from realign.models.control_tokens import control_tokens, defuse
from realign.models.loading import Loaded, adapter_hash
from realign.records import Chat, Decoding, Finish, ModelRef

if TYPE_CHECKING:
    from transformers import PreTrainedModel

UPDATES_PER_S = 20
BATCH = 16


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


class _Pieces(BaseStreamer):  # type: ignore[misc]
    """Hands token ids from the generating thread to the reading one; `None` ends them."""

    def __init__(self) -> None:
        self.queue: queue.Queue[list[int] | None] = queue.Queue()
        self._prompt_passed = False

    def put(self, value: torch.Tensor) -> None:
        if self._prompt_passed:
            self.queue.put(value.flatten().tolist())
        self._prompt_passed = True

    def end(self) -> None:
        self.queue.put(None)


class _WhenAsked(StoppingCriteria):  # type: ignore[misc]
    """Ends a generation at the next token once the event is set."""

    def __init__(self, event: threading.Event) -> None:
        self._event = event

    def __call__(self, input_ids: torch.Tensor, scores: torch.Tensor, **kwargs: Any) -> torch.Tensor:
        return torch.full((input_ids.shape[0],), self._event.is_set(), device=input_ids.device)


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

    def generate(self, chats: Sequence[Chat], decoding: Decoding) -> list[Answer]:
        """Answer every conversation, `BATCH` at a time."""
        answers: list[Answer] = []
        for start in range(0, len(chats), BATCH):
            with self._base.using(self._adapter) as model:
                inputs = self._encode(chats[start : start + BATCH], decoding).to(model.device)
                torch.manual_seed(decoding.seed + start)
                output = model.generate(**inputs, **self._settings(decoding))
            answers += [self._answer(row.tolist(), decoding) for row in output[:, inputs["input_ids"].shape[1] :]]
        return answers

    def stream(self, chat: Chat, decoding: Decoding) -> Iterator[Writing | Answer]:
        """Answer one conversation as it is written."""
        pieces, stop = _Pieces(), threading.Event()
        failure: list[BaseException] = []
        inputs = self._encode([chat], decoding)

        def write() -> None:
            try:
                with self._base.using(self._adapter) as model:
                    torch.manual_seed(decoding.seed)
                    criteria = StoppingCriteriaList([_WhenAsked(stop)])
                    model.generate(
                        **inputs.to(model.device),
                        **self._settings(decoding),
                        streamer=pieces,
                        stopping_criteria=criteria,
                    )
            except BaseException as error:  # noqa: BLE001 - it is raised again in the reading thread
                failure.append(error)
                pieces.end()

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

    def _partial_texts(self, pieces: _Pieces, ids: list[int]) -> Iterator[Writing]:
        """Yield the growing text at most `UPDATES_PER_S` times a second, and collect its tokens in `ids`."""
        started = last = None
        while (piece := pieces.queue.get()) is not None:
            now = time.monotonic()
            started = started or now
            ids += piece
            if last is None or now - last > 1 / UPDATES_PER_S:
                last = now
                # Half of a multi-byte character decodes to U+FFFD until its other half is there.
                yield Writing(self._decode(ids).rstrip("\ufffd"), len(ids), len(ids) / max(now - started, 1e-3))

    def _encode(self, chats: Sequence[Chat], decoding: Decoding) -> Any:
        tokenizer = self._base.tokenizer
        tokenizer.padding_side = "left"
        special = control_tokens(tokenizer)
        messages = [[{"role": m.role, "content": defuse(m.content, special)} for m in chat] for chat in chats]
        inputs = tokenizer.apply_chat_template(
            messages, add_generation_prompt=True, return_tensors="pt", return_dict=True, padding=True
        )
        longest = inputs["input_ids"].shape[1]
        if longest + decoding.max_new_tokens > self._base.max_length:
            which = chats[int(inputs["attention_mask"].sum(dim=1).argmax())][-1].content
            raise InvalidInput(
                f"The conversation that ends with '{which[:40]}…' has {longest} tokens; with {decoding.max_new_tokens} "
                f"new ones it would pass the {self._base.max_length} tokens this model takes. Shorten it, or lower the "
                "number of new tokens."
            )
        return inputs

    def _settings(self, decoding: Decoding) -> dict[str, Any]:
        tokenizer = self._base.tokenizer
        settings: dict[str, Any] = {
            "max_new_tokens": decoding.max_new_tokens,
            "pad_token_id": tokenizer.pad_token_id,
            "eos_token_id": self._base.end_ids,
            "do_sample": decoding.temperature > 0,
        }
        if decoding.temperature > 0:
            settings |= {"temperature": decoding.temperature, "top_p": decoding.top_p, "top_k": 0}
        return settings

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
