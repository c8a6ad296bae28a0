"""The example partner, run as the program it is, between an agent and a sender on loopback."""

import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import httpx
import pytest

from a2a_receiver.https import HttpRequest
from a2a_receiver.testing import PushRequest, Sender
from tests.receiver.agent_double import Agent, task

ROOT = Path(__file__).parents[2]
APP = ROOT / "examples" / "partner" / "app.py"


@dataclass
class Loopback:
    """An agent that publishes its keys and answers GetTask."""

    agent: Agent
    url: str = ""
    sender: Sender | None = None
    authorizations: list[str | None] = field(default_factory=list)
    was_asked: threading.Event = field(default_factory=threading.Event)


@pytest.fixture
def agent() -> Iterator[Loopback]:
    loopback = Loopback(Agent([task("task-1", seq=7)]))

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            assert loopback.sender is not None
            self._answer(json.dumps(loopback.sender.key_set()).encode() if "jwks" in self.path else b"{}")

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            loopback.authorizations.append(self.headers["Authorization"])
            self._answer(loopback.agent(HttpRequest("POST", self.path, {}, body)).body)
            loopback.was_asked.set()

        def _answer(self, body: bytes) -> None:
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002  the base class's name for it
            return

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        loopback.url = f"http://127.0.0.1:{server.server_address[1]}"
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield loopback
        server.shutdown()
        thread.join()


@pytest.fixture
def partner(agent: Loopback) -> Iterator[str]:
    """The URL of the running partner."""
    environ = os.environ | {
        "PARTNER_PORT": "0",
        "AGENT_URL": agent.url,
        "AGENT_TOKEN": "own-token",
        "PYTHONPATH": str(ROOT / "shared"),
    }
    with subprocess.Popen([sys.executable, APP], env=environ, stdout=subprocess.PIPE, text=True) as running:
        assert running.stdout is not None
        line = running.stdout.readline()
        assert line.startswith("READY ")
        yield line.split()[1]
        running.terminate()


def post(request: PushRequest) -> int:
    return httpx.post(request.url, content=request.body, headers=list(request.headers)).status_code


def inbox_with(partner: str, task_id: str) -> dict[str, Any]:
    """The held task, as soon as it is held: the worker has its answer already and only has to keep it."""
    for _ in range(200):
        for held in httpx.get(f"{partner}/inbox").json():
            if held["task_id"] == task_id:
                return dict(held)
        time.sleep(0.02)
    raise AssertionError("the inbox stays empty")


def test_a_nudge_puts_the_authoritative_task_into_the_inbox_and_a_forged_one_only_into_the_log(
    agent: Loopback, partner: str
) -> None:
    agent.sender = Sender(issuer=agent.url, audience=f"{partner}/a2a/push")
    nudge = agent.sender.nudge("task-1", seq=7, now=time.time(), state="TASK_STATE_WORKING")
    forged = agent.sender.attacks("task-1", now=time.time())["for another receiver"]

    statuses = [post(forged), post(nudge), post(nudge)]
    assert agent.was_asked.wait(10)
    held = inbox_with(partner, "task-1")

    assert statuses == [401, 202, 202]
    assert (held["seq"], held["state"]) == (7, "TASK_STATE_COMPLETED")
    assert held["task"] == task("task-1", seq=7)
    assert agent.authorizations == ["Bearer own-token"]
    log = httpx.get(f"{partner}/log").json()
    assert [(line["status"], line["reason"]) for line in log] == [(401, "aud"), (202, "accepted"), (202, "duplicate")]


def test_the_partner_does_not_start_for_an_agent_elsewhere_over_plain_http() -> None:
    environ = os.environ | {
        "PARTNER_PORT": "0",
        "AGENT_URL": "http://agent.example.com",
        "PYTHONPATH": str(ROOT / "shared"),
    }

    ran = subprocess.run([sys.executable, APP], env=environ, capture_output=True, text=True, timeout=60)

    assert ran.returncode != 0
    assert "ConfigError: base_url must be https" in ran.stderr
