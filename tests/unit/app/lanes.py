"""The queue of nudges and the functions that work it off, in a time of their own: who waits for whom, and how long.

Everything between two requests takes no time, and happens one thing after the other; a request takes as long as its
receiver does. So a run of minutes with thousands of nudges takes seconds and always comes out the same.
"""

import heapq
import itertools
import random
import threading
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import timedelta
from functools import partial

from a2a_serverless.app.attempt import NudgeToSend, Sent
from a2a_serverless.app.notify import notify
from a2a_serverless.core.delivery_outcome import Answer, Fault, NoAnswer, Outcome
from a2a_serverless.core.head import Change, Head
from a2a_serverless.core.push import PushConfig
from a2a_serverless.types import Caller, Owner, Scope, TaskKey, TaskState, TaskStatus
from tests.fakes import QueuedNudge
from tests.unit.app.world import AGENT, World

OK = Answer(status=202)
TIMEOUT = NoAnswer(Fault.TIMEOUT)


@dataclass(frozen=True)
class Partner:
    """A receiver: how long it takes, and what it answers then."""

    host: str
    seconds: float
    outcome: Outcome = OK

    @property
    def url(self) -> str:
        """Its webhook."""
        return f"https://{self.host}.example/hook"


@dataclass(eq=False)
class _Sender:
    """One arrival at work, on a thread of its own that runs only while it holds the baton."""

    work: Callable[[], object]
    go: threading.Semaphore = field(default_factory=lambda: threading.Semaphore(0))
    wake_in: float | None = None
    """Seconds until its request is answered; None when it is done."""


class Lanes:
    """`environments` functions, each with a batch of `batch` at a time, as an event source mapping of SQS runs them."""

    def __init__(self, *, environments: int, batch: int) -> None:
        self.world = World()
        self.first: dict[str, float] = {}
        """Seconds from the commit to the first attempt, by task."""
        self.most: dict[str, int] = {}
        """How many attempts were under way at a time, by host."""
        self.looks = 0
        self._batch = batch
        self._free = environments
        self._partners: dict[str, Partner] = {}
        self._committed: dict[str, float] = {}
        self._under_way: dict[str, int] = {}
        self._now = 0.0
        self._began = self.world.clock()
        self._numbers = itertools.count()
        self._events: list[tuple[float, int, Callable[[], None]]] = []
        self._visible: deque[QueuedNudge] = deque()
        self._baton = threading.Semaphore(0)
        self._running: _Sender | None = None
        jitter = random.Random(1)
        self._notifier = replace(self.world.notifier, send=self._send, jitter=lambda: jitter.uniform(0.8, 1.2))

    def at(self, seconds: float, partner: Partner) -> str:
        """A task ends then, and the partner is to hear of it; answers the task's id."""
        task_id = f"t-{next(self._numbers)}"
        self._partners[task_id] = partner
        self._on(seconds, lambda: self._commit(task_id, partner))
        return task_id

    def run(self, seconds: float) -> None:
        """Let so much time pass."""
        while self._events and self._events[0][0] <= seconds:
            self._now, _, happens = heapq.heappop(self._events)
            self.world.clock.now = self._began + timedelta(seconds=self._now)
            happens()
            self._take_what_was_queued()
            self._hand_out()

    def _on(self, seconds: float, happens: Callable[[], None]) -> None:
        heapq.heappush(self._events, (seconds, next(self._numbers), happens))

    def _commit(self, task_id: str, partner: Partner) -> None:
        key, now = TaskKey(Scope(AGENT, Owner(partner.host)), task_id), self.world.clock()
        self._committed[task_id] = self._now
        self.world.tasks.put_config(key, PushConfig(id="c", url=partner.url, created_at=now))
        head = Head(
            key=key,
            context_id="c",
            caller=Caller(key.scope.owner),
            status=TaskStatus(state=TaskState.COMPLETED, timestamp=now),
            created_at=now,
            version=1,
            nudge_seq=1,
            push=("c",),
        )
        self.world.tasks.create(Change(None, head))
        self.world.queues.enqueue_nudge(key, "c", 1)

    def _take_what_was_queued(self) -> None:
        queued, self.world.queues.nudges = self.world.queues.nudges, []
        for nudge in queued:
            if nudge.delay_seconds:
                self._on(self._now + nudge.delay_seconds, partial(self._visible.append, nudge))
            else:
                self._visible.append(nudge)

    def _hand_out(self) -> None:
        while self._free and self._visible:
            self._free -= 1
            batch = [self._visible.popleft() for _ in range(min(self._batch, len(self._visible)))]
            left = len(batch)

            def done() -> None:
                nonlocal left
                left -= 1
                self._free += left == 0

            for nudge in batch:
                self._begin(nudge, done)
            self._take_what_was_queued()

    def _begin(self, nudge: QueuedNudge, done: Callable[[], None]) -> None:
        self.looks += 1
        sender = _Sender(lambda: notify(self._notifier, nudge.key, nudge.config_id, nudge.seq))
        threading.Thread(target=self._work, args=(sender,), daemon=True).start()
        self._resume(sender, done)

    def _work(self, sender: _Sender) -> None:
        sender.go.acquire()
        sender.work()
        sender.wake_in = None
        self._baton.release()

    def _resume(self, sender: _Sender, done: Callable[[], None]) -> None:
        self._running = sender
        sender.go.release()
        self._baton.acquire()
        if sender.wake_in is None:
            done()
        else:
            self._on(self._now + sender.wake_in, lambda: self._resume(sender, done))

    def _send(self, nudge: NudgeToSend, *, now: object) -> Sent:
        """A request: give the baton away until the partner has answered."""
        del now
        sender, task_id = self._running, nudge.head.key.task_id
        assert sender is not None
        partner = self._partners[task_id]
        self.first.setdefault(task_id, self._now - self._committed[task_id])
        self._count(partner.host, 1)
        sender.wake_in = partner.seconds
        self._baton.release()
        sender.go.acquire()
        sender.wake_in = None
        self._count(partner.host, -1)
        return Sent(outcome=partner.outcome, milliseconds=int(partner.seconds * 1000), key_id="key-1")

    def _count(self, host: str, by: int) -> None:
        self._under_way[host] = self._under_way.get(host, 0) + by
        self.most[host] = max(self.most.get(host, 0), self._under_way[host])


def percentile(latencies: list[float], share: float) -> float:
    """The latency that this share of them does not exceed."""
    ordered = sorted(latencies)
    return ordered[min(len(ordered) - 1, int(len(ordered) * share))]
