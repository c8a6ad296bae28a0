"""What a message does: it makes a task, or it goes to one that is alive."""

import hashlib
from dataclasses import dataclass, replace
from datetime import datetime

from a2a_serverless.core.advance import advance, status
from a2a_serverless.core.head import Change, Head, LastSend, Rules, TurnTrigger
from a2a_serverless.core.journal import Spoken
from a2a_serverless.core.lifecycle import INTERRUPTED
from a2a_serverless.errors import InvalidParams, UnsupportedOperation
from a2a_serverless.types import (
    Caller,
    TaskKey,
    TaskPushNotificationConfig,
    TaskState,
    TaskStatus,
    compact_json,
)


@dataclass(frozen=True, slots=True)
class Retry:
    """The message was accepted before: the task stands as it is, and nothing is written."""

    head: Head


def fingerprint(spoken: Spoken, push: TaskPushNotificationConfig | None = None) -> str:
    """What makes two sends the same: id, target and content. JSON-RPC ids mean nothing here.

    A webhook, metadata and extensions that came along are content: the same words with others are no retry, and they
    must not be lost.
    """
    content = [
        spoken.message.to_json(),
        *([push.to_json()] if push is not None else []),
        *([compact_json({"metadata": spoken.metadata})] if spoken.metadata else []),
        *([compact_json({"extensions": sorted(spoken.extensions)})] if spoken.extensions else []),
    ]
    return hashlib.sha256(f"[{','.join(content)}]".encode()).hexdigest()


def new_task(
    key: TaskKey,
    spoken: Spoken,
    *,
    context_id: str,
    caller: Caller,
    accepts: tuple[str, ...] = (),
    sent: str,
    push: tuple[str, ...],
    trace: str = "",
    rules: Rules,
    now: datetime,
) -> Change:
    """A task that begins with a message: SUBMITTED, its first turn due. `sent` is the fingerprint of the send."""
    head = Head(
        key=key,
        context_id=context_id,
        caller=caller,
        accepts=accepts,
        status=TaskStatus(state=TaskState.SUBMITTED, timestamp=now),
        created_at=now,
    )
    return advance(
        head,
        _addressed(spoken, key.task_id, context_id),
        rules=rules,
        now=now,
        turn_due=1,
        push=push,
        last_send=LastSend(sent, now),
        trace=trace,
    )


def accept(
    head: Head,
    spoken: Spoken,
    *,
    caller: Caller,
    accepts: tuple[str, ...] = (),
    sent: str,
    push: tuple[str, ...] = (),
    trace: str = "",
    rules: Rules,
    now: datetime,
) -> Change | Retry:
    """A message to a task: the answer it waits for, or one more to be read by the next turn.

    `sent` is the fingerprint of the send, `accepts` are the media types asked for, `push` are ids of push configs that
    came with the message, `trace` is the trace context of its call.

    Raises:
        InvalidParams: the message names another context than the task's (SPEC 3.4.3).
        UnsupportedOperation: the task has ended (SPEC 3.1.1).
    """
    if spoken.message.context_id not in {"", head.context_id}:
        raise InvalidParams.of("message.contextId", "the task belongs to another context; leave contextId out")
    if is_retry(head, sent, rules=rules, now=now):
        return Retry(head)
    if head.is_over:
        raise UnsupportedOperation(
            f"the task has ended ({head.state.value}); send a new message without taskId", taskId=head.key.task_id
        )
    addressed = _addressed(spoken, head.key.task_id, head.context_id)
    heard = {
        "caller": caller,
        "accepts": accepts or head.accepts,
        "last_send": LastSend(sent, now),
        "push": tuple(dict.fromkeys(head.push + push)),
        "trace": trace,
    }
    if head.state in INTERRUPTED:
        return advance(
            head,
            addressed,
            status(TaskState.WORKING, now),
            rules=rules,
            now=now,
            wait=None,
            wait_token="",
            turn_due=head.turn + 1,
            trigger=TurnTrigger.MESSAGE,
            **heard,
        )
    return advance(head, addressed, rules=rules, now=now, **heard)


def is_retry(head: Head, sent: str, *, rules: Rules, now: datetime) -> bool:
    """Whether the same send, repeated within the window, is the newest thing the caller did to the task."""
    last = head.last_send
    return last is not None and last.fingerprint == sent and now - last.at < rules.retry_window


def _addressed(spoken: Spoken, task_id: str, context_id: str) -> Spoken:
    """As stored: with the ids that the caller may have left out (SPEC 3.4)."""
    return replace(spoken, message=spoken.message.but(task_id=task_id, context_id=context_id))
