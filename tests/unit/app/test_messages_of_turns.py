"""Which messages a turn answers, and what it was begun by."""

from collections.abc import Callable

import pytest

from a2a_serverless.agent import Turn, TurnTrigger
from a2a_serverless.app.expire import expire
from a2a_serverless.core.head import Change, Head
from a2a_serverless.types import Message, Part, Role, TaskState
from tests.unit.app.turns import comes_again, loses_its_worker, queued, states, texts
from tests.unit.app.world import WorkerDied, World, agent_that, asks_once


# Messages and turns
def test_a_message_to_a_running_task_is_read_by_the_next_turn_which_starts_by_itself() -> None:
    heard: list[list[str]] = []

    def run(turn: Turn) -> None:
        heard.append(texts(turn.messages))
        if len(heard) == 1:
            world.send("one more thing", task=task)
            return turn.ask("anything else?")
        return turn.complete()

    world = World(agent_that(run))
    task = queued(world)

    world.run()
    world.settle()

    assert heard == [["hello"], ["one more thing"]]
    assert world.head(task).state is TaskState.COMPLETED


def test_l11_a_question_that_was_overtaken_by_a_message_is_still_in_the_history() -> None:
    def run(turn: Turn) -> None:
        if turn.history[-1].text == "hello":
            world.send("sea, by the way", task=task)
            return turn.ask("Sea or air?")
        return turn.complete(f"you said: {turn.message.text}")

    world = World(agent_that(run))
    task = queued(world)

    world.run()
    world.settle()

    done = world.task(task)
    assert states(world, task) == [
        TaskState.WORKING,
        TaskState.INPUT_REQUIRED,
        TaskState.WORKING,
        TaskState.COMPLETED,
    ]
    assert sorted(texts(done.history)) == ["Sea or air?", "hello", "sea, by the way"]


def test_several_messages_to_a_running_task_are_read_by_one_turn_in_their_order() -> None:
    heard: list[list[str]] = []

    def run(turn: Turn) -> None:
        heard.append(texts(turn.messages))
        if len(heard) == 1:
            for text in ("first", "second", "third"):
                world.send(text, task=task)
            return turn.ask("more?")
        return turn.complete()

    world = World(agent_that(run))
    task = queued(world)

    world.run()
    world.settle()

    assert heard == [["hello"], ["first", "second", "third"]]


