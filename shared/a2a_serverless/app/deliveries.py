"""What became of a webhook's nudges, and what its owner or the operator can do about it: look, send again, test.

Both come through here: the owner by an operation of the API, scoped to him like every other, the operator by the
command line. Nothing is sent from here; `notify` alone holds keys and secrets.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from a2a_serverless.app.attempt import endpoint_of
from a2a_serverless.app.ports import (
    AttemptRecord,
    Clock,
    DeliveryStore,
    Ids,
    NudgeQueue,
    Pause,
    PushStore,
    TaskStore,
)
from a2a_serverless.core.delivery_state import DeliveryState, Disabled, PendingNudge
from a2a_serverless.core.delivery_state import redeliver as begun_anew
from a2a_serverless.errors import Conflict, InvalidParams, TaskNotFound, UnsupportedOperation
from a2a_serverless.types import TaskKey

PENDING: Final = "pending"
"""The outcome of a delivery that goes on."""

UNFINISHED: Final = "unfinished"
"""The outcome of a delivery that nobody goes on with: its webhook was replaced, or its sender died."""

QUEUED: Final = "queued"

PING_EVERY: Final = timedelta(seconds=10)
"""A webhook is tested no more often: else it could be pointed at somebody and used to knock at his door."""

PING_PATIENCE: Final = timedelta(seconds=14)
"""How long the result of a test is waited for: an attempt takes 10 s at most, and a queue lies before it."""

_PING_LOOKS: Final = timedelta(seconds=0.5)
_TRIES: Final = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Desk:
    """What deliveries are looked at and sent again with."""

    tasks: TaskStore
    push: PushStore
    deliveries: DeliveryStore
    nudges: NudgeQueue
    clock: Clock
    ids: Ids


@dataclass(frozen=True, slots=True, kw_only=True)
class Delivery:
    """One nudge, or one test, with all its attempts."""

    message_id: str
    """The `webhook-id` that the receiver saw."""
    seq: int
    is_test: bool
    outcome: str
    """`pending`, `unfinished`, a value of `Closing`, or what came of a test."""
    attempts: tuple[AttemptRecord, ...]
    """Oldest first."""
    next_at: datetime | None = None
    """When the next attempt is due."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WebhookLog:
    """How a webhook does, and its deliveries of the last 14 days, the newest first."""

    config_id: str
    url: str
    disabled: Disabled | None
    deliveries: tuple[Delivery, ...]


@dataclass(frozen=True, slots=True)
class Again:
    """A delivery that was put on its way (again)."""

    message_id: str
    seq: int


def log_of(desk: Desk, key: TaskKey, config_id: str) -> WebhookLog:
    """What became of the nudges of one webhook.

    Raises:
        TaskNotFound: there is no such task, or it has no such webhook.
    """
    url = _url(desk, key, config_id)
    state = desk.deliveries.delivery(key, config_id)
    lines = desk.deliveries.attempts(key, config_id)
    return WebhookLog(
        config_id=config_id, url=url, disabled=state.disabled, deliveries=grouped(lines, pending=state.pending)
    )


def grouped(lines: Iterable[AttemptRecord], *, pending: PendingNudge | None) -> tuple[Delivery, ...]:
    """The lines of a log, oldest first, as deliveries, newest first. `pending` may not have a line yet."""
    by_message: dict[str, list[AttemptRecord]] = {}
    for line in lines:
        by_message.setdefault(line.message_id, []).append(line)
    if pending is not None:
        by_message.setdefault(pending.message_id, [])
    return tuple(_delivery(name, of_it, pending) for name, of_it in reversed(by_message.items()))


def _delivery(message_id: str, lines: list[AttemptRecord], pending: PendingNudge | None) -> Delivery:
    goes_on = pending is not None and pending.message_id == message_id
    return Delivery(
        message_id=message_id,
        seq=lines[0].seq if lines else pending.seq if pending is not None else 0,
        is_test=any(line.is_test for line in lines),
        outcome=PENDING if goes_on else _outcome(lines),
        attempts=tuple(line for line in lines if line.attempt and not line.is_closing),
        next_at=pending.next_at if goes_on and pending is not None else None,
    )


def _outcome(lines: list[AttemptRecord]) -> str:
    last = lines[-1]
    if last.result == QUEUED:
        return PENDING
    return last.result if last.is_closing or last.is_test or last.result == "delivered" else UNFINISHED


