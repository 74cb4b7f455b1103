"""The guard between the network and the page, asked directly."""

import asyncio
from collections.abc import MutableMapping
from typing import Any

import pytest

from realign.ui.guard import Guard


def ask(
    method: str = "GET", path: str = "/", headers: dict[str, str] | None = None, trust_proxy: bool = False
) -> tuple[int, dict[bytes, bytes], dict[bytes, bytes]]:
    """Return status, reply headers and the headers that reached the app (empty where it was not reached)."""
    reached: dict[bytes, bytes] = {}
    sent: list[MutableMapping[str, Any]] = []

    async def app(scope: MutableMapping[str, Any], receive: Any, send: Any) -> None:
        reached.update(dict(scope["headers"]))
        reply = [(b"access-control-allow-origin", b"*"), (b"content-type", b"text/plain")]
        await send({"type": "http.response.start", "status": 200, "headers": reply})
        await send({"type": "http.response.body", "body": b"ok"})

    async def receive() -> MutableMapping[str, Any]:
        return {"type": "http.request", "body": b""}

    async def send(message: MutableMapping[str, Any]) -> None:
        sent.append(message)

    raw = [(name.encode(), value.encode()) for name, value in {"host": "studio.example", **(headers or {})}.items()]
    scope = {"type": "http", "method": method, "path": path, "raw_path": path.encode(), "headers": raw}
    asyncio.run(Guard(app, trust_proxy)(scope, receive, send))
    return sent[0]["status"], dict(sent[0]["headers"]), reached


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "http://studio.example.evil.example"])
def test_a_foreign_origin_may_not_change_anything(origin: str) -> None:
    assert ask("POST", headers={"origin": origin})[0] == 403


def test_the_own_origin_and_a_terminal_may() -> None:
    assert ask("POST", headers={"origin": "http://studio.example"})[0] == 200
    assert ask("POST")[0] == 200


def test_a_cross_site_request_without_origin_is_refused() -> None:
    assert ask("POST", headers={"sec-fetch-site": "cross-site"})[0] == 403


def test_no_reply_opens_the_page_to_other_origins() -> None:
    assert b"access-control-allow-origin" not in ask()[1]


def test_forwarded_headers_reach_the_app_only_behind_a_trusted_proxy() -> None:
    forged = {"x-forwarded-host": "evil.example"}
    assert b"x-forwarded-host" not in ask(headers=forged)[2]
    assert ask(headers=forged, trust_proxy=True)[2][b"x-forwarded-host"] == b"evil.example"


@pytest.mark.parametrize(
    "path",
    [
        "/gradio_api/file=http://evil.example/x",
        "/gradio_api/file=https%3A//evil.example/x",
        "/gradio_api/file%3Dhttp%253A//evil.example/x",
        "/gradio_api/proxy=https://evil.example/x",
    ],
)
def test_the_server_fetches_nothing_for_others(path: str) -> None:
    assert ask(path=path)[0] == 403


def test_a_file_of_its_own_passes() -> None:
    assert ask(path="/gradio_api/file=/tmp/export.jsonl")[0] == 200
