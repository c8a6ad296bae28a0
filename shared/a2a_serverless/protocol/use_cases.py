"""Each operation as a function from a request of 1.0 to a result: the seam between protocol and `app`.

Those about webhooks are in `push_calls` and `delivery_calls`.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from a2a_serverless.app import cancel as app_cancel
from a2a_serverless.app import read, send, subscribe
from a2a_serverless.app.host import Host
from a2a_serverless.core.push import WireVersion
from a2a_serverless.errors import (
    ExtendedAgentCardNotConfigured,
    TaskNotFound,
    UnsupportedOperation,
)
from a2a_serverless.protocol import page_token
from a2a_serverless.protocol.requests import (
    CancelTaskRequest,
    ExtendedCardRequest,
    GetTaskRequest,
    ListTasksRequest,
    SendMessageRequest,
    SubscribeToTaskRequest,
)
from a2a_serverless.protocol.results import ExtendedCard, Listed, Sent, Streamed
from a2a_serverless.types import Caller, JsonObject, Task

_TASK_ID: Final = re.compile(r"[A-Za-z0-9._~-]{1,128}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """Who calls which agent, in which version."""

    host: Host
    caller: Caller
    version: WireVersion
    extended_card: Callable[[WireVersion], JsonObject | None]
    """The extended card in the shape of a version; None if the agent has none."""
    extensions: tuple[str, ...] = ()
    """URIs of the extensions that it activates."""
    trace: str = ""
    """The trace context that the call is part of."""


def send_message(call: Call, request: SendMessageRequest) -> Sent:
    """SendMessage."""
    return Sent(send.send(call.host, call.caller, _send_request(call, request)))


def send_streaming_message(call: Call, request: SendMessageRequest) -> Streamed:
    """SendStreamingMessage."""
    _check_streaming(call)
    return Streamed(subscribe.stream(call.host, call.caller, _send_request(call, request)))


def get_task(call: Call, request: GetTaskRequest) -> Task:
    """GetTask."""
    return read.get(call.host, call.caller, known_task_id(request.id), history_length=request.history_length)


def list_tasks(call: Call, request: ListTasksRequest) -> Listed:
    """ListTasks."""
    scope = call.host.scope(call.caller)
    after = page_token.decode(request.page_token, scope=scope, request=request) if request.page_token else None
    page = read.list_tasks(
        call.host,
        call.caller,
        read.ListRequest(
            context_id=request.context_id,
            state=request.status,
            page_size=request.page_size,
            after=after,
            history_length=request.history_length,
            status_since=request.status_timestamp_after,
            include_artifacts=request.include_artifacts,
        ),
    )
    return Listed(
        page,
        request.include_artifacts,
        lambda position: page_token.encode(position, scope=scope, request=request),
    )


def cancel_task(call: Call, request: CancelTaskRequest) -> Task:
    """CancelTask."""
    return app_cancel.cancel(call.host, call.caller, known_task_id(request.id))


def subscribe_to_task(call: Call, request: SubscribeToTaskRequest) -> Streamed:
    """SubscribeToTask. In 0.3 a finished task is shown once more (its proto), in 1.0 it is an error (SPEC 3.1.6)."""
    _check_streaming(call)
    task_id = known_task_id(request.id)
    try:
        return Streamed(subscribe.subscribe(call.host, call.caller, task_id))
    except UnsupportedOperation:
        if call.version is not WireVersion.V0_3:
            raise
        return Streamed(iter((read.get(call.host, call.caller, task_id),)))


def get_extended_card(call: Call, request: ExtendedCardRequest) -> ExtendedCard:
    """GetExtendedAgentCard. The caller was authenticated like for every operation."""
    del request
    wire = call.extended_card(call.version)
    if wire is not None:
        return ExtendedCard(wire)
    if call.host.card.capabilities.extended_agent_card:
        raise ExtendedAgentCardNotConfigured("the agent promises an extended card but has none")
    raise UnsupportedOperation("the agent has no extended card")


def _send_request(call: Call, request: SendMessageRequest) -> send.SendRequest:
    if request.message.task_id:
        known_task_id(request.message.task_id)
    configuration = request.configuration
    return send.SendRequest(
        message=request.message,
        configuration=send.SendConfiguration(
            accepted_output_modes=configuration.accepted_output_modes,
            push=configuration.task_push_notification_config,
            history_length=configuration.history_length,
            return_immediately=configuration.return_immediately,
        ),
        metadata=request.metadata,
        extensions=call.extensions,
        trace=call.trace,
        wire_version=call.version,
    )


def known_task_id(wanted: str) -> str:
    """An id that cannot be ours is like any other that is not there, and never reaches the store.

    Raises:
        TaskNotFound: it cannot be.
    """
    if not _TASK_ID.fullmatch(wanted):
        raise TaskNotFound
    return wanted


def _check_streaming(call: Call) -> None:
    if call.host.card.capabilities.streaming is False:
        raise UnsupportedOperation("the agent does not stream; use SendMessage and GetTask")
