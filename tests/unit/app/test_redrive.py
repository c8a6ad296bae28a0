"""Dead letters that are put back: what is still due goes on, what has ended stays as it is."""

from dataclasses import replace

import pytest

from a2a_serverless.agent import Turn
from a2a_serverless.app.cancel import cancel
from a2a_serverless.app.deliveries import Desk
from a2a_serverless.app.read import get
from a2a_serverless.app.redrive import Fate, Outcome, Redrive
from a2a_serverless.core.delivery_outcome import Answer, Fault, NoAnswer
from a2a_serverless.core.delivery_schedule import ATTEMPTS
from a2a_serverless.types import Task, TaskState
from tests.fakes import QueuedCancel, QueuedNudge, QueuedTurn
from tests.unit.app.world import ALICE, World, agent_that, asks_once, webhook

HOOK_ID = "mine"


def redrive(world: World, *, rehearsal: bool = False) -> Redrive:
    desk = Desk(
        tasks=world.tasks,
        push=world.tasks,
        deliveries=world.tasks,
        nudges=world.queues,
        clock=world.clock,
        ids=world.ids,
    )
    return Redrive(desk=desk, receipts=world.tasks, turns=world.queues, rehearsal=rehearsal)


def exhausted() -> tuple[World, Task]:
    """A task whose webhook was down for days."""
    world = World(agent_that(asks_once))
    task = world.send(hook=webhook(id=HOOK_ID))
    world.settle()
    world.post.answers = [NoAnswer(Fault.TIMEOUT)] * ATTEMPTS
    for _ in range(ATTEMPTS):
        world.come_back()
    assert len(world.queues.buried) == 1
    return world, task


# Turns


def test_a_turn_that_is_still_due_runs() -> None:
    world = World()
    task = world.send()
    world.relay()
    world.queues.turns.clear()

    fate = redrive(world).turn(world.key(task), 1)

    assert fate.outcome is Outcome.SENT
    assert world.queues.turns == [QueuedTurn(world.key(task), 1)]
    world.settle()
    assert world.head(task).state is TaskState.COMPLETED


def test_a_task_that_has_ended_stays_ended() -> None:
    def fails(_: Turn) -> None:
        raise RuntimeError("no")

    world = World(agent_that(fails))
    task = world.send()
    world.settle()

    fate = redrive(world).turn(world.key(task), 1)

    assert fate == Fate(Outcome.DROPPED, "the task ended as FAILED")
    assert world.queues.turns == []


def test_a_turn_that_was_run_since_is_dropped() -> None:
    world = World(agent_that(asks_once))
    task = world.send()
    world.settle()
    world.send("42", task=task)

    assert redrive(world).turn(world.key(task), 1) == Fate(Outcome.DROPPED, "the task went on to turn 2")
    assert redrive(world).turn(world.key("gone"), 1) == Fate(Outcome.DROPPED, "the task is gone")


def test_an_agent_hears_of_a_cancel_after_all() -> None:
    world = World(agent_that(asks_once))
    task = world.send()
    world.settle()
    cancel(world.host, ALICE, task.id)

    assert redrive(world).cancel_notice(world.key(task)).outcome is Outcome.SENT
    assert world.queues.cancels == [QueuedCancel(world.key(task))]
    assert redrive(world).cancel_notice(world.key("gone")).outcome is Outcome.DROPPED


# Nudges


def test_a_nudge_that_was_given_up_begins_anew_under_its_id() -> None:
    world, task = exhausted()
    seq = world.head(task).nudge_seq

    fate = redrive(world).nudge(world.key(task), HOOK_ID, seq)

    assert fate == Fate(Outcome.SENT, "the webhook was not told")
    assert world.notify() == ["delivered"]
    assert {sent.nudge.message_id for sent in world.post.came} == {world.post.came[0].nudge.message_id}


def test_a_nudge_whose_function_failed_is_looked_at_again() -> None:
    world = World(agent_that(asks_once))
    task = world.send(hook=webhook(id=HOOK_ID))
    world.settle()
    world.queues.nudges.clear()

    fate = redrive(world).nudge(world.key(task), HOOK_ID, 1)

    assert fate.outcome is Outcome.SENT
    assert world.queues.nudges == [QueuedNudge(world.key(task), HOOK_ID, world.head(task).nudge_seq)]


def test_what_the_partner_has_learned_since_is_not_told_again() -> None:
    fetched, of_it = exhausted()
    get(fetched.host, ALICE, of_it.id)
    told, task = exhausted()
    told.send("42", task=task)
    told.settle()
    told.notify()

    fates = [redrive(world).nudge(world.key(each), HOOK_ID, 2) for world, each in ((fetched, of_it), (told, task))]

    assert fates == [
        Fate(Outcome.DROPPED, "the owner has fetched the task since"),
        Fate(Outcome.DROPPED, "the webhook was told since"),
    ]
    assert fetched.queues.nudges == told.queues.nudges == []


def test_a_webhook_that_is_switched_off_keeps_its_letter_and_says_what_to_do() -> None:
    world, task = exhausted()
    world.send("42", task=task)
    world.settle()
    world.post.answers = [Answer(status=410)]
    world.notify()

    fate = redrive(world).nudge(world.key(task), HOOK_ID, 2)

    assert fate == Fate(Outcome.KEPT, "the webhook is switched off (gone): ping it first")


def test_a_letter_outlives_neither_its_task_nor_its_webhook() -> None:
    world, task = exhausted()

    assert redrive(world).nudge(world.key(task), "other", 2).outcome is Outcome.DROPPED
    assert redrive(world).nudge(world.key("gone"), HOOK_ID, 2).outcome is Outcome.DROPPED
    assert redrive(world).ping().outcome is Outcome.DROPPED


def test_a_letter_whose_log_is_gone_is_kept() -> None:
    world, task = exhausted()

    assert redrive(world).nudge(world.key(task), HOOK_ID, 1).outcome is Outcome.KEPT


@pytest.mark.parametrize("what", ["turn", "nudge", "given up", "cancel"])
def test_a_rehearsal_says_what_would_be_done_and_does_nothing(what: str) -> None:
    world, task = exhausted() if what == "given up" else (World(agent_that(asks_once)), None)
    task = task or world.send(hook=webhook(id=HOOK_ID))
    if what == "nudge":
        world.settle()
    if what == "cancel":
        cancel(world.host, ALICE, task.id)
    world.queues = replace(world.queues, turns=[], nudges=[], cancels=[])
    key, seq = world.key(task), world.head(task).nudge_seq
    rehearsal = redrive(world, rehearsal=True)

    fate = {
        "turn": lambda: rehearsal.turn(key, 1),
        "nudge": lambda: rehearsal.nudge(key, HOOK_ID, seq),
        "given up": lambda: rehearsal.nudge(key, HOOK_ID, seq),
        "cancel": lambda: rehearsal.cancel_notice(key),
    }[what]()

    assert fate.outcome is Outcome.SENT
    assert (world.queues.turns, world.queues.nudges, world.queues.cancels) == ([], [], [])
