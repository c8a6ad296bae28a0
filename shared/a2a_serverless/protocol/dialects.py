"""The three ways the same operations are written: 1.0 (both bindings), 0.3 on JSON-RPC, 0.3 on REST."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, Protocol

from pydantic import ValidationError

from a2a_serverless.core.push import WireVersion
from a2a_serverless.protocol import answers, legacy_answers, legacy_rest
from a2a_serverless.protocol.operations import Operation
from a2a_serverless.protocol.requests import Tenanted
from a2a_serverless.protocol.results import Result
from a2a_serverless.protocol.validation import invalid, validated
from a2a_serverless.types import JsonObject, StreamEvent


class WriteEvent(Protocol):
    """An event of a stream as JSON text; `last` if the stream ends behind it."""

    def __call__(self, event: StreamEvent, *, last: bool) -> str:
        """The text."""


@dataclass(frozen=True, slots=True)
class Dialect:
    """How requests are read, and results and events written."""

    version: WireVersion
    read: Callable[[Operation[Any], JsonObject], Tenanted]
    """From the members of a request to the request of 1.0, or InvalidParams."""
    result: Callable[[Result], str]
    event: WriteEvent


def _read_v1(operation: Operation[Any], wire: JsonObject) -> Tenanted:
    return validated(operation.v1.request, wire)  # type: ignore[return-value] # the table holds requests only


def _read_v03(operation: Operation[Any], wire: JsonObject) -> Tenanted:
    legacy: Any = validated(operation.v03.request, wire)
    try:
        upgraded: Tenanted = legacy.upgraded()
    except ValidationError as error:
        raise invalid(error) from error
    return upgraded


def _read_v03_rest(operation: Operation[Any], wire: JsonObject) -> Tenanted:
    return _read_v03(operation, legacy_rest.as_json_rpc(operation.v03.request, wire))


V1: Final = Dialect(WireVersion.V1_0, _read_v1, answers.result_text, answers.event_text)
V03: Final = Dialect(WireVersion.V0_3, _read_v03, legacy_answers.result_text, legacy_answers.event_text)
V03_REST: Final = Dialect(WireVersion.V0_3, _read_v03_rest, legacy_rest.result_text, legacy_rest.event_text)
