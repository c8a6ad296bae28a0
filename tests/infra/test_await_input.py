"""The state machine of one wait, state by state and path by path."""

import json
from collections.abc import Iterable
from typing import Any

import pytest

from a2a_serverless.aws import settings
from cdk.waits import DEFINITION
from tests.infra.asl import TOKEN, Answer, Call, TaskError, walk
from tests.infra.template import Template

MACHINE: Any = json.loads(DEFINITION.read_text())
LOST = "DynamoDb.ConditionalCheckFailedException"
LATE = "States.Timeout"
THROTTLED = "DynamoDb.ProvisionedThroughputExceededException"


def wait(*seconds: int) -> dict[str, Any]:
    """The input of an execution."""
    return {"pk": "freight/t/alice/42", "number": 3, "task": "42", "waits": list(seconds)}


def answers(*outcomes: str | None) -> Answer:
    """Each attempt in turn fails under a name, or succeeds (None)."""
    left = list(outcomes)

    def answer(_: Call) -> Any:
        outcome = left.pop(0)
        if outcome is not None:
            raise TaskError(outcome)
        return {}

    return answer


def names(calls: Iterable[Call]) -> list[str]:
    return [call.state for call in calls]


# Paths


def test_an_answered_wait_costs_one_step() -> None:
    path, _ = walk(MACHINE, wait(3600), answers(None))

    assert path == ["AwaitAnswer"]


def test_a_wait_that_was_over_before_it_began_ends_at_once() -> None:
    path, calls = walk(MACHINE, wait(3600), answers(LOST))

    assert path == ["AwaitAnswer", "Over"]
    assert len(calls) == 1


def test_a_wait_without_reminders_expires_at_its_deadline() -> None:
    path, calls = walk(MACHINE, wait(3600), answers(LATE, None))

    assert path == ["AwaitAnswer", "RemindersLeft", "Expire"]
    assert calls[-1].arguments["Payload"] == {"pk": "freight/t/alice/42", "number": 3, "task": "42"}


def test_each_reminder_is_numbered_and_the_last_gap_ends_at_the_deadline() -> None:
    path, calls = walk(MACHINE, wait(60, 120, 180), answers(LATE, None, LATE, None, LATE, None))

    assert path == [
        *("AwaitAnswer", "RemindersLeft", "Remind"),
        *("AwaitAnswer", "RemindersLeft", "Remind"),
        *("AwaitAnswer", "RemindersLeft", "Expire"),
    ]
    assert [call.timeout for call in calls if call.state == "AwaitAnswer"] == [60, 120, 180]
    reminders = [call.arguments["ExpressionAttributeValues"][":reminder"] for call in calls if call.state == "Remind"]
    assert reminders == [{"N": "1"}, {"N": "2"}]


def test_an_answer_after_a_reminder_ends_the_wait() -> None:
    path, _ = walk(MACHINE, wait(60, 3600), answers(LATE, None, None))

    assert path == ["AwaitAnswer", "RemindersLeft", "Remind", "AwaitAnswer"]


def test_an_answer_that_comes_just_before_a_reminder_is_not_reminded_of() -> None:
    path, _ = walk(MACHINE, wait(60, 3600), answers(LATE, LOST))

    assert path == ["AwaitAnswer", "RemindersLeft", "Remind", "Over"]


def test_an_answer_that_comes_just_after_a_reminder_is_seen_before_waiting_on() -> None:
    path, _ = walk(MACHINE, wait(60, 3600), answers(LATE, None, LOST))

    assert path == ["AwaitAnswer", "RemindersLeft", "Remind", "AwaitAnswer", "Over"]


def test_a_reminder_that_cannot_be_written_does_not_cost_the_deadline() -> None:
    outcomes = answers(LATE, *[THROTTLED] * 9, LATE, None)

    path, calls = walk(MACHINE, wait(60, 120), outcomes)

    assert path == ["AwaitAnswer", "RemindersLeft", "Remind", "AwaitAnswer", "RemindersLeft", "Expire"]
    assert [call.timeout for call in calls if call.state == "AwaitAnswer"] == [60, 120]


