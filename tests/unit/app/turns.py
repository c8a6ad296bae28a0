"""Turns of tasks as tests bring them about, and what came of them."""

import pytest

from a2a_serverless.app.run_turn import run_turn
from a2a_serverless.core.head import Rules
from a2a_serverless.core.journal import StatusChanged
from a2a_serverless.types import Message, Task, TaskState
from tests.unit.app.world import WorkerDied, World

LEASE = Rules().lease


def texts(messages: tuple[Message, ...]) -> list[str]:
    return [message.text for message in messages]


def artifact_texts(task: Task) -> dict[str, str]:
    return {each.artifact_id: "".join(part.text or "" for part in each.parts) for each in task.artifacts}


def states(world: World, task: Task) -> list[TaskState]:
    return [entry.status.state for entry in world.record(task).entries if isinstance(entry, StatusChanged)]


def queued(world: World) -> Task:
    """A task whose first turn is in the queue."""
    task = world.send()
    world.relay()
    return task


def run_again(world: World, task: Task, *, redelivered: bool = True) -> object:
    """The queue brings the turn that is due, once more."""
    return run_turn(world.runner, world.key(task), world.head(task).turn_due, redelivered=redelivered)


def loses_its_worker(world: World) -> None:
    """The turns that are queued run, and their worker dies in one."""
    with pytest.raises(WorkerDied):
        world.run()


def comes_again(world: World, task: Task) -> object:
    """The lease of the dead is over, and the queue brings its turn once more."""
    world.clock.advance(LEASE)
    return run_again(world, task)
