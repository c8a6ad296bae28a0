"""The JSON-RPC binding of both versions (SPEC 9): one address, the method says what is asked.

Errors of the protocol are answered with HTTP status 200; who is not authenticated never gets here.
"""

import logging
from typing import Final

from a2a_serverless.core.push import WireVersion
from a2a_serverless.errors import (
    A2AError,
    InvalidParams,
    InvalidRequest,
    MethodNotFound,
    VersionNotSupported,
)
from a2a_serverless.protocol import dialects, event_stream, faults, media, versions
from a2a_serverless.protocol.dialects import Dialect
from a2a_serverless.protocol.http import Request, Response
from a2a_serverless.protocol.operations import METHODS, Operation
from a2a_serverless.protocol.results import Streamed
from a2a_serverless.protocol.strict_json import LARGEST_BODY, parse, text_of
from a2a_serverless.protocol.visit import Visit, perform, told
from a2a_serverless.types import JsonObject, StreamEvent

_NO_ID: Final = "null"

log = logging.getLogger(__name__)


def answer(visit: Visit) -> Response:
    """The response to a POST at an agent's address."""
    request_id = _NO_ID
    try:
        message = _message(visit.request)
        request_id = _id_text(message)
        operation, dialect = _called(visit.request, message)
    except A2AError as error:
        log.info("refused", extra={"agent": visit.host.name, "reason": error.kind.reason})
        return _json(_failed(request_id, error, _version(visit.request)))
    return _perform(visit, request_id, operation, dialect, message)


def _perform(visit: Visit, request_id: str, operation: Operation, dialect: Dialect, message: JsonObject) -> Response:
    try:
        outcome = perform(visit, operation, dialect, _params(message))
        if isinstance(outcome.result, Streamed):
            body = _window(outcome.result, request_id, dialect)
            return Response(200, event_stream.HEADERS | outcome.headers, body)
        return _json(_succeeded(request_id, dialect.result(outcome.result)), outcome.headers)
    except Exception as failure:  # noqa: BLE001 (the outermost edge: `told` logs what is ours)
        text = _failed(request_id, told(failure, visit, operation), dialect.version)
    if operation.streams and dialect.version is WireVersion.V0_3:
        # Its clients refuse any other media type as an answer to a streaming method; those of 1.0 differ
        # (docs/decisions/0018).
        return Response(200, event_stream.HEADERS, event_stream.line_of(text))
    # To who cuts a stream at its blank lines and reads JSON where no line is data, the blank line is what ends it.
    return _json(f"{text}\n\n" if operation.streams else text)


def _message(request: Request) -> JsonObject:
    """The request object of JSON-RPC 2.0; neither version knows batches."""
    media.check(request)
    if len(request.body) > LARGEST_BODY:
        raise InvalidParams(f"the request is larger than {LARGEST_BODY} bytes; send large content as url parts")
    message = parse(request.body)
    if not isinstance(message, dict):
        raise InvalidRequest("the body must be one JSON-RPC 2.0 request object; batches are not part of A2A")
    return message


def _id_text(message: JsonObject) -> str:
    """The id as it is echoed, unchanged. A request without one is answered too, as all servers do."""
    request_id = message.get("id")
    if request_id is None:
        return _NO_ID
    if isinstance(request_id, bool) or not isinstance(request_id, str | int | float):
        raise InvalidRequest("id must be a string, a number or null")
    return text_of(request_id)


def _called(request: Request, message: JsonObject) -> tuple[Operation, Dialect]:
    """The operation that the method names, in its version, if that is the version of the request."""
    if message.get("jsonrpc") != "2.0":
        raise InvalidRequest('jsonrpc must be "2.0"')
    method = message.get("method")
    if not isinstance(method, str) or not method:
        raise InvalidRequest("method must be the name of an operation")
    asked = versions.requested(request)
    if method not in METHODS:
        raise MethodNotFound(f"there is no method {method[:80]!r}")
    operation, version = METHODS[method]
    if version is not asked:
        raise versions.mismatch(f"the method {method}", belongs_to=version, asked=asked)
    return operation, dialects.on_json_rpc(version)


def _params(message: JsonObject) -> JsonObject:
    params = message.get("params")
    if params is None:
        return {}
    if not isinstance(params, dict):
        raise InvalidParams.of("params", "must be an object")
    return params


def _version(request: Request) -> WireVersion:
    """The version to tell an error in, before there is an operation."""
    try:
        return versions.requested(request)
    except VersionNotSupported:
        return WireVersion.V1_0


def _window(streamed: Streamed, request_id: str, dialect: Dialect) -> str:
    def encode(event: StreamEvent, last: bool) -> str:  # noqa: FBT001 (the shape of `Encode`)
        return _succeeded(request_id, dialect.event(event, last=last))

    return event_stream.window(streamed.events, encode)


def _succeeded(request_id: str, result: str) -> str:
    return f'{{"jsonrpc":"2.0","id":{request_id},"result":{result}}}'


def _failed(request_id: str, error: A2AError, version: WireVersion) -> str:
    return f'{{"jsonrpc":"2.0","id":{request_id},"error":{text_of(faults.json_rpc_error(error, version))}}}'


def _json(text: str, headers: dict[str, str] | None = None) -> Response:
    return Response(200, {"content-type": media.JSON, "cache-control": "no-store", **(headers or {})}, text)
