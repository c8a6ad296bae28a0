"""When a nudge is tried again."""

import datetime as dt

import pytest
from hypothesis import given
from hypothesis import strategies as st

from a2a_serverless.core.delivery_schedule import (
    ATTEMPTS,
    BARE_THROTTLE,
    LONGEST_HINT,
    LONGEST_PENDING,
    PROGRESS_LIFETIME,
    QUEUE_REACH,
    STEPS,
    ByQueue,
    BySchedule,
    carrier,
    delay_after,
    retry_after,
)
from a2a_serverless.core.delivery_schedule import JITTER as JITTER_RANGE

NOW = dt.datetime(2026, 11, 30, 12, 0, tzinfo=dt.UTC)
DAY = dt.timedelta(hours=24)
JITTER = st.floats(0.8, 1.2)


def _seconds(count: float) -> dt.timedelta:
    return dt.timedelta(seconds=count)


def test_thirteen_attempts_take_75_hours_42_minutes_35_seconds() -> None:
    assert ATTEMPTS == 13
    assert sum(STEPS, dt.timedelta()) == dt.timedelta(hours=75, minutes=42, seconds=35)
    assert [delay_after(attempt, jitter=1.0) for attempt in range(1, 13)] == list(STEPS[1:])
    assert delay_after(13, jitter=1.0) is None


@given(st.integers(1, 12), JITTER, st.none() | st.timedeltas(dt.timedelta(0), DAY))
def test_no_retry_comes_before_its_time(attempt: int, jitter: float, hint: dt.timedelta | None) -> None:
    delay = delay_after(attempt, hint=hint, jitter=jitter)

    assert delay is not None
    assert delay >= STEPS[attempt] * 0.8
    assert hint is None or delay >= hint
    assert delay <= max(STEPS[attempt], hint or dt.timedelta(0)) * 1.2 + _seconds(0.001)


@given(st.integers(1, 11), JITTER, JITTER)
def test_the_steps_grow_whatever_the_jitter(attempt: int, one: float, other: float) -> None:
    earlier, later = delay_after(attempt, jitter=one), delay_after(attempt + 1, jitter=other)

    assert earlier is not None
    assert later is not None
    assert later >= earlier * (0.8 / 1.2)


@pytest.mark.parametrize(
    ("header", "hint"),
    [
        (None, None),
        ("", None),
        ("120", _seconds(120)),
        (" 120 ", _seconds(120)),
        ("0", _seconds(0)),
        ("999999999", DAY),
        ("9" * 64, DAY),
        ("9" * 65, None),
        ("-5", None),
        ("+5", None),
        ("1e9", None),
        ("1.5", None),
        ("5s", None),
        ("١٢٠", None),
        ("1, 2", None),
        ("Mon, 30 Nov 2026 12:10:00 GMT", _seconds(600)),
        ("Monday, 30-Nov-26 12:10:00 GMT", _seconds(600)),
        ("Mon Nov 30 12:10:00 2026", _seconds(600)),
        ("Mon, 30 Nov 2020 12:10:00 GMT", _seconds(0)),
        ("Mon, 30 Nov 2099 12:10:00 GMT", DAY),
        ("Mon, 30 Nov 2026 12:10:00 -0500", _seconds(18_600)),
        ("Mon, 99 Nov 2026 12:10:00 GMT", None),
        ("Mon, 30 Nov 99999999999999 12:10:00 GMT", None),
        ("2026-11-30T12:10:00Z", None),
        ("tomorrow", None),
    ],
)
def test_retry_after_is_seconds_or_a_date_or_nothing(header: str | None, hint: dt.timedelta | None) -> None:
    assert retry_after(header, now=NOW) == hint


def test_the_limits_are_the_published_ones() -> None:
    assert JITTER_RANGE == (0.8, 1.2)
    assert (DAY, _seconds(60)) == (LONGEST_HINT, BARE_THROTTLE)
    assert (5 * DAY, _seconds(600), _seconds(900)) == (LONGEST_PENDING, PROGRESS_LIFETIME, QUEUE_REACH)


def test_a_quarter_of_an_hour_is_still_the_queues() -> None:
    assert carrier(NOW + _seconds(900), now=NOW) == ByQueue(900)
    assert carrier(NOW + _seconds(900.001), now=NOW) == BySchedule(NOW + _seconds(901))
    assert carrier(NOW - _seconds(1), now=NOW) == ByQueue(0)


@given(st.text(max_size=70) | st.from_regex(r"(Mon|Tue), [0-9]{1,4} [A-Z][a-z]{2} [0-9]{1,9} [0-9:]{1,9} [A-Z-]{0,4}"))
def test_any_retry_after_is_a_pause_of_at_most_a_day_or_none(header: str) -> None:
    hint = retry_after(header, now=NOW)

    assert hint is None or dt.timedelta(0) <= hint <= DAY


@given(st.timedeltas(-DAY, dt.timedelta(days=4)))
def test_whoever_carries_a_nudge_is_never_early_and_never_a_second_late(delay: dt.timedelta) -> None:
    at = NOW + delay
    match carrier(at, now=NOW):
        case ByQueue(seconds):
            assert 0 <= seconds <= 900
            arrives = NOW + _seconds(seconds)
        case BySchedule(then):
            assert delay > _seconds(900)
            assert then.microsecond == 0
            arrives = then

    assert arrives >= at
    assert arrives - max(at, NOW) < _seconds(1)
