"""The operations on tasks that are there, and that about the extended card: see `use_cases`."""

from a2a_serverless.app import cancel as app_cancel
from a2a_serverless.app import read, subscribe
from a2a_serverless.core.push import WireVersion
from a2a_serverless.errors import ExtendedAgentCardNotConfigured, UnsupportedOperation
from a2a_serverless.protocol import page_token
from a2a_serverless.protocol.results import ExtendedCard, Listed, Streamed
from a2a_serverless.protocol.task_requests import (
    CancelTaskRequest,
    ExtendedCardRequest,
    GetTaskRequest,
    ListTasksRequest,
    SubscribeToTaskRequest,
)
from a2a_serverless.protocol.use_cases import Call, check_streaming, known_task_id
from a2a_serverless.types import Task


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
    check_streaming(call)
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
