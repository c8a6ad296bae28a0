"""run_turn when workers die: one runner at a time, and what a dead attempt left half-done counts for nothing."""

import json
from datetime import datetime

import pytest

from a2a_serverless.agent import Turn
from a2a_serverless.app.run_turn import Buried, Done, Later, run_turn
from a2a_serverless.core.head import Record
from a2a_serverless.errors import LeaseLost
from a2a_serverless.types import TaskKey, TaskState
from tests.unit.app.turns import LEASE, artifact_texts, comes_again, loses_its_worker, queued, run_again
from tests.unit.app.world import WorkerDied, World, agent_that, completes, dies


def test_a_turn_whose_worker_died_runs_again_once_its_lease_is_over() -> None:
    attempts: list[int] = []

    def run(turn: Turn) -> None:
        attempts.append(turn.attempt)
        if turn.attempt == 1:
            raise WorkerDied
        turn.complete()

    world = World(agent_that(run))
    task = queued(world)
    loses_its_worker(world)

    early = run_again(world, task)
    comes_again(world, task)

    assert isinstance(early, Later)
    assert early.until == world.clock()
    assert attempts == [1, 2]
    assert world.head(task).state is TaskState.COMPLETED


def test_a_first_delivery_that_finds_the_task_held_is_a_duplicate_and_can_go() -> None:
    world = World(agent_that(dies))
    task = queued(world)
    loses_its_worker(world)

    assert isinstance(run_again(world, task, redelivered=False), Done)


def test_what_a_dead_attempt_produced_has_no_effect() -> None:
    def run(turn: Turn) -> None:
        turn.artifact("half", text="x" * 20_000)
        if turn.attempt == 1:
            raise WorkerDied
        turn.artifact("whole", text="of attempt 2")
        turn.complete()

    world = World(agent_that(run))
    task = queued(world)
    loses_its_worker(world)
    assert "half" in artifact_texts(world.task(task))

    comes_again(world, task)

    assert artifact_texts(world.task(task)) == {"half": "x" * 20_000, "whole": "of attempt 2"}


def test_chunks_that_a_dead_attempt_appended_to_an_older_artifact_are_taken_back() -> None:
    def run(turn: Turn) -> None:
        if turn.state.setdefault("turns", 0) == 0:
            turn.state["turns"] = 1
            turn.artifact("log", text="first turn;")
            return turn.ask("more?")
        turn.artifact("log", text="y" * 20_000 if turn.attempt == 1 else "second turn", append=True)
        if turn.attempt == 1:
            raise WorkerDied
        return turn.complete()

    world = World(agent_that(run))
    task = world.send()
    world.settle()
    world.send("yes", task=task)
    world.relay()
    loses_its_worker(world)

    comes_again(world, task)

    assert artifact_texts(world.task(task)) == {"log": "first turn;second turn"}


def test_state_that_a_dead_attempt_changed_is_as_it_was_even_deep_inside() -> None:
    seen: list[object] = []

    def run(turn: Turn) -> None:
        seen.append(json.loads(json.dumps(turn.state)))
        turn.state.setdefault("steps", {"done": []})["done"].append(turn.attempt)
        turn.artifact("big", text="x" * 20_000)
        if len(turn.state["steps"]["done"]) == 2 and turn.attempt == 1:
            raise WorkerDied
        turn.ask("and now?") if len(seen) == 1 else turn.complete()

    world = World(agent_that(run))
    task = world.send()
    world.settle()
    world.send("go on", task=task)
    world.relay()
    loses_its_worker(world)

    comes_again(world, task)

    assert seen == [{}, {"steps": {"done": [1]}}, {"steps": {"done": [1]}}]


def test_i11_a_turn_that_kills_its_worker_three_times_fails_its_task_and_is_buried() -> None:
    world = World(agent_that(dies))
    task = queued(world)
    for attempt in range(3):
        with pytest.raises(WorkerDied):
            run_again(world, task, redelivered=attempt > 0)
        world.clock.advance(LEASE)

    outcome = run_again(world, task)

    assert outcome == Buried("turn 1 stopped its worker 3 times")
    failed = world.task(task).status
    assert (failed.state, failed.message and failed.message.text) == (
        TaskState.FAILED,
        "the agent stopped without an answer 3 times",
    )


