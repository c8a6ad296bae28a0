"""Step Functions: one execution per name, tokens with one winner, deadlines, and the race that a wait must survive."""

import json
import threading
import time
from typing import Any

import pytest
from botocore.exceptions import ClientError

from .conftest import Cloud, Queue, Table, eventually, item

PASS = {"StartAt": "A", "States": {"A": {"Type": "Pass", "End": True}}}
CAUGHT = {"Type": "Pass", "Parameters": {"caught.$": "$.error.Error"}, "End": True}


def hands_token_to(queue: Queue, **state: Any) -> dict[str, Any]:
    """A machine of one task, which sends its token to a queue and waits for it to come back."""
    task = {
        "Type": "Task",
        "Resource": "arn:aws:states:::sqs:sendMessage.waitForTaskToken",
        "Parameters": {"QueueUrl": queue.url, "MessageBody": {"token.$": "$$.Task.Token"}},
        "End": True,
    }
    return {"StartAt": "A", "States": {"A": {**task, **state}, "Caught": CAUGHT}}


def catching(error: str) -> dict[str, Any]:
    """A state's Catch that leads to the state Caught."""
    return {"Catch": [{"ErrorEquals": [error], "ResultPath": "$.error", "Next": "Caught"}]}


def awaits_answer(table: Table, *, seconds: str = "{% $states.input.seconds %}") -> dict[str, Any]:
    """The kit's wait: store the token in the task under a condition, then wait for it (cdk/await_input.asl.json)."""
    return {
        "QueryLanguage": "JSONata",
        "StartAt": "AwaitAnswer",
        "States": {
            "AwaitAnswer": {
                "Type": "Task",
                "Resource": "arn:aws:states:::aws-sdk:dynamodb:updateItem.waitForTaskToken",
                "Arguments": {
                    "TableName": table.name,
                    "Key": {"pk": {"S": "{% $states.input.pk %}"}, "sk": {"S": "HEAD"}},
                    "ConditionExpression": "wait_number = :number",
                    "UpdateExpression": "SET wait_token = :token",
                    "ExpressionAttributeValues": {
                        ":number": {"N": "{% $string($states.input.number) %}"},
                        ":token": {"S": "{% $states.context.Task.Token %}"},
                    },
                },
                "TimeoutSeconds": seconds,
                "Catch": [
                    {
                        "ErrorEquals": ["DynamoDb.ConditionalCheckFailedException"],
                        "Output": "nothing to wait for",
                        "Next": "Over",
                    },
                    {"ErrorEquals": ["States.Timeout"], "Output": "the deadline passed", "Next": "Over"},
                ],
                "End": True,
            },
            "Over": {"Type": "Succeed"},
        },
    }


def output(execution: dict[str, Any]) -> Any:
    """What an execution ended with."""
    return json.loads(execution["output"])


def token_in(cloud: Cloud, table: Table, pk: str) -> str:
    """The token that an execution has stored in a task."""
    found: str = eventually(
        lambda: cloud.dynamodb.get_item(TableName=table.name, Key=item(pk))["Item"].get("wait_token", {}).get("S")
    )
    return found


def token_from(cloud: Cloud, queue: Queue) -> str:
    """The token that an execution has sent to a queue."""
    token: str = json.loads(cloud.receive(queue)["Body"])["token"]
    return token


def code_of(caught: "pytest.ExceptionInfo[ClientError]") -> str:
    """The error code of a refused call."""
    return str(caught.value.response["Error"]["Code"])


def test_the_answer_ends_a_wait_whose_token_lies_in_the_task(cloud: Cloud) -> None:
    table = cloud.table()
    cloud.put(table, "task", wait_number=1)
    execution = cloud.start(cloud.machine(awaits_answer(table)), {"pk": "task", "number": 1, "seconds": 60})

    cloud.states.send_task_success(taskToken=token_in(cloud, table, "task"), output='"answered"')

    ended = cloud.ended(execution)
    assert (ended["status"], output(ended)) == ("SUCCEEDED", "answered")


def test_a_wait_that_is_over_before_it_began_ends_at_once_and_leaves_no_token(cloud: Cloud) -> None:
    table = cloud.table()
    cloud.put(table, "task", wait_number=2)

    execution = cloud.start(cloud.machine(awaits_answer(table)), {"pk": "task", "number": 1, "seconds": 60})

    assert output(cloud.ended(execution)) == "nothing to wait for"
    assert cloud.dynamodb.get_item(TableName=table.name, Key=item("task"))["Item"] == item("task", wait_number=2)


