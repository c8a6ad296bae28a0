"""What tests may ask of a running stack beside the AWS API: which processes run its functions.

Served under `/_stack/` on the engine's port, never on the public one.
"""

import json
from collections.abc import Mapping

from a2a_serverless.local.front_door import App, Receive, Scope, Send
from a2a_serverless.local.patches.lambda_ import Workers

WORKERS = "/_stack/workers"
"""GET: a JSON list of `{"function", "hop", "pid", "busy"}`."""


def with_control(engine: App, workers: Workers) -> App:
    """The engine, which also answers under `/_stack/`."""

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and scope["path"] == WORKERS:
            await _answer(send, [vars(worker) for worker in workers.running()])
        else:
            await engine(scope, receive, send)

    return app


async def _answer(send: Send, content: list[Mapping[str, object]]) -> None:
    headers = [(b"content-type", b"application/json")]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": json.dumps(content).encode()})
