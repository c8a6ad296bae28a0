"""A partner's backend, as a partner would write it: nudges come in, an inbox holds the authoritative tasks.

Environment:
    PARTNER_PORT  where to listen on loopback
    AGENT_URL     the agent's address, as its card states it; `http://` only if it is on loopback
    AGENT_TOKEN   a bearer token for the agent, where it asks for one

Routes: `POST /a2a/push` takes nudges, `GET /inbox` shows the tasks held, `GET /log` what was accepted and refused.
"""

import os
import queue
import socket
import threading
import time
from collections import deque
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from typing import Any
from urllib.parse import urlsplit

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from a2a_receiver import Nudge, Observation, Receiver, Strict
from a2a_receiver.adapters.asgi import PushEndpoint
from a2a_receiver.credentials import StaticBearer
from a2a_receiver.reconcile import Reconciler
from a2a_receiver.tasks import FetchedTask, FetchError, TaskClient

LOG_LINES = 1000
RECONCILE_EVERY = 300.0


@dataclass
class Inbox:
    """What the partner holds: the newest version of each task, as the agent itself gave it to him."""

    client: TaskClient
    nudges: "queue.Queue[Nudge]" = field(default_factory=queue.Queue)
    held: dict[str, dict[str, Any]] = field(default_factory=dict)
    log: "deque[dict[str, Any]]" = field(default_factory=lambda: deque(maxlen=LOG_LINES))

    def work(self) -> None:
        """Fetch what nudges speak of, one after the other, for ever. Nothing of a nudge itself is kept."""
        while True:
            nudge = self.nudges.get()
            try:
                self.hold(self.client.fetch(nudge))
            except FetchError as error:
                self.log.append({"at": _now(), "task_id": nudge.task_id, "reason": f"not fetched: {error}"})

    def hold(self, fetched: FetchedTask) -> None:
        """Keep a task unless a newer version of it is held."""
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

    def reconcile(self, reconciler: Reconciler) -> None:
        """Every five minutes: what no webhook told, which should be nothing."""
        watermark = time.time()  # an inbox kept in memory has no past; one on a disk would keep the watermark too
        while True:
            time.sleep(RECONCILE_EVERY)
            try:
                done = reconciler.run(self._enqueue_found, since=watermark, now=time.time())
                watermark = done.watermark
            except FetchError as error:
                self.log.append({"at": _now(), "reason": f"not reconciled: {error}"})

    def _enqueue_found(self, found: FetchedTask) -> None:
        self.nudges.put(Nudge(found.task_id, found.seq))

    def observe(self, observation: Observation) -> None:
        """Every request that came in, with the reason it was taken or refused: ours to see, not the caller's."""
        self.log.append({"at": _now(), **asdict(observation)})


def _now() -> str:
    return datetime.now(tz=UTC).isoformat(timespec="milliseconds")


def backend(agent_url: str, own_url: str, token: str) -> Starlette:
    """The backend as an ASGI application, its workers running."""
    agent = urlsplit(agent_url)
    # The library takes http for loopback addresses only, whatever this says.
    is_local = agent.scheme == "http"
    credentials = StaticBearer(token) if token else None
    inbox = Inbox(TaskClient(agent_url, credentials=credentials, allow_loopback_http=is_local))
    receiver = Receiver(
        Strict(
            issuer=f"{agent.scheme}://{agent.netloc}",
            audience=f"{own_url}/a2a/push",
            allow_loopback_http=is_local,
        ),
        enqueue=inbox.nudges.put,
        observe=inbox.observe,
    )
    reconciler = Reconciler(inbox.client, receiver.memory, observe=inbox.observe)
    threading.Thread(target=inbox.work, name="inbox", daemon=True).start()
    threading.Thread(target=inbox.reconcile, args=(reconciler,), name="reconcile", daemon=True).start()

    async def show_inbox(_: Request) -> JSONResponse:
        return JSONResponse(list(inbox.held.values()))

    async def show_log(_: Request) -> JSONResponse:
        return JSONResponse(list(inbox.log))

    return Starlette(
        routes=[
            Route("/a2a/push", PushEndpoint(receiver)),
            Route("/inbox", show_inbox),
            Route("/log", show_log),
        ]
    )


def main() -> None:
    """Serve until told to stop."""
    port = int(os.environ["PARTNER_PORT"])
    with socket.create_server(("127.0.0.1", port)) as listening:
        own_url = f"http://127.0.0.1:{listening.getsockname()[1]}"
        app = backend(os.environ["AGENT_URL"].rstrip("/"), own_url, os.environ.get("AGENT_TOKEN", ""))
        server = uvicorn.Server(uvicorn.Config(app, log_level="warning"))
        print(f"READY {own_url}", flush=True)  # the socket listens: whoever connects is answered
        server.run(sockets=[listening])


if __name__ == "__main__":
    main()
