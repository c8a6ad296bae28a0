"""The hops of a deployment in one process, on stores in memory: each does its part when it is told to."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final

from a2a_serverless.app.callbacks import find, use
from a2a_serverless.app.expire import expire
from a2a_serverless.app.relay import relay_change
from a2a_serverless.app.run_turn import Runner, notice_cancel, run_turn
from a2a_serverless.app.turn_writer import TurnWriter
from a2a_serverless.core.head import Head, Record, Wait
from a2a_serverless.testing.hops import Hops
from a2a_serverless.types import JsonObject, TaskKey

_MOMENT: Final = timedelta(seconds=1)


class WorkerDied(BaseException):
    """The process is gone: nothing holds this back, as nothing holds back a kill."""


@dataclass
class Deployment(Hops):
    """One agent, its stores, and what follows from each change of them."""

    deaths: int = 0
    """How many of the next turns lose their worker at their end."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self._relayed = 0

    @property
    def runner(self) -> Runner:
        """What `run_turn` works with."""
        return replace(super().runner, watch=self._watch)

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
                expire(self.expiry, head.key, wait.number)
            self.settle()
        self.clock.now = max(end, self.clock.now)

    def call_back(self, grant_id: str, secret: str, posted: JsonObject) -> bool:
        """Somebody posts to a callback address; answers whether its task goes on."""
        now = self.clock()
        grant = find(self.grants, grant_id, secret, now=now)
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
            relay_change(self.stream, old, new)
        return self._relayed > began

    def _work(self) -> bool:
        if self.queues.turns:
            due = self.queues.turns.pop(0)
            self._run(due.key, due.turn)
            return True
        if self.queues.cancels:
            notice_cancel(self.runner, self.queues.cancels.pop(0).key)
            return True
        return False

    def _run(self, key: TaskKey, turn: int) -> None:
        """A turn, delivered again once the lease is over whenever its worker died."""
        redelivered = False
        while True:
            try:
                run_turn(self.runner, key, turn, redelivered=redelivered)
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


def _moments(wait: Wait) -> tuple[datetime, ...]:
    return (*(wait.since + after for after in wait.remind), wait.until)
