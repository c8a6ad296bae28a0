"""The operations of the extension `deliveries`: what became of a webhook's nudges, send one again, send a test.

An extension of ours, so its words are decided here: a result is a JSON object, the same for both bindings.
"""

from typing import Final

from a2a_serverless.app import deliveries
from a2a_serverless.app.deliveries import Again, Delivery, Desk, WebhookLog
from a2a_serverless.app.ports import AttemptRecord
from a2a_serverless.errors import InvalidParams, UnsupportedOperation
from a2a_serverless.protocol.push_requests import (
    ListDeliveriesRequest,
    PingRequest,
    RedeliverRequest,
)
from a2a_serverless.protocol.results import Extra
from a2a_serverless.protocol.use_cases import Call, known_task_id
from a2a_serverless.types import JsonObject, TaskKey, timestamp_text

_PAGE: Final = 20


def list_deliveries(call: Call, request: ListDeliveriesRequest) -> Extra:
    """What became of the nudges of one webhook, the newest first."""
    desk, key = _desk(call), _key(call, request.task_id)
    log = deliveries.log_of(desk, key, request.id)
    shown = _after(log.deliveries, request.page_token)
    page = shown[: request.page_size or _PAGE]
    return Extra(
        {**_webhook(log), "deliveries": [delivery_object(each) for each in page], "nextPageToken": _token(shown, page)}
    )


def redeliver(call: Call, request: RedeliverRequest) -> Extra:
    """Send a nudge again under the id it had."""
    again = deliveries.redeliver(_desk(call), _key(call, request.task_id), request.id, message_id=request.message_id)
    return Extra(_again(again))


def ping(call: Call, request: PingRequest) -> Extra:
    """Send a test, and say what came of it if that is known soon enough."""
    desk, key = _desk(call), _key(call, request.task_id)
    asked = deliveries.ping(desk, key, request.id)
    result = deliveries.result_of_ping(desk, key, request.id, asked.message_id, pause=call.host.pause)
    if result is None:
        return Extra({"messageId": asked.message_id, "test": True, "outcome": deliveries.PENDING, "attempts": []})
    return Extra(delivery_object(result))


def _desk(call: Call) -> Desk:
    if call.host.desk is None or not call.host.push_supported:
        raise UnsupportedOperation("this agent shows no deliveries")
    return call.host.desk


def _key(call: Call, task_id: str) -> TaskKey:
    return TaskKey(call.host.scope(call.caller), known_task_id(task_id))


def _after(found: tuple[Delivery, ...], token: str) -> tuple[Delivery, ...]:
    """Those behind the one whose id the token is."""
    if not token:
        return found
    ids = [delivery.message_id for delivery in found]
    if token not in ids:
        raise InvalidParams.of("pageToken", "must be a nextPageToken of the last 14 days")
    return found[ids.index(token) + 1 :]


def _token(shown: tuple[Delivery, ...], page: tuple[Delivery, ...]) -> str:
    return page[-1].message_id if len(page) < len(shown) else ""


def log_object(log: WebhookLog) -> JsonObject:
    """The log of a webhook as JSON, whole."""
    return {**_webhook(log), "deliveries": [delivery_object(each) for each in log.deliveries]}


def _webhook(log: WebhookLog) -> JsonObject:
    if log.disabled is None:
        return {"id": log.config_id, "url": log.url, "enabled": True}
    off = {"reason": log.disabled.reason.value, "since": timestamp_text(log.disabled.at)}
    return {"id": log.config_id, "url": log.url, "enabled": False, "disabled": off}


def delivery_object(delivery: Delivery) -> JsonObject:
    """A delivery as JSON."""
    said: JsonObject = {
        **_again(Again(delivery.message_id, delivery.seq)),
        "outcome": delivery.outcome,
        "attempts": [_attempt(line) for line in delivery.attempts],
    }
    if delivery.is_test:
        said["test"] = True
    if delivery.next_at is not None:
        said["nextAttempt"] = timestamp_text(delivery.next_at)
    return said


def _attempt(line: AttemptRecord) -> JsonObject:
    said: JsonObject = {
        "attempt": line.attempt,
        "time": timestamp_text(line.at),
        "outcome": line.result,
        "milliseconds": line.milliseconds,
    }
    if line.status:
        said["status"] = line.status
    if line.key_id:
        said["keyId"] = line.key_id
    if line.next_at is not None:
        said["nextAttempt"] = timestamp_text(line.next_at)
    return said


def _again(again: Again) -> JsonObject:
    """`seq` is text, as in the nudge itself: protobuf would make a float of it."""
    return {"messageId": again.message_id, "seq": str(again.seq)}
