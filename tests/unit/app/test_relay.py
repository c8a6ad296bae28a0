"""relay: what follows from a committed change is carried out, and repeating any of it is harmless."""

import pytest

from a2a_serverless.agent import Turn
from a2a_serverless.app.cancel import cancel
from a2a_serverless.app.relay import relay_change
from a2a_serverless.core.effects import EndWait, Nudge, RunTurn, StartWait
from a2a_serverless.types import TaskState
from tests.fakes import QueuedNudge, QueuedTurn
from tests.unit.app.world import ALICE, HOOK, World, agent_that, asks_once, webhook


def test_a_new_task_is_run() -> None:
    world = World()
    task = world.send()

    world.relay()

    assert world.queues.turns == [QueuedTurn(world.key(task), 1)]


def test_a_question_is_held_and_told_and_its_answer_lets_go_of_it() -> None:
    world = World(agent_that(asks_once))
    task = world.send(hook=webhook(id="mine"))
    world.relay()
    world.run()

    asked = world.relay()
    world.tasks.store_token(world.key(task), 1, "token-1")
    silent = world.relay()
    world.send("42", task=task)
    answered = world.relay()

    key = world.key(task)
    head = world.head(task)
    wait = world.waits.held[key, 1]
    assert asked == (StartWait(key, wait), Nudge(key, "mine", 3))
    assert silent == ()
    assert answered == (RunTurn(key, 2), EndWait(key, 1, "token-1"), Nudge(key, "mine", head.nudge_seq))


def test_an_answer_that_comes_before_the_token_has_no_execution_to_end() -> None:
    world = World(agent_that(asks_once))
    task = world.send()
    world.settle()

    world.send("42", task=task)
    world.relay()

    assert world.waits.ended == []
    assert world.tasks.store_token(world.key(task), 1, "token-1") is False


def test_a_token_that_was_stored_while_the_answer_was_decided_is_let_go() -> None:
    world = World(agent_that(asks_once))
    task = world.send()
    world.settle()
    commit = world.tasks.commit

    def token_first(change: object) -> object:
        world.tasks.store_token(world.key(task), 1, "token-1")
        return commit(change)  # type: ignore[arg-type]  # passed on as it came

    world.tasks.commit = token_first  # type: ignore[method-assign, assignment]  # for this world only

    world.send("42", task=task)
    world.relay()

    assert world.waits.ended == ["token-1"]


def test_writes_that_mean_nothing_to_anybody_cause_nothing() -> None:
    def run(turn: Turn) -> None:
        world.relay()
        before = len(world.queues.nudges)
        turn.artifact("log", text="x" * 20_000, append=True)
        turn.artifact("log", text="y" * 20_000, append=True)
        world.relay()
        told.append(len(world.queues.nudges) - before)
        turn.complete()

    told: list[int] = []
    world = World(agent_that(run))
    world.send(hook=HOOK)
    world.relay()

    world.run()

    assert told == [1]


def test_a_cancel_is_told_to_the_agent_once() -> None:
    world = World()
    task = world.send()
    cancel(world.host, ALICE, task.id)
    world.relay()

    assert [cancel.key for cancel in world.queues.cancels] == [world.key(task)]


def test_p23_a_stream_that_is_replayed_from_its_start_runs_holds_and_tells_nothing_twice() -> None:
    ran: list[int] = []

    def run(turn: Turn) -> None:
        ran.append(turn.attempt)
        asks_once(turn)

    world = World(agent_that(run))
    task = world.send(hook=HOOK)
    world.settle()
    world.notify()
    world.send("42", task=task)
    world.settle()
    world.notify()
    before, posts, held = world.record(task), len(world.post.came), dict(world.waits.held)

    for _ in range(2):
        world.relayed = 0
        world.settle()
        outcomes = world.notify()

    assert set(outcomes) == {"settled"}
    assert world.record(task) == before
    assert (len(world.post.came), ran, world.waits.held) == (posts, [1, 1], held)


def test_i09_a_change_whose_effects_could_not_all_be_carried_out_comes_again_whole(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    world = World(agent_that(asks_once))
    task = world.send(hook=webhook(id="mine"))
    world.relay()
    world.run()

    def broken(*_: object, **__: object) -> None:
        raise OSError("throttled")

    with monkeypatch.context() as failing:
        failing.setattr(world.queues, "enqueue_nudge", broken)
        with pytest.raises(OSError, match="throttled"):
            world.relay()
    world.relay()

    head = world.head(task)
    assert list(world.waits.held) == [(world.key(task), 1)]
    assert world.queues.nudges == [QueuedNudge(world.key(task), "mine", head.nudge_seq)]


def test_i09_a_change_that_was_not_committed_is_told_to_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World(agent_that(asks_once))
    task = world.send(hook=HOOK)
    world.settle()
    world.notify()

    def broken(*_: object) -> None:
        raise OSError("no network")

    monkeypatch.setattr(world.tasks, "commit", broken)
    with pytest.raises(OSError, match="no network"):
        world.send("42", task=task)

    assert world.relay() == ()


def test_p13_webhooks_are_told_by_the_key_that_travels_with_the_change() -> None:
    world = World()
    task = world.send(hook=webhook(id="mine", authentication={"scheme": "Bearer", "credentials": "tok-A"}))
    world.settle()

    world.notify()

    assert [(nudge.secrets.credentials, nudge.head.key, nudge.head.state) for nudge in world.post.came] == [
        ("tok-A", world.key(task), TaskState.COMPLETED)
    ]


def test_a_change_relayed_as_if_it_were_new_asks_for_everything_that_is_open() -> None:
    world = World(agent_that(asks_once))
    task = world.send(hook=webhook(id="mine"))
    world.settle()
    head = world.head(task)
    assert head.wait is not None

    effects = relay_change(world.stream, None, head)

    assert effects == (
        RunTurn(head.key, 1),
        StartWait(head.key, head.wait),
        Nudge(head.key, "mine", head.nudge_seq),
    )
