"""CancelTask: one write, whatever the task does at the moment, and exactly one terminal state."""

from collections.abc import Callable

import pytest

from a2a_serverless.agent import Turn
from a2a_serverless.app.cancel import cancel
from a2a_serverless.app.expire import expire
from a2a_serverless.core.effects import EndWait, NoticeCancel, Nudge
from a2a_serverless.core.head import Change, Head
from a2a_serverless.core.lifecycle import is_terminal
from a2a_serverless.errors import TaskNotCancelable, TaskNotFound, UnsupportedOperation
from a2a_serverless.types import Task, TaskState
from tests.unit.app.world import ALICE, BOB, HOOK, World, agent_that, asks_once, completes


def waiting(world: World) -> Task:
    """A task that waits, its execution held by a token."""
    task = world.send(hook=HOOK)
    world.settle()
    world.tasks.store_token(world.key(task), 1, "token-1")
    return task


def test_a_cancel_answers_with_the_task_as_it_is_from_now_on() -> None:
    world = World()
    task = world.send()

    answer = cancel(world.host, ALICE, task.id)

    assert answer.status.state is TaskState.CANCELED
    assert answer == world.task(task)


def test_c05_a_cancel_of_a_waiting_task_ends_its_execution_and_nothing_revives_it() -> None:
    world = World(agent_that(asks_once))
    task = waiting(world)
    world.relay()

    cancel(world.host, ALICE, task.id)
    effects = world.relay()

    assert [effect for effect in effects if not isinstance(effect, Nudge)] == [
        NoticeCancel(world.key(task)),
        EndWait(world.key(task), 1, "token-1"),
    ]
    assert world.waits.ended == ["token-1"]
    with pytest.raises(UnsupportedOperation):
        world.send("42", task=task)
    expire(world.expiry, world.key(task), 1)
    assert world.head(task).state is TaskState.CANCELED


def test_c03_a_second_cancel_is_refused_and_tells_nobody_again() -> None:
    world = World(agent_that(asks_once))
    task = waiting(world)
    cancel(world.host, ALICE, task.id)
    world.relay()

    with pytest.raises(TaskNotCancelable, match="TASK_STATE_CANCELED"):
        cancel(world.host, ALICE, task.id)

    assert world.relay() == ()


@pytest.mark.parametrize(
    "run", [completes, lambda turn: turn.fail("no"), lambda turn: turn.reject("no")], ids=["done", "failed", "rejected"]
)
def test_c01_a_cancel_that_comes_after_the_end_is_refused_and_changes_nothing(run: Callable[[Turn], None]) -> None:
    world = World(agent_that(run))
    task = world.send()
    world.settle()
    before = world.record(task)

    with pytest.raises(TaskNotCancelable):
        cancel(world.host, ALICE, task.id)

    assert world.record(task) == before


def test_a01_a_foreign_task_cannot_be_canceled_and_cannot_be_told_from_one_that_is_not_there() -> None:
    world = World()
    task = world.send()

    messages = []
    for task_id in (task.id, "nowhere"):
        with pytest.raises(TaskNotFound) as refused:
            cancel(world.host, BOB, task_id)
        messages.append((refused.value.message, refused.value.metadata))

    assert messages[0] == messages[1]
    assert world.head(task).state is TaskState.SUBMITTED


def at_the_commit(world: World, monkeypatch: pytest.MonkeyPatch, act: Callable[[], object]) -> None:
    """Let `act` come between the next reader's decision and its write."""
    commit = world.tasks.commit

    def commit_late(change: Change) -> Head:
        monkeypatch.setattr(world.tasks, "commit", commit)
        act()
        return commit(change)

    monkeypatch.setattr(world.tasks, "commit", commit_late)


def test_c01_an_answer_that_comes_first_is_canceled_with_the_rest(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World(agent_that(asks_once))
    task = waiting(world)
    at_the_commit(world, monkeypatch, lambda: world.send("42", task=task))

    cancel(world.host, ALICE, task.id)
    world.settle()

    canceled = world.task(task)
    assert canceled.status.state is TaskState.CANCELED
    assert [message.text for message in canceled.history][-1] == "42"


def test_c01_a_completion_that_comes_first_wins_over_the_cancel(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World()
    task = world.send()
    world.relay()
    at_the_commit(world, monkeypatch, world.run)

    with pytest.raises(TaskNotCancelable):
        cancel(world.host, ALICE, task.id)

    assert world.head(task).state is TaskState.COMPLETED


def test_c01_a_cancel_that_comes_first_wins_over_the_completion(monkeypatch: pytest.MonkeyPatch) -> None:
    def run(turn: Turn) -> None:
        at_the_commit(world, monkeypatch, lambda: cancel(world.host, ALICE, task.id))
        turn.complete()

    world = World(agent_that(run))
    task = world.send(hook=HOOK)
    world.relay()

    world.run()
    world.relay()

    assert world.head(task).state is TaskState.CANCELED
    terminal = [new.state for old, new in world.tasks.changes if is_terminal(new.state) and not (old and old.is_over)]
    assert terminal == [TaskState.CANCELED]
    world.notify()
    assert [nudge.head.state for nudge in world.post.came] == [TaskState.CANCELED]


def test_c05_a_deadline_that_comes_first_wins_over_the_cancel(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World(agent_that(asks_once))
    task = waiting(world)
    at_the_commit(world, monkeypatch, lambda: expire(world.expiry, world.key(task), 1))

    with pytest.raises(TaskNotCancelable):
        cancel(world.host, ALICE, task.id)

    assert world.head(task).state is TaskState.FAILED
