"""What was told already: which messages, and up to which version of each task.

Forgetting is harmless (one fetch too many); remembering too early is not (a nudge lost). So it is asked before the
enqueue and written after it.
"""

import hashlib
import logging
import threading
from collections import OrderedDict
from dataclasses import dataclass
from typing import Final, Protocol, TypeVar

from .nudge import Nudge

_V = TypeVar("_V")

logger = logging.getLogger("a2a_receiver")

REMEMBERED_FOR: Final = 96 * 3600
"""Seconds: a sender tries for 75 h 42 m, jitter makes that 91 h at most, and one hour is spare."""


class ReplayStore(Protocol):
    """Port. Keys are opaque ASCII of at most 100 characters, times are Unix seconds.

    Entries whose `until` has passed are not there, whether or not they were deleted.
    """

    def seen(self, key: str, *, now: float) -> bool:
        """True when the message `key` was marked."""
        ...

    def max_seq(self, task_key: str, *, now: float) -> int | None:
        """The highest version marked for a task."""
        ...

    def mark(self, key: str | None, *, task_key: str, seq: int | None, now: float, until: float) -> None:
        """Remember a message, and its task's version unless a higher one is held already. Idempotent."""
        ...


@dataclass(frozen=True, slots=True)
class Memory:
    """One receiver's part of a store. Receivers that share a store cannot speak for each other."""

    store: ReplayStore
    namespace: str

    def has_seen(self, message_id: str | None, *, now: float) -> bool:
        """Whether this delivery was enqueued before."""
        return message_id is not None and self.store.seen(self._key("m", message_id), now=now)

    def told_seq(self, task_id: str, *, now: float) -> int | None:
        """The highest version of the task that was enqueued."""
        return self.store.max_seq(self._key("t", task_id), now=now)

    def remember(self, nudge: Nudge, *, now: float) -> None:
        """Mark what was enqueued. A store that fails costs a duplicate, so it is logged and not raised."""
        message = self._key("m", nudge.message_id) if nudge.message_id is not None else None
        try:
            self.store.mark(
                message,
                task_key=self._key("t", nudge.task_id),
                seq=nudge.seq,
                now=now,
                until=now + REMEMBERED_FOR,
            )
        except Exception:
            logger.exception("nudge is enqueued but could not be marked: task_id=%s", nudge.task_id)

    def _key(self, kind: str, name: str) -> str:
        digest = hashlib.sha256(f"{self.namespace}\n{kind}\n{name}".encode()).hexdigest()
        return f"{kind}#{digest}"


class MemoryStore:
    """Bounded, in this process. Right for one instance; others would each fetch once."""

    def __init__(self, *, max_entries: int = 100_000) -> None:
        """The oldest of more than `max_entries` messages, and of as many tasks, are forgotten."""
        self._max = max_entries
        self._messages: OrderedDict[str, float] = OrderedDict()
        self._versions: OrderedDict[str, tuple[int, float]] = OrderedDict()
        self._lock = threading.Lock()

    def seen(self, key: str, *, now: float) -> bool:
        """See `ReplayStore`."""
        with self._lock:
            return self._messages.get(key, 0.0) > now

    def max_seq(self, task_key: str, *, now: float) -> int | None:
        """See `ReplayStore`."""
        with self._lock:
            seq, until = self._versions.get(task_key, (0, 0.0))
            return seq if until > now else None

    def mark(self, key: str | None, *, task_key: str, seq: int | None, now: float, until: float) -> None:
        """See `ReplayStore`."""
        with self._lock:
            if key is not None:
                _put(self._messages, key, until, self._max)
            if seq is not None:
                held, held_until = self._versions.get(task_key, (0, 0.0))
                _put(self._versions, task_key, (max(seq, held if held_until > now else 0), until), self._max)


def _put(entries: OrderedDict[str, _V], key: str, value: _V, at_most: int) -> None:
    entries[key] = value
    entries.move_to_end(key)
    if len(entries) > at_most:
        entries.popitem(last=False)