def test_a_wait_ends_at_its_deadline_which_its_input_gives(cloud: Cloud) -> None:
    table = cloud.table()
    cloud.put(table, "task", wait_number=1)
    started = time.monotonic()

    execution = cloud.start(cloud.machine(awaits_answer(table)), {"pk": "task", "number": 1, "seconds": 1})

    assert output(cloud.ended(execution)) == "the deadline passed"
    assert 0.9 < time.monotonic() - started < 4


def test_a_deadline_that_is_no_positive_number_fails_the_execution(cloud: Cloud) -> None:
    table = cloud.table()
    cloud.put(table, "task", wait_number=1)

    execution = cloud.start(cloud.machine(awaits_answer(table)), {"pk": "task", "number": 1, "seconds": 0})

    assert cloud.ended(execution)["error"] == "States.Runtime"


def test_a_token_that_comes_after_the_deadline_is_timed_out(cloud: Cloud) -> None:
    queue = cloud.queue()
    execution = cloud.start(cloud.machine(hands_token_to(queue, TimeoutSeconds=1)))
    token = token_from(cloud, queue)
    cloud.ended(execution)

    with pytest.raises(ClientError) as caught:
        cloud.states.send_task_success(taskToken=token, output="1")

    assert code_of(caught) == "TaskTimedOut"


def test_a_token_is_taken_once_however_many_send_it(cloud: Cloud) -> None:
    queue = cloud.queue()
    execution = cloud.start(cloud.machine(hands_token_to(queue)))
    token = token_from(cloud, queue)
    accepted: list[str] = []

    def send(number: int) -> None:
        try:
            cloud.states.send_task_success(taskToken=token, output=str(number))
        except ClientError:
            return
        accepted.append(str(number))

    senders = [threading.Thread(target=send, args=(number,)) for number in range(8)]
    for sender in senders:
        sender.start()
    for sender in senders:
        sender.join()

    assert [cloud.ended(execution)["output"]] == accepted


def test_a_token_of_a_stopped_execution_is_refused(cloud: Cloud) -> None:
    queue = cloud.queue()
    execution = cloud.start(cloud.machine(hands_token_to(queue)))
    token = token_from(cloud, queue)
    cloud.states.stop_execution(executionArn=execution, error="Cancelled", cause="the task was cancelled")

    with pytest.raises(ClientError) as caught:
        cloud.states.send_task_success(taskToken=token, output="1")

    assert code_of(caught) == "TaskTimedOut"
    assert cloud.ended(execution)["status"] == "ABORTED"


def test_a_token_that_was_never_issued_is_invalid(cloud: Cloud) -> None:
    cloud.machine(PASS)

    with pytest.raises(ClientError) as caught:
        cloud.states.send_task_success(taskToken="nonsense", output="1")

    assert code_of(caught) == "InvalidToken"


def test_an_output_that_is_no_json_is_refused_and_the_task_waits_on(cloud: Cloud) -> None:
    queue = cloud.queue()
    execution = cloud.start(cloud.machine(hands_token_to(queue)))
    token = token_from(cloud, queue)

    with pytest.raises(ClientError) as caught:
        cloud.states.send_task_success(taskToken=token, output="{not json")

    assert code_of(caught) == "InvalidOutput"
    cloud.states.send_task_success(taskToken=token, output="1")
    assert cloud.ended(execution)["status"] == "SUCCEEDED"


def test_a_sent_failure_is_caught_by_its_name(cloud: Cloud) -> None:
    queue = cloud.queue()
    execution = cloud.start(cloud.machine(hands_token_to(queue, **catching("Declined"))), {})

    cloud.states.send_task_failure(taskToken=token_from(cloud, queue), error="Declined", cause="why")

    assert output(cloud.ended(execution)) == {"caught": "Declined"}


def test_a_task_that_is_tried_again_hands_out_another_token(cloud: Cloud) -> None:
    queue = cloud.queue()
    retry = [{"ErrorEquals": ["Again"], "IntervalSeconds": 1, "MaxAttempts": 1}]
    execution = cloud.start(cloud.machine(hands_token_to(queue, Retry=retry)))
    first = token_from(cloud, queue)
    cloud.states.send_task_failure(taskToken=first, error="Again")

    second = token_from(cloud, queue)
    cloud.states.send_task_success(taskToken=second, output='"done"')

    assert first != second
    assert output(cloud.ended(execution)) == "done"


