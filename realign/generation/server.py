"""Text from any OpenAI-compatible server: vLLM, Ollama, llama.cpp, TGI, or a paid one."""

import contextlib
import json
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import openai
from openai.types.chat import ChatCompletion

from realign.errors import ModelUnavailable
from realign.generation import Answer, Writing, never
from realign.models.catalog import ModelSpec, server_address
from realign.records import Chat, Decoding, Finish, ModelRef

CONCURRENT = 8
TIMEOUT_S = 120.0
RETRIES = 3

NO_TEXT = "answered without a text. Is its address right, and does it end in /v1? Look at its log."
BROKE_OFF = "broke off in the middle of its answer. Try again."
SENTENCES: tuple[tuple[type[openai.OpenAIError], str], ...] = (
    (openai.AuthenticationError, "refused the key. Set REALIGN_API_KEY."),
    (openai.PermissionDeniedError, "refused the key. Set REALIGN_API_KEY."),
    (openai.NotFoundError, "has no model '{model}', or its address should end in /v1."),
    (openai.RateLimitError, "is over its limit. Wait a little and try again."),
    (openai.APIStatusError, "answered {status}. Look at its log."),
    (
        openai.APITimeoutError,
        f"said nothing for {TIMEOUT_S:.0f} seconds. It may be loading the model: try again later.",
    ),
    (openai.APIConnectionError, "does not answer. Is it running, and is the address right?"),
    (openai.OpenAIError, "reported an error instead of a text. Look at its log."),
)
"""The first that fits is told, after the server's address."""


class ServerBackend:
    """One model on one server."""

    def __init__(self, spec: ModelSpec, api_key: str | None) -> None:
        self._address, self._name = server_address(spec.source)
        # Local servers want some key in the header and do not look at it.
        self._client = openai.OpenAI(
            base_url=self._address, api_key=api_key or "none", timeout=TIMEOUT_S, max_retries=RETRIES
        )
        self.model = ModelRef(source=spec.source)

    def generate(
        self,
        chats: Sequence[Chat],
        decoding: Decoding,
        guesses: Sequence[str] = (),
        stopped: Callable[[], bool] = never,
    ) -> list[Answer]:
        """Answer every conversation, `CONCURRENT` at a time; servers take no guesses."""

        def one(offset: int, chat: Chat) -> Answer:
            return Answer("", "cancelled", 0) if stopped() else self._one(chat, decoding, offset)

        with ThreadPoolExecutor(CONCURRENT) as pool:
            return list(pool.map(one, range(len(chats)), chats))

    def stream(self, chat: Chat, decoding: Decoding, guess: str = "") -> Iterator[Writing | Answer]:
        """Answer one conversation as it is written; tokens are counted by the pieces the server sends."""
        text, n_pieces, started, finish = "", 0, time.monotonic(), None
        with (
            self._failing_in_words(lambda: bool(text)),
            self._client.chat.completions.create(**self._request(chat, decoding, 0), stream=True) as chunks,
        ):
            for choice in (chunk.choices[0] for chunk in chunks if chunk.choices):
                finish = choice.finish_reason or finish
                if choice.delta and choice.delta.content:
                    text += choice.delta.content
                    n_pieces += 1
                    yield Writing(text, n_pieces, n_pieces / max(time.monotonic() - started, 1e-3))
        if finish is None:
            raise ModelUnavailable(f"The server {self._address} {BROKE_OFF if text else NO_TEXT}")
        yield Answer(text.strip(), _finish(finish), n_pieces)

    def _one(self, chat: Chat, decoding: Decoding, offset: int) -> Answer:
        with self._failing_in_words(lambda: False):
            reply = self._client.chat.completions.create(**self._request(chat, decoding, offset))
        # The client checks no shapes: a web page comes as a string, a field that is missing as None.
        if not isinstance(reply, ChatCompletion) or not reply.choices or not reply.choices[0].message:
            raise ModelUnavailable(f"The server {self._address} {NO_TEXT}")
        choice = reply.choices[0]
        n_tokens = reply.usage.completion_tokens if reply.usage else 0
        return Answer((choice.message.content or "").strip(), _finish(choice.finish_reason), n_tokens)

    def _request(self, chat: Chat, decoding: Decoding, offset: int) -> dict[str, Any]:
        return {
            "model": self._name,
            "messages": [{"role": message.role, "content": message.content} for message in chat],
            "temperature": decoding.temperature,
            "top_p": decoding.top_p,
            "max_tokens": decoding.max_new_tokens,
            "seed": decoding.seed + offset,
        }

    @contextlib.contextmanager
    def _failing_in_words(self, begun: Callable[[], bool]) -> Iterator[None]:
        """Turn the client's errors into `ModelUnavailable`; `begun` says whether some text had come before."""
        try:
            yield
        except json.JSONDecodeError as error:
            raise ModelUnavailable(f"The server {self._address} {NO_TEXT}") from error
        except openai.OpenAIError as error:
            sentence = next(words for kind, words in SENTENCES if isinstance(error, kind))
            if begun() and isinstance(error, openai.APIConnectionError):
                sentence = BROKE_OFF
            told = sentence.format(model=self._name, status=getattr(error, "status_code", None))
            raise ModelUnavailable(f"The server {self._address} {told}") from error


def _finish(reason: str | None) -> Finish:
    return "length" if reason == "length" else "stop"
