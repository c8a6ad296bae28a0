"""LocalStack: a task on the whole synthesized stack, through crashes, restarts and missing permissions."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx

from a2a_serverless.local.clone import repository_root
from a2a_serverless.local.dev_issuer import DevIssuer
from a2a_serverless.local.stack import LocalStack, Template

from .conftest import SCRIPTED
from .talking import Caller, eventually, state_of


def test_a_task_asks_and_is_answered_and_its_wait_ends_with_it(stack: LocalStack, caller: Caller) -> None:
    asked = caller.send("ask")
    assert state_of(asked) == "INPUT_REQUIRED"
    eventually(lambda: _running(stack, asked["id"]) == ["RUNNING"], 20)

    answered = caller.send("sea", task=asked["id"])

    assert state_of(answered) == "COMPLETED"
    eventually(lambda: _running(stack, asked["id"]) == ["SUCCEEDED"], 20)


def test_a_deadline_that_passes_fails_the_task(caller: Caller) -> None:
    asked = caller.send("expire 1")

    caller.until(asked["id"], "FAILED")


def test_a_turn_whose_worker_is_killed_is_taken_over_and_completes(stack: LocalStack, caller: Caller) -> None:
    task = caller.send("wait 3", wait=False)
    caller.until(task["id"], "WORKING")

    killed = stack.kill_worker("run_turn")

    assert killed
    caller.until(task["id"], "COMPLETED", seconds=90)


def test_the_log_of_a_hop_can_be_read(stack: LocalStack, caller: Caller) -> None:
    task = caller.send("echo hello")

    eventually(lambda: task["id"] in stack.log_of("run_turn"), 10)


def test_two_stacks_run_side_by_side_and_know_nothing_of_each_other(stack: LocalStack, caller: Caller) -> None:
    task = caller.send("echo hello")

    with LocalStack(agents={"a": SCRIPTED, "b": "functions.agents.freight:agent"}, auth="dev") as other:
        token = DevIssuer.of(repository_root()).token("alice", now=datetime.now(UTC))
        alice = Caller(other.url, token=token)
        nobody = httpx.get(f"{other.url}/tasks/{task['id']}")
        foreign = alice.call("GetTask", id=task["id"]).json()
        alice.close()

        assert other.agent_names == ["a", "b"]
        assert other.url != stack.url
        assert nobody.status_code == 401
        assert foreign["error"]["code"] == -32001  # TaskNotFound


def test_tasks_that_wait_outlive_a_hard_kill_and_are_all_answered(tmp_path: Path) -> None:
    stack = LocalStack(agents=SCRIPTED, state_dir=tmp_path)
    stack.start()
    caller = Caller(stack.url)
    tasks = [caller.send("ask", wait=False)["id"] for _ in range(8)]

    stack.kill()
    stack.start()

    for task in tasks:
        caller.until(task, "INPUT_REQUIRED", seconds=120)
    answered = [state_of(caller.send("sea", task=task)) for task in tasks]
    assert answered == ["COMPLETED"] * len(tasks)
    eventually(lambda: {status for task in tasks for status in _running(stack, task)} == {"SUCCEEDED"}, 30)
    caller.close()
    stack.stop()


def test_a_permission_that_is_taken_away_is_missed() -> None:
    def without_sending_turns(template: Template) -> None:
        for statement in _statements_of(template, "Relay"):
            actions = statement["Action"] if isinstance(statement["Action"], list) else [statement["Action"]]
            statement["Action"] = [action for action in actions if action != "dynamodb:GetRecords"] or ["none:none"]

    with LocalStack(agents=SCRIPTED, strict_iam=True, template_edit=without_sending_turns) as stack:
        caller = Caller(stack.url)
        caller.send("ask", wait=False)
        caller.close()

        assert "is not authorized to perform: dynamodb:GetRecords" in eventually(lambda: stack.stderr, 10)


def _statements_of(template: Template, part: str) -> list[dict[str, Any]]:
    policies = [
        resource["Properties"]["PolicyDocument"]["Statement"]
        for name, resource in template["Resources"].items()
        if resource["Type"] == "AWS::IAM::Policy" and name.startswith(part)
    ]
    assert policies
    return [statement for statements in policies for statement in statements]


def _running(stack: LocalStack, task: str) -> list[str]:
    machine = stack.outputs["WaitMachine"]
    found = stack.client("stepfunctions").list_executions(stateMachineArn=machine, maxResults=1000)["executions"]
    return [execution["status"] for execution in found if execution["name"].startswith(task)]
