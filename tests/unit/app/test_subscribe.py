"""Streams: the Task first, then the same events in the same order for everybody, closed by the rules."""

from collections.abc import Iterator
from datetime import timedelta

import pytest

from a2a_serverless.agent import Turn
from a2a_serverless.app.cancel import cancel
from a2a_serverless.app.run_turn import run_turn
from a2a_serverless.app.send import BLOCKING_SECONDS
from a2a_serverless.app.subscribe import stream, subscribe
from a2a_serverless.core.head import PUSH_NUDGE_KEY, WAIT_EXTENSION_URI, Rules
from a2a_serverless.errors import InvalidParams, TaskNotFound, UnsupportedOperation
from a2a_serverless.types import (
    Message,
    StreamEvent,
    Task,
    TaskArtifactUpdateEvent,
    TaskState,
    TaskStatusUpdateEvent,
)
from tests.unit.app.world import ALICE, BOB, WorkerDied, World, agent_that, asks_once, completes, request


def streamed(world: World, text: str = "hello", **how: object) -> Iterator[StreamEvent]:
    return stream(world.host, ALICE, request(text, **how))


def told(event: StreamEvent) -> str:
    """An event in a few words."""
    match event:
        case Task():
            return f"task {event.status.state.name}"
        case TaskStatusUpdateEvent():
            return event.status.state.name
        case TaskArtifactUpdateEvent():
            return f"{event.artifact.artifact_id}{'+' if event.append else ''}{'.' if event.last_chunk else ''}"
        case Message():
            return f"message {event.text}"


def produces(turn: Turn) -> None:
    """Three chunks and an end."""
    turn.working("on it")
    turn.artifact("log", text="1")
    turn.artifact("log", text="2", append=True)
    turn.artifact("log", text="3", append=True, last_chunk=True)
    turn.complete()


WHOLE = ["task SUBMITTED", "WORKING", "log", "log+", "log+.", "COMPLETED"]


# What comes


def test_a_stream_begins_with_the_task_and_ends_with_its_end() -> None:
    world = World(agent_that(produces))
    world.meanwhile = [world.settle]

    events = list(streamed(world))

    assert [told(event) for event in events] == WHOLE


def test_every_event_names_its_task_and_context() -> None:
    world = World(agent_that(produces))
    world.meanwhile = [world.settle]

    task, *events = streamed(world)

    assert isinstance(task, Task)
    named = {(event.task_id, event.context_id) for event in events if not isinstance(event, Task)}
    assert named == {(task.id, task.context_id)}


def test_a_direct_reply_is_one_message_and_nothing_else() -> None:
    world = World(agent_that(completes, reply=lambda _: "at once"))

    assert [told(event) for event in streamed(world)] == ["message at once"]


def test_the_send_is_durable_before_the_first_event_is_asked_for() -> None:
    world = World()

    streamed(world)

    assert len(world.tasks.keys()) == 1


def test_a_refused_send_is_an_error_and_no_stream() -> None:
    with pytest.raises(InvalidParams):
        streamed(World(), history_length=-1)


def test_the_task_in_a_stream_has_as_much_history_as_was_asked_for() -> None:
    world = World()

    task = next(streamed(world, history_length=0))

    assert isinstance(task, Task)
    assert task.history == ()


def test_all_subscribers_see_the_same_events_in_the_same_order_whenever_they_look() -> None:
    world = World(agent_that(produces))
    task = world.send()
    subscribers = [subscribe(world.host, ALICE, task.id) for _ in range(3)]
    first = [told(next(events)) for events in subscribers]
    world.settle()

    rest = [[told(event) for event in events] for events in subscribers]

    assert first == ["task SUBMITTED"] * 3
    assert rest == [WHOLE[1:]] * 3


