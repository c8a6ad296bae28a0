"""What is known of a config's nudges and of an endpoint, as compact JSON. Times in milliseconds, defaults left out."""

import json
from datetime import datetime, timedelta

from a2a_serverless.app.ports import AttemptRecord
from a2a_serverless.aws.items import milliseconds, moment_of
from a2a_serverless.core.delivery_endpoint import FIRST_LIMIT, Bucket, EndpointHealth, OpenBreaker
from a2a_serverless.core.delivery_health import ConfigHealth
from a2a_serverless.core.delivery_outcome import DisableReason
from a2a_serverless.core.delivery_state import DeliveryState, Disabled, PendingNudge
from a2a_serverless.types import JsonObject, compact_json


def delivery_text(state: DeliveryState) -> str:
    """A delivery state without its generation, which is an attribute of its own."""
    disabled = state.disabled
    return _text(
        pending=_pending(state.pending) if state.pending is not None else None,
        claimed=_ms(state.claimed_until),
        delivered=state.delivered_seq,
        settled=state.settled_seq,
        plain=state.plain_json,
        health=_health(state.health),
        disabled=[disabled.reason.value, milliseconds(disabled.at)] if disabled is not None else None,
        scheduled=_ms(state.scheduled_for),
    )


def delivery_of(text: str, *, generation: int) -> DeliveryState:
    """A delivery state from its text."""
    told = json.loads(text)
    disabled = told.get("disabled")
    return DeliveryState(
        generation=generation,
        pending=_pending_of(told["pending"]) if "pending" in told else None,
        claimed_until=_moment(told, "claimed"),
        delivered_seq=told.get("delivered", 0),
        settled_seq=told.get("settled", 0),
        plain_json=told.get("plain", False),
        health=_health_of(told.get("health", {})),
        disabled=Disabled(DisableReason(disabled[0]), moment_of(disabled[1])) if disabled else None,
        scheduled_for=_moment(told, "scheduled"),
    )


def _pending(nudge: PendingNudge) -> JsonObject:
    return _members(
        seq=nudge.seq,
        id=nudge.message_id,
        since=milliseconds(nudge.since),
        next=milliseconds(nudge.next_at),
        expires=_ms(nudge.expires_at),
        attempts=nudge.attempts,
        spent=nudge.spent,
    )


def _pending_of(told: JsonObject) -> PendingNudge:
    return PendingNudge(
        seq=told.get("seq", 0),
        message_id=told.get("id", ""),
        since=moment_of(told["since"]),
        next_at=moment_of(told["next"]),
        expires_at=_moment(told, "expires"),
        attempts=told.get("attempts", 0),
        spent=told.get("spent", 0),
    )


def _health(health: ConfigHealth) -> JsonObject:
    return _members(
        failures=health.failures,
        failing_since=_ms(health.first_failure_at),
        success=_ms(health.last_success_at),
        refusals=health.refusals,
        warned=health.warned,
    )


def _health_of(told: JsonObject) -> ConfigHealth:
    return ConfigHealth(
        failures=told.get("failures", 0),
        first_failure_at=_moment(told, "failing_since"),
        last_success_at=_moment(told, "success"),
        refusals=told.get("refusals", 0),
        warned=told.get("warned", 0),
    )


def endpoint_text(health: EndpointHealth) -> str:
    """How an endpoint does."""
    breaker = health.breaker
    return _text(
        buckets=[[milliseconds(bucket.since), bucket.tries, bucket.failures] for bucket in health.buckets],
        breaker=[milliseconds(breaker.probe_at), breaker.pause // timedelta(milliseconds=1)] if breaker else None,
        throttled=_ms(health.throttled_until),
        limit=health.limit,
        leases=[milliseconds(until) for until in health.leases],
    )


def endpoint_of(text: str) -> EndpointHealth:
    """How an endpoint does, from its text."""
    told = json.loads(text)
    breaker = told.get("breaker")
    return EndpointHealth(
        buckets=tuple(Bucket(moment_of(since), tries, failures) for since, tries, failures in told.get("buckets", ())),
        breaker=OpenBreaker(moment_of(breaker[0]), timedelta(milliseconds=breaker[1])) if breaker else None,
        throttled_until=_moment(told, "throttled"),
        limit=told.get("limit", FIRST_LIMIT),
        leases=tuple(moment_of(until) for until in told.get("leases", ())),
    )


def attempt_text(attempt: AttemptRecord) -> str:
    """A line of the delivery log."""
    return _text(
        at=milliseconds(attempt.at),
        id=attempt.message_id,
        seq=attempt.seq,
        attempt=attempt.attempt,
        result=attempt.result,
        status=attempt.status,
        ms=attempt.milliseconds,
        kid=attempt.key_id,
        next=_ms(attempt.next_at),
        closing=attempt.is_closing,
        test=attempt.is_test,
    )


def attempt_of(text: str) -> AttemptRecord:
    """A line of the delivery log, from its text."""
    told = json.loads(text)
    return AttemptRecord(
        at=moment_of(told["at"]),
        message_id=told.get("id", ""),
        seq=told.get("seq", 0),
        attempt=told.get("attempt", 0),
        result=told.get("result", ""),
        status=told.get("status", 0),
        milliseconds=told.get("ms", 0),
        key_id=told.get("kid", ""),
        next_at=_moment(told, "next"),
        is_closing=told.get("closing", False),
        is_test=told.get("test", False),
    )


def _text(**members: object) -> str:
    return compact_json(_members(**members))


def _members(**members: object) -> JsonObject:
    return {name: value for name, value in members.items() if value}


def _ms(moment: datetime | None) -> int:
    return milliseconds(moment) if moment is not None else 0


def _moment(told: JsonObject, name: str) -> datetime | None:
    return moment_of(told[name]) if name in told else None
