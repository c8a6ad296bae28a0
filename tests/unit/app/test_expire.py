"""expire: the deadline of a question passed. The agent decides if it wants to, else the task fails and says why."""

from datetime import timedelta

import pytest

from a2a_serverless.agent import Agent, Turn
from a2a_serverless.app.cancel import cancel
from a2a_serverless.app.expire import expire
from a2a_serverless.core.head import Change, Head
from a2a_serverless.errors import UnsupportedOperation
from a2a_serverless.types import Task, TaskState
from tests.unit.app.world import ALICE, HOOK, World, agent_that, asks_once


def parked(agent: Agent | None = None) -> tuple[World, Task]:
    world = World(agent or agent_that(asks_once))
    task = world.send(hook=HOOK)
    world.settle()
    return world, task


def status_text(world: World, task: Task) -> str:
    message = world.head(task).status.message
    return message.text if message else ""


def test_l13_a_task_that_nobody_answers_fails_and_says_what_it_waited_for_and_until_when() -> None:
    world, task = parked()
    world.clock.advance(timedelta(days=2))

    expire(world.expiry, world.key(task), 1)

    assert world.head(task).state is TaskState.FAILED
    assert status_text(world, task) == (
        "no answer came: the task waited for an answer until 2026-12-02T12:00:00.000Z (What is the answer?)"
    )


def test_l13_a_late_answer_is_refused() -> None:
    world, task = parked()
    expire(world.expiry, world.key(task), 1)

    with pytest.raises(UnsupportedOperation):
        world.send("42", task=task)


def test_l13_the_partner_hears_of_it() -> None:
    world, task = parked()
    world.notify()

    expire(world.expiry, world.key(task), 1)
    world.relay()
    world.notify()

    assert [nudge.head.state for nudge in world.post.came] == [TaskState.INPUT_REQUIRED, TaskState.FAILED]


def test_a_task_that_waited_for_an_authorization_says_so() -> None:
    world, task = parked(agent_that(lambda turn: turn.require_auth("approve it", within=timedelta(hours=1))))

    expire(world.expiry, world.key(task), 1)

    assert status_text(world, task).startswith("no answer came: the task waited for an authorization until")


def test_a_long_question_is_told_in_short() -> None:
    world, task = parked(agent_that(lambda turn: turn.ask("why? " * 200, within=timedelta(hours=1))))

    expire(world.expiry, world.key(task), 1)

    assert len(status_text(world, task)) < 400


@pytest.mark.parametrize("number", [0, 2, 99])
def test_a_deadline_of_another_wait_changes_nothing(number: int) -> None:
    world, task = parked()
    before = world.record(task)

    head = expire(world.expiry, world.key(task), number)

    assert world.record(task) == before
    assert head == before.head


def test_a_deadline_that_comes_twice_counts_once() -> None:
    world, task = parked()
    expire(world.expiry, world.key(task), 1)
    before = world.record(task)

    expire(world.expiry, world.key(task), 1)

    assert world.record(task) == before


def test_an_answer_that_came_first_wins_over_the_deadline() -> None:
    world, task = parked()
    world.send("42", task=task)

    expire(world.expiry, world.key(task), 1)
    world.settle()

    assert world.head(task).state is TaskState.COMPLETED


def test_an_answer_between_look_and_write_wins_over_the_deadline(monkeypatch: pytest.MonkeyPatch) -> None:
    world, task = parked()
    commit = world.tasks.commit

    def answered_first(change: Change) -> Head:
        monkeypatch.setattr(world.tasks, "commit", commit)
        world.send("42", task=task)
        return commit(change)

    monkeypatch.setattr(world.tasks, "commit", answered_first)

    expire(world.expiry, world.key(task), 1)
    world.settle()

    assert world.head(task).state is TaskState.COMPLETED


def test_a_cancel_that_came_first_wins_over_the_deadline() -> None:
    world, task = parked()
    cancel(world.host, ALICE, task.id)

    expire(world.expiry, world.key(task), 1)

    assert world.head(task).state is TaskState.CANCELED


def test_a_deadline_of_a_task_that_is_gone_is_no_fault() -> None:
    world = World()

    assert expire(world.expiry, world.key("gone"), 1) is None


def test_an_agent_may_decide_how_it_goes_on() -> None:
    def on_expire(turn: Turn) -> None:
        turn.artifact("default", text="by sea")
        turn.complete("you did not say, so: by sea")

    world, task = parked(agent_that(asks_once, on_expire=on_expire))

    expire(world.expiry, world.key(task), 1)
    world.settle()

    done = world.task(task)
    assert (done.status.state, [artifact.name for artifact in done.artifacts]) == (TaskState.COMPLETED, ["default"])


def test_an_agent_may_ask_again_and_the_new_question_is_a_wait_of_its_own() -> None:
    world, task = parked(agent_that(asks_once, on_expire=lambda turn: turn.ask("really?", within=timedelta(hours=1))))

    expire(world.expiry, world.key(task), 1)
    world.settle()
    expire(world.expiry, world.key(task), 1)

    wait = world.head(task).wait
    assert wait is not None
    assert (wait.number, wait.until) == (2, world.clock() + timedelta(hours=1))
    assert sorted(number for _, number in world.waits.held) == [1, 2]


def test_an_agent_whose_decision_fails_has_failed_its_task() -> None:
    def on_expire(turn: Turn) -> None:
        raise RuntimeError("secret")

    world, task = parked(agent_that(asks_once, on_expire=on_expire))

    expire(world.expiry, world.key(task), 1)
    world.settle()

    assert world.head(task).state is TaskState.FAILED
    assert "secret" not in status_text(world, task)


def test_a_reminder_is_news_for_webhooks_and_changes_nothing_else() -> None:
    world, task = parked()
    world.notify()
    before = world.head(task)

    world.tasks.remind(world.key(task), 1)
    world.relay()
    world.notify()

    after = world.head(task)
    assert (after.status, after.wait, after.entries) == (before.status, before.wait, before.entries)
    assert [nudge.nudge.seq for nudge in world.post.came] == [before.nudge_seq, after.nudge_seq]
