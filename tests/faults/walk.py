"""Plays a script with faults, and says of each run what was wrong with it."""

import itertools
import random
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from . import checks
from .plan import Fault, Faults, Kind, WorkerDied
from .scripts import Script
from .world import Present, World


@dataclass(frozen=True)
class Failure:
    """A run that did not end as it should."""

    script: str
    faults: tuple[Fault, ...]
    came: tuple[str, ...]
    what: str

    def __str__(self) -> str:
        faults = ", ".join(f"Fault({fault.at}, Kind.{fault.kind.name})" for fault in self.faults)
        return f"{self.script} [{faults}] {'; '.join(self.came)}\n    {self.what}"


def play(present: Present, script: Script, faults: Iterable[Fault] = (), *, stream_is_lost: bool = False) -> World:
    """Play a script to its very end.

    Raises:
        AssertionError: it did not end as it should.
    """
    world = World(Faults(tuple(faults)), stream_is_lost=stream_is_lost)
    present.world = world
    task = script.play(world)
    world.drain()
    checks.everything(world, script, task)
    return world


def calls_of(present: Present, script: Script) -> list[str]:
    """The calls of a run in which nothing goes wrong, forgetting included."""
    world = play(present, script)
    checks.forgotten(world)
    return world.faults.calls


def tried(present: Present, script: Script, faults: tuple[Fault, ...]) -> Failure | None:
    """What was wrong with a run with these faults; None if nothing was."""
    try:
        world = play(present, script, faults)
        checks.forgotten(world)
    except AssertionError as wrong:
        return _failure(present, script, faults, str(wrong).splitlines()[0] if str(wrong) else repr(wrong))
    except (Exception, WorkerDied) as wrong:  # noqa: BLE001 (whatever it is, the next run is to be tried)
        return _failure(present, script, faults, repr(wrong))
    return None


def _failure(present: Present, script: Script, faults: tuple[Fault, ...], what: str) -> Failure:
    return Failure(script.name, faults, tuple(present.world.faults.came), what)


def singles(calls: int) -> Iterator[tuple[Fault, ...]]:
    """Every call with every fault."""
    return ((Fault(at, kind),) for at, kind in itertools.product(range(1, calls + 1), Kind))


def pairs(calls: int, count: int, *, seed: int) -> Iterator[tuple[Fault, ...]]:
    """So many random pairs. The second is counted in the run that the first made another."""
    dice = random.Random(seed)
    for _ in range(count):
        first, second = sorted(dice.sample(range(1, calls + 6), 2))
        yield Fault(first, dice.choice(list(Kind))), Fault(second, dice.choice(list(Kind)))
