"""An OpenAI-compatible server: answers come home in order, and every way it can fail is a sentence of its own."""

import socket
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from chat_server import ChatServer, Says, Sends

from realign.errors import InvalidInput, ModelUnavailable
from realign.generation import Answer, ModelShelf, Writing
from realign.generation.server import ServerBackend
from realign.models.catalog import ModelSpec
from realign.records import Chat, Decoding, Message

KEY = "sk-a-secret-key"
DECODING = Decoding(temperature=0.5, top_p=0.9, max_new_tokens=32, seed=7)


def chat(text: str) -> Chat:
    return (Message(role="system", content="Be brief."), Message(role="user", content=text))


def backend(source: str, key: str | None = KEY) -> ServerBackend:
    return ServerBackend(ModelSpec(source=source, cache=Path("/nowhere")), key)


def echo(body: Mapping[str, Any]) -> Says:
    return Says(["You said: ", body["messages"][-1]["content"]])


def test_answers_come_in_the_order_of_the_conversations() -> None:
    with ChatServer(echo) as server:
        answers = backend(server.source).generate([chat(f"number {i}") for i in range(20)], DECODING)
    assert [answer.text for answer in answers] == [f"You said: number {i}" for i in range(20)]
    assert {answer.finish for answer in answers} == {"stop"}
    assert {answer.n_tokens for answer in answers} == {2}


def test_the_order_holds_also_where_the_first_answer_comes_last() -> None:
    others = threading.Semaphore(0)

    def reply(body: Mapping[str, Any]) -> Says:
        if body["messages"][-1]["content"] == "0":
            for _ in range(3):
                others.acquire(timeout=20)
        else:
            others.release()
        return echo(body)

    with ChatServer(reply) as server:
        answers = backend(server.source).generate([chat(str(i)) for i in range(4)], DECODING)
    assert [answer.text for answer in answers] == [f"You said: {i}" for i in range(4)]


def test_the_request_carries_model_messages_decoding_and_key() -> None:
    with ChatServer(echo) as server:
        made = backend(server.source)
        made.generate([chat("a"), chat("b")], DECODING)
        seen = sorted(server.seen, key=lambda one: one.body["seed"])
    assert [(one.path, one.key) for one in seen] == [("/v1/chat/completions", f"Bearer {KEY}")] * 2
    assert [one.body["seed"] for one in seen] == [7, 8]
    body = seen[0].body
    assert (body["model"], body["temperature"], body["top_p"], body["max_tokens"]) == ("tiny", 0.5, 0.9, 32)
    assert body["messages"] == [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "a"}]
    assert made.model.source == server.source


def test_a_stream_grows_and_ends_with_the_answer() -> None:
    with ChatServer(lambda body: Says(["A", " b", " c "], "length")) as server:
        items = list(backend(server.source).stream(chat("x"), DECODING))
    assert [item.text for item in items[:-1]] == ["A", "A b", "A b c "]
    assert all(isinstance(item, Writing) for item in items[:-1])
    assert items[-1] == Answer("A b c", "length", 3)


def test_a_stream_that_is_closed_asks_for_no_more() -> None:
    with ChatServer(lambda body: Says([f"{i} " for i in range(500)])) as server:
        stream = backend(server.source).stream(chat("x"), DECODING)
        next(stream)
        stream.close()
        assert list(stream) == []


def test_text_of_any_alphabet_comes_home_whole() -> None:
    with ChatServer(echo) as server:
        [answer] = backend(server.source).generate([chat("雨 — שלום 🎉\u2028x")], DECODING)
    assert answer.text == "You said: 雨 — שלום 🎉\u2028x"


def test_an_empty_text_is_an_empty_answer() -> None:
    with ChatServer(lambda body: Says([])) as server:
        assert backend(server.source).generate([chat("x")], DECODING) == [Answer("", "stop", 0)]


STATUSES = {
    401: "refused the key. Set REALIGN_API_KEY",
    403: "refused the key. Set REALIGN_API_KEY",
    404: "has no model 'tiny', or its address should end in /v1",
    429: "is over its limit",
    400: "answered 400",
    500: "answered 500",
}


def whole(made: ServerBackend) -> None:
    made.generate([chat("x")], DECODING)


def streamed(made: ServerBackend) -> None:
    list(made.stream(chat("x"), DECODING))


@pytest.mark.parametrize("ask", [whole, streamed])
@pytest.mark.parametrize("status", STATUSES)
def test_every_refusal_has_its_own_sentence(status: int, ask: Callable[[ServerBackend], None]) -> None:
    body = b'{"error": {"message": "no: sk-a-secret-key", "code": "x"}}'
    with ChatServer(lambda _: Sends(status, body)) as server, pytest.raises(ModelUnavailable) as caught:
        ask(backend(server.source))
    assert STATUSES[status] in str(caught.value)
    assert server.source.partition("#")[0] in str(caught.value)
    assert KEY not in str(caught.value)


