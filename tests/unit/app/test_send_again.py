"""SendMessage: what is a retry of the same send, and what is another."""

from datetime import timedelta

import pytest

from a2a_serverless.agent import Turn
from a2a_serverless.app import push_configs
from a2a_serverless.app.cancel import cancel
from a2a_serverless.core.head import Change, Head
from a2a_serverless.errors import (
    Conflict,
)
from a2a_serverless.types import TaskState
from tests.unit.app.world import ALICE, BOB, HOOK, World, agent_that, asks_once


def test_i01_a_repeated_first_send_gets_the_same_task_and_one_run() -> None:
    ran: list[str] = []

    def run(turn: Turn) -> None:
        ran.append(turn.task.id)
        turn.complete()

    world = World(agent_that(run))
    first = world.send(message_id="m1")
    again = world.send(message_id="m1")
    world.settle()

    after_the_end = world.send(message_id="m1")

    assert {first.id, again.id, after_the_end.id} == {first.id}
    assert after_the_end.status.state is TaskState.COMPLETED
    assert ran == [first.id]
    assert len(world.task(first).history) == 1


def test_i01_twenty_repeats_at_once_make_one_task_whoever_is_between_claim_and_write(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    world = World()
    create = world.tasks.create
    answers: list[None] = []

    def create_late(change: Change) -> Head:
        if len(answers) < 20:
            answers.append(None)
            world.send(message_id="m1", hook=HOOK)
        return create(change)

    monkeypatch.setattr(world.tasks, "create", create_late)

    task = world.send(message_id="m1", hook=HOOK)

    assert world.tasks.keys() == (world.key(task),)
    assert len(push_configs.list_all(world.host, ALICE, task.id)) == 1


def test_a_send_that_died_between_claim_and_task_is_taken_up_by_its_repeat(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World()

    def crash(_: Change) -> Head:
        raise OSError("the process is gone")

    with monkeypatch.context() as dying:
        dying.setattr(world.tasks, "create", crash)
        with pytest.raises(OSError, match="gone"):
            world.send(message_id="m1", hook=HOOK)

    task = world.send(message_id="m1", hook=HOOK)

    assert world.tasks.keys() == (world.key(task),)
    assert [config.url for config in push_configs.list_all(world.host, ALICE, task.id)] == [HOOK]
    assert len(world.tasks.configs(world.key(task))) == 1, "a webhook that its task does not name lies about"


def test_the_webhook_of_an_answer_that_died_before_its_write_is_taken_up_by_its_repeat(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    world = World(agent_that(asks_once))
    task = world.send()
    world.settle()

    def crash(_: Change) -> Head:
        raise OSError("the process is gone")

    with monkeypatch.context() as dying:
        dying.setattr(world.tasks, "commit", crash)
        with pytest.raises(OSError, match="gone"):
            world.send("42", task=task, hook=HOOK)

    world.send("42", task=task, hook=HOOK)

    assert [config.id for config in world.tasks.configs(world.key(task))] == list(world.head(task).push)


def test_i03_the_same_message_of_another_owner_makes_his_own_task() -> None:
    world = World()

    alice, bob = world.send("secret", message_id="m1"), world.send("secret", message_id="m1", caller=BOB)

    assert alice.id != bob.id


def test_other_content_under_the_same_message_id_is_another_message() -> None:
    world = World()

    tasks = {world.send(text, message_id="m1").id for text in ("a", "b", "a")}

    assert len(tasks) == 2


def test_the_same_message_in_another_context_is_another_message() -> None:
    world = World()

    tasks = {world.send("a", context_id=context).id for context in ("one", "two", "one")}

    assert len(tasks) == 2


@pytest.mark.parametrize(("later", "same"), [(timedelta(minutes=59), True), (timedelta(hours=1), False)])
def test_a_repeat_is_a_retry_only_within_the_window(later: timedelta, same: bool) -> None:
    world = World()
    first = world.send(message_id="m1")
    world.clock.advance(later)

    again = world.send(message_id="m1")

    assert (again.id == first.id) is same


def test_a_repeat_is_no_retry_once_a_later_message_was_accepted() -> None:
    world = World(agent_that(asks_once))
    first = world.send(message_id="m1")
    world.send("and this", task=first)

    again = world.send(message_id="m1")

    assert again.id != first.id


def test_a_repeat_is_no_retry_once_the_task_was_canceled_and_its_own_repeat_is_one() -> None:
    world = World()
    first = world.send(message_id="m1")
    cancel(world.host, ALICE, first.id)

    second, third = world.send(message_id="m1"), world.send(message_id="m1")

    assert first.id != second.id == third.id


def test_a_repeated_answer_is_heard_once_and_gets_the_task_as_it_is() -> None:
    heard: list[str] = []

    def run(turn: Turn) -> None:
        heard.append(turn.message.text)
        turn.ask("well?") if len(heard) == 1 else turn.complete()

    world = World(agent_that(run))
    task = world.send()
    world.settle()
    world.send("42", task=task)
    world.send("42", task=task)
    world.settle()

    after_the_end = world.send("42", task=task)

    assert heard == ["hello", "42"]
    assert after_the_end.status.state is TaskState.COMPLETED
    assert [message.text for message in after_the_end.history] == ["hello", "well?", "42"]


def test_the_same_word_as_an_answer_to_two_questions_counts_twice_under_two_message_ids() -> None:
    def run(turn: Turn) -> None:
        turn.state["n"] = turn.state.get("n", 0) + 1
        turn.ask("sure?") if turn.state["n"] < 3 else turn.complete()

    world = World(agent_that(run))
    task = world.send()
    for number in (1, 2):
        world.settle()
        world.send("yes", task=task, message_id=f"yes-{number}")
    world.settle()

    assert [message.text for message in world.task(task).history] == ["hello", "sure?", "yes", "sure?", "yes"]


def test_an_answer_to_a_question_that_was_answered_is_one_more_message() -> None:
    world = World(agent_that(asks_once))
    task = world.send()
    world.settle()
    world.send("first", task=task)

    late = world.send("second", task=task)

    assert [message.text for message in late.history] == ["hello", "What is the answer?", "first", "second"]


def test_a_write_that_lost_its_race_is_decided_again_on_what_is_there_now(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World(agent_that(asks_once))
    task = world.send()
    world.settle()
    commit = world.tasks.commit
    raced: list[bool] = []

    def commit_late(change: Change) -> Head:
        if not raced:
            raced.append(True)
            world.send("theirs", task=task)
        return commit(change)

    monkeypatch.setattr(world.tasks, "commit", commit_late)

    world.send("mine", task=task)

    assert [message.text for message in world.task(task).history][-2:] == ["theirs", "mine"]


def test_thirty_messages_at_once_all_get_through(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World(agent_that(asks_once))
    task = world.send()
    world.settle()
    commit = world.tasks.commit
    others = [f"theirs {number}" for number in range(29)]

    def another_first(change: Change) -> Head:
        if others:
            with monkeypatch.context() as inner:
                inner.setattr(world.tasks, "commit", commit)
                world.send(others.pop(), task=task)
        return commit(change)

    monkeypatch.setattr(world.tasks, "commit", another_first)

    world.send("mine", task=task)

    assert world.task(task).history[-1].text == "mine"


def test_a_write_that_loses_every_race_gives_up_after_a_bounded_number(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World(agent_that(asks_once))
    task = world.send()
    tried: list[Change] = []

    def never(change: Change) -> Head:
        tried.append(change)
        raise Conflict("somebody was faster")

    monkeypatch.setattr(world.tasks, "commit", never)

    with pytest.raises(Conflict):
        world.send("mine", task=task)

    assert len(tried) < 50
