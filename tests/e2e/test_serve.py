"""`make serve`, as a person types it."""

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx

from .clients import ROOT
from .conftest import Connect
from .wire import state

READY = 120.0


@contextmanager
def made(*variables: str, tmp: Path) -> Iterator[tuple["subprocess.Popen[str]", dict[str, Any]]]:
    """`make serve` with these variables, in a process group of its own; what its READY line says."""
    process = subprocess.Popen(
        ["make", "serve", "PORT=0", *variables],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
        env={**os.environ, "TMPDIR": str(tmp), "HOME": str(tmp)},
    )
    assert process.stdout
    try:
        with process.stdout as lines:
            ready = next((line for line in lines if line.startswith("READY ")), "READY {}")
            yield process, json.loads(ready.removeprefix("READY "))
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def test_it_serves_with_tokens_of_the_command_line_and_leaves_nothing_when_told_to_stop(
    tmp_path: Path, connect: Connect
) -> None:
    told = ["AUTH=dev", "AGENT=functions.agents.scripted:agent"]
    with made(*told, tmp=tmp_path) as (process, ready), made(tmp=tmp_path) as (other, second):
        alice = connect(ready["url"], token("--subject", "alice", "--tenant", "t1"))
        task = alice.send("ask")
        without = httpx.post(ready["url"], json={})
        at_other = connect(second["url"]).send("Quote 1 pallet, Pune to Rotterdam, 400 kg")
        os.kill(process.pid, signal.SIGTERM)
        os.killpg(other.pid, signal.SIGINT)  # as Ctrl-C does: to everybody in the terminal
        ends = process.wait(30), other.wait(30)

    assert (state(task), without.status_code, state(at_other)) == ("INPUT_REQUIRED", 401, "INPUT_REQUIRED")
    assert (set(ready), ready["agents"]) == ({"url", "aws_endpoint", "agents"}, ["scripted"])
    assert ends[1] in (0, 2, -signal.SIGINT, 130)
    assert alive(process.pid) == alive(other.pid) == []
    assert list(tmp_path.iterdir()) == []


def test_a_busy_port_is_said_in_a_sentence() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        refused = subprocess.run(["make", "serve", f"PORT={port}"], cwd=ROOT, capture_output=True, text=True)

    assert refused.returncode != 0
    assert f"port {port} is taken: choose another with PORT=..." in refused.stderr
    assert "Traceback" not in refused.stderr


def test_an_agent_that_is_not_there_is_said_in_a_sentence() -> None:
    refused = subprocess.run(
        ["make", "serve", "PORT=0", "AGENT=nowhere.to.be:found"], cwd=ROOT, capture_output=True, text=True
    )

    assert refused.returncode != 0
    assert "agent nowhere.to.be:found was looked for in" in refused.stderr
    assert "Traceback" not in refused.stderr


def token(*arguments: str) -> str:
    """What the command line prints."""
    command = [str(Path(sys.executable).with_name("a2a-serverless")), "token", *arguments]
    return subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout.strip()


def alive(group: int) -> list[int]:
    """The processes of a group that still run."""
    found = subprocess.run(["pgrep", "-g", str(group)], capture_output=True, text=True).stdout
    return [int(line) for line in found.split()]
