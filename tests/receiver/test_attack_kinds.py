"""Every kind of attack the specification names, in many spellings, through every door."""

import pytest

from tests.receiver.doors import DOORS
from tests.receiver.harness import Case, as_delivered, is_right, run
from tests.receiver.kinds import all_cases

CASES = all_cases()


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_an_attack_of_a_known_kind_is_refused_for_its_own_reason(case: Case) -> None:
    outcome = run(case, DOORS["core"])

    assert (outcome.status, outcome.reasons[-1:]) == (case.status, [case.reason] if case.reason else [])
    assert outcome.nudges_of_last == (case.reason == "accepted")
    assert case.max_jwks_fetches is None or outcome.jwks_fetches <= case.max_jwks_fetches


@pytest.mark.parametrize("door", [door for door in DOORS if door != "core"])
def test_no_door_lets_an_attack_through_that_the_core_refuses(door: str) -> None:
    wrong = {
        case.id: outcome
        for case in (as_delivered(case, door) for case in CASES if can_come_through(case))
        if not is_right(case, outcome := run(case, DOORS[door]))
    }

    assert wrong == {}


def can_come_through(case: Case) -> bool:
    """Whether such a request exists behind a door at all: a gateway merges what the core is given apart."""
    return not case.id.startswith("core_only")