def test_a_silent_task_misses_its_heartbeat(cloud: Cloud) -> None:
    queue = cloud.queue()
    machine = cloud.machine(hands_token_to(queue, HeartbeatSeconds=1, **catching("States.HeartbeatTimeout")))

    execution = cloud.start(machine, {})

    assert output(cloud.ended(execution)) == {"caught": "States.HeartbeatTimeout"}


def test_a_machine_s_own_timeout_ends_the_execution(cloud: Cloud) -> None:
    execution = cloud.start(cloud.machine({**hands_token_to(cloud.queue()), "TimeoutSeconds": 1}))

    assert cloud.ended(execution)["status"] == "TIMED_OUT"


def test_the_same_start_again_is_the_same_execution_and_another_input_or_a_closed_one_is_refused(cloud: Cloud) -> None:
    queue = cloud.queue()
    machine = cloud.machine(hands_token_to(queue))
    first = cloud.start(machine, {"n": 1}, name="task-1")

    assert cloud.start(machine, {"n": 1}, name="task-1") == first
    with pytest.raises(ClientError) as other_input:
        cloud.start(machine, {"n": 2}, name="task-1")
    cloud.states.send_task_success(taskToken=token_from(cloud, queue), output="1")
    cloud.ended(first)
    with pytest.raises(ClientError) as closed:
        cloud.start(machine, {"n": 1}, name="task-1")

    assert (code_of(other_input), code_of(closed)) == ("ExecutionAlreadyExists", "ExecutionAlreadyExists")


def test_an_input_above_256_kb_is_refused(cloud: Cloud) -> None:
    with pytest.raises(ClientError) as caught:
        cloud.start(cloud.machine(PASS), {"text": "x" * 300_000})

    assert code_of(caught) == "InvalidExecutionInput"


def test_a_function_that_raises_fails_its_task_by_the_name_of_the_exception(cloud: Cloud) -> None:
    function = cloud.function("class Mine(Exception): pass\ndef handler(event, context): raise Mine('no')\n")
    task = {
        "Type": "Task",
        "Resource": "arn:aws:states:::lambda:invoke",
        "Parameters": {"FunctionName": function.arn, "Payload": {}},
        "Retry": [{"ErrorEquals": ["Mine"], "IntervalSeconds": 1, "MaxAttempts": 1}],
        "End": True,
        **catching("Mine"),
    }

    execution = cloud.start(cloud.machine({"StartAt": "A", "States": {"A": task, "Caught": CAUGHT}}))

    assert output(cloud.ended(execution)) == {"caught": "Mine"}


def test_a_function_that_should_take_the_token_along_and_raises_fails_the_task_at_once(cloud: Cloud) -> None:
    function = cloud.function("class Mine(Exception): pass\ndef handler(event, context): raise Mine('no')\n")
    task = {
        "Type": "Task",
        "Resource": "arn:aws:states:::lambda:invoke.waitForTaskToken",
        "Parameters": {"FunctionName": function.arn, "Payload": {"token.$": "$$.Task.Token"}},
        "TimeoutSeconds": 60,
        "End": True,
        **catching("Mine"),
    }

    execution = cloud.start(cloud.machine({"StartAt": "A", "States": {"A": task, "Caught": CAUGHT}}))

    assert output(cloud.ended(execution)) == {"caught": "Mine"}


def test_the_history_of_an_answered_wait_names_every_step(cloud: Cloud) -> None:
    queue = cloud.queue()
    execution = cloud.start(cloud.machine(hands_token_to(queue)))
    cloud.states.send_task_success(taskToken=token_from(cloud, queue), output="1")
    cloud.ended(execution)

    events = cloud.states.get_execution_history(executionArn=execution)["events"]

    assert [event["type"] for event in events] == [
        "ExecutionStarted", "TaskStateEntered", "TaskScheduled", "TaskStarted", "TaskSubmitted", "TaskSucceeded",
        "TaskStateExited", "ExecutionSucceeded",
    ]  # fmt: skip


def test_fifty_executions_wait_at_the_same_time(cloud: Cloud) -> None:
    table = cloud.table()
    machine = cloud.machine(awaits_answer(table))
    tasks = [f"task-{number}" for number in range(50)]
    for task in tasks:
        cloud.put(table, task, wait_number=1)

    executions = [cloud.start(machine, {"pk": task, "number": 1, "seconds": 600}, name=task) for task in tasks]
    for task in tasks:
        cloud.states.send_task_success(taskToken=token_in(cloud, table, task), output="1")

    assert {cloud.ended(execution)["status"] for execution in executions} == {"SUCCEEDED"}
