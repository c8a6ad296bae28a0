"""Cancel: whatever a task does at the moment, it ends once, its side effects cease, and nothing follows."""

import time
import uuid
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from a2a_serverless.local.stack import LocalStack

from .conftest import Connect
from .hooks import Hook, Hooks, Partner
from .wire import TERMINAL, Object, RpcError, Wire, eventually, message, state

NOT_CANCELABLE = -32002
UNSUPPORTED = -32004
SILENCE = 10.0
"""Seconds: a second to notice, five of grace for an agent that does not look, and some for a busy machine."""


def test_a_task_that_works_is_canceled_and_its_side_effect_ceases(wire: Wire, hooks: Hooks) -> None:
    counter = hooks.hook()
    task = wire.begin(f"tick 60 {counter.url}")
    counter.next()
    counter.next()

    canceled = wire.cancel(task["id"])

    assert state(canceled) == "CANCELED"
    assert falls_silent(counter)
    assert wire.get(task["id"]) == canceled


def test_a_task_that_waits_for_an_answer_is_canceled_and_its_wait_ends(stack: LocalStack, wire: Wire) -> None:
    """C05: neither a late answer nor the deadline revives it."""
    asked = wire.send("expire 60")
    execution = eventually(lambda: execution_of(stack, asked["id"]))

    canceled = wire.cancel(asked["id"])

    assert state(canceled) == "CANCELED"
    eventually(lambda: execution_of(stack, asked["id"], "RUNNING") is None)
    with pytest.raises(RpcError) as refused:
        wire.send("42", task=asked["id"])
    assert refused.value.code == UNSUPPORTED
    assert wire.get(asked["id"]) == canceled
    assert execution["name"].startswith(asked["id"])


def test_a_task_that_waits_in_the_queue_is_canceled_and_never_runs(wire: Wire, hooks: Hooks) -> None:
    busy = [wire.begin("wait 30") for _ in range(4)]  # a function has four environments here
    eventually(lambda: all(state(wire.get(task["id"])) == "WORKING" for task in busy) or None)
    counter = hooks.hook()
    queued = wire.begin(f"tick 60 {counter.url}")

    canceled = wire.cancel(queued["id"])
    for task in busy:
        wire.cancel(task["id"])
    after = wire.send("echo the queue goes on")

    assert (state(queued), state(canceled), state(after)) == ("SUBMITTED", "CANCELED", "COMPLETED")
    assert counter.all == []
    assert wire.get(queued["id"]) == canceled


def test_a_task_is_canceled_the_moment_it_is_made(wire: Wire, hooks: Hooks) -> None:
    """C07: a cancel may come before the agent ever heard of the task."""
    counter = hooks.hook()
    tasks = [wire.begin(f"tick 60 {counter.url}") for _ in range(5)]
    canceled = [wire.cancel(task["id"]) for task in tasks]

    assert {state(task) for task in canceled} == {"CANCELED"}
    assert falls_silent(counter)


def test_a_second_cancel_is_refused_and_changes_nothing(wire: Wire) -> None:
    """C03: never a 5xx, never the state before the cancel."""
    asked = wire.send("ask")
    canceled = wire.cancel(asked["id"])

    with pytest.raises(RpcError) as refused:
        wire.cancel(asked["id"])
    assert refused.value.code == NOT_CANCELABLE
    assert wire.get(asked["id"]) == canceled
    assert wire.rest("POST", f"/tasks/{asked['id']}:cancel").status_code in (400, 409)


@pytest.mark.parametrize("words", ["echo x", "fail", "an unknown command"])
def test_a_task_that_has_ended_is_not_canceled(wire: Wire, words: str) -> None:
    ended = wire.send(words)

    with pytest.raises(RpcError) as refused:
        wire.cancel(ended["id"])
    assert refused.value.code == NOT_CANCELABLE
    assert wire.get(ended["id"]) == ended


RACES = 16


def test_a_cancel_that_races_with_the_end_has_one_winner(wire: Wire, partner: Partner) -> None:
    """C01: one terminal state, the cancel's answer agrees with it, and it is told once."""
    with ThreadPoolExecutor(max_workers=4) as pool:
        outcomes = list(pool.map(lambda number: race(wire, partner, number), range(RACES)))

    for answered, final in outcomes:
        assert answered == state(final)
        partner.told_of(final["id"], final["status"]["state"])
        assert wire.get(final["id"]) == final
    told = [posted.json()["statusUpdate"] for posted in partner.hook.all]
    ends = Counter(event["taskId"] for event in told if event["status"]["state"] in TERMINAL)
    assert ends == {final["id"]: 1 for _, final in outcomes}
    assert {answered for answered, _ in outcomes} == {"COMPLETED", "CANCELED"}


def race(wire: Wire, partner: Partner, number: int) -> tuple[str, Object]:
    """Cancel a task of half a second: the first at once, the last after its end, the others somewhere between."""
    task = wire.begin("wait 0.5", push={"url": partner.url})
    if number == RACES - 1:
        wire.until(task["id"])
    elif number:
        wire.until(task["id"], TERMINAL | {"TASK_STATE_WORKING"})
        time.sleep(0.6 * number / RACES)
    answered = state_or_refusal(wire, task["id"])
    return ("COMPLETED" if answered == NOT_CANCELABLE else str(answered)), wire.until(task["id"])


def state_or_refusal(wire: Wire, task_id: str) -> str | int:
    """The state that a cancel answers with, or the code it is refused with."""
    try:
        return state(wire.cancel(task_id))
    except RpcError as refused:
        return refused.code


def test_a_cancel_reaches_whoever_streams(wire: Wire, connect: Connect, alice: str, stack: LocalStack) -> None:
    other, context = connect(stack.url, alice), str(uuid.uuid4())
    with ThreadPoolExecutor() as pool:
        streamed = pool.submit(other.events, "SendStreamingMessage", message("wait 30", context=context))
        (task,) = eventually(lambda: wire.rpc("ListTasks", {"contextId": context})["tasks"])
        wire.cancel(task["id"])

    assert streamed.result()[-1]["statusUpdate"]["status"]["state"] == "TASK_STATE_CANCELED"


def test_a_send_is_no_retry_once_its_task_was_canceled(wire: Wire) -> None:
    params = message("ask")
    first = wire.rpc("SendMessage", params)["task"]
    wire.cancel(first["id"])

    again = wire.rpc("SendMessage", params)["task"]

    assert again["id"] != first["id"]
    assert state(again) == "INPUT_REQUIRED"


def falls_silent(counter: Hook) -> bool:
    """Whether posts cease: two ticks' time without one, soon enough."""
    until = time.monotonic() + SILENCE
    while time.monotonic() < until:
        if counter.none_within(2.5):
            return True
    return False


def execution_of(stack: LocalStack, task_id: str, status: str | None = None) -> Any:
    """The newest execution that holds a wait of the task, if there is one in that status."""
    states = stack.client("stepfunctions")
    query = {"statusFilter": status} if status else {}
    found = states.list_executions(stateMachineArn=stack.outputs["WaitMachine"], **query)["executions"]
    return next((execution for execution in found if execution["name"].startswith(task_id)), None)
