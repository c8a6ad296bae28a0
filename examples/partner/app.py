"""A partner's backend, as a partner would write it: nudges come in, an inbox holds the authoritative tasks.

Environment:
    PARTNER_PORT  where to listen on loopback
    AGENT_URL     the agent's address, as its card states it
    AGENT_TOKEN   a bearer token for the agent, where it asks for one

Routes: `POST /a2a/push` takes nudges, `GET /inbox` shows the tasks held, `GET /log` what was accepted and refused.
"""

import os
import queue
import socket
import threading
from collections import deque
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import Any

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from a2a_receiver import Nudge, Observation, Receiver, Strict
from a2a_receiver.adapters.asgi import PushEndpoint
from a2a_receiver.credentials import StaticBearer
from a2a_receiver.tasks import FetchError, TaskClient

LOG_LINES = 1000


@dataclass
class Inbox:
    """What the partner holds: the newest version of each task he was told of, as the agent gave it to him."""

    client: TaskClient
    nudges: "queue.Queue[Nudge]"
    held: dict[str, dict[str, Any]]
    log: "deque[dict[str, Any]]"

    def work(self) -> None:
        """Fetch what nudges speak of, one after the other, for ever. A nudge is never the truth, so nothing of it is
        kept.
        """
        while True:
            nudge = self.nudges.get()
            try:
                self._take(nudge)
            except FetchError as error:
                self.log.append({"at": _now(), "task_id": nudge.task_id, "reason": f"not fetched: {error}"})

    def _take(self, nudge: Nudge) -> None:
        fetched = self.client.fetch(nudge)
        known = self.held.get(fetched.task_id)
        if known is not None and (known["seq"] or 0) > (fetched.seq or 0):
            return
        self.held[fetched.task_id] = {
            "task_id": fetched.task_id,
            "seq": fetched.seq,
            "state": fetched.state,
            "task": dict(fetched.task),
            "verified_at": _now(),
        }

    def observe(self, observation: Observation) -> None:
        """Every request that came in, with the reason it was taken or refused: ours to see, not the caller's."""
        self.log.append({"at": _now(), **asdict(observation)})


def _now() -> str:
    return datetime.now(tz=UTC).isoformat(timespec="milliseconds")


def backend(agent_url: str, own_url: str, token: str) -> Starlette:
    """The backend as an ASGI application."""
    is_local = agent_url.startswith(("http://127.0.0.1", "http://localhost"))
    credentials = StaticBearer(token) if token else None
    client = TaskClient(agent_url, credentials=credentials, allow_loopback_http=is_local)
    inbox = Inbox(client, queue.Queue(), {}, deque(maxlen=LOG_LINES))
    receiver = Receiver(
        Strict(issuer=agent_url, audience=f"{own_url}/a2a/push", allow_loopback_http=is_local),
        enqueue=inbox.nudges.put,
        observe=inbox.observe,
    )
    threading.Thread(target=inbox.work, name="inbox", daemon=True).start()

    async def show_inbox(_: Request) -> JSONResponse:
        return JSONResponse(list(inbox.held.values()))

    async def show_log(_: Request) -> JSONResponse:
        return JSONResponse(list(inbox.log))

    return Starlette(
        routes=[
            Route("/a2a/push", PushEndpoint(receiver), methods=["POST", "GET", "OPTIONS"]),
            Route("/inbox", show_inbox),
            Route("/log", show_log),
        ]
    )


def main() -> None:
    """Serve until told to stop."""
    port = int(os.environ["PARTNER_PORT"])
    own_url = f"http://127.0.0.1:{port}"
    app = backend(os.environ["AGENT_URL"].rstrip("/"), own_url, os.environ.get("AGENT_TOKEN", ""))
    server = uvicorn.Server(uvicorn.Config(app, host="127.0.0.1", port=port, log_level="warning"))
    with socket.create_server(("127.0.0.1", port)) as listening:
        print(f"READY {own_url}", flush=True)  # the socket listens: whoever connects is answered
        server.run(sockets=[listening])


if __name__ == "__main__":
    main()