def redeliver(desk: Desk, key: TaskKey, config_id: str, *, message_id: str = "") -> Again:
    """Send a nudge again, under the id it had and with the whole schedule before it; the newest unless one is named.

    Raises:
        TaskNotFound: there is no such task, or it has no such webhook.
        InvalidParams: no nudge of the last 14 days has this id.
        UnsupportedOperation: there is nothing to send again, or it would not be sent.
    """
    endpoint = endpoint_of(_url(desk, key, config_id))
    for _ in range(_TRIES):
        state = desk.deliveries.delivery(key, config_id)
        _check_on(state)
        chosen = _chosen(grouped(desk.deliveries.attempts(key, config_id), pending=state.pending), message_id)
        _check_free(state, chosen)
        again = Again(chosen.message_id, chosen.seq)
        if _is_under_way(state, now=desk.clock()):
            return again
        try:
            desk.deliveries.save_delivery(key, config_id, _anew(state, chosen, now=desk.clock()))
        except Conflict:
            continue
        desk.nudges.enqueue_nudge(key, config_id, chosen.seq, endpoint=endpoint)
        return again
    raise Conflict(f"senders came first {_TRIES} times for config {config_id}")


def _anew(state: DeliveryState, chosen: Delivery, *, now: datetime) -> DeliveryState:
    attempts = max((line.attempt for line in chosen.attempts), default=0)
    return begun_anew(state, message_id=chosen.message_id, seq=chosen.seq, attempts=attempts, now=now)


def _check_on(state: DeliveryState) -> None:
    if state.disabled is not None:
        reason, since = state.disabled.reason.value, state.disabled.at
        raise UnsupportedOperation(
            f"the webhook was switched off at {since:%Y-%m-%dT%H:%M:%SZ} ({reason}); a test that gets through switches "
            "it on again"
        )


def _chosen(deliveries: tuple[Delivery, ...], message_id: str) -> Delivery:
    nudges = [delivery for delivery in deliveries if not delivery.is_test]
    if not nudges:
        raise UnsupportedOperation("nothing was sent to this webhook in the last 14 days")
    if not message_id:
        return nudges[0]
    named = next((nudge for nudge in nudges if nudge.message_id == message_id), None)
    if named is None:
        raise InvalidParams.of("messageId", "must be the id of a nudge to this webhook in the last 14 days")
    return named


def _check_free(state: DeliveryState, chosen: Delivery) -> None:
    if state.pending is not None and state.pending.message_id != chosen.message_id:
        raise UnsupportedOperation(
            f"a newer nudge, {state.pending.message_id}, is on its way and tells as much; redeliver that one"
        )


def _is_under_way(state: DeliveryState, *, now: datetime) -> bool:
    return state.pending is not None and state.claimed_until is not None and state.claimed_until > now


def ping(desk: Desk, key: TaskKey, config_id: str) -> Again:
    """Have a test sent to a webhook, whatever its state; what came of it will be in its log under the id answered.

    Raises:
        TaskNotFound: there is no such task, or it has no such webhook.
        UnsupportedOperation: it was tested a moment ago.
    """
    _url(desk, key, config_id)
    now = desk.clock()
    tests = [line for line in desk.deliveries.attempts(key, config_id) if line.is_test]
    if tests and now - tests[-1].at < PING_EVERY:
        raise UnsupportedOperation(f"the webhook was just tested; wait {PING_EVERY.seconds} s between two tests")
    message_id = f"msg_{desk.ids()}"
    asked = AttemptRecord(at=now, message_id=message_id, seq=0, attempt=0, result=QUEUED, is_test=True)
    desk.deliveries.log_attempt(key, config_id, asked)
    desk.nudges.enqueue_ping(key, config_id, message_id)
    return Again(message_id, 0)


def result_of_ping(desk: Desk, key: TaskKey, config_id: str, message_id: str, *, pause: Pause) -> Delivery | None:
    """What came of a test, once it is known; None when it takes longer than anybody should wait for."""
    until = desk.clock() + PING_PATIENCE
    while True:
        log = desk.deliveries.attempts(key, config_id)
        for test in grouped((line for line in log if line.message_id == message_id), pending=None):
            if test.outcome not in {PENDING, "resend_as_json"}:
                return test
        if desk.clock() >= until:
            return None
        pause(_PING_LOOKS.total_seconds())


def _url(desk: Desk, key: TaskKey, config_id: str) -> str:
    head, config = desk.tasks.head(key, now=desk.clock()), desk.push.config(key, config_id)
    if head is None:
        raise TaskNotFound
    if config is None or config_id not in head.push:
        raise TaskNotFound("the task has no push notification config with this id")
    return config.url
