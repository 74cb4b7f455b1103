"""A small server on this machine that speaks OpenAI chat completions, as told by the test."""

import json
import threading
from collections.abc import Callable, Mapping, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, NamedTuple, Self


class Says(NamedTuple):
    """An answer, sent whole or, where the client asks for a stream, piece by piece."""

    pieces: Sequence[str]
    finish: str = "stop"


class Sends(NamedTuple):
    """Any other reply, sent as it is; a body shorter than its announced length is a broken connection."""

    status: int
    body: bytes = b"{}"
    kind: str = "application/json"
    length: int | None = None


class Seen(NamedTuple):
    """One request as it arrived."""

    path: str
    key: str
    body: Mapping[str, Any]


class ChatServer:
    """Replies to every request with what `reply` makes of its body; `with` starts and ends it."""

    def __init__(self, reply: Callable[[Mapping[str, Any]], Says | Sends]) -> None:
        self.seen: list[Seen] = []
        self._http = _Quiet(("127.0.0.1", 0), _handler(self.seen, reply))
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.02,), daemon=True)

    @property
    def source(self) -> str:
        """The address as a model is named in settings."""
        return f"http://127.0.0.1:{self._http.server_port}/v1#tiny"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()


class _Quiet(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing: a client that hangs up is what some tests are about."""


def _handler(seen: list[Seen], reply: Callable[[Mapping[str, Any]], Says | Sends]) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            seen.append(Seen(self.path, self.headers.get("Authorization", ""), body))
            said = reply(body)
            if isinstance(said, Says):
                said = _stream(said) if body.get("stream") else _whole(said)
            self.send_response(said.status)
            self.send_header("Content-Type", said.kind)
            self.send_header("Content-Length", str(len(said.body) if said.length is None else said.length))
            self.send_header("Retry-After-Ms", "1")
            self.end_headers()
            self.wfile.write(said.body)

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the name is the standard library's
            """Say nothing."""

    return Handler


def _whole(said: Says) -> Sends:
    message = {"role": "assistant", "content": "".join(said.pieces)}
    choice = {"index": 0, "message": message, "finish_reason": said.finish}
    usage = {"prompt_tokens": 3, "completion_tokens": len(said.pieces), "total_tokens": 3 + len(said.pieces)}
    return Sends(200, json.dumps({**_head("chat.completion"), "choices": [choice], "usage": usage}).encode())


def _stream(said: Says) -> Sends:
    deltas = [{"index": 0, "delta": {"content": piece}, "finish_reason": None} for piece in said.pieces]
    deltas.append({"index": 0, "delta": {}, "finish_reason": said.finish})
    chunks = [{**_head("chat.completion.chunk"), "choices": [delta]} for delta in deltas]
    chunks.append({**_head("chat.completion.chunk"), "choices": []})  # the usage, as some servers send it
    lines = [f"data: {json.dumps(chunk)}\n\n" for chunk in chunks]
    return Sends(200, "".join([*lines, "data: [DONE]\n\n"]).encode(), "text/event-stream")


def _head(kind: str) -> dict[str, Any]:
    return {"id": "c1", "object": kind, "created": 1, "model": "tiny"}
