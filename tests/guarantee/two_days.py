"""The same outage with the use cases alone, everything around them in memory: large enough to count, and quick.

`relay` reads every change, `notify` decides on every arrival; a request takes no time and nobody answers for two days.
"""

import heapq
import itertools
import random
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import timedelta
from functools import partial

from a2a_serverless.app.attempt import NudgeToSend, Sent
from a2a_serverless.app.notify import notify
from a2a_serverless.core.delivery_outcome import Answer, Fault, NoAnswer, Outcome
from a2a_serverless.core.delivery_schedule import JITTER
from a2a_serverless.core.head import Change, Head
from a2a_serverless.core.push import PushConfig
from a2a_serverless.types import Caller, Owner, Scope, TaskKey, TaskState, TaskStatus
from tests.fakes import QueuedNudge
from tests.unit.app.world import AGENT, World

_CONFIG = "hook"
_STATES = (TaskState.WORKING, TaskState.WORKING, TaskState.INPUT_REQUIRED)
_PARTNER = Owner("partner")


@dataclass(frozen=True, slots=True)
class Told:
    """A nudge that the partner took."""

    task_id: str
    seq: int
    message_id: str


class TwoDays:
    """A deployment whose only partner is down until `back`."""

    def __init__(self, *, tasks: int, changes: int, back: timedelta, seed: str) -> None:
        self.world = World()
        self.told: list[Told] = []
        self.tried_in_vain = 0
        self.results: Counter[str] = Counter()
        """What arrivals at `notify` came to."""
        self._dice = random.Random(seed)
        self._back = self.world.clock() + back
        self._numbers = itertools.count()
        self._events: list[tuple[float, int, Callable[[], object]]] = []
        self._began = self.world.clock()
        self._notifier = replace(self.world.notifier, send=self._send, jitter=lambda: self._dice.uniform(*JITTER))
        for number in range(tasks):
            times = sorted(self._dice.uniform(0, back.total_seconds()) for _ in range(changes))
            for seq, at in enumerate(times, start=1):
                self._on(at, partial(self._commit, f"task-{number}", seq, is_last=seq == changes))

    def run(self, until: timedelta) -> None:
        """Let everything happen until then."""
        while self._events and self._events[0][0] <= until.total_seconds():
            at, _, happens = heapq.heappop(self._events)
            self.world.clock.now = self._began + timedelta(seconds=at)
            happens()
            self._take_what_was_queued()

    def stored(self) -> dict[str, int]:
        """By task, the number of its newest change."""
        keys = self.world.tasks.keys()
        heads = (self.world.tasks.head(key, now=self.world.clock()) for key in keys)
        return {head.key.task_id: head.nudge_seq for head in heads if head is not None}

    def _on(self, seconds: float, happens: Callable[[], object]) -> None:
        heapq.heappush(self._events, (seconds, next(self._numbers), happens))

    @property
    def _now(self) -> float:
        return (self.world.clock() - self._began).total_seconds()

    def _commit(self, task_id: str, seq: int, *, is_last: bool) -> None:
        key, now, tasks = TaskKey(Scope(AGENT, _PARTNER), task_id), self.world.clock(), self.world.tasks
        state = TaskState.COMPLETED if is_last else _STATES[seq % len(_STATES)]
        status = TaskStatus(state=state, timestamp=now)
        before = tasks.head(key, now=now)
        if before is not None:
            tasks.commit(Change(before, before.but(status=status, version=before.version + 1, nudge_seq=seq)))
        else:
            config = PushConfig(id=_CONFIG, url="https://partner.example/hook", created_at=now)
            tasks.put_config(key, config)
            first = Head(
                key=key,
                context_id="c",
                caller=Caller(_PARTNER),
                status=status,
                created_at=now,
                version=1,
                nudge_seq=seq,
                push=(_CONFIG,),
            )
            tasks.create(Change(None, first))
        self.world.relay()

    def _take_what_was_queued(self) -> None:
        queued, self.world.queues.nudges = self.world.queues.nudges, []
        for nudge in queued:
            self._on(self._now + nudge.delay_seconds, partial(self._arrive, nudge))
        self.world.queues.turns.clear()

    def _arrive(self, nudge: QueuedNudge) -> None:
        self.results[notify(self._notifier, nudge.key, nudge.config_id, nudge.seq)] += 1
        coming = self.world.later.coming.get((nudge.key, nudge.config_id))
        if coming is not None:
            self._on((coming[1] - self._began).total_seconds(), partial(self._fire, *coming))

    def _fire(self, nudge: QueuedNudge, at: object) -> None:
        """A schedule fires, unless it was moved or cancelled meanwhile."""
        if self.world.later.coming.get((nudge.key, nudge.config_id)) == (nudge, at):
            self.world.later.cancel(nudge.key, nudge.config_id)
            self._arrive(nudge)

    def _send(self, nudge: NudgeToSend, *, now: object) -> Sent:
        outcome: Outcome = NoAnswer(Fault.CONNECT)
        if self.world.clock() >= self._back:
            outcome = Answer(status=202)
            self.told.append(Told(nudge.head.key.task_id, nudge.nudge.seq, nudge.nudge.message_id))
        else:
            self.tried_in_vain += 1
        return Sent(outcome=outcome, milliseconds=5, key_id="key-1")
