"""When the sweep should look at a task: the rule by which a store keeps its index of such tasks."""

from datetime import datetime, timedelta
from typing import Final

from a2a_serverless.core.head import Head

DUE_AFTER: Final = timedelta(minutes=1)


def is_due_anew(before: Head | None, after: Head) -> bool:
    """Whether a change begins something that somebody must see done: a turn, a wait, an end, or webhooks to be told.

    Few changes do, so that a running task costs the index nothing.
    """
    if before is None or (before.wait, before.is_over, before.push) != (after.wait, after.is_over, after.push):
        return True
    return before.nudge_seq != after.nudge_seq and before.entries == after.entries


def due_at(head: Head) -> datetime | None:
    """A minute after the status changed: by then what had to follow did. The sweep knows what comes next, and moves it
    there; a task that is over is looked at until its webhooks were told, and never (None) if it has none."""
    if head.is_over and not head.push:
        return None
    return (head.status.timestamp or head.created_at) + DUE_AFTER