def test_i11_a_buried_turn_that_is_redriven_does_not_raise_its_task_from_the_dead() -> None:
    world = World(agent_that(dies))
    task = queued(world)
    for _ in range(3):
        with pytest.raises(WorkerDied):
            run_again(world, task)
        world.clock.advance(LEASE)
    run_again(world, task)
    world.agent = agent_that(completes)

    outcome = run_again(world, task, redelivered=False)

    assert isinstance(outcome, Done)
    assert world.head(task).state is TaskState.FAILED


@pytest.mark.parametrize("stalls", ["before it read the task", "after it read the task"])
def test_a_worker_that_stood_still_since_its_lease_does_not_start_an_agent_that_another_ran(
    monkeypatch: pytest.MonkeyPatch, stalls: str
) -> None:
    attempts: list[int] = []

    def run(turn: Turn) -> None:
        attempts.append(turn.attempt)
        turn.complete()

    world = World(agent_that(run))
    task = queued(world)
    read = world.tasks.read

    def standing_still(key: TaskKey, *, now: datetime) -> Record | None:
        monkeypatch.setattr(world.tasks, "read", read)
        before = read(key, now=now)
        world.clock.advance(LEASE)
        run_turn(world.runner, key, 1, redelivered=True)
        return before if stalls.startswith("after") else read(key, now=world.clock())

    monkeypatch.setattr(world.tasks, "read", standing_still)

    outcome = run_turn(world.runner, world.key(task), 1)

    assert isinstance(outcome, Done)
    assert attempts == [2]


def test_a_worker_that_dies_before_it_buries_a_turn_is_followed_by_one_that_does() -> None:
    world = World(agent_that(dies))
    task = queued(world)
    for _ in range(3):
        with pytest.raises(WorkerDied):
            run_again(world, task)
        world.clock.advance(LEASE)
    run_again(world, task)  # answers that the turn is to be buried, and its worker dies of that

    outcome = run_again(world, task)

    assert outcome == Buried("turn 1 stopped its worker 3 times")


def test_a_task_that_failed_by_crashes_shows_nothing_half_done() -> None:
    def run(turn: Turn) -> None:
        turn.artifact("half", text="x" * 20_000)
        raise WorkerDied

    world = World(agent_that(run))
    task = queued(world)
    for _ in range(3):
        with pytest.raises(WorkerDied):
            run_again(world, task)
        world.clock.advance(LEASE)

    run_again(world, task)

    assert world.task(task).artifacts == ()


def test_attempts_are_counted_per_turn() -> None:
    attempts: list[tuple[int, int]] = []

    def run(turn: Turn) -> None:
        turn.state["turns"] = turn.state.get("turns", 0) + 1
        attempts.append((turn.state["turns"], turn.attempt))
        if turn.attempt < 3:
            raise WorkerDied
        turn.ask("more?")

    world = World(agent_that(run))
    task = queued(world)
    for number in (1, 2):
        for _ in range(2):
            with pytest.raises(WorkerDied):
                run_again(world, task)
            world.clock.advance(LEASE)
        run_again(world, task)
        world.send(f"answer {number}", task=task)

    assert attempts == [(1, 1), (1, 2), (1, 3), (2, 1), (2, 2), (2, 3)]


def test_a_runner_that_was_taken_over_writes_nothing_more_and_learns_of_it() -> None:
    learned: list[str] = []

    def run(turn: Turn) -> None:
        if turn.attempt == 1:
            comes_again(world, task)
            try:
                turn.artifact("late", text="x" * 20_000)
            except LeaseLost:
                learned.append("late")
                raise
        turn.artifact("good", text="of attempt 2")
        turn.ask("ok?")

    world = World(agent_that(run))
    task = queued(world)

    (outcome,) = world.run()

    assert learned == ["late"]
    assert isinstance(outcome, Done)
    assert artifact_texts(world.task(task)) == {"good": "of attempt 2"}
    assert world.head(task).wait is not None


def test_a_runner_that_swallows_its_loss_still_writes_nothing() -> None:
    def run(turn: Turn) -> None:
        if turn.attempt == 1:
            comes_again(world, task)
            with pytest.raises(LeaseLost):
                turn.artifact("late", text="x" * 20_000)
        turn.complete(f"by attempt {turn.attempt}")

    world = World(agent_that(run))
    task = queued(world)

    world.run()

    done = world.task(task).status
    assert done.message is not None
    assert done.message.text == "by attempt 2"
