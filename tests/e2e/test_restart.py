"""The stack is killed hard, as by a power cut, and started again, or deployed anew: what was promised is kept."""

import json
import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from a2a_serverless.local.stack import LocalStack, Template

from .conftest import AGENTS, LEASE, Connect
from .hooks import Hooks, Partner
from .wire import Object, Wire, eventually, state, text_of

MANY = int(os.environ.get("RESTARTED_TASKS", "20"))
"""How many tasks wait through it; 200 takes some minutes."""


@pytest.fixture
def restartable(tmp_path: Path) -> Iterator[LocalStack]:
    """A stack whose state is kept, and that takes over soon what was at work."""
    env = {"A2A_LEASE_SECONDS": str(int(LEASE))}
    with LocalStack(agents={"scripted": AGENTS["scripted"]}, env=env, state_dir=tmp_path) as running:
        yield running


@pytest.fixture
def caller(restartable: LocalStack, connect: Connect) -> Wire:
    """Somebody in front of it."""
    return connect(restartable.url)


@pytest.fixture
def told(restartable: LocalStack, hooks: Hooks) -> Partner:
    """A partner of it."""
    return hooks.partner(restartable.url, issuer=restartable.url)


def test_tasks_that_ask_outlive_a_power_cut_and_their_answers_complete_them(
    restartable: LocalStack, caller: Wire, told: Partner
) -> None:
    """I07: tasks, histories and webhooks are there; each is answered, and each partner is told."""
    finished = caller.send("echo before")
    deadline = caller.send("expire 8", push={"url": told.url})
    asked = [caller.begin("ask", push={"url": told.url}) for _ in range(MANY)]
    asked = [caller.until(task["id"], "INPUT_REQUIRED") for task in asked]
    working = caller.begin("wait 1")
    begun = [caller.begin("echo late") for _ in range(3)]

    restartable.kill()
    restartable.start()

    assert caller.get(finished["id"]) == finished
    for task in asked:
        assert seen(caller.get(task["id"])) == seen(task)
        (config,) = caller.rpc("ListTaskPushNotificationConfigs", {"taskId": task["id"]})["configs"]
        assert config["url"] == told.url
        caller.begin("42", task=task["id"])
    for task in asked:
        done = caller.until(task["id"])
        assert (state(done), text_of(done["artifacts"][0])) == ("COMPLETED", "42")
        told.told_of(task["id"], "TASK_STATE_COMPLETED", seconds=60)
    for task in (working, *begun):
        assert state(caller.until(task["id"], seconds=90)) == "COMPLETED"
    assert "failed a batch" not in restartable.stderr, "what was under way met the functions while they were replaced"
    assert state(caller.until(deadline["id"], seconds=60)) == "FAILED"
    told.told_of(deadline["id"], "TASK_STATE_FAILED", seconds=60)


def test_tasks_that_wait_outlive_a_redeploy_of_everything_that_runs(
    restartable: LocalStack, caller: Wire, told: Partner
) -> None:
    """I07: every function and the state machine are replaced while questions are open; none is lost or asked again."""
    with ThreadPoolExecutor(max_workers=4) as pool:
        asked = list(pool.map(lambda _: caller.begin("ask", push={"url": told.url}), range(MANY)))
    asked = [caller.until(task["id"], "INPUT_REQUIRED") for task in asked]
    approval = caller.send("auth")
    deadline = caller.send("expire 15")
    eventually(lambda: len(held(restartable)) == MANY + 2, 60)
    before = {hop: restartable.workers(hop) for hop in ("api", "run_turn")}

    restartable.redeploy(with_everything_changed)

    assert [seen(caller.get(task["id"])) for task in asked] == [seen(task) for task in asked]
    for task in asked:
        caller.begin("42", task=task["id"])
    address = text_of(approval["status"]["message"]).rpartition(" ")[2]
    assert caller.http.post(address, json={"approved": True}).status_code == 200
    for task in (*asked, approval):
        assert state(caller.until(task["id"], seconds=90)) == "COMPLETED"
    for task in asked:
        told.told_of(task["id"], "TASK_STATE_COMPLETED", seconds=90)
    assert state(caller.until(deadline["id"], seconds=90)) == "FAILED"
    eventually(lambda: held(restartable) == [], 60)
    for hop, workers in before.items():
        assert not set(workers) & set(restartable.workers(hop)), f"{hop} runs what was there before"


def with_everything_changed(template: Template) -> None:
    """Another environment for every function, and another definition of the machine."""
    for resource in template["Resources"].values():
        properties = resource.get("Properties", {})
        if resource["Type"] == "AWS::Lambda::Function" and "Environment" in properties:
            properties["Environment"]["Variables"]["DEPLOYED"] = "again"
        if resource["Type"] == "AWS::StepFunctions::StateMachine":
            text = json.dumps(properties["DefinitionString"])
            assert "One wait of one task." in text
            properties["DefinitionString"] = json.loads(text.replace("One wait of one task.", "Deployed again."))


def held(stack: LocalStack) -> list[str]:
    """The executions that hold waits at the moment."""
    pages = stack.client("stepfunctions").get_paginator("list_executions")
    found = pages.paginate(stateMachineArn=stack.outputs["WaitMachine"], statusFilter="RUNNING")
    return [execution["name"] for page in found for execution in page["executions"]]


def seen(task: Object) -> Object:
    """What a caller goes by; a webhook's own bookkeeping may have moved the version on."""
    return {name: value for name, value in task.items() if name != "metadata"}
