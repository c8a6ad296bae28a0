"""sweep: whatever the stream, a queue or a crash dropped is found by an index and put back.

A task in the index has a time by which something should have happened to it. One that has moved on meanwhile is looked
at again later; one that has not gets its effects again, which is harmless for those that are under way after all.
"""

import logging
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from a2a_serverless.app.expire import Expiry, expire
from a2a_serverless.app.ports import Clock, DueTasks, TaskStore
from a2a_serverless.app.relay import Relay, relay_change
from a2a_serverless.core.head import Head
from a2a_serverless.errors import Conflict
from a2a_serverless.types import TaskKey

LOOK_AGAIN: Final = timedelta(minutes=1)
_BATCH: Final = 100

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Sweeper:
    """What tasks are put back with."""

    tasks: TaskStore
    due: DueTasks
    relay: Relay
    expiry: Expiry
    clock: Clock


@dataclass(frozen=True, slots=True)
class Swept:
    """What one sweep found: how many tasks were looked at, and which were put back and why."""

    looked_at: int
    repaired: tuple[tuple[str, str], ...]


def sweep(sweeper: Sweeper) -> Swept:
    """Look at the tasks whose time has come, and put back what is stuck."""
    now = sweeper.clock()
    keys = sweeper.due.due_before(now, limit=_BATCH)
    found = [(key.task_id, why) for key in keys if (why := _look(sweeper, key, now))]
    for task_id, why in found:
        log.warning("swept", extra={"task_id": task_id, "why": why})
    return Swept(len(keys), tuple(found))


def _look(sweeper: Sweeper, key: TaskKey, now: datetime) -> str:
    """Put one task back if it is stuck; answers why it was, or nothing."""
    head = sweeper.tasks.head(key, now=now)
    if head is None:
        return ""
    why = stuck(head, now)
    if why == "wait overdue" and head.wait is not None:
        expire(sweeper.expiry, key, head.wait.number)
    elif why:
        relay_change(sweeper.relay, None, head)
    _postpone(sweeper, head, now)
    return why


def _postpone(sweeper: Sweeper, head: Head, now: datetime) -> None:
    try:
        sweeper.due.postpone(head, None if head.is_over else _look_again(head, now))
    except Conflict:
        log.info("the task moved on while it was swept", extra={"task_id": head.key.task_id})


def _look_again(head: Head, now: datetime) -> datetime:
    if head.wait is not None and head.wait_token:
        return max(head.wait.until, now) + LOOK_AGAIN
    return now + LOOK_AGAIN


def stuck(head: Head, now: datetime) -> str:
    """Why a task does not go on by itself; nothing if it does."""
    if head.is_over:
        return ""
    if head.wait is not None:
        return _stuck_wait(head, now)
    if head.lease is not None:
        return "runner died" if head.lease.until < now else ""
    return "turn not taken"


def _stuck_wait(head: Head, now: datetime) -> str:
    wait = head.wait
    if wait is not None and wait.until + LOOK_AGAIN < now:
        return "wait overdue"
    return "" if head.wait_token else "wait not held"
