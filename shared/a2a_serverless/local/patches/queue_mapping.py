"""An SQS event source mapping: receives batches, runs the function, deletes what it processed.

A message that was not processed stays invisible until its visibility timeout, comes back with a higher receive
count and moves to the dead-letter queue after `maxReceiveCount`, all by the queue's own rules.
"""

import contextvars
import json
import logging
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

from a2a_serverless.local.patches.loop import on_loop
from a2a_serverless.local.patches.roles import Denied, RoleGate
from a2a_serverless.local.patches.target import module

_log = logging.getLogger(__name__)

NEEDED = ("sqs:ReceiveMessage", "sqs:DeleteMessage", "sqs:GetQueueAttributes")
"""What the function's role must allow on the queue (Lambda guide, "Using Lambda with Amazon SQS")."""

DENIED_SECONDS = 5.0
"""How long a mapping rests whose function may not read its source."""
_IDLE_SECONDS = 1.0

Message = dict[str, Any]


class QueueMapping:
    """Polls one queue for one function."""

    def __init__(
        self,
        mapping: dict[str, Any],
        service: Any,
        gate: RoleGate,
        batch_done: Callable[[], None],
        *,
        batches_in_flight: int,
    ) -> None:
        self._mapping = mapping
        self._lambda = service
        self._sqs: Any = module("services.sqs")
        self._gate = gate
        self._batch_done = batch_done
        self._limit = batches_in_flight
        self._in_flight = 0
        self._counting = threading.Lock()
        self._arn: str = mapping["EventSourceArn"]

    def poll(self) -> float:
        """Hand out one batch when there is one and room for it; returns how long to rest (0: look again at once)."""
        function = self._function()
        queue_url = self._queue_url()
        if function is None or queue_url is None:
            return _IDLE_SECONDS
        if denied := self._gate.first_denied(function, NEEDED, self._arn):
            note_problem(self._mapping, denied)
            return DENIED_SECONDS
        if self._in_flight >= self._concurrency():
            return _IDLE_SECONDS  # the end of a batch rings the bell
        messages, rest = on_loop(lambda: self._receive(queue_url))
        if not messages:
            return rest
        self._dispatch(function, messages, queue_url)
        return 0.0

    def _function(self) -> dict[str, Any] | None:
        record, _ = self._lambda._get_func_record_for_qualifier(
            self._mapping["FunctionName"], self._mapping.get("Qualifier")
        )
        return record  # type: ignore[no-any-return]

    def _queue_url(self) -> str | None:
        url: str = self._sqs._queue_url(self._arn.rpartition(":")[2])
        return url if url in self._sqs._queues else None

    def _concurrency(self) -> int:
        scaling = self._mapping.get("ScalingConfig") or {}
        return min(int(scaling.get("MaximumConcurrency") or self._limit), self._limit)

    def _receive(self, queue_url: str) -> tuple[list[Message], float]:
        """On the loop: take a batch, or say how long it is until the next message becomes visible."""
        size = int(self._mapping.get("BatchSize") or 10)
        window = float(self._mapping.get("MaximumBatchingWindowInSeconds") or 0)
        queue = self._sqs._queues[queue_url]
        now = time.time()
        visible = [message for message in queue["messages"] if message["visible_at"] <= now]
        if visible and window and len(visible) < size:
            gathered_at = min(message["visible_at"] for message in visible) + window
            if now < gathered_at:
                return [], gathered_at - now
        # Also called with nothing visible: it moves messages that failed too often to the dead-letter queue.
        batch = self._sqs._receive_messages_for_esm(queue_url, size)
        # Copies: the handle of this receive must not become that of a later one while the batch runs.
        return [dict(message) for message in batch], _until_next(queue["messages"], now)

    def _dispatch(self, function: dict[str, Any], messages: list[Message], queue_url: str) -> None:
        kept = self._lambda._apply_filter_criteria([self._record(message) for message in messages], self._mapping)
        wanted = {record["messageId"] for record in kept}
        self._delete([message for message in messages if message["id"] not in wanted], queue_url)
        batch = [message for message in messages if message["id"] in wanted]
        if not batch:
            return
        with self._counting:
            self._in_flight += 1
        context = contextvars.copy_context()
        arguments = (self._run, function, {"Records": kept}, batch, queue_url)
        threading.Thread(target=context.run, args=arguments, daemon=True, name="queue-batch").start()

    def _run(self, function: dict[str, Any], event: dict[str, Any], batch: list[Message], queue_url: str) -> None:
        try:
            result = self._lambda._execute_function(function, event)
            done = list(self._processed(batch, result))
            self._delete(done, queue_url)
            self._mapping["LastProcessingResult"] = "OK" if len(done) == len(batch) else "FAILED"
        except Exception:  # noqa: BLE001 (the outermost edge of a thread)
            _log.exception("a batch of %s", self._arn)
        finally:
            with self._counting:
                self._in_flight -= 1
            self._batch_done()

    def _processed(self, batch: list[Message], result: dict[str, Any]) -> Iterator[Message]:
        """The messages to delete: all, none, or those that a partial batch response does not name."""
        if result.get("error"):
            _log.warning("%s failed a batch of %s: %s", self._mapping["FunctionName"], self._arn, result.get("body"))
            return
        failed: set[str] = set()
        if "ReportBatchItemFailures" in (self._mapping.get("FunctionResponseTypes") or []):
            named = failures_of(result.get("body"))
            known = {message["id"] for message in batch}
            if named is None or not named <= known:
                return  # AWS: an unreadable response, or one that names a stranger, fails the whole batch
            failed = named
        yield from (message for message in batch if message["id"] not in failed)

    def _delete(self, messages: list[Message], queue_url: str) -> None:
        handles = {message["receipt_handle"] for message in messages}
        if handles:
            on_loop(lambda: self._sqs._delete_messages_for_esm(queue_url, handles))

    def _record(self, message: Message) -> dict[str, Any]:
        """A message as the function sees it (Lambda guide, "Example standard queue message event")."""
        attributes = {
            "ApproximateReceiveCount": str(message["receive_count"]),
            "SentTimestamp": str(int(message["sent_at"] * 1000)),
            "SenderId": message.get("sys", {}).get("SenderId", ""),
            "ApproximateFirstReceiveTimestamp": str(int(message["first_receive_at"] * 1000)),
        }
        optional = {
            "AWSTraceHeader": message.get("sys", {}).get("AWSTraceHeader"),
            "DeadLetterQueueSourceArn": message.get("sys", {}).get("DeadLetterQueueSourceArn"),
            "MessageGroupId": message.get("group_id"),
            "MessageDeduplicationId": message.get("dedup_id"),
            "SequenceNumber": message.get("seq"),
        }
        return {
            "messageId": message["id"],
            "receiptHandle": message["receipt_handle"],
            "body": message["body"],
            "attributes": attributes | {name: str(value) for name, value in optional.items() if value},
            "messageAttributes": self._lambda._sqs_message_attributes_to_camel_case(message["message_attributes"]),
            "md5OfBody": message["md5_body"],
            "eventSource": "aws:sqs",
            "eventSourceARN": self._arn,
            "awsRegion": self._arn.split(":")[3],
        }


def note_problem(mapping: dict[str, Any], denied: Denied) -> None:
    """Say once, in the mapping and in the log, why its source is not polled."""
    problem = f"PROBLEM: {denied.message}"
    if mapping["LastProcessingResult"] != problem:
        mapping["LastProcessingResult"] = problem
        _log.error("%s is not polled: %s", mapping["EventSourceArn"], denied.message)


def failures_of(body: Any) -> set[str] | None:
    """The identifiers of a partial batch response; None when it cannot be read as one."""
    if isinstance(body, str):
        try:
            body = json.loads(body)
        except ValueError:
            return None
    if body is None or body == {}:
        return set()
    if not isinstance(body, dict):
        return None
    failures = body.get("batchItemFailures")
    if failures is None:
        return set()
    try:
        named = {failure["itemIdentifier"] for failure in failures}
    except (TypeError, KeyError):
        return None
    return named if all(isinstance(name, str) and name for name in named) else None


def _until_next(messages: list[Message], now: float) -> float:
    """Seconds until a delayed or invisible message becomes visible, at most a second."""
    coming: list[float] = [message["visible_at"] - now for message in messages if message["visible_at"] > now]
    return max(0.001, min([_IDLE_SECONDS, *coming]))
