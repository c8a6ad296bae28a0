"""After two days of a partner's outage he gets one nudge for each task, and not one for each change.

`make test` counts a few hundred tasks of fifty changes with the use cases alone, and a few with the whole deployment;
`make chaos` a thousand, and a hundred.
"""

import os
from datetime import timedelta
from typing import Final

from tests.faults.world import Present

from . import outage
from .conftest import Tell
from .two_days import TwoDays
from .wire import Wire

CROWD: Final = int(os.environ.get("OUTAGE_TASKS", "300"))
TASKS: Final = max(4, CROWD // (10 if CROWD >= 1_000 else 75))
SEED: Final = os.environ.get("GUARANTEE_SEED", "1")


def test_whoever_missed_fifty_changes_of_each_task_gets_one_nudge_for_each_task(tell: Tell) -> None:
    days = TwoDays(tasks=CROWD, changes=50, back=timedelta(hours=48), seed=SEED)

    days.run(timedelta(days=4))

    newest = {told.task_id: told.seq for told in days.told}
    tell(
        f"48 hours down, {CROWD} tasks of 50 changes, the use cases alone: {len(days.told)} nudges when back, "
        f"{days.tried_in_vain} attempts meanwhile, {days.results.total()} looks"
    )
    assert newest == days.stored() == {f"task-{number}": 50 for number in range(CROWD)}
    assert len(days.told) <= CROWD


def test_a_partner_who_is_back_is_told_of_each_task_once(present: Present, wires: Wire, tell: Tell) -> None:
    came = outage.play(present, wires, tasks=TASKS, seed=SEED)

    for line in came.lines():
        tell(line)
    assert min(came.changes) >= outage.CHANGES
    assert came.stale == ()
    assert came.nudges_when_back <= TASKS
    assert came.told == TASKS
