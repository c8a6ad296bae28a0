"""What a wait costs, counted: states that the machine enters, which is what Step Functions bills, and functions that
are called. Numbers that change here change what an operator pays for each question that anybody is asked.
"""

from collections import Counter
from datetime import timedelta

import pytest

from .machine import Execution
from .world import Present, World

MOST = timedelta(days=8)
"""How long people take to answer here."""


@pytest.fixture
def world(present: Present) -> World:
    present.world = World()
    return present.world


def asked(world: World, words: str, *, hook: bool = True) -> str:
    """A task that waits, once everything has happened that its question makes happen at once."""
    task: str = world.partner.send(words, hook=hook)["id"]
    world.run_for(600.0)
    return task


def calls_in(world: World, time: timedelta) -> Counter[str]:
    """The functions that are called while so much time passes; not by the partner, who fetches what he is told of."""
    before = world.invoked.copy()
    world.run_for(time.total_seconds())
    called = world.invoked - before
    del called["api"]
    return called


def execution(world: World, task: str) -> Execution:
    """The one execution of a task, which has ended."""
    assert not world.machine.running
    (ended,) = (one for name, one in world.machine.ended.items() if name.startswith(task))
    return ended


def test_a_question_that_is_answered_costs_one_transition_and_no_function_while_it_is_open(world: World) -> None:
    task = asked(world, "remind 0")

    called = calls_in(world, MOST)
    world.partner.send("yes", task=task)
    world.drain()

    assert called == {}
    assert execution(world, task).transitions == 1
    assert world.invoked["expire"] == 0


def test_a_hundred_questions_cost_no_function_while_they_are_open(world: World) -> None:
    tasks = [asked(world, f"remind 0 {number}") for number in range(100)]

    called = calls_in(world, MOST)

    assert called == {}
    assert len(world.machine.running) == len(tasks)


def test_a_question_that_nobody_answers_costs_three_transitions_and_one_function_at_its_end(world: World) -> None:
    task = asked(world, "auth")

    called = calls_in(world, timedelta(days=1, hours=23))
    world.drain()

    assert called == {}
    assert execution(world, task).transitions == 3
    assert world.invoked["expire"] == 1


@pytest.mark.parametrize("times", [1, 5, 99])
def test_each_reminder_costs_three_transitions_and_two_functions_and_nothing_is_called_between_them(
    world: World, times: int
) -> None:
    task = asked(world, f"remind {times}")

    called = calls_in(world, MOST)
    world.partner.send("yes", task=task)
    world.drain()

    # The first call of `relay` for a reminder sees the new number, the second the token of the state that waits on.
    assert called == {"relay": 2 * times, "notify": times}
    assert execution(world, task).transitions == 1 + 3 * times


def test_a_question_that_was_answered_before_it_is_held_costs_two_transitions(world: World) -> None:
    task = str(world.partner.send("remind 0")["id"])
    world.wait_until(lambda: world.heads()[task].wait is not None, within=timedelta(minutes=1))
    world.partner.send("yes", task=task)
    world.drain()

    assert execution(world, task).transitions == 2
