"""How a test speaks to an official client that lives in an environment of its own: JSON lines on the standard streams.

A call comes in as `{"call": 7, "to": {"url", "binding", "token"}, "do": "send", "with": {...}}`; what leaves is any
number of `{"call": 7, "event": ...}` and then one `{"call": 7, "result": ...}` or `{"call": 7, "error": {...}}`.
Calls run side by side. `tests/e2e/clients.py` is the other end and says what an operation takes and answers.
"""

import asyncio
import json
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from typing import Any

Answer = Mapping[str, Any]
Connect = Callable[[str, str, str], Awaitable[Any]]
"""Makes a client from the agent's URL, the binding and a bearer token (empty: none)."""
Operation = Callable[..., Any]
"""Takes the client and what the call came with; answers an awaitable, or an async iterator of events."""

_LINE: int = 64 * 1024 * 1024


def serve(connect: Connect, operations: Mapping[str, Operation]) -> None:
    """Answer calls until standard input is closed."""
    asyncio.run(_serve(connect, operations))


async def _serve(connect: Connect, operations: Mapping[str, Operation]) -> None:
    lines = asyncio.StreamReader(limit=_LINE)
    loop = asyncio.get_running_loop()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(lines), sys.stdin.buffer)
    clients: dict[tuple[str, str, str], asyncio.Future[Any]] = {}
    running: set[asyncio.Task[None]] = set()
    while line := await lines.readline():
        call = json.loads(line)
        to = (call["to"]["url"], call["to"]["binding"], call["to"]["token"])
        if to not in clients:
            clients[to] = asyncio.ensure_future(connect(*to))
        task = asyncio.create_task(_answer(call, clients[to], operations[call["do"]]))
        running.add(task)
        task.add_done_callback(running.discard)


async def _answer(call: Mapping[str, Any], client: "asyncio.Future[Any]", operation: Operation) -> None:
    try:
        answering = operation(await asyncio.shield(client), **call["with"])
        if isinstance(answering, AsyncIterator):
            async for event in answering:
                _say(call, event=event)
            _say(call, result=None)
        else:
            _say(call, result=await answering)
    except Exception as error:  # noqa: BLE001 (whatever the client raises is what the test wants to hear of)
        _say(call, error={"type": type(error).__name__, "message": str(error), "code": _code(error)})


def _code(error: Exception) -> int | None:
    """The JSON-RPC code or HTTP status, where the client says it."""
    inner = getattr(error, "error", None)
    for holder in (error, inner):
        for name in ("code", "status_code"):
            if isinstance(found := getattr(holder, name, None), int):
                return found
    return None


def _say(call: Mapping[str, Any], **answer: Any) -> None:
    sys.stdout.write(json.dumps({"call": call["call"], **answer}) + "\n")
    sys.stdout.flush()
