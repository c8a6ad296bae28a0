"""ASGI 3: Starlette, FastAPI, or a server directly. Depends on none of them.

`app.router.routes.append(Route("/a2a/push", PushEndpoint(receiver)))`. Do not use `Mount`: it redirects the path
without a slash, and a redirect is a failed delivery. Read nothing of the request in a middleware before it.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, MutableMapping
from dataclasses import dataclass
from typing import Any, Final

from a2a_receiver.answer import Response
from a2a_receiver.receiver import Receiver

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]

READ_TIMEOUT: Final = 10.0
"""Seconds for a whole body of at most 64 KiB."""


@dataclass(frozen=True, slots=True)
class _Asked:
    method: str
    headers: list[tuple[str, str]]
    query: str


class PushEndpoint:
    """An ASGI application that answers every path it is given."""

    def __init__(
        self,
        receiver: Receiver,
        *,
        clock: Callable[[], float] = time.time,
        read_timeout: float = READ_TIMEOUT,
    ) -> None:
        """`receiver` may have an `async` enqueue, which runs on the server's loop; another runs in a thread."""
        self._receiver = receiver
        self._clock = clock
        self._read_timeout = read_timeout

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One ASGI connection."""
        if scope["type"] == "http":
            answer = await self._answer(scope, receive)
            if answer is not None:
                await _send(answer, send)
        elif scope["type"] == "lifespan":
            await _lifespan(receive, send)
        elif scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1003})

    async def _answer(self, scope: Scope, receive: Receive) -> Response | None:
        asked = _read_scope(scope)
        early = self._receiver.admit(asked.method, asked.headers, now=self._clock(), query=asked.query)
        if early is not None:
            return early
        try:
            async with asyncio.timeout(self._read_timeout):
                body = await _read(receive, self._receiver.max_body)
        except TimeoutError:
            return Response(408)
        if body is None:
            return None
        return await self._receiver.handle_async(
            asked.method, asked.headers, body, now=self._clock(), query=asked.query
        )


def _read_scope(scope: Scope) -> _Asked:
    headers = [(name.decode("latin-1"), value.decode("latin-1")) for name, value in scope["headers"]]
    return _Asked(scope["method"], headers, scope.get("query_string", b"").decode("latin-1"))


async def _read(receive: Receive, cap: int) -> bytes | None:
    """The body, at most one chunk beyond the cap; None when the client is gone."""
    body = bytearray()
    while len(body) <= cap:
        message = await receive()
        if message["type"] == "http.disconnect":
            return None
        body += message.get("body", b"")
        if not message.get("more_body", False):
            break
    return bytes(body[: cap + 1])


async def _send(answer: Response, send: Send) -> None:
    headers = [(name.lower().encode(), value.encode()) for name, value in answer.headers]
    headers.append((b"content-length", str(len(answer.body)).encode()))
    await send({"type": "http.response.start", "status": answer.status, "headers": headers})
    await send({"type": "http.response.body", "body": answer.body})


async def _lifespan(receive: Receive, send: Send) -> None:
    while True:
        message = await receive()
        await send({"type": f"{message['type']}.complete"})
        if message["type"] == "lifespan.shutdown":
            return
