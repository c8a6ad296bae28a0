"""An executor of the official SDK, unchanged, does the turns of a hosted agent."""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import timedelta

import pytest
from a2a.helpers.proto_helpers import new_task_from_user_message, new_text_message, new_text_part
from a2a.server.agent_execution import AgentExecutor, RequestContext
from a2a.server.events import EventQueue
from a2a.server.tasks import TaskUpdater
from a2a.types import a2a_pb2 as sdk

from a2a_serverless.agent.executor import ExecutorAgent
from a2a_serverless.types import Caller, Owner, Role, Task, TaskState
from tests.unit.app.world import CARD, World

Execute = Callable[[RequestContext, EventQueue], Awaitable[None]]


class Executor(AgentExecutor):
    """As its documentation shows: a task first, then a `TaskUpdater`."""

    def __init__(self, execute: Execute) -> None:
        self._execute = execute
        self.canceled: list[str | None] = []

    async def execute(self, context: RequestContext, event_queue: EventQueue) -> None:
        if context.current_task is None and context.message is not None:
            await event_queue.enqueue_event(new_task_from_user_message(context.message))
        await self._execute(context, event_queue)

    async def cancel(self, context: RequestContext, event_queue: EventQueue) -> None:
        self.canceled.append(context.task_id)
        await updater(context, event_queue).cancel()


def updater(context: RequestContext, event_queue: EventQueue) -> TaskUpdater:
    assert context.task_id is not None
    assert context.context_id is not None
    return TaskUpdater(event_queue, context.task_id, context.context_id)


def world_of(execute: Execute) -> World:
    return World(ExecutorAgent(CARD, Executor(execute), within=timedelta(days=2)))


def after(world: World, task: Task) -> Task:
    world.settle()
    return world.task(task)


async def quotes(context: RequestContext, event_queue: EventQueue) -> None:
    """Asks for the mode, then works and answers with an artifact in two chunks."""
    says = updater(context, event_queue)
    if context.current_task is None:
        return await says.requires_input(new_text_message("Sea or air?"))
    await says.start_work(new_text_message("asking carriers"))
    await says.add_artifact([new_text_part("by ")], artifact_id="quote", name="quote.txt", append=False)
    await says.add_artifact(
        [new_text_part(context.get_user_input())], artifact_id="quote", append=True, last_chunk=True
    )
    return await says.complete()


def test_it_asks_waits_and_completes_with_its_artifact() -> None:
    world = world_of(quotes)

    asked = after(world, world.send("a quote"))
    done = after(world, world.send("sea", task=asked))

    assert asked.status.state is TaskState.INPUT_REQUIRED
    assert asked.status.message is not None
    assert asked.status.message.text == "Sea or air?"
    assert done.status.state is TaskState.COMPLETED
    (artifact,) = done.artifacts
    assert (artifact.name, "".join(part.text or "" for part in artifact.parts)) == ("quote.txt", "by sea")


async def replies(context: RequestContext, event_queue: EventQueue) -> None:
    await event_queue.enqueue_event(new_text_message(f"hello {context.call_context.user.user_name}"))


def test_a_bare_message_completes_the_task_and_the_user_is_the_caller() -> None:
    world = world_of(replies)

    done = after(world, world.send("hi", caller=Caller(Owner("alice"))))

    assert done.status.state is TaskState.COMPLETED
    assert done.status.message is not None
    assert done.status.message.text == "hello alice"


async def counts(context: RequestContext, event_queue: EventQueue) -> None:
    modes = context.configuration.accepted_output_modes if context.configuration else ()
    await event_queue.enqueue_event(new_text_message(f"{context.metadata['pallets']:.0f} as {', '.join(modes)}"))


def test_what_the_request_said_beside_the_message_is_the_executor_s_to_read() -> None:
    world = world_of(counts)

    done = after(world, world.send("hi", metadata={"pallets": 3}, accepted_output_modes=("text/csv",)))

    assert done.status.message is not None
    assert done.status.message.text == "3 as text/csv"


async def states(context: RequestContext, event_queue: EventQueue) -> None:
    """Says something of the task with each event: with a status, a chunk, an end."""
    ids = {"task_id": context.task_id, "context_id": context.context_id}
    for state, metadata in ((sdk.TASK_STATE_WORKING, {"a": 1, "b": "x"}), (sdk.TASK_STATE_COMPLETED, {"b": "y"})):
        status = sdk.TaskStatus(state=state)
        await event_queue.enqueue_event(sdk.TaskStatusUpdateEvent(status=status, metadata=metadata, **ids))


def test_what_an_event_says_of_the_task_stays_with_it() -> None:
    world = world_of(states)

    done = after(world, world.send("hi"))

    assert done.metadata is not None
    assert {name: done.metadata[name] for name in ("a", "b")} == {"a": 1, "b": "y"}


async def shows(context: RequestContext, event_queue: EventQueue) -> None:
    """Ends with a task, as some executors do."""
    task = sdk.Task(id=context.task_id, status=sdk.TaskStatus(state=sdk.TASK_STATE_COMPLETED), metadata={"a": 1})
    task.artifacts.append(sdk.Artifact(artifact_id="quote", parts=[new_text_part("7")]))
    await event_queue.enqueue_event(task)


def test_a_task_that_is_shown_is_the_task() -> None:
    world = world_of(shows)

    done = after(world, world.send("hi"))

    assert (done.status.state, done.artifacts[0].parts[0].text) == (TaskState.COMPLETED, "7")
    assert (done.metadata or {})["a"] == 1


