"""What a running turn writes: collected, coalesced, fenced, and rebased when another writer came first.

Two threads meet here, the agent's and the pulse that keeps the lease alive, so everything happens under one lock.
"""

import logging
import threading
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Final

from a2a_serverless.agent.turn import TurnEnded
from a2a_serverless.app.ports import Clock, TaskStore
from a2a_serverless.core import turns
from a2a_serverless.core.advance import status
from a2a_serverless.core.endings import Ending, Question
from a2a_serverless.core.head import Change, Head, Rules
from a2a_serverless.core.journal import ArtifactChanged, Entry, Spoken, StatusChanged
from a2a_serverless.core.waits import check_question
from a2a_serverless.errors import Conflict, EntryTooLarge, LeaseLost
from a2a_serverless.types import JsonObject, TaskState, compact_json

FLUSH_BYTES: Final = 16_384
"""Entries are written together once they fill a journal segment."""
FLUSH_AFTER: Final = timedelta(milliseconds=250)
"""A subscriber waits no longer than that for something said."""
LOOK_EVERY: Final = timedelta(seconds=1)
"""How often a silent run looks whether it still has its task."""
_TRIES: Final = 100
"""A turn must not be done over because a caller talks while it ends; ten who do win nine races of ten."""

log = logging.getLogger(__name__)


