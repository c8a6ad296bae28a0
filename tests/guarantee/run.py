"""One run: a world of its own, its partners, a crowd of tasks, faults all the way, and what it came to."""

import random
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from typing import Final

import pytest

import functions.notify.parts as notify_parts
from a2a_serverless.aws.settings import Variable
from a2a_serverless.core.head import Head
from functions import wiring
from tests.faults.partner import Partner as Caller
from tests.faults.world import Present, forget, wire

from .hazards import Hazards
from .lives import SCRIPTS, Life
from .manners import CLIMATES, Climate
from .partners import Endpoint, Partner
from .report import Report
from .wire import Wire
from .world import Deployment

AGENT: Final = "busy=tests.guarantee.agent:agent"
RATE: Final = 0.006
"""How often a call goes wrong."""
_DAYS: Final = timedelta(days=14)
"""By then nothing is to come any more."""
_PROVEN: Final = frozenset({"accepted", "duplicate", "stale_noop", "enqueue_failed"})
"""What a receiver makes of requests that are ours."""


@dataclass(frozen=True, slots=True)
class Plan:
    """Everything that a run comes from: the same plan makes the same run."""

    seed: str
    tasks: int
    rate: float = RATE
    within: timedelta = timedelta(minutes=30)
    """In which all tasks begin."""

    def __str__(self) -> str:
        return f'Plan(seed="{self.seed}", tasks={self.tasks}, rate={self.rate})'


def wire_up(patch: pytest.MonkeyPatch) -> Present:
    """Wire the functions to the deployment that will be on."""
    present = wire(patch, agents=AGENT)
    patch.setenv(Variable.ALLOW_PRIVATE_WEBHOOKS, "1")
    patch.setattr(notify_parts, "_send", lambda nudge, *, now: _on(present).post(nudge, now=now))
    patch.setattr(notify_parts, "random", _Jitter(present))
    return present


class _Jitter:
    def __init__(self, present: Present) -> None:
        self._present = present

    def uniform(self, low: float, high: float) -> float:
        """As `random.uniform`, by the dice of the run."""
        return _on(self._present).dice.uniform(low, high)


def _on(present: Present) -> Deployment:
    assert isinstance(present.world, Deployment)
    return present.world


def play(present: Present, wires: Wire, plan: Plan) -> Report:
    """Play a run to its very end.

    Raises:
        AssertionError: something was lost, came twice, or never ended.
    """
    began = time.process_time()
    forget()
    dice = random.Random(plan.seed)
    world = Deployment(Hazards(dice=dice, rate=plan.rate), wire=wires)
    present.world = world
    try:
        crowd = _people(world, plan, dice)
        world.drain(within=_DAYS)
        report = _report(world, crowd)
    finally:
        world.close()
        wires.close()
    report.cpu = time.process_time() - began
    return report


def add_partner(world: Deployment, name: str, climates: Sequence[Climate], dice: random.Random) -> Partner:
    """A partner with an endpoint for each climate; every other one speaks TLS."""
    partner = Partner(world)
    world.partners.append(partner)
    for number, climate in enumerate(climates):
        host = f"{name}-{number}.example.com"
        tls = world.wire.server_side(host) if world.wire and dice.random() < 0.5 else None
        # Plain http is for loopback only, and the port there is but a name: `Wire` knows where it leads.
        origin = f"https://{host}" if tls else f"http://127.0.0.1:{7001 + len(world.endpoints)}"
        url = f"{origin}/a2a/push"
        endpoint = Endpoint(url, partner, climate(dice, world.clock()), tls=tls)
        partner.endpoints.append(endpoint)
        world.endpoints[url] = endpoint
    return partner


def _people(world: Deployment, plan: Plan, dice: random.Random) -> list[Life]:
    for number, climate in enumerate(CLIMATES):
        add_partner(world, f"rx{number}", (climate, dice.choice(CLIMATES)), dice)
    scripts = dice.choices([script for script, _ in SCRIPTS], [weight for _, weight in SCRIPTS], k=plan.tasks)
    crowd = []
    for number, script in enumerate(scripts):
        partner = world.partners[number % len(world.partners)]
        hooks = dice.sample(partner.endpoints, dice.choice((1, 1, 1, 2)))
        life = Life(world, partner, hooks, f"{script.__name__}-{number}")
        crowd.append(life)
        world.later(dice.uniform(0, plan.within.total_seconds()), partial(life.play, script))
    return crowd


