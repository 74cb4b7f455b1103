"""What stands between the network and the page: foreign origins, forged hosts and the file proxy are refused."""

from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any
from urllib.parse import unquote, urlsplit

Message = MutableMapping[str, Any]
Send = Callable[[Message], Awaitable[None]]
Receive = Callable[[], Awaitable[Message]]
App = Callable[[MutableMapping[str, Any], Receive, Send], Awaitable[None]]

SAFE = frozenset({"GET", "HEAD", "OPTIONS"})
CROSS_ORIGIN = (b"access-control-allow-origin", b"access-control-allow-credentials")
FORWARDED = (b"x-forwarded-host", b"x-forwarded-proto", b"x-forwarded-for", b"forwarded")


class Guard:
    """Pure ASGI, so that streams pass through unbuffered."""

    def __init__(self, app: App, trust_proxy: bool = False) -> None:
        self._app = app
        self._trust_proxy = trust_proxy

    async def __call__(self, scope: MutableMapping[str, Any], receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = list(scope["headers"])
        if not self._trust_proxy:
            headers = [(name, value) for name, value in headers if name.lower() not in FORWARDED]
        found = {name.lower(): value.decode("latin-1") for name, value in headers}
        if _names_a_remote_file(scope):
            await _refuse(send, 403, "This address is not served here.")
        elif scope["method"] not in SAFE and not self._is_own(found):
            await _refuse(send, 403, "Requests from other sites are refused.")
        else:
            await self._app({**scope, "headers": headers}, receive, _without_cross_origin(send))

    def _is_own(self, headers: dict[bytes, str]) -> bool:
        origin = headers.get(b"origin")
        if origin is None:  # no browser page asks: a terminal, a health check
            return headers.get(b"sec-fetch-site", "same-origin") in ("same-origin", "none")
        hosts = {headers.get(b"host"), headers.get(b"x-forwarded-host") if self._trust_proxy else None}
        return urlsplit(origin).netloc in hosts


def _names_a_remote_file(scope: MutableMapping[str, Any]) -> bool:
    """Say whether the path asks the server to fetch something from another server."""
    path = unquote(unquote(scope.get("raw_path", b"").decode("latin-1") + scope["path"])).lower()
    return any(f"{marker}{scheme}" in path for marker in ("file=", "file/", "proxy=") for scheme in ("http:", "https:"))


def _without_cross_origin(send: Send) -> Send:
    async def guarded(message: Message) -> None:
        if message["type"] == "http.response.start":
            kept = [pair for pair in message.get("headers", ()) if pair[0].lower() not in CROSS_ORIGIN]
            message = {**message, "headers": kept}
        await send(message)

    return guarded


async def _refuse(send: Send, status: int, sentence: str) -> None:
    headers = [(b"content-type", b"text/plain; charset=utf-8")]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": sentence.encode()})
