"""Media types: what a request may come as, and what its answer goes out as (SPEC 9.2, 11.1)."""

from dataclasses import replace
from typing import Final

from a2a_serverless.errors import ContentTypeNotSupported
from a2a_serverless.protocol.http import Request

JSON: Final = "application/json"
A2A_JSON: Final = "application/a2a+json"
_TAKEN: Final = frozenset({JSON, A2A_JSON})


class UnsupportedMediaType(ContentTypeNotSupported):
    """The request itself came as something else than JSON: HTTP has a status of its own for that (RFC 9110 15.5.16).

    A part of a message that the agent does not take is an A2A error like others, with status 400 (SPEC 5.4).
    """

    kind = replace(ContentTypeNotSupported.kind, http_status=415)


def check(request: Request) -> None:
    """Refuse a body that says it is something else than JSON in UTF-8; one that says nothing passes.

    Raises:
        UnsupportedMediaType: it is something else.
    """
    declared = request.header("content-type")
    if declared in _TAKEN or not declared:
        return
    essence, _, parameters = declared.lower().partition(";")
    if essence.strip() not in _TAKEN or not _is_utf8(parameters):
        raise UnsupportedMediaType(f"the body came as {declared[:80]!r}; send {JSON} or {A2A_JSON}, in UTF-8")


def _is_utf8(parameters: str) -> bool:
    for parameter in parameters.split(";"):
        name, _, value = parameter.partition("=")
        if name.strip() == "charset" and value.strip(' "') not in {"utf-8", "utf8", "us-ascii"}:
            return False
    return True


def mirrored(request: Request) -> str:
    """What a REST answer of 1.0 goes out as: the type of the request's body, else one that `Accept` names.

    Without either it is `application/a2a+json` (SPEC 11.1). A client that accepts just anything is taken for one
    that does not know the type: clients that do say so, and those of 1.0.0 insist on `application/json`.
    """
    named, accepted = _named(request)
    if named or accepted == [""]:
        return named or A2A_JSON
    return JSON if "*/*" in accepted or "application/*" in accepted else A2A_JSON


def of_failure(request: Request) -> str:
    """What a REST error of 1.0 goes out as: as `mirrored`, but `application/json` where the request names neither type.

    The SDKs for Go and .NET name none where they send no body, and read an error only as JSON
    (docs/decisions/0016).
    """
    return _named(request)[0] or JSON


def _named(request: Request) -> tuple[str, list[str]]:
    """Our type that the request names, in its body or else in `Accept` (empty: neither), and all it accepts."""
    declared = _essence(request.header("content-type"))
    accepted = [_essence(choice) for choice in request.header("accept").split(",")]
    if declared in _TAKEN:
        return declared, accepted
    return next((known for known in (A2A_JSON, JSON) if known in accepted), ""), accepted


def _essence(media_type: str) -> str:
    return media_type.partition(";")[0].strip().lower()