def test_a_subscriber_who_saw_a_dead_attempt_holds_the_result_of_the_living_one() -> None:
    def run(turn: Turn) -> None:
        if turn.state.setdefault("turns", 0) == 0:
            turn.state["turns"] = 1
            turn.artifact("log", text="1")
            return turn.ask("more?")
        turn.artifact("log", text="dead " * 5_000 if turn.attempt == 1 else "2", append=True)
        if turn.attempt == 1:
            raise WorkerDied
        return turn.complete()

    world = World(agent_that(run), rules=Rules(lease=timedelta(seconds=10)))
    task = world.send()
    world.settle()
    world.send("yes", task=task)
    world.relay()
    events = subscribe(world.host, ALICE, task.id)
    (first,) = (event for event in [next(events)] if isinstance(event, Task))
    held = "".join(part.text or "" for part in first.artifacts[0].parts)
    (turn,) = world.queues.turns
    with pytest.raises(WorkerDied):
        world.run()
    world.clock.advance(world.rules.lease)
    run_turn(world.runner, turn.key, turn.turn, redelivered=True)

    for event in events:
        if isinstance(event, TaskArtifactUpdateEvent):
            text = "".join(part.text or "" for part in event.artifact.parts)
            held = held + text if event.append else text

    assert held == "12"


def test_a_subscriber_who_leaves_disturbs_neither_the_others_nor_the_task() -> None:
    world = World(agent_that(produces))
    task = world.send()
    leaves, stays = (subscribe(world.host, ALICE, task.id) for _ in range(2))
    next(leaves)
    leaves.close()  # type: ignore[attr-defined]  # it is a generator, and a body that is dropped closes it
    world.meanwhile = [world.settle]

    assert [told(event) for event in stays][-1] == "COMPLETED"


def test_a_subscription_begins_with_the_task_as_it_is_and_shows_only_what_follows() -> None:
    world = World(agent_that(asks_once))
    task = world.send()
    world.settle()
    world.meanwhile = [lambda: world.send("42", task=task), world.settle]

    events = [told(event) for event in subscribe(world.host, ALICE, task.id)]

    assert events == ["task INPUT_REQUIRED", "WORKING", "answer", "COMPLETED"]


def test_a_message_on_a_task_shows_the_task_with_it_and_what_follows() -> None:
    world = World(agent_that(asks_once))
    task = world.send()
    world.settle()
    world.meanwhile = [world.settle]

    first, *rest = streamed(world, "42", task=task)

    assert isinstance(first, Task)
    assert (first.status.state, first.history[-1].text) == (TaskState.WORKING, "42")
    assert [told(event) for event in rest] == ["answer", "COMPLETED"]


# When it closes


def test_a_stream_closes_at_a_question() -> None:
    world = World(agent_that(asks_once))
    world.meanwhile = [world.settle]

    events = [told(event) for event in streamed(world)]

    assert events == ["task SUBMITTED", "WORKING", "INPUT_REQUIRED"]


def test_a_question_that_was_answered_before_anybody_looked_closes_nothing() -> None:
    world = World(agent_that(asks_once))

    def asked_and_answered() -> None:
        world.settle()
        world.send("42", task=world.tasks.keys()[0].task_id)
        world.settle()

    world.meanwhile = [asked_and_answered]

    events = [told(event) for event in streamed(world)]

    assert events == ["task SUBMITTED", "WORKING", "INPUT_REQUIRED", "WORKING", "answer", "COMPLETED"]


def test_a_stream_stays_open_while_an_authorization_is_awaited_outside() -> None:
    world = World(agent_that(lambda turn: turn.require_auth("go there") if turn.attempt else None))
    world.meanwhile = [world.settle]
    began = world.clock()

    events = [told(event) for event in streamed(world)]

    assert events[-1] == "AUTH_REQUIRED"
    assert (world.clock() - began).total_seconds() >= BLOCKING_SECONDS


def test_a_stream_closes_before_the_gateway_gives_up_and_changes_nothing() -> None:
    world = World()
    began = world.clock()

    events = [told(event) for event in streamed(world)]

    assert events == ["task SUBMITTED"]
    assert BLOCKING_SECONDS <= (world.clock() - began).total_seconds() < 26
    (key,) = world.tasks.keys()
    assert world.head(key.task_id).version == 1


def test_a_window_that_closed_is_taken_up_by_subscribing_again() -> None:
    world = World(agent_that(produces))
    (first,) = streamed(world)
    assert isinstance(first, Task)
    world.meanwhile = [world.settle]

    events = [told(event) for event in subscribe(world.host, ALICE, first.id)]

    assert events == WHOLE


