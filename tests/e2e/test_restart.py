"""The stack is killed hard, as by a power cut, and started again: what was promised before is kept after."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from a2a_serverless.local.stack import LocalStack

from .conftest import AGENTS, LEASE, Connect
from .hooks import Hooks, Partner
from .wire import Object, Wire, state, text_of

MANY = int(os.environ.get("RESTARTED_TASKS", "20"))
"""How many tasks wait through the restart; 200 takes some minutes."""


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
    assert state(caller.until(working["id"], seconds=90)) == "COMPLETED"
    assert state(caller.until(deadline["id"], seconds=60)) == "FAILED"
    told.told_of(deadline["id"], "TASK_STATE_FAILED", seconds=60)


def seen(task: Object) -> Object:
    """What a caller goes by; a webhook's own bookkeeping may have moved the version on."""
    return {name: value for name, value in task.items() if name != "metadata"}
