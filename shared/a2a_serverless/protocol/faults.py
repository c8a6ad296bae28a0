"""Errors as they travel: JSON-RPC error objects, google.rpc.Status, and the bodies that clients of 0.3 understand."""

from dataclasses import dataclass, field
from typing import Final

from a2a_serverless.core.push import WireVersion
from a2a_serverless.errors import (
    A2AError,
    ErrorKind,
    InternalError,
    InvalidParams,
    InvalidRequest,
    VersionNotSupported,
)
from a2a_serverless.protocol.http import Response
from a2a_serverless.protocol.media import JSON
from a2a_serverless.protocol.strict_json import text_of
from a2a_serverless.types import JsonObject

DOMAIN: Final = "a2a-protocol.org"
_TYPE: Final = "type.googleapis.com/google.rpc."
_CODES_SINCE_1_0: Final = range(-32099, -32007)
"""The A2A codes that 0.3 does not know."""


class Busy(InternalError):
    """Others changed the same task again and again; the caller may try again at once (SPEC 3.3.2: temporary)."""

    kind = ErrorKind(-32603, 503, "UNAVAILABLE", "INTERNAL_ERROR", "InternalError")


def speaks(error: A2AError, version: WireVersion) -> WireVersion:
    """The version an error is told in: whoever names a version that does not fit knows of versions, so 1.0."""
    return WireVersion.V1_0 if isinstance(error, VersionNotSupported) else version


def json_rpc_error(error: A2AError, version: WireVersion) -> JsonObject:
    """The `error` member of a JSON-RPC response (SPEC 9.5)."""
    if speaks(error, version) is WireVersion.V1_0:
        return {"code": error.kind.code, "message": error.message, "data": details(error)}
    return {"code": _code_of_03(error), "message": error.message}


def rest_body(error: A2AError, version: WireVersion) -> JsonObject:
    """The body of a REST error: google.rpc.Status (SPEC 11.6), and for 0.3 beside it what its clients look for (3.4).

    0.3 leaves the form open. Some of its clients go by `code` and some by `type`; those for Go and Java read `error`.
    """
    status = status_body(error.kind.http_status, error.kind.rpc_status, error.message, details(error))
    if speaks(error, version) is WireVersion.V1_0:
        return status
    told = {"code": _code_of_03(error), "message": error.message, "type": error.kind.v03_name, "data": None}
    return told | status


def details(error: A2AError) -> list[JsonObject]:
    """ErrorInfo, and for invalid parameters which they were."""
    info: JsonObject = {"@type": f"{_TYPE}ErrorInfo", "reason": error.kind.reason, "domain": DOMAIN}
    if error.metadata:
        info["metadata"] = error.metadata
    if not isinstance(error, InvalidParams) or not error.violations:
        return [info]
    violations = [{"field": wrong.field, "description": wrong.description} for wrong in error.violations]
    return [info, {"@type": f"{_TYPE}BadRequest", "fieldViolations": violations}]


def status_body(http_status: int, rpc_status: str, message: str, about: list[JsonObject]) -> JsonObject:
    """google.rpc.Status as JSON: its `code` is the HTTP status, its `status` the name of the google.rpc.Code."""
    status: JsonObject = {"code": http_status, "status": rpc_status, "message": message}
    if about:
        status["details"] = about
    return {"error": status}


def _code_of_03(error: A2AError) -> int:
    code = error.kind.code
    return InvalidRequest.kind.code if code in _CODES_SINCE_1_0 else code


@dataclass(frozen=True, slots=True)
class Refusal:
    """Something HTTP itself says no to: no A2A error, so it looks the same in every version and binding."""

    status: int
    rpc_status: str
    message: str
    headers: dict[str, str] = field(default_factory=dict)

    def response(self) -> Response:
        """The response: google.rpc.Status."""
        body = status_body(self.status, self.rpc_status, self.message, [])
        return Response(self.status, {"content-type": JSON, **self.headers}, text_of(body))


def not_found(message: str) -> Refusal:
    """No such address."""
    return Refusal(404, "NOT_FOUND", message)


def method_not_allowed(allowed: tuple[str, ...]) -> Refusal:
    """The address takes other verbs."""
    verbs = ", ".join(allowed)
    return Refusal(405, "UNIMPLEMENTED", f"this address takes {verbs}", {"allow": verbs})
