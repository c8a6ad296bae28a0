"""Every call of every hop goes wrong in every way, for whole lives of tasks: each ends as it should all the same.

Here a share of the single faults and a few random pairs are tried; `make chaos` tries every single fault, and hundreds
of pairs of each life. `FAULTS_SEED` chooses others.
"""

import os
import random
from collections.abc import Callable, Iterable
from typing import Final

import pytest

from . import walk
from .plan import Fault
from .scripts import SCRIPTS, Script
from .world import Present

CHAOS: Final = int(os.environ.get("CHAOS", "0"))
"""0 for a share; else every single fault, and so many times twenty pairs of each life."""
SEED: Final = int(os.environ.get("FAULTS_SEED", "1"))
_SINGLES: Final = 18
"""Of each life, where not all are tried."""
_PAIRS: Final = 4
_CHAOS_PAIRS: Final = 20

each_script: Final = pytest.mark.parametrize(
    ("present", "script"), [(script, script) for script in SCRIPTS], ids=str, indirect=["present"]
)


@each_script
def test_after_any_single_fault_the_task_ends_as_it_should(
    present: Present, script: Script, record_property: Callable[[str, object], None]
) -> None:
    calls = walk.calls_of(present, script)

    faults = list(walk.singles(len(calls)))
    chosen = faults if CHAOS else random.Random(SEED).sample(faults, _SINGLES)

    record_property("single faults tried", len(chosen))
    assert_none_hurt(present, script, chosen)


@each_script
def test_after_any_two_faults_the_task_ends_as_it_should(
    present: Present, script: Script, record_property: Callable[[str, object], None]
) -> None:
    calls = walk.calls_of(present, script)

    chosen = list(walk.pairs(len(calls), CHAOS * _CHAOS_PAIRS or _PAIRS, seed=SEED))

    record_property("pairs of faults tried", len(chosen))
    assert_none_hurt(present, script, chosen)


def assert_none_hurt(present: Present, script: Script, chosen: Iterable[tuple[Fault, ...]]) -> None:
    failures = [failure for faults in chosen if (failure := walk.tried(present, script, faults)) is not None]
    assert not failures, "\n".join(map(str, failures))
