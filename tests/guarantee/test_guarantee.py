"""Nudges are never lost: whatever fails, every partner holds every task at its final version in the end.

`make test` plays a few hundred tasks, `make chaos` ten thousand. A run that fails names its seed; with that and
`-k` it is played again, alone and the same.
"""

import os
from typing import Final

import pytest

from tests.faults.world import Present

from .conftest import Tell
from .run import RATE, Plan, play
from .wire import Wire

TASKS: Final = int(os.environ.get("GUARANTEE_TASKS", "200"))
SEED: Final = os.environ.get("GUARANTEE_SEED", "1")
FAULT_RATE: Final = float(os.environ.get("GUARANTEE_RATE", str(RATE)))
_CROWD: Final = 25
"""Tasks of one run: enough to be in each other's way, and few enough to be looked at."""


@pytest.mark.parametrize("run", range(-(-TASKS // _CROWD)), ids="run-{}".format)
def test_every_partner_holds_every_task_at_its_final_version(
    present: Present, wires: Wire, tell: Tell, run: int
) -> None:
    plan = Plan(seed=f"{SEED}/{run}", tasks=min(_CROWD, TASKS - run * _CROWD), rate=FAULT_RATE)

    report = play(present, wires, plan)

    tell(report)
    report.check(plan)


def test_the_sweep_has_nothing_to_do_where_only_receivers_fail(present: Present, wires: Wire) -> None:
    """Retries are `notify`'s own: the sweep is there for what a crash, a queue or the stream dropped."""
    plan = Plan(seed=SEED, tasks=12, rate=0.0)

    report = play(present, wires, plan)

    report.check(plan)
    assert report.swept.total() == 0, report.swept
    assert report.treated_badly, "no receiver failed"


def test_the_same_plan_makes_the_same_run(present: Present, wires: Wire) -> None:
    plan = Plan(seed=SEED, tasks=6, rate=0.02)

    first, second = play(present, wires, plan), play(present, wires, plan)

    first.cpu = second.cpu = 0.0
    assert first == second
