"""AWS Lambda: HTTP API (payload 1.0, 2.0), REST API, Application Load Balancer and Function URL events.

Where the load balancer offers multi-value headers, turn them on: else it drops all but the last copy of a header
before this code can see that there were two.
"""

import base64
import binascii
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, Protocol
from urllib.parse import urlencode

from a2a_receiver.adapters.wsgi import synchronous
from a2a_receiver.answer import Response
from a2a_receiver.nudge import Nudge
from a2a_receiver.receiver import Receiver

Event = Mapping[str, Any]
Handler = Callable[[Event, object], dict[str, Any]]


class SqsClient(Protocol):
    """What is used of a `boto3` SQS client."""

    def send_message(self, **kwargs: Any) -> Any:
        """SendMessage."""
        ...


@dataclass(frozen=True, slots=True)
class _Asked:
    method: str
    headers: list[tuple[str, str]]
    query: str


def push_handler(receiver: Receiver, *, clock: Callable[[], float] = time.time) -> Handler:
    """A Lambda handler that tells the kinds of events apart by itself.

    Raises:
        ConfigError: the receiver's enqueue is `async`.
    """
    receiver = synchronous(receiver)

    def handle(event: Event, _context: object) -> dict[str, Any]:
        return _to_event(_answer(receiver, event, clock), event)

    return handle


def to_queue(queue_url: str, client: SqsClient) -> Callable[[Nudge], None]:
    """An enqueue that sends nudges to an SQS queue; the worker reads each with `Nudge.from_json(record["body"])`."""

    def enqueue(nudge: Nudge) -> None:
        client.send_message(QueueUrl=queue_url, MessageBody=nudge.to_json())

    return enqueue


def _answer(receiver: Receiver, event: Event, clock: Callable[[], float]) -> Response:
    try:
        asked = _read_event(event)
        early = receiver.admit(asked.method, asked.headers, now=clock(), query=asked.query)
        if early is not None:
            return early
        body = _body(event)
    except (AttributeError, TypeError, ValueError, KeyError):
        return Response(400)
    return receiver.handle(asked.method, asked.headers, body, now=clock(), query=asked.query)


def _read_event(event: Event) -> _Asked:
    if event.get("version") == "2.0":
        http = event["requestContext"]["http"]
        return _Asked(str(http["method"]), _single(event.get("headers")), str(event.get("rawQueryString", "")))
    many, one = event.get("multiValueHeaders"), event.get("headers")
    headers = _multiple(many) if many else _single(one)
    return _Asked(str(event["httpMethod"]), headers, _query(event))


def _single(headers: Mapping[str, object] | None) -> list[tuple[str, str]]:
    """Payload 2.0 joins copies with a comma, which the core looks for."""
    return [(str(name), str(value)) for name, value in (headers or {}).items() if value is not None]


def _multiple(headers: Mapping[str, list[object]]) -> list[tuple[str, str]]:
    return [(str(name), str(value)) for name, values in headers.items() for value in values or ()]


def _query(event: Event) -> str:
    many = event.get("multiValueQueryStringParameters")
    pairs = (
        [(name, value) for name, values in many.items() for value in values]
        if many
        else list((event.get("queryStringParameters") or {}).items())
    )
    if "elb" in event.get("requestContext", {}):  # ALB passes them on as they came, still encoded
        return "&".join(f"{name}={value}" for name, value in pairs)
    return urlencode(pairs)


def _body(event: Event) -> bytes:
    """The raw bytes. Text that is not base64 went through the gateway as UTF-8."""
    body = event.get("body")
    if body is None:
        return b""
    if event.get("isBase64Encoded"):
        try:
            return base64.b64decode(body, validate=True)
        except binascii.Error as error:
            raise ValueError("body is not base64") from error
    return str(body).encode("utf-8", "surrogatepass")


def _to_event(answer: Response, event: object) -> dict[str, Any]:
    shaped: dict[str, Any] = {
        "statusCode": answer.status,
        "body": answer.body.decode(),
        "isBase64Encoded": False,
    }
    context = event.get("requestContext") if isinstance(event, Mapping) else None
    if isinstance(context, Mapping) and "elb" in context:
        shaped["statusDescription"] = f"{answer.status} {HTTPStatus(answer.status).phrase}"
    # An ALB with multi-value headers on reads only those, REST APIs read both.
    if isinstance(event, Mapping) and event.get("multiValueHeaders"):
        return shaped | {"multiValueHeaders": {name: [value] for name, value in answer.headers}}
    return shaped | {"headers": dict(answer.headers)}