@pytest.mark.parametrize("ask", [whole, streamed])
def test_a_dead_port_asks_whether_the_server_runs(ask: Callable[[ServerBackend], None]) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # bound and not listening: nobody else gets this port, and nobody answers
        with pytest.raises(ModelUnavailable, match=r"does not answer\. Is it running"):
            ask(backend(f"http://127.0.0.1:{taken.getsockname()[1]}/v1#tiny"))


@pytest.mark.parametrize(
    "reply",
    [
        Sends(200, b'{"choices": []}'),
        Sends(200, b"{}"),
        Sends(200, b'{"error": "overloaded"}'),
        Sends(200, b"<html>It works!</html>", "text/html"),
        Sends(200, b"not JSON"),
        Sends(200, b'{"choices": [{"index": 0}]}'),
    ],
    ids=["empty choices", "no choices", "error object", "a web page", "no JSON", "no message"],
)
def test_a_reply_without_a_text_is_no_answer(reply: Sends) -> None:
    with ChatServer(lambda _: reply) as server, pytest.raises(ModelUnavailable, match="answered without a text"):
        whole(backend(server.source))


@pytest.mark.parametrize(
    "reply",
    [
        Sends(200, b"", "text/event-stream"),
        Sends(200, b"data: [DONE]\n\n", "text/event-stream"),
        Sends(200, b"<html>It works!</html>", "text/html"),
    ],
    ids=["nothing", "only the end", "a web page"],
)
def test_a_stream_without_a_choice_is_no_answer(reply: Sends) -> None:
    with ChatServer(lambda _: reply) as server, pytest.raises(ModelUnavailable, match="answered without a text"):
        streamed(backend(server.source))


@pytest.mark.parametrize("line", [b"data: {oops\n\n", b'data: {"error": {"message": "out of memory"}}\n\n'])
def test_a_stream_that_turns_into_an_error_is_no_answer(line: bytes) -> None:
    with ChatServer(lambda _: Sends(200, line, "text/event-stream")) as server, pytest.raises(ModelUnavailable):
        streamed(backend(server.source))


def test_a_connection_that_breaks_within_the_answer_is_no_short_answer() -> None:
    piece = b'data: {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "tiny", "choices": '
    piece += b'[{"index": 0, "delta": {"content": "Half"}, "finish_reason": null}]}\n\n'
    torn = Sends(200, piece, "text/event-stream", length=len(piece) + 100)
    with ChatServer(lambda _: torn) as server:
        stream = backend(server.source).stream(chat("x"), DECODING)
        first = next(stream)
        assert first.text == "Half"
        with pytest.raises(ModelUnavailable, match="broke off"):
            next(stream)


def test_a_stream_that_ends_without_a_reason_is_no_short_answer() -> None:
    piece = b'data: {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "tiny", "choices": '
    piece += b'[{"index": 0, "delta": {"content": "Half"}, "finish_reason": null}]}\n\n'
    with ChatServer(lambda _: Sends(200, piece, "text/event-stream")) as server:
        stream = backend(server.source).stream(chat("x"), DECODING)
        next(stream)
        with pytest.raises(ModelUnavailable, match="broke off"):
            next(stream)


def test_a_server_that_recovers_is_asked_again() -> None:
    replies = iter([Sends(500), Sends(429), Says(["Back."])])
    with ChatServer(lambda _: next(replies)) as server:
        assert backend(server.source).generate([chat("x")], DECODING)[0].text == "Back."
        assert len(server.seen) == 3


def test_one_failure_among_many_fails_the_batch_without_asking_for_the_rest() -> None:
    with ChatServer(lambda _: Sends(404)) as server:
        with pytest.raises(ModelUnavailable):
            backend(server.source).generate([chat(str(i)) for i in range(100)], DECODING)
        assert len(server.seen) < 50


def test_the_key_is_in_no_record_and_in_no_description() -> None:
    made = backend("http://127.0.0.1:1/v1#tiny")
    assert KEY not in made.model.model_dump_json()
    assert KEY not in f"{made!r}{made.__dict__}"


def test_an_address_without_a_model_is_refused() -> None:
    with pytest.raises(InvalidInput, match="needs a model name behind '#'"):
        backend("http://127.0.0.1:1/v1")


def test_without_a_key_a_local_server_is_asked_all_the_same(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("REALIGN_API_KEY", raising=False)
    with ChatServer(echo) as server:
        made = ModelShelf(lambda message: None).backend(ModelSpec(source=server.source, cache=tmp_path))
        assert made.generate([chat("hi")], DECODING)[0].text == "You said: hi"


def test_the_key_comes_from_the_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("REALIGN_API_KEY", KEY)
    with ChatServer(echo) as server:
        ModelShelf(lambda message: None).backend(ModelSpec(source=server.source, cache=tmp_path)).generate(
            [chat("hi")], DECODING
        )
        assert server.seen[0].key == f"Bearer {KEY}"
