"""Warnings, and the end of a config that never works."""

import datetime as dt

import pytest

from a2a_serverless.core.delivery_health import (
    Alert,
    ConfigHealth,
    after_failure,
    after_success,
    failing_percent,
)

NOW = dt.datetime(2026, 11, 30, 12, 0, tzinfo=dt.UTC)
DAY = dt.timedelta(days=1)


def _failing(health: ConfigHealth, *times: dt.timedelta) -> tuple[ConfigHealth, list[tuple[Alert, ...]]]:
    told = []
    for time in times:
        health, alerts = after_failure(health, refused=False, now=NOW + time)
        told.append(alerts)
    return health, told


def test_a_config_that_never_worked_is_off_after_five_days() -> None:
    health, _ = _failing(ConfigHealth(), 0 * DAY)

    assert [failing_percent(health, now=NOW + days * DAY) for days in (0, 1, 2.5, 4, 5)] == [0, 20, 50, 80, 100]


def test_a_config_that_had_nothing_to_do_for_a_week_gets_a_day() -> None:
    health, _ = _failing(ConfigHealth(last_success_at=NOW - 7 * DAY), 0 * DAY)

    assert [failing_percent(health, now=NOW + hours * DAY / 24) for hours in (0, 12, 23, 24)] == [0, 50, 95, 100]


def test_each_warning_is_given_once() -> None:
    _, told = _failing(ConfigHealth(), 0 * DAY, 1 * DAY, 2.5 * DAY, 3 * DAY, 4 * DAY, 4.5 * DAY)

    assert told == [(), (), (Alert.FAILING_HALF,), (), (Alert.FAILING_MOST,), ()]


def test_a_warning_that_was_overtaken_is_not_given() -> None:
    health, told = _failing(ConfigHealth(), 0 * DAY, 4.5 * DAY)

    assert told == [(), (Alert.FAILING_MOST,)]
    assert health.warned == 80


def test_whoever_was_warned_hears_of_the_recovery() -> None:
    health, _ = _failing(ConfigHealth(), 0 * DAY, 3 * DAY)

    assert after_success(health, now=NOW) == (ConfigHealth(last_success_at=NOW), (Alert.RECOVERED,))
    assert after_success(ConfigHealth(failures=4), now=NOW)[1] == ()


def test_three_refusals_in_a_row_are_told_early_and_once() -> None:
    health, told = ConfigHealth(), []
    for refused in (True, True, False, True, True, True, True):
        health, alerts = after_failure(health, refused=refused, now=NOW)
        told.append(alerts)

    assert told == [(), (), (), (), (), (Alert.MISCONFIGURED,), ()]
    assert after_success(health, now=NOW)[1] == (Alert.RECOVERED,)


@pytest.mark.parametrize("days", [0, 3, 100])
def test_a_config_without_failures_is_fine(days: int) -> None:
    assert failing_percent(ConfigHealth(last_success_at=NOW - days * DAY), now=NOW) == 0


def test_the_record_counts_what_failed_since_the_last_success() -> None:
    health, _ = _failing(ConfigHealth(), 0 * DAY, 1 * DAY)

    assert health == ConfigHealth(failures=2, first_failure_at=NOW, warned=0)
    assert after_success(ConfigHealth(refusals=2), now=NOW)[1] == ()
    assert after_success(ConfigHealth(refusals=3), now=NOW)[1] == (Alert.RECOVERED,)
