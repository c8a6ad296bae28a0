"""The three ways the same operations are written: 1.0 (both bindings), 0.3 on JSON-RPC, 0.3 on REST.

Those of 0.3 are in `legacy_dialects`, which is imported with the first request of 0.3.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Protocol

from a2a_serverless.core.push import WireVersion
from a2a_serverless.protocol import answers
from a2a_serverless.protocol.operations import Operation
from a2a_serverless.protocol.requests import TenantedRequest
from a2a_serverless.protocol.results import Result
from a2a_serverless.protocol.validation import validated
from a2a_serverless.types import JsonObject, StreamEvent


class WriteEvent(Protocol):
    """An event of a stream as JSON text; `last` if the stream ends behind it."""

    def __call__(self, event: StreamEvent, *, last: bool) -> str:
        """The text."""


@dataclass(frozen=True, slots=True)
class Dialect:
    """How requests are read, and results and events written."""

    version: WireVersion
    read: Callable[[Operation, JsonObject], TenantedRequest]
    """From the members of a request to the request of 1.0, or InvalidParams."""
    result: Callable[[Result], str]
    event: WriteEvent


def _read_v1(operation: Operation, wire: JsonObject) -> TenantedRequest:
    return validated(operation.v1.request, wire)  # type: ignore[return-value] # the table holds requests only


V1: Final = Dialect(WireVersion.V1_0, _read_v1, answers.result_text, answers.event_text)


def on_json_rpc(version: WireVersion) -> Dialect:
    """How a version writes on JSON-RPC."""
    if version is WireVersion.V1_0:
        return V1
    from a2a_serverless.protocol.legacy_dialects import V03

    return V03


def on_rest(version: WireVersion) -> Dialect:
    """How a version writes on REST."""
    if version is WireVersion.V1_0:
        return V1
    from a2a_serverless.protocol.legacy_dialects import V03_REST

    return V03_REST
