"""The hops of a deployment in one process, on stores in memory: each does its part when it is told to."""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final

from a2a_serverless.agent.agent import Agent
from a2a_serverless.app.callbacks import Callbacks, find, use
from a2a_serverless.app.expire import Expiry, expire
from a2a_serverless.app.host import Host
from a2a_serverless.app.relay import Relay, relay_change
from a2a_serverless.app.run_turn import Runner, notice_cancel, run_turn
from a2a_serverless.app.turn_writer import TurnWriter
from a2a_serverless.core.head import Head, Record, Rules, Wait
from a2a_serverless.testing.memory import (
    FakeClock,
    MemoryCallbacks,
    MemoryContexts,
    MemoryQueues,
    MemoryTasks,
    PlainSealer,
    SequentialIds,
)
from a2a_serverless.types import JsonObject, TaskKey

AGENT: Final = "rehearsed"
ADDRESS: Final = "https://agent.example"

_MOMENT: Final = timedelta(seconds=1)


class WorkerDied(BaseException):
    """The process is gone: nothing holds this back, as nothing holds back a kill."""


@dataclass
class Deployment:
    """One agent, its stores, and what follows from each change of them."""

    agent: Agent
    rules: Rules
    clock: FakeClock
    ids: SequentialIds = field(default_factory=SequentialIds)
    tasks: MemoryTasks = field(default_factory=MemoryTasks)
    deaths: int = 0
    """How many of the next turns lose their worker at their end."""

    def __post_init__(self) -> None:
        self._queues = MemoryQueues()
        self._contexts = MemoryContexts(self.clock)
        self._grants = MemoryCallbacks()
        self._secrets = SequentialIds("secret")
        self._relayed = 0

    @property
    def host(self) -> Host:
        """What the operations of the protocol work with; there are no webhooks."""
        return Host(
            name=AGENT,
            agent=self.agent,
            card=self.agent.card,
            tasks=self.tasks,
            push=self.tasks,
            receipts=self.tasks,
            sealer=PlainSealer(),
            check_url=str,
            clock=self.clock,
            ids=self.ids,
            pause=self.clock.pause,
            rules=self.rules,
            push_supported=False,
        )

    def settle(self) -> None:
        """Carry out what follows from each change, and run the turns that are due, until nothing is left to do."""
        while self._relay() or self._work():
            pass

    def pass_time(self, end: datetime) -> None:
        """Go on to a time. The reminders and deadlines until then happen on the way, each at its own."""
        while (coming := self._next_moment(end)) is not None:
            self.clock.now, head, wait = coming
            if self.clock.now < wait.until:
                self.tasks.remind(head.key, wait.number)
            else:
                expire(self._expiry, head.key, wait.number)
            self.settle()
        self.clock.now = max(end, self.clock.now)

    def call_back(self, grant_id: str, secret: str, posted: JsonObject) -> bool:
        """Somebody posts to a callback address; answers whether its task goes on."""
        now = self.clock()
        grant = find(self._grants, grant_id, secret, now=now)
        goes_on = grant is not None and use(grant, self.tasks, posted, ids=self.ids, rules=self.rules, now=now)
        self.settle()
        return goes_on

    def record(self, task_id: str) -> Record:
        """A task whole, whoever owns it.

        Raises:
            LookupError: there is none, or its time is over.
        """
        known = (self.tasks.read(key, now=self.clock()) for key in self._known() if key.task_id == task_id)
        found = next(known, None)
        if found is None:
            raise LookupError(f"there is no task {task_id!r}, or its time is over")
        return found

    def _relay(self) -> bool:
        began = self._relayed
        while self._relayed < len(self.tasks.changes):
            old, new = self.tasks.changes[self._relayed]
            self._relayed += 1
            relay_change(self._stream, old, new)
        return self._relayed > began

    def _work(self) -> bool:
        if self._queues.turns:
            due = self._queues.turns.pop(0)
            self._run(due.key, due.turn)
            return True
        if self._queues.cancels:
            notice_cancel(self._runner, self._queues.cancels.pop(0).key)
            return True
        return False

    def _run(self, key: TaskKey, turn: int) -> None:
        """A turn, delivered again once the lease is over whenever its worker died."""
        redelivered = False
        while True:
            try:
                run_turn(self._runner, key, turn, redelivered=redelivered)
            except WorkerDied:
                self.clock.advance(self.rules.lease + _MOMENT)
                redelivered = True
            else:
                return

    def _watch(self, _writer: TurnWriter, run: Callable[[], None]) -> None:
        run()
        if self.deaths:
            self.deaths -= 1
            raise WorkerDied

    def _next_moment(self, end: datetime) -> tuple[datetime, Head, Wait] | None:
        """The next reminder or deadline up to `end`, with the task that waits."""
        now = self.clock()
        heads = (self.tasks.head(key, now=now) for key in self._known())
        waiting = [(head, head.wait) for head in heads if head is not None and head.wait is not None]
        coming = [(moment, head, wait) for head, wait in waiting for moment in _moments(wait) if now < moment <= end]
        return min(coming, key=lambda found: found[0], default=None)

    def _known(self) -> tuple[TaskKey, ...]:
        return self.tasks.keys()

    def _named(self, _name: str) -> Agent:
        return self.agent

    @property
    def _runner(self) -> Runner:
        return Runner(
            agents=self._named,
            tasks=self.tasks,
            contexts=self._contexts,
            callbacks=self._callbacks,
            clock=self.clock,
            ids=self.ids,
            rules=self.rules,
            watch=self._watch,
        )

    @property
    def _callbacks(self) -> Callbacks:
        return Callbacks(
            store=self._grants,
            public_url=ADDRESS,
            clock=self.clock,
            ids=self.ids,
            secret=self._secrets,
            rules=self.rules,
        )

    @property
    def _expiry(self) -> Expiry:
        return Expiry(agents=self._named, tasks=self.tasks, clock=self.clock, ids=self.ids, rules=self.rules)

    @property
    def _stream(self) -> Relay:
        return Relay(turns=self._queues, nudges=self._queues, waits=_Waits(self.tasks, self.ids))


@dataclass(frozen=True)
class _Waits:
    """Holds waits as the state machine does: its token in the task says that somebody looks after the deadline."""

    tasks: MemoryTasks
    ids: SequentialIds

    def start_wait(self, key: TaskKey, wait: Wait) -> None:
        self.tasks.store_token(key, wait.number, self.ids())

    def end_wait(self, token: str) -> None:
        """Nothing: a deadline that comes to a wait which is over finds nothing to do."""


def _moments(wait: Wait) -> tuple[datetime, ...]:
    return (*(wait.since + after for after in wait.remind), wait.until)
