"""Sparing an endpoint."""

import dataclasses
import datetime as dt

import pytest
from hypothesis import given
from hypothesis import strategies as st

from a2a_serverless.core.delivery_endpoint import (
    BUSY_PAUSE,
    FIRST_LIMIT,
    HIGHEST_LIMIT,
    LEASE,
    Admitted,
    EndpointHealth,
    Held,
    HoldReason,
    OpenBreaker,
    admit,
    after_try,
)
from a2a_serverless.core.delivery_outcome import Answer, Fault, NoAnswer, Outcome, classify

NOW = dt.datetime(2026, 11, 30, 12, 0, tzinfo=dt.UTC)
SECOND = dt.timedelta(seconds=1)
OK, ILL = Answer(status=202), Answer(status=500)


def _tried(
    endpoint: EndpointHealth,
    outcome: Outcome,
    *,
    now: dt.datetime = NOW,
    took: dt.timedelta = SECOND / 10,
) -> EndpointHealth:
    return after_try(endpoint, outcome, classify(outcome, plain_json=False, now=now), now=now, took=took)


def _after(*outcomes: Outcome, every: dt.timedelta = SECOND) -> EndpointHealth:
    endpoint = EndpointHealth()
    for count, outcome in enumerate(outcomes):
        endpoint = _tried(endpoint, outcome, now=NOW + every * count)
    return endpoint


def _open() -> EndpointHealth:
    endpoint = _after(*[ILL] * 10, every=dt.timedelta(0))
    assert endpoint.breaker is not None
    return endpoint


def _admitted(endpoint: EndpointHealth, now: dt.datetime) -> Admitted:
    admitted = admit(endpoint, now=now, jitter=1.0)
    assert isinstance(admitted, Admitted)
    return admitted


def test_nine_failures_do_not_open_the_breaker_and_the_tenth_does() -> None:
    assert _after(*[ILL] * 9).breaker is None
    assert _after(*[ILL] * 10).breaker == OpenBreaker(NOW + 39 * SECOND, 30 * SECOND)


def test_seven_of_ten_open_it_and_six_do_not() -> None:
    assert _after(*[OK] * 3, *[ILL] * 7).breaker is not None
    assert _after(*[OK] * 4, *[ILL] * 6).breaker is None


def test_what_is_older_than_five_minutes_does_not_count() -> None:
    slow = _after(*[ILL] * 10, every=dt.timedelta(seconds=60))

    assert slow.breaker is None
    assert sum(bucket.tries for bucket in slow.buckets) == 5


def test_the_window_never_grows() -> None:
    busy = _after(*[OK] * 2000, every=SECOND)

    assert len(busy.buckets) <= 10
    assert 270 <= sum(bucket.tries for bucket in busy.buckets) <= 300


def test_an_open_breaker_holds_all_but_one_probe() -> None:
    endpoint = _open()

    held = admit(endpoint, now=NOW + 29 * SECOND, jitter=0.8)
    probe = _admitted(endpoint, NOW + 30 * SECOND)
    second = admit(probe.endpoint, now=NOW + 30 * SECOND, jitter=0.8)

    assert held == Held(NOW + 30 * SECOND, HoldReason.BREAKER_OPEN)
    assert probe.probe
    assert second == Held(NOW + 90 * SECOND, HoldReason.BREAKER_OPEN)


def test_probes_come_at_doubling_distance_up_to_a_quarter_of_an_hour() -> None:
    endpoint, now, pauses = _open(), NOW, []
    for _ in range(8):
        assert endpoint.breaker is not None
        pauses.append((endpoint.breaker.probe_at - now).total_seconds())
        now = endpoint.breaker.probe_at
        endpoint = _tried(_admitted(endpoint, now).endpoint, ILL, now=now)

    assert pauses == [30, 60, 120, 240, 480, 900, 900, 900]


def test_a_probe_that_gets_through_closes_the_breaker() -> None:
    probe = _admitted(_open(), NOW + 30 * SECOND)

    assert _tried(probe.endpoint, OK, now=NOW + 31 * SECOND) == EndpointHealth()


def test_those_held_come_back_apart_and_never_early() -> None:
    endpoint = _open()

    until = [admit(endpoint, now=NOW, jitter=jitter) for jitter in (0.8, 1.0, 1.2)]

    assert [held.until for held in until if isinstance(held, Held)] == [NOW + s * SECOND for s in (30, 36, 42)]