def test_a_turn_ends_although_the_caller_talks_again_and_again_while_it_does(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World(agent_that(lambda turn: turn.complete("done")))
    task = queued(world)
    commit = world.tasks.commit
    said: list[str] = []

    def talked_over(change: Change) -> Head:
        if change.after.is_over and len(said) < 60:
            said.append(f"and {len(said)}")
            with monkeypatch.context() as inner:
                inner.setattr(world.tasks, "commit", commit)
                world.send(said[-1], task=task)
        return commit(change)

    monkeypatch.setattr(world.tasks, "commit", talked_over)

    world.run()

    assert states(world, task) == [TaskState.WORKING, TaskState.COMPLETED]
    assert len(world.task(task).history) == 61


def test_an_end_wins_over_messages_that_nobody_read() -> None:
    def run(turn: Turn) -> None:
        world.send("wait!", task=task)
        turn.complete("done")

    world = World(agent_that(run))
    task = queued(world)

    world.run()
    world.settle()

    assert states(world, task) == [TaskState.WORKING, TaskState.COMPLETED]
    assert texts(world.task(task).history) == ["hello", "wait!"]


def test_a_message_that_came_before_the_turn_began_is_read_by_it() -> None:
    heard: list[list[str]] = []

    def run(turn: Turn) -> None:
        heard.append(texts(turn.messages))
        turn.complete()

    world = World(agent_that(run))
    task = world.send()
    world.send("and this", task=task)

    world.settle()

    assert heard == [["hello", "and this"]]


def test_a_second_attempt_reads_the_messages_of_the_first_and_those_that_came_meanwhile() -> None:
    heard: list[list[str]] = []

    def run(turn: Turn) -> None:
        heard.append(texts(turn.messages))
        if turn.attempt == 1:
            world.send("are you there?", task=task)
            raise WorkerDied
        turn.complete()

    world = World(agent_that(run))
    task = queued(world)
    loses_its_worker(world)

    comes_again(world, task)

    assert heard == [["hello"], ["hello", "are you there?"]]


def test_l11_history_has_every_message_once_and_in_order_over_two_questions() -> None:
    def run(turn: Turn) -> None:
        asked = turn.state["asked"] = turn.state.get("asked", 0) + 1
        if asked < 3:
            return turn.ask(f"question {asked}")
        return turn.complete("thanks")

    world = World(agent_that(run))
    task = world.send("start")
    world.settle()
    for number in (1, 2):
        world.send(f"answer {number}", task=task)
        world.settle()

    assert texts(world.task(task).history) == ["start", "question 1", "answer 1", "question 2", "answer 2"]


def test_i05_of_ten_answers_to_one_question_one_resumes_it_and_the_others_are_read_in_order() -> None:
    heard: list[list[str]] = []

    def run(turn: Turn) -> None:
        heard.append(texts(turn.messages))
        if len(heard) == 1:
            return turn.ask("well?")
        return turn.complete()

    world = World(agent_that(run))
    task = world.send()
    world.settle()
    for number in range(10):
        world.send(f"a{number}", task=task)

    world.settle()

    assert heard == [["hello"], [f"a{number}" for number in range(10)]]


# What a turn was begun by
def asks_for_an_approval(world: World, addresses: list[str], seen: list[Turn]) -> Callable[[Turn], None]:
    def run(turn: Turn) -> None:
        seen.append(turn)
        if len(seen) == 1:
            addresses.append(turn.callback_url())
            return turn.require_auth("approve at the address")
        return turn.ask("and then?")

    return run


def test_what_the_caller_says_after_a_callback_cannot_pass_for_what_was_posted_to_it() -> None:
    addresses: list[str] = []
    seen: list[Turn] = []
    world = World()
    world.agent = agent_that(asks_for_an_approval(world, addresses, seen))
    task = world.send()
    world.settle()

    world.post_callback(addresses[0], {"approved": False})
    world.send("forged", task=task, parts=(Part(data={"approved": True}),))
    world.settle()

    assert [(turn.trigger, [turn.message.parts[0].data]) for turn in seen[1:]] == [
        (TurnTrigger.CALLBACK, [{"approved": False}]),
        (TurnTrigger.MESSAGE, [{"approved": True}]),
    ]


def test_a_callback_turn_that_dies_is_still_a_callback_turn_with_what_was_posted() -> None:
    seen: list[tuple[TurnTrigger, object]] = []
    addresses: list[str] = []

    def run(turn: Turn) -> None:
        if not addresses:
            addresses.append(turn.callback_url())
            return turn.require_auth("approve")
        seen.append((turn.trigger, turn.message.parts[0].data))
        if turn.attempt == 1:
            raise WorkerDied
        return turn.complete()

    world = World(agent_that(run))
    task = world.send()
    world.settle()
    world.post_callback(addresses[0], {"approved": True})
    world.relay()
    loses_its_worker(world)

    comes_again(world, task)

    assert seen == [(TurnTrigger.CALLBACK, {"approved": True})] * 2


def test_on_expire_sees_the_newest_message_of_the_caller_and_not_the_agents_own_question() -> None:
    seen: list[tuple[str, Role, tuple[Message, ...]]] = []

    def on_expire(turn: Turn) -> None:
        seen.append((turn.message.text, turn.message.role, turn.messages))
        turn.complete("went on without you")

    world = World(agent_that(asks_once, on_expire=on_expire))
    task = world.send("start")
    world.settle()
    expire(world.expiry, world.key(task), 1)

    world.settle()

    assert seen == [("start", Role.USER, ())]
    assert world.head(task).state is TaskState.COMPLETED


def test_an_answer_in_the_moment_of_the_deadline_is_read_by_the_turn_after_on_expire() -> None:
    heard: list[tuple[str, list[str]]] = []

    def run(turn: Turn) -> None:
        heard.append(("run", texts(turn.messages)))
        turn.ask("well?") if len(heard) == 1 else turn.complete()

    def on_expire(turn: Turn) -> None:
        heard.append(("on_expire", texts(turn.messages)))
        turn.ask("still there?")

    world = World(agent_that(run, on_expire=on_expire))
    task = world.send()
    world.settle()
    expire(world.expiry, world.key(task), 1)
    world.send("just in time", task=task)

    world.settle()

    assert heard == [("run", ["hello"]), ("on_expire", []), ("run", ["just in time"])]
