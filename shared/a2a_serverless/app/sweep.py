"""sweep: whatever the stream, a queue or a crash dropped is found by an index and put back.

A task in the index has a time by which something should have happened to it. One that has moved on meanwhile is looked
at again later; one that has not gets its effects again, which is harmless for those that are under way after all.
"""

import logging
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final

from a2a_serverless.app.expire import Expiry, expire
from a2a_serverless.app.ports import Clock, DeliveryStore, DueTasks, TaskStore
from a2a_serverless.app.relay import Relay, relay_change
from a2a_serverless.core.delivery_state import DeliveryState
from a2a_serverless.core.head import Head, Wait
from a2a_serverless.errors import Conflict
from a2a_serverless.types import TaskKey

LOOK_AGAIN: Final = timedelta(minutes=1)
SCHEDULES_ARE_LATE: Final = timedelta(minutes=1)
"""By as much as that (EventBridge Scheduler): a nudge that one brings back is not lost before."""
_BATCH: Final = 100
_BATCHES: Final = 10
"""As many tasks as one sweep looks at within its minute; what is left comes first in the next."""

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Sweeper:
    """What tasks are put back with."""

    tasks: TaskStore
    due: DueTasks
    deliveries: DeliveryStore
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
    now, looked_at = sweeper.clock(), 0
    found: list[tuple[str, str]] = []
    for _ in range(_BATCHES):
        keys = sweeper.due.due_before(now, limit=_BATCH)
        looked_at += len(keys)
        found += [(key.task_id, why) for key in keys for why in _look(sweeper, key, now)]
        if len(keys) < _BATCH:
            break
    for task_id, why in found:
        log.warning("swept", extra={"task_id": task_id, "why": why})
    return Swept(looked_at, tuple(found))


def _look(sweeper: Sweeper, key: TaskKey, now: datetime) -> tuple[str, ...]:
    """Look after one task; answers what was put back. One that makes trouble must not keep the sweep from the rest."""
    try:
        head = sweeper.tasks.head(key, now=now)
        if head is None:
            return ()
        _postpone(sweeper, head, now)
        return _put_back(sweeper, head, now)
    except Exception:
        log.exception("a task could not be swept", extra={"task_id": key.task_id})
        return ()


def _put_back(sweeper: Sweeper, head: Head, now: datetime) -> tuple[str, ...]:
    why = stuck(head, now)
    if why is None:
        return _retell(sweeper, head, now)
    if why is Stuck.CANCEL_UNNOTICED:
        sweeper.relay.turns.enqueue_cancel_notice(head.key)
        return (why.value, *_retell(sweeper, head, now))
    if why is Stuck.WAIT_OVERDUE and head.wait is not None:
        expire(sweeper.expiry, head.key, head.wait.number)
    else:
        relay_change(sweeper.relay, None, head)
    return (why.value,)


def _retell(sweeper: Sweeper, head: Head, now: datetime) -> tuple[str, ...]:
    """Nudges that should be under way and are not, sent on their way again."""
    lost = [config for config in head.push if _is_untold(sweeper.deliveries.delivery(head.key, config), head, now)]
    for config in lost:
        sweeper.relay.nudges.enqueue_nudge(head.key, config, head.nudge_seq)
    return tuple(f"nudge lost: {config}" for config in lost)


def _is_untold(state: DeliveryState, head: Head, now: datetime) -> bool:
    if state.disabled is not None or state.settled_seq >= head.nudge_seq:
        return False
    due = state.pending.next_at if state.pending else _since(head)
    return due + _patience(state) < now


def _patience(state: DeliveryState) -> timedelta:
    """How long after its time a nudge may still be on its way."""
    return LOOK_AGAIN + (SCHEDULES_ARE_LATE if state.scheduled_for is not None else timedelta())


def _postpone(sweeper: Sweeper, head: Head, now: datetime) -> None:
    try:
        sweeper.due.postpone(head, _look_again(sweeper, head, now))
    except Conflict:
        log.info("the task moved on while it was swept", extra={"task_id": head.key.task_id})


def _look_again(sweeper: Sweeper, head: Head, now: datetime) -> datetime | None:
    """When there is something to look at again; None when the task has ended and everybody was told."""
    untold = [
        max(state.pending.next_at if state.pending else now, now) + _patience(state)
        for config in head.push
        if (state := sweeper.deliveries.delivery(head.key, config)).disabled is None
        and state.settled_seq < head.nudge_seq
    ]
    if untold:
        return min(untold)
    if head.is_over:
        return now + max(LOOK_AGAIN, now - _since(head)) if head.notice_due else None
    if head.wait is not None and head.wait_token:
        return max(head.wait.until, now) + LOOK_AGAIN
    return now + LOOK_AGAIN


class Stuck(StrEnum):
    """Why a task does not go on by itself."""

    TURN_NOT_TAKEN = "turn not taken"
    RUNNER_DIED = "runner died"
    WAIT_NOT_HELD = "wait not held"
    WAIT_OVERDUE = "wait overdue"
    CANCEL_UNNOTICED = "cancel not noticed"


def stuck(head: Head, now: datetime) -> Stuck | None:
    """Why a task does not go on by itself; None if it does, or moved so lately that it still may."""
    if head.is_over and not head.notice_due:
        return None
    if head.lease is not None:
        return Stuck.RUNNER_DIED if head.lease.until < now else None
    if now < _since(head) + LOOK_AGAIN:
        return None
    if head.notice_due:
        return Stuck.CANCEL_UNNOTICED
    if head.wait is not None:
        return _stuck_wait(head.wait, head.wait_token, now)
    return Stuck.TURN_NOT_TAKEN


def _since(head: Head) -> datetime:
    """When the task came to stand where it does."""
    return head.status.timestamp or head.created_at


def _stuck_wait(wait: Wait, token: str, now: datetime) -> Stuck | None:
    if wait.until + LOOK_AGAIN < now:
        return Stuck.WAIT_OVERDUE
    return None if token else Stuck.WAIT_NOT_HELD
