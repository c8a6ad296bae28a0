"""Nudges that come back later than the queue can hold them, on the running stack and in the roles of its template."""

import json
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any, TypeVar

import pytest

from a2a_serverless.aws.keys import task_text
from a2a_serverless.aws.schedules import schedule_name
from a2a_serverless.local.stack import LocalStack
from a2a_serverless.types import Owner, Scope, TaskKey

from .conftest import PATIENCE, Caller, Receiver

Found = TypeVar("Found")


def eventually(look: Callable[[], Found | None]) -> Found:
    """What `look` finds, asked again and again: for what nobody announces."""
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until:
        if found := look():
            return found
        time.sleep(0.1)
    pytest.fail(f"not within {PATIENCE} s")


def key_of(task_id: str) -> TaskKey:
    return TaskKey(Scope("scripted", Owner("anonymous")), task_id)


class Schedules:
    """The schedules of the stack."""

    def __init__(self, stack: LocalStack) -> None:
        self.client = stack.client("scheduler")
        (self.group,) = [
            group["Name"]
            for group in self.client.list_schedule_groups()["ScheduleGroups"]
            if group["Name"] != "default"
        ]

    def of(self, task_id: str) -> Any | None:
        """The schedule of the task's webhook, if there is one."""
        try:
            return self.client.get_schedule(GroupName=self.group, Name=schedule_name(key_of(task_id), "c1"))
        except self.client.exceptions.ResourceNotFoundException:
            return None

    def bring_forward(self, schedule: Any, at: datetime) -> None:
        """Let it fire then."""
        kept = ("GroupName", "Name", "FlexibleTimeWindow", "Target", "ActionAfterCompletion")
        self.client.update_schedule(
            **{name: schedule[name] for name in kept}, ScheduleExpression=f"at({at:%Y-%m-%dT%H:%M:%S})"
        )


def failing_for_long(caller: Caller, receiver: Receiver) -> str:
    """A task whose nudge was refused, and asked to come again in half an hour."""
    receiver.answers(500, Retry_After="1800")
    task = caller.ask(receiver.url)
    eventually(lambda: "pending" in str(caller.deliveries(task)) and "INPUT" in receiver.next().body.decode())
    return task


def test_a_long_pause_is_held_by_one_schedule_that_names_what_it_brings_back(
    stack: LocalStack, caller: Caller, receiver: Receiver
) -> None:
    task = failing_for_long(caller, receiver)

    schedule = eventually(lambda: Schedules(stack).of(task))

    (delivery, *_) = caller.deliveries(task)["deliveries"]
    said = json.loads(schedule["Target"]["Input"])
    assert said == {"pk": task_text(key_of(task)), "config": "c1", "seq": int(delivery["seq"])}
    assert schedule["ActionAfterCompletion"] == "DELETE"
    due = datetime.strptime(schedule["ScheduleExpression"], "at(%Y-%m-%dT%H:%M:%S)").replace(tzinfo=UTC)
    planned = datetime.fromisoformat(delivery["nextAttempt"])
    assert timedelta(0) <= due - planned <= timedelta(seconds=1)
    assert task in schedule["Description"]


def test_news_cancels_the_schedule_of_what_it_supersedes(stack: LocalStack, caller: Caller, receiver: Receiver) -> None:
    task, schedules = failing_for_long(caller, receiver), Schedules(stack)
    eventually(lambda: schedules.of(task))
    receiver.answers(202)

    caller.send("42", task=task)

    eventually(lambda: "COMPLETED" in receiver.next().body.decode())
    eventually(lambda: schedules.of(task) is None)
    eventually(lambda: caller.deliveries(task)["deliveries"][0]["outcome"] == "delivered")


def test_a_schedule_that_fires_brings_the_nudge_back_in_its_own_role_and_is_gone(
    stack: LocalStack, caller: Caller, receiver: Receiver
) -> None:
    task, schedules = failing_for_long(caller, receiver), Schedules(stack)
    schedule = eventually(lambda: schedules.of(task))
    receiver.answers(202)
    _make_due(stack, task)

    schedules.bring_forward(schedule, datetime.now(tz=UTC))

    assert "INPUT_REQUIRED" in receiver.next().body.decode()
    eventually(lambda: schedules.of(task) is None)


def _make_due(stack: LocalStack, task: str) -> None:
    """What half an hour does."""
    table = {"TableName": stack.outputs["Table"]}
    key = {"pk": {"S": task_text(key_of(task))}, "sk": {"S": "PUSH#c1"}}
    item = stack.client("dynamodb").get_item(**table, Key=key)["Item"]
    told = json.loads(item["delivery"]["S"])
    told["pending"]["next"] = told["scheduled"] = int(time.time() * 1000)
    stack.client("dynamodb").put_item(**table, Item={**item, "delivery": {"S": json.dumps(told)}})
