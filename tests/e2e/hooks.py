"""What a test puts on the other end of a webhook: addresses on loopback that remember what was posted to them.

`Hooks` is the server, a `Hook` one address that answers as it was told, a `Partner` an address that verifies with
`a2a_receiver` and fetches the task with credentials of its own, as a partner's backend does.
"""

import json
import queue
import threading
import time
import uuid
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Final

import pytest

from a2a_receiver import JwksCache, Nudge, Receiver, Strict
from a2a_receiver.credentials import StaticBearer
from a2a_receiver.tasks import FetchedTask, TaskClient

PATIENCE: Final = 30.0
"""Seconds until a nudge must be there: it takes far less, but a busy machine may need some of it."""


@dataclass(frozen=True)
class Posted:
    """One request as it came in."""

    method: str
    headers: tuple[tuple[str, str], ...]
    body: bytes
    at: float
    """On the monotonic clock."""

    def header(self, name: str) -> str:
        """The value of a header, empty when it was not sent."""
        return next((value for key, value in self.headers if key.lower() == name.lower()), "")

    def json(self) -> Any:
        """The body."""
        return json.loads(self.body)


@dataclass(frozen=True)
class Said:
    """How a request is answered."""

    status: int = 200
    headers: tuple[tuple[str, str], ...] = ()
    body: bytes = b""


Answer = Callable[[Posted], Said]


class Hook:
    """One address."""

    def __init__(self, url: str, answer: Answer) -> None:
        self.url = url
        self.all: list[Posted] = []
        """Everything posted so far."""
        self._answer = answer
        self._unseen: queue.Queue[Posted] = queue.Queue()

    def take(self, posted: Posted) -> Said:
        """Remember a request and say how it is answered."""
        said = self._answer(posted)
        self.all.append(posted)
        self._unseen.put(posted)
        return said

    def next(self, seconds: float = PATIENCE) -> Posted:
        """The next request; fails the test when none comes in time."""
        try:
            return self._unseen.get(timeout=seconds)
        except queue.Empty:
            pytest.fail(f"nothing was posted to the hook within {seconds} s; before that: {self.all}")

    def none_within(self, seconds: float) -> bool:
        """Whether nothing is posted for so long."""
        try:
            self._unseen.get(timeout=seconds)
        except queue.Empty:
            return True
        return False


class Hooks:
    """The server."""

    def __init__(self) -> None:
        self._hooks: dict[str, Hook] = {}
        self._keys: dict[str, JwksCache] = {}
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self._hooks))
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05})
        self._thread.start()

    @property
    def port(self) -> int:
        """Where it listens."""
        return int(self._server.server_address[1])

    def hook(self, *answers: int | Said) -> Hook:
        """A new address that answers so, one after the other and then as the last; 200 without any."""
        return self._add(_in_turn(answers or (200,)))

    def partner(self, agent_url: str, *, issuer: str, token: str = "") -> "Partner":
        """A partner of the agent, with a webhook of its own and `token` as its credentials."""
        name = uuid.uuid4().hex
        keys = self._keys.setdefault(issuer, JwksCache(f"{issuer}/.well-known/jwks.json"))
        partner = Partner(self._url(name), agent_url, issuer=issuer, keys=keys, token=token)
        self._hooks[f"/{name}"] = partner.hook
        return partner

    def close(self) -> None:
        """Stop listening."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def _add(self, answer: Answer) -> Hook:
        name = uuid.uuid4().hex
        hook = self._hooks[f"/{name}"] = Hook(self._url(name), answer)
        return hook

    def _url(self, name: str) -> str:
        return f"http://127.0.0.1:{self.port}/{name}"


class Partner:
    """A partner's backend: it verifies, acknowledges, and fetches what it was nudged about."""

    def __init__(self, url: str, agent_url: str, *, issuer: str, keys: JwksCache, token: str) -> None:
        self.reasons: queue.Queue[str] = queue.Queue()
        """What the receiver made of each request: `accepted`, `duplicate`, or why it was refused."""
        self.nudges: queue.Queue[Nudge] = queue.Queue()
        """Accepted, and not looked at yet."""
        self._told: defaultdict[str, list[Nudge]] = defaultdict(list)
        proof = Strict(issuer=issuer, audience=url, keys=keys, allow_loopback_http=True)
        self._receiver = Receiver(proof, enqueue=self.nudges.put, observe=lambda seen: self.reasons.put(seen.reason))
        credentials = StaticBearer(token) if token else None
        self._tasks = TaskClient(agent_url, credentials=credentials, allow_loopback_http=True)
        self.hook = Hook(url, self._answer)

    @property
    def url(self) -> str:
        """The address of its webhook."""
        return self.hook.url

    def told_of(self, task_id: str, state: str, seconds: float = PATIENCE) -> FetchedTask:
        """The task as it was fetched after a nudge, once it stands in `state`; fails when nobody tells in time."""
        for nudge in self._nudges(task_id, seconds):
            fetched = self._tasks.fetch(nudge)
            if fetched.state == state:
                return fetched
        pytest.fail(f"no nudge led to {state} within {seconds} s; posted: {self.hook.all}")

    def _nudges(self, task_id: str, seconds: float) -> Iterator[Nudge]:
        """The nudges about a task, from the one told of last on; those about others are kept for later."""
        until = time.monotonic() + seconds
        while (left := until - time.monotonic()) > 0:
            about = self._told[task_id]
            while about:
                yield about.pop(0)
            try:
                nudge = self.nudges.get(timeout=left)
            except queue.Empty:
                return
            self._told[nudge.task_id].append(nudge)

    def _answer(self, posted: Posted) -> Said:
        answer = self._receiver.handle(posted.method, posted.headers, posted.body, now=time.time())
        return Said(answer.status, answer.headers, answer.body)


def _in_turn(answers: Sequence[int | Said]) -> Answer:
    left = [Said(answer) if isinstance(answer, int) else answer for answer in answers]
    lock = threading.Lock()

    def answer(_posted: Posted) -> Said:
        with lock:
            return left.pop(0) if len(left) > 1 else left[0]

    return answer


def _handler(hooks: dict[str, Hook]) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            posted = Posted("POST", tuple(self.headers.items()), body, time.monotonic())
            hook = hooks.get(self.path)
            said = hook.take(posted) if hook else Said(404)
            self.send_response(said.status)
            for name, value in said.headers:
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(said.body)))
            self.end_headers()
            self.wfile.write(said.body)

        def log_message(self, *_: Any) -> None:
            """A test says what it needs itself."""

    return Handler