def _report(world: Deployment, crowd: Sequence[Life]) -> Report:
    endpoints = list(world.endpoints.values())
    verdicts: Counter[str] = sum((endpoint.verdicts for endpoint in endpoints), Counter())
    heads = world.heads()
    with world.uncounted():
        losses = [loss for life in crowd if (loss := _loss(world, life, heads.get(life.task))) is not None]
    return Report(
        tasks=len(crowd),
        ends=Counter(head.state.name for head in heads.values()),
        changes=len(world.committed),
        nudges=len({tried.message_id for tried in world.tried}),
        requests=len(world.tried),
        encrypted=sum(tried.url.startswith("https:") for tried in world.tried),
        losses=losses,
        duplicates=sum(endpoint.duplicates for endpoint in endpoints),
        wire_duplicates=verdicts["duplicate"] + verdicts["stale_noop"],
        refused=sum(count for verdict, count in verdicts.items() if verdict not in _PROVEN),
        renamed=_renamed(world),
        redirects_followed=sum(endpoint.server.followed for endpoint in endpoints),
        calls=world.faults.made,
        faults=world.faults.happened,
        manners=Counter(world.manners),
        swept=Counter(why.partition(":")[0] for _, why in world.repaired),
        records_lost=len(world.lost_records),
        dead=len(world.nudges.dead) + len(world.turns.dead),
        given_up=len(world.nudges_dead.messages),
        latencies=list(_latencies(world, heads)),
    )


def _loss(world: Deployment, life: Life, head: Head | None) -> str | None:
    """What is wrong with what the partner holds of a task; None if it is the stored task at its final version."""
    if head is None:
        return f"{life.name}: no task"
    held = life.partner.held.get(life.task)
    if held is None:
        return f"{life.name} {life.task}: never fetched, it is {head.state.name} at {head.nudge_seq}"
    if held.seq != head.nudge_seq:
        return f"{life.name} {life.task}: fetched at {held.seq}, it is {head.state.name} at {head.nudge_seq}"
    if held.task != Caller(world).get(life.task):
        return f"{life.name} {life.task}: what was fetched is not the task"
    for hook in life.hooks:
        if hook.told.get(life.task, 0) < head.nudge_seq and not _acknowledged(head, hook):
            return f"{life.name} {life.task}: {hook.url} was told up to {hook.told.get(life.task, 0)}"
    return None


def _acknowledged(head: Head, hook: Endpoint) -> bool:
    """Whether a webhook was spared its newest nudge, since its owner had fetched the task by another."""
    for config_id in head.push:
        config = wiring.push().config(head.key, config_id)
        if config is not None and config.url == hook.url:
            state = wiring.push().delivery(head.key, config_id)
            return state.settled_seq >= head.nudge_seq and wiring.push().fetched(head.key) >= head.nudge_seq
    return False


def _renamed(world: Deployment) -> int:
    names: dict[tuple[str, str, int, datetime], set[str]] = {}
    for tried in world.tried:
        names.setdefault((tried.url, tried.task_id, tried.seq, tried.registered), set()).add(tried.message_id)
    return sum(len(found) > 1 for found in names.values())


def _latencies(world: Deployment, heads: dict[str, Head]) -> list[float]:
    """From each commit to the first attempt to tell it, or a newer change, to each webhook that was there."""
    first: dict[tuple[str, str], list[tuple[int, datetime]]] = {}
    for tried in world.tried:
        first.setdefault((tried.task_id, tried.url), []).append((tried.seq, tried.at))
    found = []
    for (task, seq), at in world.committed.items():
        for (tried_task, _), attempts in first.items():
            if tried_task == task:
                later = [when for told, when in attempts if told >= seq and when >= at]
                found += [(min(later) - at).total_seconds()] if later else []
    return found
