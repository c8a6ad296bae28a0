"""The two ways version 0.3 writes: on JSON-RPC, and on REST."""

from typing import Any, Final

from pydantic import ValidationError

from a2a_serverless.core.push import WireVersion
from a2a_serverless.protocol import legacy_answers, legacy_rest
from a2a_serverless.protocol.dialects import Dialect
from a2a_serverless.protocol.operations import Operation
from a2a_serverless.protocol.requests import TenantedRequest
from a2a_serverless.protocol.validation import invalid, validated
from a2a_serverless.types import JsonObject


def _read(operation: Operation, wire: JsonObject) -> TenantedRequest:
    legacy: Any = validated(operation.v03.request, wire)
    try:
        upgraded: TenantedRequest = legacy.upgraded()
    except ValidationError as error:
        raise invalid(error) from error
    return upgraded


def _read_rest(operation: Operation, wire: JsonObject) -> TenantedRequest:
    return _read(operation, legacy_rest.as_json_rpc(operation.v03.request, wire))


V03: Final = Dialect(WireVersion.V0_3, _read, legacy_answers.result_text, legacy_answers.event_text)
V03_REST: Final = Dialect(WireVersion.V0_3, _read_rest, legacy_rest.result_text, legacy_rest.event_text)
