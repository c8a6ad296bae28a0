"""API Gateway's HTTP API, payload format 2.0 (AWS: Working with Lambda proxy integrations) to and from `http`."""

import base64
import binascii
from collections.abc import Mapping
from typing import Any

from a2a_serverless.protocol.http import Request, Response
from a2a_serverless.protocol.service import Service, handle


def answer(service: Service, event: Mapping[str, Any]) -> dict[str, Any]:
    """What a Lambda function behind an HTTP API returns for an event."""
    return to_result(handle(service, to_request(event)))


def to_request(event: Mapping[str, Any]) -> Request:
    """The request in an event.

    The gateway writes header names in small letters and joins repeated headers by commas. Media types that it takes
    for binary, `application/a2a+json` among them, come as base64.
    """
    http = event.get("requestContext", {}).get("http", {})
    return Request(
        method=str(http.get("method", "GET")).upper(),
        path=event.get("rawPath") or "/",
        query=event.get("rawQueryString") or "",
        headers={str(name).lower(): str(value) for name, value in (event.get("headers") or {}).items()},
        body=_body(event),
    )


def _body(event: Mapping[str, Any]) -> bytes:
    body = event.get("body") or ""
    if not event.get("isBase64Encoded"):
        return body.encode("utf-8", "surrogatepass")  # what is no UTF-8 is refused where JSON is read
    try:
        return base64.b64decode(body, validate=True)
    except (binascii.Error, ValueError):
        return b"\xff"  # no JSON


def to_result(response: Response) -> dict[str, Any]:
    """The result for a response: text stays text, since the gateway would hand base64 out decoded only to some."""
    return {
        "statusCode": response.status,
        "headers": dict(response.headers),
        "body": response.body,
        "isBase64Encoded": False,
    }
