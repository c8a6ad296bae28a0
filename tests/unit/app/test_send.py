"""SendMessage: how it is answered, with a task or a message."""

from datetime import timedelta
from typing import Any

import pytest

from a2a_serverless.agent import InboundMessage, Turn
from a2a_serverless.app import push_configs
from a2a_serverless.app.cancel import cancel
from a2a_serverless.app.read import get
from a2a_serverless.app.send import BLOCKING_SECONDS
from a2a_serverless.core.push import WireVersion
from a2a_serverless.errors import (
    InvalidAgentResponse,
    InvalidParams,
)
from a2a_serverless.types import Message, Part, Role, Task, TaskState
from tests.unit.app.sending import sends
from tests.unit.app.world import ALICE, World, agent_that, asks_once, completes, webhook


# The answer
def test_a_blocking_send_answers_with_the_task_as_it_ended() -> None:
    world = World()
    world.meanwhile = [world.settle]

    answer = sends(world)

    assert isinstance(answer, Task)
    assert answer.status.state is TaskState.COMPLETED


def test_a_blocking_send_ends_at_a_question() -> None:
    world = World(agent_that(asks_once))
    world.meanwhile = [lambda: None, world.settle]

    answer = sends(world)

    assert isinstance(answer, Task)
    assert answer.status.state is TaskState.INPUT_REQUIRED
    assert world.clock() < world.head(answer).created_at + timedelta(seconds=1)


def test_an_answer_to_a_question_waits_for_what_comes_of_it() -> None:
    world = World(agent_that(asks_once))
    task = world.send()
    world.settle()
    world.meanwhile = [world.settle]

    answer = sends(world, "42", task=task)

    assert isinstance(answer, Task)
    assert answer.status.state is TaskState.COMPLETED


def test_l09_a_blocking_send_answers_before_the_gateway_gives_up_and_changes_nothing() -> None:
    world = World()
    began = world.clock()

    answer = sends(world)

    assert isinstance(answer, Task)
    assert answer.status.state is TaskState.SUBMITTED
    assert BLOCKING_SECONDS <= (world.clock() - began).total_seconds() < 26
    assert world.tasks.keys() == (world.key(answer),)
    assert world.head(answer).version == 1


def test_l07_a_send_that_returns_immediately_does_not_wait_at_all() -> None:
    world = World()
    began = world.clock()

    answer = sends(world, return_immediately=True)

    assert isinstance(answer, Task)
    assert (answer.status.state, world.clock()) == (TaskState.SUBMITTED, began)


def test_l19_a_task_is_there_for_every_operation_as_soon_as_its_send_is_answered() -> None:
    world = World()

    task = world.send()

    assert get(world.host, ALICE, task.id).id == task.id
    assert push_configs.create(world.host, ALICE, task.id, webhook(), WireVersion.V1_0).task_id == task.id
    assert cancel(world.host, ALICE, task.id).status.state is TaskState.CANCELED


@pytest.mark.parametrize(("length", "expected"), [(None, ["hello", "a"]), (0, []), (1, ["a"]), (100, ["hello", "a"])])
def test_l17_the_answer_has_as_much_history_as_was_asked_for(length: int | None, expected: list[str]) -> None:
    world = World()
    task = world.send()

    answer = sends(world, "a", task=task, history_length=length, return_immediately=True)

    assert isinstance(answer, Task)
    assert [message.text for message in answer.history] == expected


def test_a_stored_message_carries_the_ids_of_its_task_and_context() -> None:
    world = World()

    task = world.send()

    assert [(message.task_id, message.context_id) for message in task.history] == [(task.id, task.context_id)]


# Direct replies
def test_an_agent_may_answer_with_a_message_and_nothing_is_stored() -> None:
    world = World(agent_that(completes, reply=lambda inbound: f"you said {inbound.message.text}"))

    answer = sends(world)

    assert isinstance(answer, Message)
    assert (answer.text, answer.role) == ("you said hello", Role.AGENT)
    assert world.tasks.keys() == ()


def test_a_direct_reply_stays_in_the_context_of_its_message() -> None:
    world = World(agent_that(completes, reply=lambda _: "yes"))

    answers = [sends(world, context_id="mine"), sends(world)]

    assert [answer.context_id != "" for answer in answers] == [True, True]
    assert answers[0].context_id == "mine"