async def gives_back(context: RequestContext, event_queue: EventQueue) -> None:
    """Begins each turn with the task it has, as samples of the SDK do."""
    says = updater(context, event_queue)
    if context.current_task is None:
        await says.add_artifact([new_text_part("1")], artifact_id="a")
        return await says.requires_input(new_text_message("more?"))
    await event_queue.enqueue_event(context.current_task)
    await says.add_artifact([new_text_part("2")], artifact_id="a", append=True)
    return await says.complete()


def test_the_task_it_was_given_may_be_given_back() -> None:
    world = world_of(gives_back)

    asked = after(world, world.send("hi"))
    done = after(world, world.send("on", task=asked))

    assert done.status.state is TaskState.COMPLETED
    assert [part.text for artifact in done.artifacts for part in artifact.parts] == ["1", "2"]
    assert [message.text for message in done.history] == ["hi", "more?", "on"]
    assert (asked.metadata or {}).keys() > (done.metadata or {}).keys()


async def shows_what_was_said(context: RequestContext, event_queue: EventQueue) -> None:
    """Submits with the caller's own message, as the executor of adk-python does."""
    await updater(context, event_queue).submit(context.message)
    await updater(context, event_queue).complete()


def test_the_words_of_the_caller_are_not_said_again_as_the_agents() -> None:
    world = world_of(shows_what_was_said)

    done = after(world, world.send("hi"))

    assert [message.text for message in done.history] == ["hi"]


async def closes(context: RequestContext, event_queue: EventQueue) -> None:
    """Says with a chunk of nothing that there is no more, as the executor of strands-agents did (harness-sdk#1640)."""
    says = updater(context, event_queue)
    await says.add_artifact([new_text_part("all")], artifact_id="a", extensions=["urn:x"])
    await says.add_artifact([], artifact_id="a", append=True, last_chunk=True)
    await says.complete()


def test_a_last_chunk_without_parts_ends_the_result_and_not_the_task() -> None:
    world = world_of(closes)

    done = after(world, world.send("hi"))

    assert done.status.state is TaskState.COMPLETED
    (artifact,) = done.artifacts
    assert "".join(part.text or "" for part in artifact.parts) == "all"
    assert (artifact.name, artifact.extensions) == ("", ("urn:x",))


async def mumbles(context: RequestContext, event_queue: EventQueue) -> None:
    """Leaves out of its messages what is not its to know, and says one without a word."""
    nameless = new_text_message("done", role=sdk.ROLE_USER)
    nameless.message_id = ""
    await updater(context, event_queue).start_work(sdk.Message(message_id="m", role=sdk.ROLE_AGENT))
    await updater(context, event_queue).complete(nameless)


def test_what_a_message_must_have_is_filled_in() -> None:
    world = world_of(mumbles)

    done = after(world, world.send("hi"))

    said = done.status.message
    assert said is not None
    assert (said.text, said.role, said.task_id, said.context_id) == ("done", Role.AGENT, done.id, done.context_id)
    assert said.message_id
    assert [message.text for message in done.history] == ["hi"]


async def queues(context: RequestContext, event_queue: EventQueue) -> None:
    await updater(context, event_queue).submit(new_text_message("you are third"))
    await updater(context, event_queue).complete()


def test_what_it_says_of_a_task_that_it_queues_is_said() -> None:
    world = world_of(queues)

    done = after(world, world.send("hi"))

    assert [message.text for message in done.history] == ["hi", "you are third"]


async def looks(context: RequestContext, event_queue: EventQueue) -> None:
    await updater(context, event_queue).complete(new_text_message(" ".join(sorted(context.requested_extensions))))


def test_the_executor_is_told_which_extensions_are_active() -> None:
    world = world_of(looks)

    done = after(world, world.send("hi", active=("urn:y", "urn:x")))

    assert done.status.message is not None
    assert done.status.message.text == "urn:x urn:y"


@pytest.mark.parametrize(
    ("end", "state"),
    [
        ("failed", TaskState.FAILED),
        ("reject", TaskState.REJECTED),
        ("requires_auth", TaskState.AUTH_REQUIRED),
        ("cancel", TaskState.FAILED),
    ],
)
def test_each_end_of_a_turn_is_the_task_s(end: str, state: TaskState) -> None:
    async def ends(context: RequestContext, event_queue: EventQueue) -> None:
        await getattr(updater(context, event_queue), end)()

    world = world_of(ends)

    assert after(world, world.send("hi")).status.state is state


async def goes_on(context: RequestContext, event_queue: EventQueue) -> None:
    await updater(context, event_queue).complete()
    await updater(context, event_queue).add_artifact([new_text_part("late")])


def test_what_is_said_after_the_end_changes_nothing(caplog: pytest.LogCaptureFixture) -> None:
    world = world_of(goes_on)

    done = after(world, world.send("hi"))

    assert (done.status.state, done.artifacts) == (TaskState.COMPLETED, ())


async def dies(_context: RequestContext, _queue: EventQueue) -> None:
    raise RuntimeError("secret")


def test_an_exception_fails_the_task_and_gives_nothing_away() -> None:
    world = world_of(dies)

    failed = after(world, world.send("hi"))

    assert failed.status.state is TaskState.FAILED
    assert "secret" not in failed.to_json()


def test_a_cancel_reaches_the_executor() -> None:
    executor = Executor(quotes)
    agent, world = ExecutorAgent(CARD, executor), World()
    task = world.send("hi")

    asyncio.run(agent.on_cancel(world.task(task)))

    assert executor.canceled == [task.id]
