"""run_turn and notice_cancel when the caller cancels: queued, at work, and afterwards."""

import asyncio
from collections.abc import Callable
from contextlib import suppress

import pytest

from a2a_serverless.agent import Turn
from a2a_serverless.app.agent_call import Watch
from a2a_serverless.app.cancel import cancel
from a2a_serverless.app.run_turn import Done, notice_cancel
from a2a_serverless.app.turn_writer import TurnWriter
from a2a_serverless.errors import LeaseLost
from a2a_serverless.types import Task, TaskState
from tests.unit.app.turns import queued, states
from tests.unit.app.world import ALICE, World, agent_that, completes


def test_c01_a_cancel_while_the_agent_runs_wins_over_its_late_result() -> None:
    def run(turn: Turn) -> None:
        cancel(world.host, ALICE, task.id)
        turn.artifact("late", text="too late")
        turn.complete("too late")

    world = World(agent_that(run))
    task = queued(world)

    world.run()

    assert states(world, task) == [TaskState.CANCELED]
    assert world.task(task).artifacts == ()


def test_a_late_error_does_not_turn_a_canceled_task_into_a_failed_one() -> None:
    def run(turn: Turn) -> None:
        cancel(world.host, ALICE, task.id)
        raise RuntimeError("connection closed")

    world = World(agent_that(run))
    task = queued(world)

    world.run()

    assert states(world, task) == [TaskState.CANCELED]


def test_c07_a_task_that_was_canceled_in_the_queue_never_runs() -> None:
    ran: list[Turn] = []
    world = World(agent_that(ran.append))
    task = world.send()
    cancel(world.host, ALICE, task.id)

    world.settle()

    assert ran == []
    assert world.head(task).state is TaskState.CANCELED


def canceled_meanwhile(world: World) -> Watch:
    """The caller cancels, and two beats of the pulse later the agent begins to look."""

    def watch(writer: TurnWriter, run: Callable[[], None]) -> None:
        cancel(world.host, ALICE, writer.head.key.task_id)
        for _ in range(2):
            world.clock.advance(1)
            with suppress(LeaseLost):
                writer.tick()
        run()

    return watch


def test_an_agent_that_asks_sees_within_two_seconds_that_it_was_canceled() -> None:
    seen: list[bool] = []
    world = World(agent_that(lambda turn: seen.append(turn.cancelled)))
    world.watch = canceled_meanwhile(world)
    queued(world)

    world.run()

    assert seen == [True]


def test_an_agent_that_returns_because_it_was_canceled_has_done_nothing_wrong(
    caplog: pytest.LogCaptureFixture,
) -> None:
    world = World(agent_that(lambda turn: None))
    world.watch = canceled_meanwhile(world)
    queued(world)

    (outcome,) = world.run()

    assert isinstance(outcome, Done)
    assert [record.getMessage() for record in caplog.records if record.levelname == "ERROR"] == []


def test_an_agent_that_wants_to_is_told_of_a_cancel_with_the_task_as_it_ended() -> None:
    told: list[tuple[str, TaskState]] = []
    world = World(agent_that(completes, on_cancel=lambda task: told.append((task.id, task.status.state))))
    task = world.send()
    cancel(world.host, ALICE, task.id)
    world.relay()

    notice_cancel(world.runner, world.queues.cancels[0].key)

    assert told == [(task.id, TaskState.CANCELED)]


def test_a_cancel_notice_of_a_task_that_was_not_canceled_tells_nobody() -> None:
    told: list[Task] = []
    world = World(agent_that(completes, on_cancel=told.append))
    task = world.send()
    world.settle()

    notice_cancel(world.runner, world.key(task))

    assert told == []


def test_a_clean_up_that_fails_is_logged_and_settled(caplog: pytest.LogCaptureFixture) -> None:
    def on_cancel(_task: Task) -> None:
        raise RuntimeError("no such lock")

    world = World(agent_that(completes, on_cancel=on_cancel))
    task = world.send()
    cancel(world.host, ALICE, task.id)

    outcome = notice_cancel(world.runner, world.key(task))

    assert isinstance(outcome, Done)
    assert "no such lock" in caplog.text


def test_a_clean_up_that_would_end_the_process_is_settled_too() -> None:
    def on_cancel(_task: Task) -> None:
        raise SystemExit(3)

    world = World(agent_that(completes, on_cancel=on_cancel))
    task = world.send()
    cancel(world.host, ALICE, task.id)

    assert isinstance(notice_cancel(world.runner, world.key(task)), Done)


def test_a_clean_up_may_be_async() -> None:
    told: list[str] = []

    async def on_cancel(task: Task) -> None:
        await asyncio.sleep(0)
        told.append(task.id)

    world = World(agent_that(completes, on_cancel=on_cancel))
    task = world.send()
    cancel(world.host, ALICE, task.id)

    notice_cancel(world.runner, world.key(task))

    assert told == [task.id]