def test_a_direct_reply_of_its_own_making_is_the_agents() -> None:
    said = Message(message_id="m-1", role=Role.USER, parts=(Part(text="yes"),))
    world = World(agent_that(completes, reply=lambda _: said))

    assert sends(world, context_id="mine") == said.but(role=Role.AGENT, context_id="mine")


def test_an_agent_sees_in_which_media_types_the_caller_takes_results() -> None:
    seen: list[tuple[str, ...]] = []

    def asks(turn: Turn) -> None:
        seen.append(turn.accepted_output_modes)
        turn.ask("and then?")

    world = World(agent_that(asks, reply=lambda inbound: seen.append(inbound.accepted_output_modes)))
    task = world.send("1", accepted_output_modes=("text/csv",))
    world.settle()
    world.send("2", task=task.id)
    world.settle()
    world.send("3", task=task.id, accepted_output_modes=("text/plain",))
    world.settle()

    assert seen == [("text/csv",), ("text/csv",), ("text/csv",), ("text/plain",)]


def test_an_agent_sees_what_the_request_said_beside_the_newest_message() -> None:
    seen: list[object] = []

    def asks(turn: Turn) -> None:
        seen.append(turn.metadata)
        turn.ask("and then?")

    world = World(agent_that(asks, reply=lambda inbound: seen.append(inbound.metadata)))
    task = world.send("1", metadata={"order": 7})
    world.settle()
    world.send("2", task=task.id)
    world.settle()
    world.send("3", task=task.id, metadata={"order": [8]})
    world.settle()

    assert seen == [{"order": 7}, {"order": 7}, {}, {"order": [8]}]
    assert "order" not in str(world.task(task.id).to_wire())


def test_the_same_message_beside_other_metadata_is_no_retry() -> None:
    world = World(agent_that(completes))

    tasks = [world.send("1", metadata=metadata).id for metadata in ({"order": 7}, {"order": 8}, {"order": 8}, None)]

    assert len(set(tasks)) == 3
    assert tasks[1] == tasks[2]


@pytest.mark.parametrize("modes", [("text/plain",) * 65, ("x/" + "y" * 254,)])
def test_no_more_and_no_longer_media_types_are_taken_than_can_be_kept(modes: tuple[str, ...]) -> None:
    world = World()

    with pytest.raises(InvalidParams, match="at most 64 media types of at most 255 characters"):
        sends(world, accepted_output_modes=modes)
    assert world.tasks.keys() == ()


def test_an_agent_that_does_not_reply_lets_a_task_begin() -> None:
    world = World(agent_that(completes, reply=lambda _: None))

    assert isinstance(sends(world, return_immediately=True), Task)


def test_a_message_to_a_task_is_never_answered_directly() -> None:
    asked: list[InboundMessage] = []

    def reply(inbound: InboundMessage) -> str | None:
        asked.append(inbound)
        return None

    world = World(agent_that(asks_once, reply=reply))
    task = world.send()
    world.settle()

    world.send("42", task=task)

    assert len(asked) == 1


@pytest.mark.parametrize("answer", [{"text": "no"}, 42, b"bytes"])
def test_a_reply_that_is_no_message_is_the_agents_fault_and_says_nothing_of_it(answer: Any) -> None:
    world = World(agent_that(completes, reply=lambda _: answer))

    with pytest.raises(InvalidAgentResponse) as refused:
        sends(world)

    assert str(answer) not in refused.value.message
    assert world.tasks.keys() == ()


def test_a_reply_that_would_end_the_process_is_a_failure_like_any_other() -> None:
    def reply(_: InboundMessage) -> str:
        raise SystemExit(3)

    world = World(agent_that(completes, reply=reply))

    with pytest.raises(RuntimeError, match="SystemExit"):
        sends(world)


def test_a_reply_must_not_be_async() -> None:
    async def reply(_: InboundMessage) -> str:
        return "later"

    world = World(agent_that(completes, reply=reply))  # type: ignore[arg-type]  # what an author may write all the same

    with pytest.raises(InvalidAgentResponse):
        sends(world)
