"""The main job, end to end: a task goes from send through a human wait to a verified nudge, under the template's roles.

With each official client, in front of the example agent, and a partner that verifies with `a2a_receiver` and fetches
with credentials of its own.
"""

import time
import uuid

import pytest

from a2a_receiver.testing import Sender
from a2a_serverless.local.stack import LocalStack

from .clients import Artifact, Client, Driver
from .conftest import Token
from .hooks import Hook, Hooks, Partner, Posted
from .wire import text_of

ORDER = "Quote 3 pallets, Pune to Rotterdam, 400 kg"
QUOTE = {"carrier": "Maersk", "mode": "sea", "days": 24, "price": {"amount": 360.0, "currency": "EUR"}}


@pytest.fixture(scope="module")
def identity(token: Token) -> str:
    """The caller's token; the partner's backend has another one of the same subject."""
    return token(f"caller-{uuid.uuid4()}")


@pytest.fixture
def caller(sdk: Driver, freight_stack: LocalStack, identity: str) -> Client:
    """Each official client in front of the freight agent."""
    return Client(sdk, freight_stack.url, "JSONRPC", identity)


@pytest.fixture
def backend(freight_stack: LocalStack, hooks: Hooks, identity: str) -> Partner:
    """The partner."""
    return hooks.partner(freight_stack.url, issuer=freight_stack.url, token=identity)


def test_a_partner_sees_the_question_and_then_the_quote(caller: Client, backend: Partner) -> None:
    asked = caller.send(ORDER, push={"url": backend.url})
    question = backend.told_of(asked.id, "TASK_STATE_INPUT_REQUIRED")
    done = caller.send("sea", task=asked.id)
    fetched = backend.told_of(asked.id, "TASK_STATE_COMPLETED")

    assert (asked.state, asked.says) == ("input-required", "Sea or air? Sea adds 21 days and saves 60 %.")
    assert text_of(question.task["status"]["message"]) == asked.says  # type: ignore[index]
    assert (done.state, done.artifacts) == ("completed", (Artifact("quote.json", data=QUOTE),))
    assert fetched.task["artifacts"][0]["parts"][0]["data"] == QUOTE  # type: ignore[index]


def test_a_question_that_nobody_answers_expires_and_the_partner_learns_of_it(caller: Client, backend: Partner) -> None:
    asked = caller.send(f"{ORDER} within 2 seconds", push={"url": backend.url})
    fetched = backend.told_of(asked.id, "TASK_STATE_FAILED")

    assert asked.state == "input-required"
    assert "Sea or air?" in text_of(fetched.task["status"]["message"])  # type: ignore[index]
    assert caller.get(asked.id).state == "failed"


def test_a_forged_nudge_is_refused(caller: Client, backend: Partner) -> None:
    asked = caller.send(ORDER, push={"url": backend.url})
    backend.told_of(asked.id, "TASK_STATE_INPUT_REQUIRED")
    genuine = backend.hook.all[-1]
    told = genuine.body.replace(b"INPUT_REQUIRED", b"COMPLETED").replace(b"input-required", b"completed")
    stranger = Sender(issuer=caller.url, audience=backend.url)
    forged = stranger.nudge(asked.id, seq=99, now=time.time())

    assert told != genuine.body
    assert deliver(backend.hook, Posted("POST", genuine.headers, told, 0)) == 401
    assert deliver(backend.hook, Posted("POST", forged.headers, forged.body, 0)) == 401
    assert backend.nudges.empty()


def test_a_nudge_that_comes_twice_is_acknowledged_and_acted_on_once(caller: Client, backend: Partner) -> None:
    asked = caller.send(ORDER, push={"url": backend.url})
    backend.told_of(asked.id, "TASK_STATE_INPUT_REQUIRED")

    assert deliver(backend.hook, backend.hook.all[-1]) == 202
    assert backend.nudges.empty()


def deliver(hook: Hook, posted: Posted) -> int:
    """Post to a hook's receiver; its status."""
    return hook.take(posted).status
