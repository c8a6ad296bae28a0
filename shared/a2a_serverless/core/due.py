"""When the sweep should look at a task: the rule by which a store keeps its index of such tasks."""

from datetime import datetime, timedelta
from typing import Final

from a2a_serverless.core.head import Head

DUE_AFTER: Final = timedelta(minutes=1)


def is_due_anew(before: Head | None, after: Head) -> bool:
    """Whether a change begins something that somebody must see done: a turn, a wait, an end, or webhooks to be told.

    Few changes do, so that a running task costs the index nothing.
    """
    if before is None or _begun(before) != _begun(after):
        return True
    return before.nudge_seq != after.nudge_seq and before.entries == after.entries


def _begun(head: Head) -> tuple[object, ...]:
    return head.wait, head.is_over, head.push, head.notice_due


def due_at(head: Head) -> datetime | None:
    """A minute after the status changed: by then what had to follow did. The sweep knows what comes next, and moves it
    there; a task that is over is looked at until its webhooks and its agent were told, and never (None) if it has
    nobody to tell."""
    if head.is_over and not head.push and not head.notice_due:
        return None
    return (head.status.timestamp or head.created_at) + DUE_AFTER
