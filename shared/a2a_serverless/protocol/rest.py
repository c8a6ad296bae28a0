"""The HTTP+JSON binding of both versions (SPEC 11; a2a-protocol 1.7 for 0.3): verb and path say what is asked."""

import re
from collections.abc import Mapping
from functools import cache
from typing import Any, Final, get_args

from a2a_serverless.core.push import WireVersion
from a2a_serverless.errors import A2AError, InvalidRequest
from a2a_serverless.protocol import dialects, event_stream, faults, media, versions
from a2a_serverless.protocol.cards import Document
from a2a_serverless.protocol.dialects import Dialect
from a2a_serverless.protocol.http import Request, Response
from a2a_serverless.protocol.results import ExtendedCard, Result, Streamed
from a2a_serverless.protocol.routing import Matched
from a2a_serverless.protocol.strict_json import LARGEST_BODY, parse, text_of
from a2a_serverless.protocol.visit import Visit, perform, told
from a2a_serverless.types import A2AModel, JsonObject, StreamEvent

_INTEGER: Final = re.compile(r"-?[0-9]{1,18}")
_BOOLEANS: Final = {"true": True, "false": False}


def answer(visit: Visit, matched: Matched) -> Response:
    """The response to a request at one of an agent's REST addresses."""
    dialect, operation = dialects.on_rest(matched.version), matched.operation
    if len(visit.request.body) > LARGEST_BODY:
        return faults.Refusal(413, "RESOURCE_EXHAUSTED", f"the request is larger than {LARGEST_BODY} bytes").response()
    try:
        _check_version(visit.request, matched)
        outcome = perform(visit, operation, dialect, _members(visit.request, matched))
        if isinstance(outcome.result, Streamed):
            return Response(200, event_stream.HEADERS | outcome.headers, _window(outcome.result, dialect))
        return _succeeded(visit, outcome.result, dialect, outcome.headers)
    except Exception as failure:  # noqa: BLE001 (the outermost edge: `told` logs what is ours)
        return failed(told(failure, visit, operation), visit.request, dialect.version)


def failed(error: A2AError, request: Request, version: WireVersion) -> Response:
    """An error as the version's clients read it."""
    spoken = faults.speaks(error, version)
    media_type = media.of_failure(request) if spoken is WireVersion.V1_0 else media.JSON
    headers = {"content-type": media_type, "cache-control": "no-store"}
    if isinstance(error, faults.Busy):
        headers["retry-after"] = "1"
    return Response(error.kind.http_status, headers, text_of(faults.rest_body(error, version)))


def _succeeded(visit: Visit, result: Result, dialect: Dialect, active: Mapping[str, str]) -> Response:
    media_type = _media_type(visit.request, dialect.version)
    if isinstance(result, ExtendedCard):
        document = Document.of(result.wire, since=visit.cards.since)
        return document.response(visit.request, cache="private", media_type=media_type)
    headers = {"content-type": media_type, "cache-control": "no-store", **active}
    return Response(200, headers, dialect.result(result))


def _window(streamed: Streamed, dialect: Dialect) -> str:
    def encode(event: StreamEvent, last: bool) -> str:  # noqa: FBT001 (the shape of `Encode`)
        return dialect.event(event, last=last)

    return event_stream.window(streamed.events, encode)


def _media_type(request: Request, version: WireVersion) -> str:
    return media.mirrored(request) if version is WireVersion.V1_0 else media.JSON


def _check_version(request: Request, matched: Matched) -> None:
    asked = versions.requested(request)
    if asked is not matched.version:
        raise versions.mismatch("this address", belongs_to=matched.version, asked=asked)


def _members(request: Request, matched: Matched) -> JsonObject:
    """The members of the request, from body or query, and from the path, which wins (SPEC 11.5)."""
    return {**_sent(request, matched), **matched.members}


def _sent(request: Request, matched: Matched) -> JsonObject:
    if request.method != "POST":
        return _typed(request.query_fields(), matched.operation.spelt(matched.version).request)
    if not request.body:
        return {}
    media.check(request)
    body = parse(request.body)
    if body is None:
        return {}  # how clients for Go spell that there is nothing to say (a2a-go#381)
    if not isinstance(body, dict):
        raise InvalidRequest("the body must be a JSON object")
    return body


def _typed(fields: Mapping[str, str], request: type[A2AModel]) -> JsonObject:
    """Query fields as what the request wants them to be; what does not read so stays text, and is refused as such.

    An empty field is one that is not there.
    """
    kinds = _kinds(request)
    return {name: _converted(value, kinds.get(name)) for name, value in fields.items() if value}


def _converted(value: str, kind: type | None) -> object:
    if kind is int and _INTEGER.fullmatch(value):
        return int(value)
    if kind is bool:
        return _BOOLEANS.get(value, value)
    return value


@cache
def _kinds(request: type[A2AModel]) -> dict[str, type]:
    """The members of a request that are numbers or truth values, under both spellings of their names."""
    return {
        name: kind
        for member, described in request.model_fields.items()
        if (kind := _scalar(described.annotation)) is not None
        for name in (member, described.alias or member)
    }


def _scalar(annotation: Any) -> type | None:
    if annotation in {bool, int}:
        return bool if annotation is bool else int
    found = (_scalar(inner) for inner in get_args(annotation))
    return next((kind for kind in found if kind is not None), None)
