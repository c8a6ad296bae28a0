"""Hosts an `AgentExecutor` written for the official a2a-sdk, as it is. Needs the extra `a2a-sdk`.

What the executor puts into its event queue becomes the words of a turn, at once and in order. Three things differ from
the SDK's own server: there is a task before the executor is asked, so a bare `Message` completes it; an executor that
asks (input or auth) must return, since nothing runs while a task waits; and what the specification wants of a message
or an artifact (ids, a part) is filled in where the executor left it out.
"""

import logging
from datetime import timedelta
from typing import Any, Final, Literal, assert_never

from a2a.auth.user import User
from a2a.server.agent_execution import AgentExecutor, RequestContext
from a2a.server.context import ServerCallContext
from a2a.server.events import EventQueue
from a2a.types import a2a_pb2 as sdk
from google.protobuf.json_format import MessageToDict, ParseDict  # type: ignore[import-untyped]  # no stubs

from a2a_serverless.agent.agent import Agent
from a2a_serverless.agent.turn import Turn, TurnEnded
from a2a_serverless.types import AgentCard, Artifact, Caller, JsonObject, Message, Part, Task, TaskState

_BEGUN: Final = "a2a-sdk"
"""In the turn's state once the executor saw the task: before that the SDK shows it none."""

log = logging.getLogger(__name__)

Event = sdk.Message | sdk.Task | sdk.TaskStatusUpdateEvent | sdk.TaskArtifactUpdateEvent


class ExecutorAgent(Agent):
    """An agent whose turns an a2a-sdk `AgentExecutor` does.

    Args:
        card: what the agent says of itself; that of the SDK is not read, since hosts and addresses are not its own.
        executor: asked to `execute` each turn, to `cancel` when its task was canceled.
        within: how long its questions stay open; as `Turn.ask` without it.
    """

    def __init__(self, card: AgentCard, executor: AgentExecutor, *, within: timedelta | None = None) -> None:
        self.card = card  # type: ignore[misc]  # a class of its own for each card would say no more
        self._executor = executor
        self._within = within

    async def run(self, turn: Turn) -> None:
        """One call of `execute`; it must end its turn as any agent's does."""
        known = turn.task if turn.state.get(_BEGUN) else None
        turn.state[_BEGUN] = True
        called = ServerCallContext(
            user=_Subject(turn.caller), tenant=turn.caller.owner.tenant, requested_extensions=set(turn.extensions)
        )
        request = sdk.SendMessageRequest(
            message=_message(turn.message),
            configuration=sdk.SendMessageConfiguration(accepted_output_modes=turn.accepted_output_modes),
            metadata=turn.metadata,
        )
        context = _context(called, turn.task, request, known=known)
        await self._executor.execute(context, _Spoken(turn, self._within))

    async def on_cancel(self, task: Task) -> None:
        """One call of `cancel`. The task is canceled already, so what the executor says of it is void."""
        if task.history:
            request = sdk.SendMessageRequest(message=_message(task.history[-1]))
            await self._executor.cancel(_context(ServerCallContext(), task, request, known=task), _Unheard())


class _Subject(User):
    """The person or system the turn is for."""

    def __init__(self, caller: Caller) -> None:
        self._name = caller.owner.subject

    @property
    def is_authenticated(self) -> bool:
        return True

    @property
    def user_name(self) -> str:
        return self._name


def _message(given: Message) -> sdk.Message:
    return ParseDict(given.to_wire(), sdk.Message())  # type: ignore[no-any-return]  # no stubs


def _context(
    called: ServerCallContext, task: Task, request: sdk.SendMessageRequest, *, known: Task | None
) -> RequestContext:
    return RequestContext(
        called,
        request=request,
        task_id=task.id,
        context_id=task.context_id,
        task=ParseDict(known.to_wire(), sdk.Task()) if known is not None else None,
    )


class _Unheard(EventQueue):
    async def enqueue_event(self, event: Event) -> None:
        """Nothing: the task has ended."""


class _Spoken(EventQueue):
    """Says in a turn what is put into it."""

    def __init__(self, turn: Turn, within: timedelta | None) -> None:
        self._turn = turn
        self._within = within

    async def enqueue_event(self, event: Event) -> None:
        """Say it; what comes after the turn's end is logged and dropped."""
        try:
            self._say(event)
        except TurnEnded:
            log.warning("the executor spoke after it ended its turn", extra={"task_id": self._turn.task.id})

    def _say(self, event: Event) -> None:
        match event:
            case sdk.Message():
                self._turn.complete(self._message(event))
            case sdk.Task():
                for artifact in event.artifacts:
                    self._produce(sdk.TaskArtifactUpdateEvent(artifact=artifact, last_chunk=True))
                self._move(event.status, _metadata(event))
            case sdk.TaskStatusUpdateEvent():
                self._move(event.status, _metadata(event))
            case sdk.TaskArtifactUpdateEvent():
                self._produce(event)
            case _:
                assert_never(event)

    def _message(self, given: sdk.Message) -> Message | Literal[""]:
        """What the executor says; nothing if it says nothing, or only shows the caller's own words again."""
        if not given.parts or given.message_id == self._turn.message.message_id:
            return ""
        blank = self._turn.agent_message(Part(text="")).to_wire()
        return Message.model_validate({**blank, **_wire(given)})

    def _produce(self, event: sdk.TaskArtifactUpdateEvent) -> None:
        """A chunk without parts says that it was the last: the SDK lets that pass, the specification does not."""
        artifact = Artifact.model_validate({"parts": [{"text": ""}], **_wire(event.artifact)})
        self._turn.artifact(
            artifact.name,
            artifact_id=artifact.artifact_id,
            description=artifact.description,
            parts=artifact.parts,
            metadata=artifact.metadata,
            extensions=artifact.extensions,
            append=event.append,
            last_chunk=event.last_chunk,
            event_metadata=_metadata(event),
        )

    def _move(self, given: sdk.TaskStatus, metadata: JsonObject | None) -> None:
        state, message, turn = _state(given), self._message(given.message), self._turn
        match state:
            case TaskState.SUBMITTED if not message and metadata is None:
                pass  # it was, before the executor was asked
            case TaskState.SUBMITTED | TaskState.WORKING:
                turn.working(message, metadata=metadata)
            case TaskState.INPUT_REQUIRED:
                turn.ask(message or "More input is needed.", within=self._within, metadata=metadata)
            case TaskState.AUTH_REQUIRED:
                turn.require_auth(message or "An authorization is needed.", within=self._within, metadata=metadata)
            case TaskState.COMPLETED:
                turn.complete(message, metadata=metadata)
            case TaskState.REJECTED:
                turn.reject(message, metadata=metadata)
            case TaskState.FAILED | TaskState.CANCELED:
                turn.fail(message or "The agent gave the task up.", metadata=metadata)
            case _:
                assert_never(state)


def _state(given: sdk.TaskStatus) -> TaskState:
    return TaskState(_wire(given).get("state", TaskState.SUBMITTED))


def _metadata(event: sdk.Task | sdk.TaskStatusUpdateEvent | sdk.TaskArtifactUpdateEvent) -> JsonObject | None:
    """What an event says as a whole; that of its message or artifact is theirs."""
    return _wire(event.metadata) or None


def _wire(message: Any) -> dict[str, Any]:
    told: dict[str, Any] = MessageToDict(message)
    return told
