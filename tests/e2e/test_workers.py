"""Processes die: in the middle of a turn, of a send, of a change or of a nudge, and everything still happens once."""

import threading
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import httpx
import pytest

from a2a_serverless.local.stack import LocalStack

from .conftest import LEASE, Connect, Token
from .hooks import Hooks, Partner
from .wire import Object, Wire, eventually, message, state, text_of

TAKEOVER = LEASE + 8.0
"""Seconds until another worker goes on: the lease, five until the message is shown again, and a busy machine.

By default a lease is 30 seconds, which keeps this below a minute.
"""


@pytest.fixture
def caller(durable_stack: LocalStack, alice: str, connect: Connect) -> Wire:
    """The scripted agent on a stack with a short lease."""
    return connect(durable_stack.url, alice)


@pytest.fixture(scope="module", autouse=True)
def crashing(durable_stack: LocalStack, token: Token) -> Iterator[tuple[Wire, Object, Object]]:
    """Two tasks whose agents kill their workers, one once and one each time; it takes them some leases to end, while
    other tests go on."""
    wire = Wire(durable_stack.url, token(f"crashing-{uuid.uuid4()}"))
    yield wire, wire.begin("crash-once"), wire.begin("crash")
    wire.close()


def test_a_turn_whose_worker_is_killed_is_taken_over_and_completes(durable_stack: LocalStack, caller: Wire) -> None:
    task = caller.begin("wait 2")
    caller.until(task["id"], "WORKING")
    killed = eventually(lambda: durable_stack.kill_worker("run_turn"))
    began = time.monotonic()

    done = caller.until(task["id"], seconds=TAKEOVER + 10)

    assert killed
    assert (state(done), text_of(done["status"]["message"])) == ("COMPLETED", "waited")
    assert time.monotonic() - began < TAKEOVER + 2


def test_what_a_dead_attempt_produced_is_not_in_the_result(crashing: tuple[Wire, Object, Object]) -> None:
    caller, begun, _ = crashing

    done = caller.until(begun["id"], seconds=TAKEOVER + 10)

    assert state(done) == "COMPLETED"
    assert [(artifact["name"], text_of(artifact)) for artifact in done["artifacts"]] == [("whole", "attempt 2")]


def test_a_send_whose_worker_is_killed_is_sent_again_and_makes_no_second_task(
    durable_stack: LocalStack, caller: Wire, hooks: Hooks
) -> None:
    """L09, I01: the caller lost the answer, not the task."""
    context = str(uuid.uuid4())
    params = message("wait 6", context=context)
    lost: list[httpx.Response] = []
    sending = threading.Thread(target=lambda: lost.append(caller.post("SendMessage", params)))
    sending.start()
    (task,) = eventually(lambda: caller.rpc("ListTasks", {"contextId": context})["tasks"])
    eventually(lambda: durable_stack.kill_worker("api"))
    sending.join()

    done = caller.rpc("SendMessage", params)["task"]

    assert lost[0].status_code >= 500
    assert lost[0].headers["content-type"].startswith("application/json")
    assert (done["id"], state(done)) == (task["id"], "COMPLETED")
    assert caller.rpc("ListTasks", {"contextId": context})["totalSize"] == 1


@contextmanager
def killing(stack: LocalStack, hop: str, *, most: int) -> Iterator[list[int]]:
    """Kill every worker of a hop that is found at work, `most` of them; the ids of the dead."""
    killed: list[int] = []
    over = threading.Event()

    def kill() -> None:
        while len(killed) < most and not over.wait(0.02):
            with suppress(ProcessLookupError):  # it ended by itself meanwhile
                killed.extend(stack.kill_worker(hop))

    killer = threading.Thread(target=kill)
    killer.start()
    try:
        yield killed
    finally:
        over.set()
        killer.join()


def test_changes_that_a_dying_relay_did_not_carry_on_are_carried_on(
    stack: LocalStack, wire: Wire, partner: Partner
) -> None:
    """I09: what is stored is told, whoever dies between the two."""
    wire.send("echo warm")
    tasks: list[Object] = []
    with killing(stack, "relay", most=2) as killed:
        while len(killed) < 2 and len(tasks) < 20:
            tasks.append(wire.begin("ask", push={"url": partner.url}))

    for task in tasks:
        partner.told_of(task["id"], "TASK_STATE_INPUT_REQUIRED", seconds=60)
    assert killed
    assert state(wire.send("42", task=tasks[0]["id"])) == "COMPLETED"


def test_a_turn_that_kills_its_worker_each_time_fails_the_task_and_is_kept_with_the_reason(
    durable_stack: LocalStack, crashing: tuple[Wire, Object, Object]
) -> None:
    """L15, I11: never WORKING for ever, and the operator finds why."""
    caller, _, task = crashing

    failed = caller.until(task["id"], seconds=4 * TAKEOVER)
    letter = eventually(lambda: letter_about(durable_stack, task["id"]))

    assert state(failed) == "FAILED"
    assert text_of(failed["status"]["message"]) == "the agent stopped without an answer 3 times"
    assert "stopped its worker 3 times" in letter["MessageAttributes"]["reason"]["StringValue"]
    assert task["id"] in letter["Body"]
    assert caller.get(task["id"]) == failed


def letter_about(stack: LocalStack, task_id: str) -> Any:
    """The dead letter of a turn, left where it is."""
    found: list[Object] = (
        stack.client("sqs")
        .receive_message(
            QueueUrl=stack.outputs["TurnsDeadLetters"],
            MaxNumberOfMessages=10,
            MessageAttributeNames=["All"],
            VisibilityTimeout=0,
        )
        .get("Messages", [])
    )
    return next((letter for letter in found if task_id in letter["Body"]), None)
