"""How one endpoint (host and port, whoever's configs lead there) is spared: breaker, pauses and concurrency.

An endpoint that is held costs a nudge nothing but time: no attempt is spent. Everything here is a value; where it is
kept, and how exactly, is the store's business: a lost update makes the guard slower, never a nudge lost. Only places
are counted exactly: an endpoint that turns slow must not have all senders before anybody knows.
"""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final

from a2a_serverless.core.delivery_outcome import Outcome, Retry, Verdict, speaks_ill

WINDOW: Final = timedelta(minutes=5)
BUCKET: Final = timedelta(seconds=30)
OPENS_AT_TRIES: Final = 10
OPENS_AT_SHARE: Final = 0.7
FIRST_PROBE: Final = timedelta(seconds=30)
LAST_PROBE: Final = timedelta(minutes=15)
"""Probes come after 30 s, then at doubling distance, at most this far apart."""

FIRST_LIMIT: Final = 4
HIGHEST_LIMIT: Final = 32
"""Attempts at a time: doubled by each success, halved by each failure, as Pub/Sub push does. The highest is a third of
the senders that a stack has by default: one endpoint that turns slow holds no more of them."""

SLOW: Final = timedelta(seconds=1)
"""A success that took longer takes back what fast ones gave: it holds a sender for all that time."""

BUSY_PAUSE: Final = timedelta(seconds=2)
LEASE: Final = timedelta(seconds=30)
"""A place taken by a sender that died is free again after this."""


@dataclass(frozen=True, slots=True)
class Bucket:
    """What was tried, and what failed, in the 30 seconds from `since`."""

    since: datetime
    tries: int
    failures: int


@dataclass(frozen=True, slots=True)
class OpenBreaker:
    """Nothing is sent but one probe at `probe_at`; `pause` is what went before it."""

    probe_at: datetime
    pause: timedelta


@dataclass(frozen=True, slots=True, kw_only=True)
class EndpointHealth:
    """What is known of an endpoint."""

    buckets: tuple[Bucket, ...] = ()
    """The last five minutes, oldest first."""
    breaker: OpenBreaker | None = None
    throttled_until: datetime | None = None
    """It asked (429, 503 with Retry-After) to be left alone until then."""
    limit: int = FIRST_LIMIT
    leases: tuple[datetime, ...] = ()
    """When each place that is taken now falls free by itself, earliest first."""


class HoldReason(StrEnum):
    """Why an endpoint gets nothing now."""

    BREAKER_OPEN = "breaker_open"
    THROTTLED = "throttled"
    BUSY = "busy"


@dataclass(frozen=True, slots=True)
class Held:
    """Not before then."""

    until: datetime
    reason: HoldReason


@dataclass(frozen=True, slots=True)
class Admitted:
    """An attempt may be made, by who gets one of `places` places. `probe`: it decides whether the breaker closes."""

    endpoint: EndpointHealth
    probe: bool = False

    @property
    def places(self) -> int:
        """How many attempts may be under way at a time, this one included."""
        return 1 if self.probe else self.endpoint.limit


def admit(endpoint: EndpointHealth, *, now: datetime, jitter: float) -> Admitted | Held:
    """Whether an attempt may be made now; those held come back apart from each other.

    A probe moves the next one away before it is sent, and takes the only place: two senders cannot both be it, and one
    that dies blocks the next for 30 seconds at most.
    """
    leases = tuple(until for until in endpoint.leases if until > now)
    breaker = endpoint.breaker
    if breaker is not None:
        if now < breaker.probe_at:
            return Held(now + (breaker.probe_at - now) * _later(jitter), HoldReason.BREAKER_OPEN)
        if leases:
            return Held(now + BUSY_PAUSE * jitter, HoldReason.BUSY)
        pause = min(breaker.pause * 2, LAST_PROBE)
        moved = replace(endpoint, breaker=OpenBreaker(now + pause, pause), leases=(*leases, now + LEASE))
        return Admitted(moved, probe=True)
    if endpoint.throttled_until is not None and now < endpoint.throttled_until:
        until = now + (endpoint.throttled_until - now) * _later(jitter)
        return Held(until, HoldReason.THROTTLED)
    if len(leases) >= endpoint.limit:
        return Held(now + BUSY_PAUSE * jitter, HoldReason.BUSY)
    return Admitted(replace(endpoint, leases=(*leases, now + LEASE)))


def _later(jitter: float) -> float:
    """From [0.8, 1.2] to [1.0, 1.4]: never early, and a crowd does not come back as one."""
    return jitter + 0.2


def after_try(
    endpoint: EndpointHealth,
    outcome: Outcome,
    verdict: Verdict,
    *,
    now: datetime,
    took: timedelta = timedelta(0),
) -> EndpointHealth:
    """What an attempt that took so long, and the verdict over it, teaches about the endpoint. Its place falls free."""
    freed = replace(endpoint, leases=tuple(until for until in endpoint.leases if until > now)[1:])
    throttle = verdict.throttle if isinstance(verdict, Retry) else None
    if throttle is not None:
        freed = replace(freed, throttled_until=max(freed.throttled_until or now, now + throttle))
    ill = speaks_ill(outcome)
    if ill is None:
        return freed
    return _failed(freed, now=now) if ill else _succeeded(freed, now=now, took=took)


def _succeeded(endpoint: EndpointHealth, *, now: datetime, took: timedelta) -> EndpointHealth:
    if endpoint.breaker is not None:
        return replace(endpoint, breaker=None, buckets=(), limit=FIRST_LIMIT)
    buckets = _counted(endpoint.buckets, failures=0, now=now)
    return replace(endpoint, buckets=buckets, limit=_limit_after(endpoint.limit, took))


def _limit_after(limit: int, took: timedelta) -> int:
    if took < SLOW:
        return min(limit * 2, HIGHEST_LIMIT)
    return max(limit // 2, min(limit, FIRST_LIMIT))


def _failed(endpoint: EndpointHealth, *, now: datetime) -> EndpointHealth:
    """A failed probe changes nothing: the next was set when it was sent."""
    if endpoint.breaker is not None:
        return endpoint
    buckets = _counted(endpoint.buckets, failures=1, now=now)
    breaker = OpenBreaker(now + FIRST_PROBE, FIRST_PROBE) if _is_ill(buckets) else None
    return replace(endpoint, buckets=buckets, breaker=breaker, limit=max(endpoint.limit // 2, 1))


def _is_ill(buckets: tuple[Bucket, ...]) -> bool:
    tries = sum(bucket.tries for bucket in buckets)
    failures = sum(bucket.failures for bucket in buckets)
    return tries >= OPENS_AT_TRIES and failures >= OPENS_AT_SHARE * tries


def _counted(buckets: tuple[Bucket, ...], *, failures: int, now: datetime) -> tuple[Bucket, ...]:
    recent = tuple(bucket for bucket in buckets if bucket.since > now - WINDOW)
    if recent and now < recent[-1].since + BUCKET:
        last = recent[-1]
        return (*recent[:-1], Bucket(last.since, last.tries + 1, last.failures + failures))
    return (*recent, Bucket(now, 1, failures))
