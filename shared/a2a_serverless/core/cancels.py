"""Canceling: one write, whatever the task does at the moment. Who runs it learns of it by its fence and its state."""

from datetime import datetime

from a2a_serverless.core.advance import advance, status
from a2a_serverless.core.head import Change, Head, Rules
from a2a_serverless.errors import TaskNotCancelable
from a2a_serverless.types import TaskState


def cancel(head: Head, *, notice: bool = False, rules: Rules, now: datetime) -> Change:
    """End the task as CANCELED. A retry of the send that made it is a new send from now on.

    `notice`: the agent wants to be told, to clean up.

    Raises:
        TaskNotCancelable: it has ended already (SPEC 3.1.5).
    """
    if head.is_over:
        raise TaskNotCancelable(f"the task has ended ({head.state.value})", taskId=head.key.task_id)
    return advance(
        head,
        status(TaskState.CANCELED, now),
        rules=rules,
        now=now,
        fence=head.fence + 1,
        last_send=None,
        notice_due=notice,
    )


def noticed(head: Head, *, rules: Rules, now: datetime) -> Change | None:
    """The agent was told; None if it was before."""
    return advance(head, rules=rules, now=now, notice_due=False) if head.notice_due else None