class TurnWriter:
    """The sink of one turn, under one fence.

    Raises:
        LeaseLost: from every method, once the task is another runner's or has ended.
    """

    def __init__(
        self, head: Head, *, tasks: TaskStore, rules: Rules, clock: Clock, callback_url: Callable[[], str]
    ) -> None:
        self._head = head
        self._fence = head.fence
        self._tasks = tasks
        self._rules = rules
        self._clock = clock
        self._callback_url = callback_url
        self._lock = threading.RLock()
        self._buffer: list[Entry] = []
        self._buffered_bytes = 0
        self._buffered_since: datetime | None = None
        self._looked_at = clock()
        self._lost: LeaseLost | None = None
        self._ending: Ending | None = None
        self._finished = False
        self._doubt: int | None = None
        """Where in the journal a write began that failed and may have been carried out all the same."""
        self._only_began = False
        """Whether nothing is buffered but that the run began: what the agent says of it is better."""

    @property
    def head(self) -> Head:
        """The head as this writer knows it."""
        return self._head

    @property
    def ending(self) -> Ending | None:
        """How the agent ended its turn, if it did."""
        return self._ending

    @property
    def lost(self) -> bool:
        """Whether the task is no longer this runner's."""
        return self._lost is not None

    @property
    def cancelled(self) -> bool:
        """Whether the caller canceled the task."""
        return self.lost and self._head.state is TaskState.CANCELED

    def callback_url(self) -> str:
        """An address that resumes the wait this turn ends with."""
        return self._callback_url()

    def begin(self) -> None:
        """A task that was queued is WORKING now; written with the first thing the agent says, or by a tick."""
        if self._head.state is TaskState.SUBMITTED:
            self.say(status(TaskState.WORKING, self._clock()))
            self._only_began = True

    def say(self, entry: Entry) -> None:
        """Take an entry; written when enough came together, or by the next tick after 250 ms."""
        with self._lock:
            self._still_mine()
            if not self._buffer:
                self._buffered_since = self._clock()
            elif self._only_began and isinstance(entry, StatusChanged):
                self._buffer.clear()
            self._only_began = False
            self._buffer.append(entry)
            self._buffered_bytes += _size(entry)
            if self._buffered_bytes >= FLUSH_BYTES:
                self._try_flush()

    def end(self, ending: Ending) -> None:
        """Take how the turn ends; written by `finish`.

        Raises:
            ValueError: a question with a deadline or reminders that cannot be kept.
        """
        with self._lock:
            if self._ending is not None:
                raise TurnEnded("the turn has ended already")
            if isinstance(ending, Question):
                check_question(ending, self._rules)
            self._ending = ending

    def finish(self, ending: Ending, memory: JsonObject) -> Head:
        """Write what is left and how the turn ended, in one change."""
        with self._lock:
            self._finished = True
            self._resolve_doubt()
            entries = tuple(self._buffer)
            self._write(
                lambda head, now: turns.end(
                    head, self._fence, ending, *entries, memory=memory, rules=self._rules, now=now
                )
            )
            return self._head

    def confirm(self) -> None:
        """Look whether the task is still this runner's, before something is written elsewhere in its name."""
        with self._lock:
            self._look(self._clock())
            self._still_mine()

    def tick(self) -> None:
        """Do what is due: write what was said, look after a silent run, keep the lease."""
        with self._lock:
            if self._finished:
                return
            now = self._clock()
            if self._buffered_since is not None and now - self._buffered_since >= FLUSH_AFTER:
                self._flush()
            elif self._is_lease_third_gone(now):
                self._write(lambda head, at: turns.extend(head, self._fence, rules=self._rules, now=at))
            elif now - self._looked_at >= LOOK_EVERY:
                self._look(now)

    def _is_lease_third_gone(self, now: datetime) -> bool:
        lease = self._head.lease
        return lease is not None and lease.until - now <= self._rules.lease * 2 / 3

    def _look(self, now: datetime) -> None:
        newer = self._tasks.head(self._head.key, now=now)
        self._adopt(newer, now)

    def _try_flush(self) -> None:
        """Write what is buffered. That the store fails is none of the agent's business: its words wait."""
        try:
            self._flush()
        except (LeaseLost, EntryTooLarge):
            raise
        except Exception:
            log.exception("what was said is not written yet", extra={"task_id": self._head.key.task_id})

    def _flush(self) -> None:
        """Write what is buffered. It stays buffered until it is known to be written."""
        self._only_began = False
        self._resolve_doubt()
        entries = tuple(self._buffer)
        try:
            self._write(lambda head, now: turns.progress(head, self._fence, *entries, rules=self._rules, now=now))
        except EntryTooLarge:
            del self._buffer[-1]  # whatever fills a segment is written at once, so it is the newest
            raise
        self._forget(len(entries))

    def _resolve_doubt(self) -> None:
        """After a write that failed, find out whether it was carried out: nobody else writes statuses or artifacts."""
        if self._doubt is None:
            return
        self._look(self._clock())
        self._still_mine()
        since = self._tasks.entries_from(self._head, self._doubt)
        self._forget(sum(not isinstance(entry, Spoken) for entry in since))
        self._doubt = None

    def _forget(self, written: int) -> None:
        del self._buffer[:written]
        self._buffered_bytes = sum(_size(entry) for entry in self._buffer)
        self._buffered_since = self._clock() if self._buffer else None

    def _write(self, decide: Callable[[Head, datetime], Change]) -> None:
        """Write a change; when another writer came first (a message arrived), decide it again on the newer head."""
        for _ in range(_TRIES):
            self._still_mine()
            now = self._clock()
            change = decide(self._head, now)
            try:
                self._head = self._tasks.commit(change)
            except Conflict:
                self._look(now)
            except EntryTooLarge:
                raise
            except Exception:
                self._doubt = self._head.entries if change.entries else self._doubt
                raise
            else:
                self._looked_at = now
                return
        raise Conflict(f"other writers came first {_TRIES} times on task {self._head.key.task_id}")

    def _adopt(self, newer: Head | None, now: datetime) -> None:
        """Take the newer head, and notice that the task is gone from here."""
        self._looked_at = now
        if newer is None:
            self._lost = LeaseLost("the task is gone")
            return
        self._head = newer
        try:
            turns.check_fence(newer, self._fence)
        except LeaseLost as lost:
            self._lost = lost

    def _still_mine(self) -> None:
        if self._lost is not None:
            raise LeaseLost(str(self._lost))


def _size(entry: Entry) -> int:
    """About how many bytes an entry takes in the journal."""
    match entry:
        case ArtifactChanged(said, metadata=beside) | StatusChanged(said, metadata=beside):
            return len(said.to_json()) + (len(compact_json(beside)) if beside else 0)
        case _:
            return 0
