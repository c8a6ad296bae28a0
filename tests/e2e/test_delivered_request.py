"""One delivered request, caught off the wire, and everybody's verifier: none of them shares code with the sender."""

import json
import subprocess
import time
import uuid
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import httpx
import pytest

from a2a_serverless.cli.main import main
from a2a_serverless.local.stack import LocalStack
from tests.receiver.independent import Captured, captured_problems

from .clients import SDKS, Client, Driver
from .conftest import Token
from .hooks import Hooks, Posted

NUDGE = "https://a2a-serverless.dev/ext/push-nudge/v1"
TOKEN = "a-token-that-only-the-two-of-us-know"
PYTHON = [sdk for sdk in SDKS if sdk.name.startswith("python")]


@pytest.fixture(params=PYTHON, ids=lambda sdk: sdk.version)
def driver(request: pytest.FixtureRequest) -> Iterator[Driver]:
    """A client of either version; the webhooks it registers get bodies of that version."""
    running = Driver(request.param)
    yield running
    running.close()


@pytest.fixture
def subject() -> str:
    return f"partner-{uuid.uuid4()}"


@pytest.fixture
def secret(freight_stack: LocalStack, subject: str, capsys: pytest.CaptureFixture[str]) -> str:
    """What the operator issues the partner."""
    arguments = ["webhook-secret", "--subject", subject, "--endpoint", freight_stack.aws_endpoint, "--json"]
    assert main(arguments) == 0
    issued: str = json.loads(capsys.readouterr().out)["secret"]
    return issued


@pytest.fixture
def caller(freight_stack: LocalStack, driver: Driver, subject: str, token: Token) -> Client:
    return Client(driver, freight_stack.url, "JSONRPC", token(subject))


@pytest.fixture
def captured(freight_stack: LocalStack, hooks: Hooks, caller: Client, secret: str) -> Captured:
    """The nudge about a question, as it came off the wire."""
    hook = hooks.hook(202)
    asked = caller.send("Quote 3 pallets, Pune to Rotterdam, 400 kg", push={"url": hook.url, "token": TOKEN})
    posted = next(each for each in iter(hook.next, None) if "input" in each.body.decode().lower())
    return Captured(
        url=hook.url,
        headers=posted.headers,
        body=posted.body,
        jwks=httpx.get(f"{freight_stack.url}/.well-known/jwks.json").json(),
        issuer=freight_stack.url,
        task_id=asked.id,
        seq=seq_of(posted),
        whsec=secret,
        token=TOKEN,
    )


def seq_of(posted: Posted) -> int:
    told: Any = posted.json()
    return int(told.get("statusUpdate", told)["metadata"][NUDGE]["seq"])


def test_every_independent_verifier_takes_the_delivered_request(captured: Captured) -> None:
    assert captured_problems(captured, now=time.time()) == []


def test_none_of_them_takes_another_body(captured: Captured) -> None:
    forged = replace(captured, body=captured.body.replace(captured.task_id.encode(), b"another"))

    assert len(captured_problems(forged, now=time.time())) == 5


def test_the_sdk_of_the_line_it_was_registered_with_reads_the_body(captured: Captured, driver: Driver) -> None:
    python, program = driver.sdk.command[0], {"0.3": READ_BY_03, "1.0": READ_BY_10}[driver.sdk.version]

    read = subprocess.run([python, "-c", program], input=captured.body, capture_output=True, check=True)

    assert json.loads(read.stdout) == [captured.task_id, "input-required"]


READ_BY_03 = """
import json, sys
from a2a.types import Task
task = Task.model_validate_json(sys.stdin.buffer.read())
print(json.dumps([task.id, task.status.state.value]))
"""
READ_BY_10 = """
import json, sys
from a2a.types import StreamResponse, TaskState
from google.protobuf.json_format import Parse
update = Parse(sys.stdin.buffer.read(), StreamResponse()).status_update
state = TaskState.Name(update.status.state).removeprefix("TASK_STATE_").lower().replace("_", "-")
print(json.dumps([update.task_id, state]))
"""


def test_a_revoked_secret_signs_nothing_more(
    freight_stack: LocalStack, subject: str, secret: str, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["webhook-secret", "--subject", subject, "--endpoint", freight_stack.aws_endpoint, "--json"]

    assert main([*arguments, "--revoke"]) == 0
    assert json.loads(capsys.readouterr().out) == {"revoked": 1}
    assert main([*arguments, "--revoke"]) == 0
    assert json.loads(capsys.readouterr().out) == {"revoked": 0}
