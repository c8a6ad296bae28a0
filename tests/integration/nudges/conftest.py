"""A running stack under the roles of its template, somebody who registers webhooks, and somebody who receives them."""

import json
import queue
import threading
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Final
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest

from a2a_serverless.local.stack import LocalStack

PATIENCE: Final = 30.0
"""Seconds until something must have happened, on a busy machine."""


@dataclass(frozen=True)
class Came:
    """One request that a receiver got."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes

    def told(self) -> Any:
        """What the body says of the task."""
        return json.loads(self.body)["statusUpdate"]

    @property
    def query(self) -> dict[str, str]:
        """What stands behind the question mark."""
        return {name: values[0] for name, values in parse_qs(urlsplit(self.path).query).items()}


Reply = tuple[int, dict[str, str], bytes]


class Receiver:
    """A server of its own, so an endpoint of its own: it answers as it is told and keeps what came."""

    def __init__(self) -> None:
        self.reply: Callable[[Came], Reply] = lambda _: (202, {}, b"")
        self.came: queue.Queue[Came] = queue.Queue()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05})
        self._thread.start()

    @property
    def url(self) -> str:
        """Where it listens."""
        return f"http://127.0.0.1:{self._server.server_address[1]}/hook"

    def answers(self, status: int, **headers: str) -> None:
        """Answer so from now on."""
        told = {name.replace("_", "-"): value for name, value in headers.items()}
        self.reply = lambda _: (status, told, b"")

    def next(self) -> Came:
        """The next request; fails the test when none comes."""
        try:
            return self.came.get(timeout=PATIENCE)
        except queue.Empty:
            pytest.fail(f"nothing came to {self.url} within {PATIENCE} s")

    def close(self) -> None:
        """Stop listening."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


def _handler(receiver: Receiver) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def _answer(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            headers = {name.lower(): value for name, value in self.headers.items()}
            came = Came(self.command, self.path, headers, body)
            status, told, answer = receiver.reply(came)
            receiver.came.put(came)
            self.send_response(status)
            for name, value in told.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        def do_POST(self) -> None:
            self._answer()

        def do_GET(self) -> None:
            self._answer()

        def log_message(self, *_: Any) -> None:
            """A test says what it needs itself."""

    return Handler


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    """A partner's server."""
    running = Receiver()
    yield running
    running.close()


@pytest.fixture(scope="session")
def stack() -> Iterator[LocalStack]:
    """The stack, under the roles of its template and nothing more."""
    with LocalStack(agents="functions.agents.scripted:agent", strict_iam=True) as running:
        yield running


class Caller:
    """Speaks to the agent of a stack."""

    def __init__(self, url: str) -> None:
        self._http = httpx.Client(base_url=url, headers={"A2A-Version": "1.0"}, timeout=60)

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def rpc(self, method: str, **params: Any) -> Any:
        """Call a method; its result, or its error."""
        said = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        answer = self._http.post("/", json=said).json()
        return answer.get("result", answer.get("error"))

    def rest(self, verb: str, path: str, **more: Any) -> httpx.Response:
        """Ask a REST address."""
        return self._http.request(verb, path, **more)

    def ask(self, url: str, **hook: Any) -> str:
        """A task that asks, with one webhook `c1`; answers its id."""
        return str(
            self.send("ask", configuration={"taskPushNotificationConfig": {"id": "c1", "url": url, **hook}})["id"]
        )

    def send(self, text: str, *, task: str = "", configuration: Any = None) -> Any:
        """Send a message; answers the task, or the error."""
        message: dict[str, Any] = {"messageId": str(uuid.uuid4()), "role": "ROLE_USER", "parts": [{"text": text}]}
        if task:
            message["taskId"] = task
        result = self.rpc("SendMessage", message=message, configuration=configuration or {})
        return result.get("task", result)

    def deliveries(self, task: str) -> Any:
        """The log of the webhook `c1`."""
        return self.rpc("deliveries/list", taskId=task, id="c1")


@pytest.fixture
def caller(stack: LocalStack) -> Iterator[Caller]:
    """The owner of the webhooks."""
    speaking = Caller(stack.url)
    yield speaking
    speaking.close()
