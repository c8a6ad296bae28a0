"""Every kind of attack the specification names, in many spellings, through every door."""

import pytest

from a2a_receiver.request import MAX_BODY
from tests.receiver.doors import DOORS
from tests.receiver.harness import Case, as_delivered, is_right, run
from tests.receiver.kinds import all_cases

CASES = all_cases()
GATEWAYS = ("lambda-v2", "function-url", "lambda-v1", "alb-single", "alb-multi")


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
        for case in (as_delivered(case, door) for case in CASES if can_come_through(case, door))
        if not is_right(case, outcome := run(case, DOORS[door]))
    }

    assert wrong == {}


def can_come_through(case: Case, door: str) -> bool:
    """Whether such a request exists behind this door at all: the server or gateway in front refuses some itself."""
    if case.id.startswith("core_only"):
        return False
    sent = case.requests[-1]
    is_latin = all(ord(letter) < 256 for pair in sent.headers for letter in "".join(pair))
    if door in GATEWAYS:
        return True
    return is_latin and len(sent.body) <= MAX_BODY + 1
