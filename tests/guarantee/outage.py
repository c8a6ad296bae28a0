"""A partner is down for two days while his tasks go on: how many nudges reach him when he is back."""

import random
import time
from collections import Counter
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from typing import Final

from tests.faults.world import Present, forget

from .hazards import Hazards
from .lives import Life
from .manners import DOWN, NOBODY, Spell, Weather
from .run import add_partner
from .wire import Wire
from .world import Deployment

DOWN_FOR: Final = timedelta(hours=48)
CHANGES: Final = 50
"""Of each task, at least: a question and its answer make four, and a reminder one more."""
_QUESTIONS: Final = 12


@dataclass(frozen=True, slots=True)
class Outage:
    """What came of it."""

    tasks: int
    changes: Counter[int]
    """How many tasks told of so many changes."""
    attempts_while_down: int
    """Requests that were tried in vain."""
    nudges_when_back: int
    """Requests that were made once he was back: each of them, duplicates and failures included."""
    told: int
    """Tasks of which he then heard."""
    stale: tuple[str, ...]
    """Tasks that he does not hold as they are."""
    looks: int
    """How often `notify` was called."""
    all_told_after: timedelta
    """From the end of the outage to the last of them."""
    cpu: float

    def lines(self) -> list[str]:
        """What there is to say."""
        return [
            f"48 hours down, {self.tasks} tasks of {min(self.changes)} changes or more, the whole deployment:",
            f"  {self.nudges_when_back} nudges when back, the last after {self.all_told_after} (virtual time)",
            f"  meanwhile {self.attempts_while_down} attempts, {self.looks} calls of notify, cpu {self.cpu:.0f} s",
        ]


def play(present: Present, wires: Wire, *, tasks: int, seed: str) -> Outage:
    """Begin the tasks in the first minutes of the outage, and answer their questions all along."""
    began = time.process_time()
    forget()
    dice = random.Random(seed)
    world = Deployment(Hazards(dice=dice), wire=wires)
    present.world = world
    back = world.clock() + DOWN_FOR
    try:
        crowd = _people(world, tasks, dice, back)
        world.drain(within=timedelta(days=6))
        return _outage(world, crowd, back, cpu=time.process_time() - began)
    finally:
        world.close()
        wires.close()


def _people(world: Deployment, tasks: int, dice: random.Random, back: datetime) -> list[Life]:
    def down(_dice: random.Random, _start: datetime) -> Weather:
        return Weather("down", (Spell(back, 1.0, (*DOWN, NOBODY)),))

    partner = add_partner(world, "rx", (down,), dice)
    crowd = [Life(world, partner, partner.endpoints, f"task-{number}") for number in range(tasks)]
    for life in crowd:
        begins = dice.uniform(0, 1_800)
        world.later(begins, partial(life.send, f"ask {_QUESTIONS}"))
        pause = (DOWN_FOR.total_seconds() - 3_600 - begins) / _QUESTIONS
        for number in range(_QUESTIONS):
            # Nobody told the caller: he acts on what he knows from elsewhere, and does not fetch the task either.
            world.later(begins + (number + dice.uniform(0.6, 1.0)) * pause, partial(life.answer, f"answer {number}"))
    return crowd


def _outage(world: Deployment, crowd: list[Life], back: datetime, *, cpu: float) -> Outage:
    (partner,) = world.partners
    heads = world.heads()
    late = [tried for tried in world.tried if tried.at >= back]
    stale = [life.name for life in crowd if partner.seq_of(life.task) != heads[life.task].nudge_seq]
    return Outage(
        tasks=len(crowd),
        changes=Counter(head.nudge_seq for head in heads.values()),
        attempts_while_down=len(world.tried) - len(late),
        nudges_when_back=len(late),
        told=len({tried.task_id for tried in late}),
        stale=tuple(stale),
        looks=world.invoked["notify"],
        all_told_after=max((tried.at for tried in late), default=back) - back,
        cpu=cpu,
    )
