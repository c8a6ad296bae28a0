"""A partner that is slow or down costs the others nothing: 10 s on a fifth of the traffic moves their p99 by < 10 %."""

import pytest

from a2a_serverless.core.delivery_endpoint import FIRST_LIMIT, HIGHEST_LIMIT
from tests.unit.app.lanes import TIMEOUT, Lanes, Partner, percentile

RATE = 100
SECONDS = 15
SLOW, DOWN = Partner("slow", 9.9), Partner("slow", 10.0, TIMEOUT)
UNWELL = pytest.mark.parametrize("unwell", [SLOW, DOWN], ids=["answers after 10 s", "times out"])


def traffic(lanes: Lanes, *, unwell: Partner | None, well_for: float = 0) -> list[str]:
    """A fifth of the traffic goes to one partner, the rest to eight others; answers the tasks of the others."""
    others = [Partner(f"partner-{number}", 0.1) for number in range(8)]
    tasks = []
    for number in range(RATE * SECONDS):
        at = number / RATE
        if number % 5:
            tasks.append(lanes.at(at, others[number % 8]))
        elif unwell is not None:
            lanes.at(at, unwell if at >= well_for else Partner(unwell.host, 0.1))
    return tasks


def p99(lanes: Lanes, tasks: list[str]) -> float:
    lanes.run(SECONDS + 30)
    return percentile([lanes.first[task] for task in tasks], 0.99)


@UNWELL
def test_a_partner_that_takes_ten_seconds_does_not_delay_the_others(unwell: Partner) -> None:
    alone, together = Lanes(environments=20, batch=10), Lanes(environments=20, batch=10)

    without, beside = p99(alone, traffic(alone, unwell=None)), p99(together, traffic(together, unwell=unwell))

    assert beside <= 1.1 * without
    assert together.most["slow"] == FIRST_LIMIT


@UNWELL
def test_a_fast_partner_that_turns_slow_has_no_more_senders_than_he_may(unwell: Partner) -> None:
    lanes = Lanes(environments=100, batch=10)

    assert p99(lanes, traffic(lanes, unwell=unwell, well_for=5)) == 0
    assert lanes.most["slow"] == HIGHEST_LIMIT


def test_who_waits_for_a_slow_partner_looks_seldom_and_is_told_in_the_end() -> None:
    lanes = Lanes(environments=20, batch=10)
    tasks = [lanes.at(number / 20, Partner("slow", 3.0)) for number in range(100)]

    lanes.run(600)

    assert all(task in lanes.first for task in tasks)
    assert lanes.looks < 12 * len(tasks)
