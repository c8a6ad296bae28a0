"""SendMessage: webhooks that come along."""

from dataclasses import replace

import pytest

from a2a_serverless.app import push_configs, subscribe
from a2a_serverless.app.cancel import cancel
from a2a_serverless.app.send import SendRequest, send
from a2a_serverless.core.head import Change, Head, Rules
from a2a_serverless.core.push import WireVersion
from a2a_serverless.errors import (
    InvalidParams,
    UnsupportedOperation,
)
from a2a_serverless.types import Caller, Owner, Task, TaskState
from tests.unit.app.sending import sends
from tests.unit.app.world import ALICE, HOOK, World, agent_that, asks_once, request, webhook


def test_p01_an_inline_webhook_is_stored_before_the_answer_and_named_by_the_server() -> None:
    world = World()

    task = world.send(hook=webhook(token="t", authentication={"scheme": "bearer", "credentials": "tok-A"}))

    (config,) = push_configs.list_all(world.host, ALICE, task.id)
    assert (bool(config.id), config.task_id, config.url) == (True, task.id, HOOK)
    assert "tok-A" not in config.to_json()
    assert world.head(task).push == (config.id,)


def test_p01_a_task_that_completes_within_its_send_is_nudged_all_the_same() -> None:
    world = World()
    world.meanwhile = [world.settle]

    answer = sends(world, hook=HOOK)

    assert isinstance(answer, Task)
    world.notify()
    assert [nudge.head.state for nudge in world.post.came] == [TaskState.COMPLETED]


def test_a_webhook_may_come_along_with_an_answer() -> None:
    world = World(agent_that(asks_once))
    task = world.send()
    world.settle()

    world.send("42", task=task, hook=HOOK)

    assert [config.url for config in push_configs.list_all(world.host, ALICE, task.id)] == [HOOK]


def full_of_webhooks(world: World) -> Task:
    task = world.send("start", hook=webhook(id="hook-0"))
    for number in range(1, world.rules.push_configs):
        push_configs.create(world.host, ALICE, task.id, webhook(id=f"hook-{number}"), WireVersion.V1_0)
    return task


def test_p09_one_webhook_more_than_a_task_may_have_is_refused_with_its_message() -> None:
    world = World(rules=Rules(push_configs=3))
    task = full_of_webhooks(world)
    before = world.record(task)

    with pytest.raises(InvalidParams, match="at most 3 webhooks"):
        sends(world, "one more", task=task, hook=webhook(id="hook-3"))

    assert world.record(task) == before
    assert len(push_configs.list_all(world.host, ALICE, task.id)) == 3


def test_a_repeat_of_the_send_that_brought_the_last_webhook_is_still_a_retry() -> None:
    world = World(rules=Rules(push_configs=2))
    task = world.send("start", hook=HOOK)
    world.send("more", task=task, hook=HOOK)

    again = world.send("more", task=task, hook=HOOK)

    assert again.id == task.id
    assert len(push_configs.list_all(world.host, ALICE, task.id)) == 2


def test_a_full_task_that_has_ended_is_refused_because_it_has_ended() -> None:
    world = World(rules=Rules(push_configs=1))
    task = full_of_webhooks(world)
    world.settle()

    with pytest.raises(UnsupportedOperation):
        sends(world, "more", task=task, hook=webhook(id="another"))


def test_a_webhook_of_a_message_that_was_refused_in_a_race_is_not_listed(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World(agent_that(asks_once))
    task = world.send()
    commit = world.tasks.commit

    def canceled_first(change: Change) -> Head:
        monkeypatch.setattr(world.tasks, "commit", commit)
        cancel(world.host, ALICE, task.id)
        return commit(change)

    monkeypatch.setattr(world.tasks, "commit", canceled_first)

    with pytest.raises(UnsupportedOperation):
        sends(world, "more", task=task, hook=HOOK)

    assert push_configs.list_all(world.host, ALICE, task.id) == ()


def test_a_task_remembers_whose_authority_its_newest_message_carries() -> None:
    world = World(agent_that(asks_once))
    first = Caller(Owner("alice"), actors=("agent-a",), scopes=frozenset({"read"}))
    task = send(world.host, first, request(return_immediately=True))
    assert isinstance(task, Task)
    world.settle()
    second = Caller(Owner("alice"), actors=("agent-b",))

    send(world.host, second, request("42", task=task, return_immediately=True))

    assert world.head(task).caller == second


def test_i07_what_was_accepted_is_read_by_a_process_that_knows_only_the_store() -> None:
    world = World(agent_that(asks_once))
    task = world.send(hook=HOOK)
    world.settle()
    restarted = World(agent_that(asks_once))
    restarted.tasks, restarted.ids, restarted.clock = world.tasks, world.ids, world.clock
    restarted.relayed = len(world.tasks.changes)

    restarted.send("42", task=task)
    restarted.settle()

    assert restarted.task(task).status.state is TaskState.COMPLETED
    assert len(push_configs.list_all(restarted.host, ALICE, task.id)) == 1


def test_a_streamed_send_is_the_same_send() -> None:
    world = World()
    first = world.send(message_id="m1")

    events = subscribe.stream(world.host, ALICE, SendRequest(message=request(message_id="m1").message))

    task = next(events)
    assert isinstance(task, Task)
    assert task.id == first.id


TRACE = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


def test_w11_a_task_goes_on_under_the_trace_of_its_newest_message() -> None:
    world = World(agent_that(asks_once))
    asked = send(world.host, ALICE, replace(request("ask", hook=HOOK, return_immediately=True), trace=TRACE))
    assert isinstance(asked, Task)
    world.settle()
    world.notify()
    first = [nudge.head.trace for nudge in world.post.came]
    world.send("an answer", task=asked)
    world.settle()

    assert set(first) == {TRACE}
    assert world.head(asked).trace == ""