@pytest.mark.parametrize("trouble", [THROTTLED, "DynamoDb.DynamoDbException", "DynamoDb.InternalServerErrorException"])
def test_trouble_with_the_table_is_tried_again(trouble: str) -> None:
    path, calls = walk(MACHINE, wait(3600), answers(trouble, trouble, None))

    assert path == ["AwaitAnswer"]
    assert len(calls) == 3


@pytest.mark.parametrize("trouble", ["Lambda.TooManyRequestsException", "Lambda.Unknown", "Conflict", LATE])
def test_an_expiry_is_tried_until_it_holds(trouble: str) -> None:
    path, calls = walk(MACHINE, wait(3600), answers(LATE, *[trouble] * 10, None))

    assert path[-1] == "Expire"
    assert names(calls).count("Expire") == 11


def test_an_expiry_that_never_holds_fails_the_execution_so_that_an_alarm_rings() -> None:
    with pytest.raises(TaskError, match=r"Lambda\.Unknown"):
        walk(MACHINE, wait(3600), answers(LATE, *["Lambda.Unknown"] * 11))


# What is written


def test_the_token_is_stored_in_the_head_of_the_task_that_still_waits() -> None:
    _, (call,) = walk(MACHINE, wait(3600), answers(None))

    assert call.resource == "arn:${Partition}:states:::aws-sdk:dynamodb:updateItem.waitForTaskToken"
    assert call.arguments == {
        "TableName": "${Table}",
        "Key": {settings.PARTITION_KEY: {"S": "freight/t/alice/42"}, settings.SORT_KEY: {"S": settings.HEAD}},
        "ConditionExpression": f"{settings.WAIT_NUMBER} = :number",
        "UpdateExpression": f"SET {settings.WAIT_TOKEN} = :token",
        "ExpressionAttributeValues": {":number": {"N": "3"}, ":token": {"S": TOKEN}},
    }
    assert call.timeout == 3600


def test_a_reminder_is_a_new_version_that_is_to_be_told() -> None:
    _, calls = walk(MACHINE, wait(60, 3600), answers(LATE, None, None))

    assert calls[1].arguments == {
        "TableName": "${Table}",
        "Key": {settings.PARTITION_KEY: {"S": "freight/t/alice/42"}, settings.SORT_KEY: {"S": settings.HEAD}},
        "ConditionExpression": f"{settings.WAIT_NUMBER} = :number",
        "UpdateExpression": (
            f"SET {settings.VERSION} = {settings.VERSION} + :one, "
            f"{settings.NUDGE_SEQ} = {settings.VERSION} + :one, {settings.WAIT_REMINDED} = :reminder"
        ),
        "ExpressionAttributeValues": {":number": {"N": "3"}, ":one": {"N": "1"}, ":reminder": {"N": "1"}},
    }


# The definition as a whole


def test_every_state_is_reached_and_every_next_is_there() -> None:
    states = MACHINE["States"]
    named = {MACHINE["StartAt"]}
    for state in states.values():
        rules = [state, *state.get("Catch", ()), *state.get("Choices", ())]
        named |= {rule[key] for rule in rules for key in ("Next", "Default") if key in rule}

    assert named == set(states) == {"AwaitAnswer", "RemindersLeft", "Remind", "Expire", "Over"}


def test_no_task_can_hang_for_ever() -> None:
    for state in MACHINE["States"].values():
        if state["Type"] == "Task":
            assert "TimeoutSeconds" in state


def test_the_machine_keeps_for_a_year_what_an_execution_may_last(every: Template) -> None:
    machine = every.of_type("AWS::StepFunctions::StateMachine")["AwaitInputMachine"]

    assert machine.get("StateMachineType", "STANDARD") == "STANDARD"
    assert "TimeoutSeconds" not in MACHINE


def test_the_definition_in_the_template_is_the_file_with_the_stack_s_own_names(every: Template) -> None:
    machine = every.of_type("AWS::StepFunctions::StateMachine")["AwaitInputMachine"]

    assert json.loads(machine["DefinitionString"]) == MACHINE
    assert machine["DefinitionSubstitutions"] == {
        "Partition": "AWS::Partition",
        "Table": "TasksTable",
        "Expire": "ExpireFunction.Arn",
    }
