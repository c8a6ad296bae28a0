"""Every receiver case of the attack file, through every door.

`WEBHOOK_ATTACKS=FILE` runs another file of the same format.
"""

import pytest

from tests.attack_format import attack_files
from tests.receiver.doors import DOORS
from tests.receiver.harness import Case, as_delivered, is_right, load_cases, run

CASES = load_cases(*attack_files())


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_an_attack_ends_as_it_must(case: Case, door: str) -> None:
    case = as_delivered(case, door)

    outcome = run(case, DOORS[door])

    assert is_right(case, outcome), f"{case.why}: wanted {case.status} {case.reason}, got {outcome}"