def test_a_stream_of_a_task_that_is_forgotten_meanwhile_just_ends() -> None:
    world = World()
    task = world.send()
    world.meanwhile = [lambda: world.tasks.forget(world.key(task))]

    assert [told(event) for event in subscribe(world.host, ALICE, task.id)] == ["task SUBMITTED"]


def test_a_cancel_reaches_open_streams() -> None:
    world = World()
    task = world.send()
    world.meanwhile = [lambda: cancel(world.host, ALICE, task.id)]

    assert [told(event) for event in subscribe(world.host, ALICE, task.id)] == ["task SUBMITTED", "CANCELED"]


# Refused


@pytest.mark.parametrize("finish", [completes, lambda turn: turn.fail("no"), lambda turn: turn.reject("no")])
def test_a_task_that_has_ended_cannot_be_subscribed_to(finish: object) -> None:
    world = World(agent_that(finish))  # type: ignore[arg-type]  # one of the above
    task = world.send()
    world.settle()

    with pytest.raises(UnsupportedOperation):
        subscribe(world.host, ALICE, task.id)


def test_a01_a_foreign_task_cannot_be_subscribed_to() -> None:
    world = World()
    task = world.send()

    with pytest.raises(TaskNotFound):
        subscribe(world.host, BOB, task.id)


# A send that is streamed again


def test_a_repeated_send_gets_the_events_again_from_the_start() -> None:
    world = World(agent_that(produces))
    world.meanwhile = [world.settle]
    first = list(streamed(world, message_id="m1"))

    again = list(streamed(world, message_id="m1"))

    assert again == first


def test_a_repeated_send_of_a_task_that_asks_closes_at_its_question() -> None:
    world = World(agent_that(asks_once))
    world.meanwhile = [world.settle]
    first = list(streamed(world, message_id="m1"))
    began = world.clock()

    again = list(streamed(world, message_id="m1"))

    assert again == first
    assert world.clock() == began


def test_a_repeated_answer_gets_the_events_since_it_again() -> None:
    world = World(agent_that(asks_once))
    task = world.send()
    world.settle()
    world.meanwhile = [world.settle]
    first = list(streamed(world, "42", task=task))

    again = list(streamed(world, "42", task=task))

    assert [told(event) for event in first] == ["task WORKING", "answer", "COMPLETED"]
    assert [told(event) for event in again] == [told(event) for event in first]
    assert again[1:] == first[1:]


def test_a_repeated_answer_that_led_to_another_question_closes_there_at_once() -> None:
    def run(turn: Turn) -> None:
        turn.ask(f"question {len(turn.history)}")

    world = World(agent_that(run))
    task = world.send()
    world.settle()
    world.meanwhile = [world.settle]
    first = list(streamed(world, "42", task=task))
    began = world.clock()

    again = list(streamed(world, "42", task=task))

    assert [told(event) for event in again] == [told(event) for event in first] == ["task WORKING", "INPUT_REQUIRED"]
    assert world.clock() == began


def test_a_repeated_message_to_a_running_task_gets_the_events_since_it_again() -> None:
    def run(turn: Turn) -> None:
        if len(turn.history) == 1:
            turn.artifact("before", text="x" * 20_000)
            events.extend(streamed(world, "one more", task=turn.task.id))
        turn.complete()

    events: list[StreamEvent] = []
    world = World(agent_that(run))
    task = world.send()
    world.relay()
    world.run()

    again = list(streamed(world, "one more", task=task))

    assert [told(event) for event in again] == ["task WORKING", "COMPLETED"]
    assert told(events[0]) == "task WORKING"


def test_the_task_that_a_repeated_stream_begins_with_claims_nothing_that_came_later() -> None:
    world = World(agent_that(asks_once))
    world.meanwhile = [world.settle]
    list(streamed(world, message_id="m1", hook="https://partner.example/hook"))

    task = next(streamed(world, message_id="m1"))

    assert isinstance(task, Task)
    assert task.status.state is TaskState.SUBMITTED
    assert WAIT_EXTENSION_URI not in (task.metadata or {})
    assert PUSH_NUDGE_KEY not in (task.metadata or {})
