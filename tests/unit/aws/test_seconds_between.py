"""The times of a wait as the state machine counts them: whole seconds, each from the one before, nothing early."""

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from a2a_serverless.aws.waits import seconds_between
from a2a_serverless.core.head import Wait, WaitKind
from a2a_serverless.core.waits import MOST_REMINDERS
from tests.fakes import START


def wait(within: float, *remind: float) -> Wait:
    return Wait(
        number=1,
        kind=WaitKind.INPUT,
        since=START,
        until=START + timedelta(seconds=within),
        remind=tuple(timedelta(seconds=after) for after in remind),
    )


@pytest.mark.parametrize(
    ("given_", "late", "expected"),
    [
        (wait(60), 0, [60]),
        (wait(60, 10, 30), 0, [10, 20, 30]),
        (wait(60, 10, 30), 12, [18, 30]),
        (wait(60, 10, 30), 59.5, [1]),
        (wait(60, 10, 30), 600, [1]),
        (wait(0.2), 0, [1]),
        (wait(60, 10, 10.3), 0.2, [10, 1, 49]),
        (wait(60, 10.1, 10.2), 0, [11, 49]),
        (wait(60, 59.9), 0.5, [60]),
    ],
)
def test_each_is_counted_from_the_one_before(given_: Wait, late: float, expected: list[int]) -> None:
    assert seconds_between(given_, now=START + timedelta(seconds=late)) == expected


@given(
    st.floats(0.01, 10**7),
    st.lists(st.floats(0.001, 10**7), max_size=MOST_REMINDERS).map(sorted),
    st.floats(0, 10**7),
)
def test_nothing_comes_early_and_the_deadline_is_always_last(within: float, remind: list[float], late: float) -> None:
    now = START + timedelta(seconds=late)
    asked = wait(within, *[after for after in remind if after < within])

    seconds = seconds_between(asked, now=now)

    assert all(second >= 1 for second in seconds)
    assert len(seconds) <= MOST_REMINDERS + 1
    assert asked.until <= now + timedelta(seconds=sum(seconds)) < max(asked.until, now) + timedelta(seconds=1.001)
