"""Waits on Step Functions, held by the machine that the stack deploys."""

import time
import uuid
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from a2a_serverless.aws.clients import Clients
from a2a_serverless.aws.table import Table
from a2a_serverless.aws.task_table import TaskTable
from a2a_serverless.aws.waits import StepFunctionsWaits
from a2a_serverless.core.effects import EndWait, effects
from a2a_serverless.core.head import Change, Head
from a2a_serverless.errors import Conflict
from a2a_serverless.types import Scope

from . import build
from .conftest import random_ids

DEFINITION = Path(__file__).parents[3] / "cdk" / "await_input.asl.json"


@pytest.fixture(scope="session")
def machine(clients: Clients, table_name: str) -> str:
    definition = DEFINITION.read_text(encoding="utf-8")
    names = {"Partition": "aws", "Table": table_name, "Expire": "arn:aws:lambda:us-east-1:000000000000:function:none"}
    for name, value in names.items():
        definition = definition.replace(f"${{{name}}}", value)
    made = clients.stepfunctions.create_state_machine(
        name=f"waits-{uuid.uuid4().hex[:8]}",
        definition=definition,
        roleArn="arn:aws:iam::000000000000:role/waits",
    )
    return made["stateMachineArn"]


@pytest.fixture
def waits(clients: Clients, machine: str) -> StepFunctionsWaits:
    return StepFunctionsWaits(clients.stepfunctions, machine, clock=now)


@pytest.fixture
def store(table: Table) -> TaskTable:
    return TaskTable(table, ids=random_ids)


def now() -> datetime:
    return datetime.now(UTC).replace(microsecond=0)


def asking(store: TaskTable, scope: Scope) -> Head:
    return build.waiting(store, scope, random_ids(), now=now())


def until(found: Callable[[], Any]) -> Any:
    """What is found, once it is; the engine works in threads of its own."""
    deadline = time.monotonic() + 10
    while not (result := found()):
        assert time.monotonic() < deadline, "it did not happen within 10 s"
        time.sleep(0.02)
    return result


def held(store: TaskTable, head: Head) -> Head:
    """The task once the machine has left its token there."""

    def with_token() -> Head | None:
        current = store.head(head.key, now=now())
        return current if current is not None and current.wait_token else None

    found: Head = until(with_token)
    return found


def statuses(clients: Clients, machine: str, head: Head) -> list[str]:
    executions = clients.stepfunctions.list_executions(stateMachineArn=machine)["executions"]
    return [one["status"] for one in executions if one["name"].startswith(head.key.task_id)]


def entered(clients: Clients, machine: str, head: Head) -> list[str]:
    """The states that the one execution of a task has entered: what is billed."""
    executions = clients.stepfunctions.list_executions(stateMachineArn=machine)["executions"]
    (arn,) = [one["executionArn"] for one in executions if one["name"].startswith(head.key.task_id)]
    pages = clients.stepfunctions.get_paginator("get_execution_history").paginate(executionArn=arn)
    events = [event for page in pages for event in page["events"]]
    return [event["stateEnteredEventDetails"]["name"] for event in events if event["type"].endswith("StateEntered")]


def test_the_machine_leaves_its_token_in_the_task(store: TaskTable, waits: StepFunctionsWaits, scope: Scope) -> None:
    head = asking(store, scope)
    assert head.wait is not None

    waits.start_wait(head.key, head.wait)

    assert held(store, head) == head.but(wait_token=held(store, head).wait_token)


def test_an_answer_ends_the_wait(
    store: TaskTable, waits: StepFunctionsWaits, clients: Clients, machine: str, scope: Scope
) -> None:
    head = asking(store, scope)
    assert head.wait is not None
    waits.start_wait(head.key, head.wait)
    parked = held(store, head)

    answered = store.commit(build.answer(parked, now=now()))
    (ended,) = [effect for effect in effects(parked, answered) if isinstance(effect, EndWait)]
    waits.end_wait(ended.token)

    until(lambda: statuses(clients, machine, head) == ["SUCCEEDED"])
    stored = store.head(head.key, now=now())
    assert stored == answered
    assert stored is not None
    assert stored.wait_token == ""
    assert entered(clients, machine, head) == ["AwaitAnswer"]


def test_a_wait_that_was_answered_before_it_is_held_is_over_at_once(
    store: TaskTable, waits: StepFunctionsWaits, clients: Clients, machine: str, scope: Scope
) -> None:
    head = asking(store, scope)
    assert head.wait is not None
    answered = store.commit(build.answer(head, now=now()))

    waits.start_wait(head.key, head.wait)

    until(lambda: statuses(clients, machine, head) == ["SUCCEEDED"])
    assert store.head(head.key, now=now()) == answered
    assert entered(clients, machine, head) == ["AwaitAnswer", "Over"]


def test_starting_a_wait_again_is_harmless(
    store: TaskTable, waits: StepFunctionsWaits, clients: Clients, machine: str, scope: Scope
) -> None:
    head = asking(store, scope)
    assert head.wait is not None
    later = StepFunctionsWaits(clients.stepfunctions, machine, clock=lambda: now() + timedelta(seconds=30))

    waits.start_wait(head.key, head.wait)
    waits.start_wait(head.key, head.wait)
    later.start_wait(head.key, head.wait)

    held(store, head)
    assert statuses(clients, machine, head) == ["RUNNING"]


def test_ending_a_wait_that_is_over_is_harmless(store: TaskTable, waits: StepFunctionsWaits, scope: Scope) -> None:
    head = asking(store, scope)
    assert head.wait is not None
    waits.start_wait(head.key, head.wait)
    token = held(store, head).wait_token

    for known in (token, token, "never given"):
        waits.end_wait(known)


def test_a_writer_that_did_not_see_the_token_leaves_it_there(
    store: TaskTable, waits: StepFunctionsWaits, scope: Scope
) -> None:
    head = asking(store, scope)
    assert head.wait is not None
    waits.start_wait(head.key, head.wait)
    token = held(store, head).wait_token

    with_one_more = Change(head, head.but(version=head.version + 1, push=("p-1",)))
    store.commit(with_one_more)

    stored = store.head(head.key, now=now())
    assert stored is not None
    assert (stored.wait_token, stored.push) == (token, ("p-1",))


def test_a_reminder_is_a_new_version_that_a_partner_hears_of(
    store: TaskTable, waits: StepFunctionsWaits, clients: Clients, machine: str, scope: Scope
) -> None:
    parked = asking(store, scope)
    assert parked.wait is not None
    wait = parked.wait
    soon = Change(
        parked,
        parked.but(version=parked.version + 1, wait=replace(wait, remind=(timedelta(seconds=1),))),
    )
    head = store.commit(soon)
    assert head.wait is not None

    waits.start_wait(head.key, head.wait)

    def reminded() -> Head | None:
        current = store.head(head.key, now=now())
        return current if current is not None and current.version > head.version else None

    current: Head = until(reminded)
    assert current.nudge_seq == current.version == head.version + 1
    assert current.status == head.status
    held(store, current)
    until(lambda: entered(clients, machine, head) == ["AwaitAnswer", "RemindersLeft", "Remind", "AwaitAnswer"])
    with pytest.raises(Conflict):
        store.commit(build.answer(head, now=now()))