def test_a_throttled_endpoint_is_left_alone_until_it_said() -> None:
    endpoint = _tried(EndpointHealth(), Answer(status=429, retry_after="120"))

    assert admit(endpoint, now=NOW + SECOND, jitter=0.8) == Held(NOW + 120 * SECOND, HoldReason.THROTTLED)
    assert isinstance(admit(endpoint, now=NOW + 120 * SECOND, jitter=0.8), Admitted)


def test_a_shorter_throttle_does_not_end_a_longer_one() -> None:
    endpoint = _tried(EndpointHealth(), Answer(status=429, retry_after="120"))

    assert _tried(endpoint, Answer(status=429, retry_after="1")).throttled_until == NOW + 120 * SECOND


def test_an_endpoint_takes_four_at_a_time_at_first() -> None:
    endpoint = EndpointHealth()
    for _ in range(FIRST_LIMIT):
        endpoint = _admitted(endpoint, NOW).endpoint

    assert admit(endpoint, now=NOW, jitter=1.0) == Held(NOW + BUSY_PAUSE, HoldReason.BUSY)
    assert isinstance(admit(_tried(endpoint, ILL), now=NOW, jitter=1.0), Held)
    assert isinstance(admit(_tried(endpoint, OK), now=NOW, jitter=1.0), Admitted)
    assert isinstance(admit(endpoint, now=NOW + LEASE, jitter=1.0), Admitted)


def test_success_doubles_what_it_takes_and_failure_halves_it() -> None:
    assert [_after(*[OK] * count).limit for count in range(5)] == [4, 8, 16, HIGHEST_LIMIT, HIGHEST_LIMIT]
    assert [_after(*[ILL] * count).limit for count in range(4)] == [4, 2, 1, 1]


def test_a_slow_success_takes_back_what_fast_ones_gave_and_no_more() -> None:
    endpoint, limits = EndpointHealth(limit=32), []
    for _ in range(5):
        endpoint = _tried(endpoint, OK, took=SECOND)
        limits.append(endpoint.limit)

    assert limits == [16, 8, 4, 4, 4]
    assert _tried(EndpointHealth(limit=1), OK, took=SECOND).limit == 1
    assert _tried(EndpointHealth(limit=1), OK, took=SECOND * 0.99).limit == 2


def test_a_probe_has_the_only_place() -> None:
    probe = _admitted(dataclasses.replace(_open(), limit=8), NOW + 60 * SECOND)

    assert (probe.places, _admitted(EndpointHealth(limit=8), NOW).places) == (1, 8)


def test_a_probe_waits_for_what_was_under_way_when_the_breaker_opened() -> None:
    endpoint = dataclasses.replace(_open(), leases=(NOW + 40 * SECOND,))

    held = admit(endpoint, now=NOW + 35 * SECOND, jitter=1.0)

    assert held == Held(NOW + 35 * SECOND + BUSY_PAUSE, HoldReason.BUSY)
    assert _admitted(endpoint, NOW + 40 * SECOND).probe


def test_an_address_that_we_refuse_to_dial_teaches_nothing_about_it() -> None:
    for endpoint in (_open(), _after(OK, ILL)):
        assert _tried(endpoint, NoAnswer(Fault.BLOCKED_ADDRESS)) == endpoint


@pytest.mark.parametrize("status", [401, 302, 415])
def test_a_refusal_of_one_message_says_the_endpoint_is_well(status: int) -> None:
    assert _after(*[Answer(status=status)] * 20).breaker is None


@given(st.lists(st.tuples(st.sampled_from([OK, ILL]), st.integers(0, 400)), max_size=60), st.floats(0.8, 1.2))
def test_an_endpoint_is_never_held_for_more_than_its_pause(steps: list[tuple[Answer, int]], jitter: float) -> None:
    endpoint, now = EndpointHealth(), NOW
    for outcome, seconds in steps:
        now += seconds * SECOND
        match admit(endpoint, now=now, jitter=jitter):
            case Held(until, _):
                assert now < until <= now + dt.timedelta(minutes=15) * 1.4 + SECOND
            case Admitted(admitted):
                endpoint = _tried(admitted, outcome, now=now)
    assert len(endpoint.leases) <= 1
