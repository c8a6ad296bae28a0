"""What tests may ask of a running stack beside the AWS API: which processes run its functions, and to keep its state.

Served under `/_stack/` on the engine's port, never on the public one.
"""

import json
from collections.abc import Callable, Mapping

from a2a_serverless.local.front_door import App, Receive, Scope, Send
from a2a_serverless.local.patches.lambda_ import Workers

WORKERS = "/_stack/workers"
"""GET: a JSON list of `{"function", "hop", "pid", "busy"}`."""


DEPLOYED = "/_stack/deployed"
"""GET: something was deployed from outside; a stack that keeps its state stores it."""


def with_control(engine: App, workers: Workers, store: Callable[[], None]) -> App:
    """The engine, which also answers under `/_stack/`; `store` keeps what is deployed."""

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        match (scope["type"], scope.get("path")):
            case ("http", path) if path == WORKERS:
                await _answer(send, [vars(worker) for worker in workers.running()])
            case ("http", path) if path == DEPLOYED:
                store()
                await _answer(send, [])
            case _:
                await engine(scope, receive, send)

    return app


async def _answer(send: Send, content: list[Mapping[str, object]]) -> None:
    headers = [(b"content-type", b"application/json")]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": json.dumps(content).encode()})
