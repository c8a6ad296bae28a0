"""The public address of the stack: maps a port of its own to the deployed HTTP API and nothing else.

What a handler sees is what API Gateway shows it: repeated headers joined by commas, the path undecoded for the
gateway to decode, and the `X-Forwarded-*` headers that AWS adds. Nothing of the emulator's own paths is reachable.
"""

import json
import secrets
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping, MutableMapping
from typing import Any

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Mapping[str, Any]]]
Send = Callable[[Mapping[str, Any]], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

BODY_LIMIT = 10 * 1024 * 1024
"""AWS: largest request body of an HTTP API, in bytes."""

HEAD_LIMIT = 10_240
"""AWS: request line and header values of an HTTP API together, in bytes."""

_HOP_BY_HOP = frozenset({b"connection", b"keep-alive", b"transfer-encoding", b"upgrade", b"te", b"trailer", b"expect"})


class FrontDoor:
    """An ASGI app in front of the engine: requests on `port` go to the HTTP API, all others to the engine."""

    def __init__(self, engine: App, port: int) -> None:
        self._engine = engine
        self._port = port
        self._prefix: str | None = None

    def open(self, api_id: str) -> None:
        """From now on the public port leads to this HTTP API's default stage."""
        self._prefix = f"/_aws/execute-api/{api_id}/$default"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one connection event."""
        if scope["type"] == "lifespan" or scope["server"][1] != self._port:
            await self._engine(scope, receive, send)
        elif scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1008})
        elif self._prefix is None:
            await _answer(send, 503, "Service Unavailable")
        elif _head_size(scope) > HEAD_LIMIT:
            await _answer(send, 431, "Request Header Fields Too Large")
        else:
            body = await _read_body(scope, receive)
            if body is None:
                await _answer(send, 413, "Request Entity Too Large")
            else:
                await self._engine(self._inner(scope, self._prefix), _once(body), send)

    def _inner(self, scope: Scope, prefix: str) -> Scope:
        raw_path: bytes = scope.get("raw_path") or scope["path"].encode()
        return {
            **scope,
            "path": prefix + scope["path"],
            "raw_path": prefix.encode() + raw_path,
            "headers": list(_headers_for_handler(scope, self._port)),
        }


def _head_size(scope: Scope) -> int:
    line = len(scope["method"]) + len(scope.get("raw_path") or b"") + len(scope["query_string"])
    return line + sum(len(name) + len(value) for name, value in scope["headers"])


def _headers_for_handler(scope: Scope, port: int) -> Iterable[tuple[bytes, bytes]]:
    joined: dict[bytes, bytes] = {}
    for written, value in scope["headers"]:
        name = written.lower()
        if name in _HOP_BY_HOP:
            continue
        separator = b"; " if name == b"cookie" else b","
        joined[name] = joined[name] + separator + value if name in joined else value
    if any(name.lower() == b"transfer-encoding" for name, _ in scope["headers"]):
        joined.pop(b"content-length", None)  # RFC 9112 6.3: what came in chunks is as long as its chunks
    client = scope["client"][0].encode() if scope.get("client") else b"127.0.0.1"
    passed_on = joined.get(b"x-forwarded-for")
    joined[b"x-forwarded-for"] = passed_on + b", " + client if passed_on else client
    joined[b"x-forwarded-port"] = str(port).encode()
    joined[b"x-forwarded-proto"] = b"http"
    joined.setdefault(b"x-amzn-trace-id", f"Root=1-{int(time.time()):08x}-{secrets.token_hex(12)}".encode())
    return joined.items()


async def _read_body(scope: Scope, receive: Receive) -> bytes | None:
    """The whole body; None when it is larger than an HTTP API takes, or when the client left in the middle of it."""
    declared = dict(scope["headers"]).get(b"content-length", b"0")
    if declared.isdigit() and int(declared) > BODY_LIMIT:
        return None
    pieces: list[bytes] = []
    size = 0
    while True:
        message = await receive()
        if message["type"] != "http.request":
            return None
        pieces.append(message.get("body", b""))
        size += len(pieces[-1])
        if size > BODY_LIMIT:
            return None
        if not message.get("more_body"):
            break
    return b"".join(pieces)


def _once(body: bytes) -> Receive:
    messages: list[dict[str, Any]] = [{"type": "http.request", "body": body, "more_body": False}]

    async def receive() -> Mapping[str, Any]:
        return messages.pop() if messages else {"type": "http.disconnect"}

    return receive


async def _answer(send: Send, status: int, message: str) -> None:
    body = json.dumps({"message": message}, separators=(",", ":")).encode()
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
