"""The seam between protocol and `app`: what a call is, and the operations that send, as functions from a request of 1.0
to a result.

Those about tasks that are there are in `task_calls`, those about webhooks in `push_calls` and `delivery_calls`.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from a2a_serverless.app import send, subscribe
from a2a_serverless.app.host import Host
from a2a_serverless.core.push import WireVersion
from a2a_serverless.errors import TaskNotFound, UnsupportedOperation
from a2a_serverless.protocol.requests import SendMessageRequest
from a2a_serverless.protocol.results import Sent, Streamed
from a2a_serverless.types import Caller, JsonObject

TASK_ID: Final = re.compile(r"[A-Za-z0-9._~-]{1,128}")


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
    check_streaming(call)
    return Streamed(subscribe.stream(call.host, call.caller, _send_request(call, request)))


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
    if not TASK_ID.fullmatch(wanted):
        raise TaskNotFound
    return wanted


def check_streaming(call: Call) -> None:
    """Refuse a stream of an agent that has none.

    Raises:
        UnsupportedOperation: it has none.
    """
    if call.host.card.capabilities.streaming is False:
        raise UnsupportedOperation("the agent does not stream; use SendMessage and GetTask")
