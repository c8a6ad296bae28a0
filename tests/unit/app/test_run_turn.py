"""run_turn: at least one delivery, one effect."""

import asyncio
from dataclasses import replace
from datetime import timedelta

import pytest

from a2a_serverless.agent import Turn, TurnTrigger
from a2a_serverless.app.cancel import cancel
from a2a_serverless.app.run_turn import Done, Runner, run_turn
from a2a_serverless.core.head import Rules
from a2a_serverless.core.journal import Restarted
from a2a_serverless.types import TaskState
from tests.unit.app.turns import comes_again, loses_its_worker, queued, states, texts
from tests.unit.app.world import ALICE, World, agent_that, asks_once, dies


# One turn
def test_a_turn_runs_and_its_task_has_what_the_agent_said() -> None:
    def run(turn: Turn) -> None:
        turn.artifact("quote", data={"eur": 12})
        turn.complete("there you are")

    world = World(agent_that(run))
    task = world.send("how much?")

    world.settle()

    done = world.task(task)
    assert (done.status.state, done.status.message and done.status.message.text) == (
        TaskState.COMPLETED,
        "there you are",
    )
    assert [part.data for part in done.artifacts[0].parts] == [{"eur": 12}]
    assert texts(done.history) == ["how much?"]


def test_a_task_that_is_run_was_working_before_it_ends() -> None:
    world = World()
    task = world.send()

    world.settle()

    assert states(world, task) == [TaskState.WORKING, TaskState.COMPLETED]


def test_what_the_agent_says_first_replaces_the_bare_word_that_it_works() -> None:
    def run(turn: Turn) -> None:
        turn.working("asking three carriers")
        turn.complete()

    world = World(agent_that(run))
    task = world.send()

    world.settle()

    assert states(world, task) == [TaskState.WORKING, TaskState.COMPLETED]
    assert texts(world.task(task).history) == ["hello", "asking three carriers"]


def test_a_turn_that_is_delivered_again_after_its_end_does_nothing() -> None:
    world = World(agent_that(asks_once))
    task = queued(world)
    turn = world.queues.turns[0]
    world.run()
    before = world.head(task)

    outcome = run_turn(world.runner, turn.key, turn.turn, redelivered=True)

    assert isinstance(outcome, Done)
    assert world.head(task) == before


def test_a_turn_of_a_task_that_is_not_there_does_nothing() -> None:
    world = World()

    assert isinstance(run_turn(world.runner, world.key("nowhere"), 1), Done)


def test_an_agent_may_be_async() -> None:
    async def run(turn: Turn) -> None:
        await asyncio.sleep(0)
        turn.complete("done later")

    world = World(agent_that(run))
    task = world.send()

    world.settle()

    assert world.head(task).state is TaskState.COMPLETED


@pytest.mark.parametrize("end", [SystemExit, asyncio.CancelledError, GeneratorExit])
def test_an_agent_that_would_end_its_process_is_at_fault_and_does_not_kill_the_worker(
    end: type[BaseException],
) -> None:
    async def slowly(turn: Turn) -> None:
        raise end

    def at_once(turn: Turn) -> None:
        raise end

    for run in (slowly, at_once):
        world = World(agent_that(run))
        task = world.send()

        world.settle()

        assert (world.head(task).state, world.head(task).attempt) == (TaskState.FAILED, 1)


def test_the_agent_sees_who_called_which_attempt_this_is_and_why_the_turn_runs() -> None:
    seen: list[tuple[object, ...]] = []

    def run(turn: Turn) -> None:
        seen.append((turn.caller, turn.attempt, turn.trigger, turn.task.id))
        turn.complete()

    world = World(agent_that(run))
    task = world.send()

    world.settle()

    assert seen == [(ALICE, 1, TurnTrigger.MESSAGE, task.id)]


# Context memory
def test_a_run_that_lost_its_task_changes_nothing_of_its_context() -> None:
    def run(turn: Turn) -> None:
        turn.context_state["seen"] = "by a canceled run"
        cancel(world.host, ALICE, task.id)
        turn.complete()

    world = World(agent_that(run))
    task = world.send(context_id="context-1")
    world.relay()

    world.run()

    assert world.contexts.context(world.key(task).scope, "context-1").value == {}


def test_what_one_task_remembers_the_next_of_the_context_recalls_and_no_other_owner() -> None:
    recalled: list[object] = []

    def run(turn: Turn) -> None:
        recalled.append(turn.context_state.get("name"))
        turn.context_state["name"] = turn.message.text
        turn.complete()

    world = World(agent_that(run))
    world.send("anna", context_id="shared-id")
    world.settle()
    world.send("berta", context_id="shared-id")
    world.send("carla", context_id="another")
    world.settle()

    assert recalled == [None, "anna", None]


def test_l21_a_context_outlives_the_longest_wait_of_its_tasks() -> None:
    recalled: list[object] = []

    def run(turn: Turn) -> None:
        recalled.append(turn.context_state.get("name"))
        turn.context_state["name"] = "anna"
        turn.ask("well?", within=timedelta(days=364)) if len(recalled) == 1 else turn.complete()

    world = World(agent_that(run), rules=Rules(retention=timedelta(days=364)))
    task = world.send()
    world.settle()
    world.clock.advance(timedelta(days=363))
    world.send("at last", task=task)

    world.settle()

    assert recalled == [None, "anna"]


def test_two_tasks_at_once_share_no_state() -> None:
    order: list[str] = []

    def run(turn: Turn) -> None:
        turn.state["mine"] = turn.message.text
        if turn.message.text == "outer":
            world.send("inner")
            world.relay()
            world.run()
        order.append(turn.state["mine"])
        turn.ask("ok?")

    world = World(agent_that(run))
    outer = world.send("outer")
    world.relay()
    world.run()

    assert order == ["inner", "outer"]
    assert world.head(outer).memory == {"mine": "outer"}


def test_the_journal_tells_that_a_turn_started_over() -> None:
    world = World(agent_that(lambda turn: turn.complete() if turn.attempt == 2 else dies(turn)))
    task = queued(world)
    loses_its_worker(world)
    world.send("a message meanwhile", task=task)

    comes_again(world, task)

    assert Restarted(1) in world.record(task).entries


def test_the_agent_is_looked_up_by_the_name_in_the_key_and_another_one_is_ours() -> None:
    world = World()
    task = queued(world)
    key = world.key(task)
    gone: Runner = replace(world.runner, agents=lambda name: World().agent_named(f"not-{name}"))

    with pytest.raises(LookupError):
        run_turn(gone, key, 1)
