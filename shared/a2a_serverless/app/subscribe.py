"""Streams: a window on the journal that every subscriber sees alike, the Task first, closed by the rules of SPEC 3.1.6.

Nothing is pushed: the journal is read again until the task ends, asks for input, or the window closes. The caller
then subscribes again.
"""

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Final

from a2a_serverless.app.host import Host
from a2a_serverless.app.send import BLOCKING_SECONDS, SendRequest, submit
from a2a_serverless.core.head import Head, Record
from a2a_serverless.core.journal import Entry, Spoken, StatusChanged, event_of
from a2a_serverless.core.large_parts import is_same
from a2a_serverless.core.lifecycle import is_interrupted
from a2a_serverless.errors import TaskNotFound, UnsupportedOperation
from a2a_serverless.types import Caller, Message, StreamEvent, TaskKey, TaskState, TaskStatus

_POLL_SECONDS: Final = 0.1
_PARKED_SECONDS: Final = 10.0
"""A window on a task that waits for its own caller: seldom does anything happen, and each second of it is paid for."""


def stream(host: Host, caller: Caller, request: SendRequest) -> Iterator[StreamEvent]:
    """SendStreamingMessage: the durable write happens before this returns, so errors come before any event.

    Shows the task as it is with the message, then what follows; the same send repeated sees all of that again.

    Raises:
        A2AError: the request was refused and nothing was changed.
    """
    began = host.clock()
    accepted = submit(host, caller, request)
    if isinstance(accepted, Message):
        return iter((accepted,))
    record = _record(host, accepted.key)
    position = _behind(request.message, record.entries)
    return _window(host, record, position, began, history_length=request.configuration.history_length)


def subscribe(host: Host, caller: Caller, task_id: str) -> Iterator[StreamEvent]:
    """SubscribeToTask: the Task as it is now, then what follows.

    Raises:
        TaskNotFound: the caller has no such task.
        UnsupportedOperation: it has ended; nothing would follow.
    """
    record = _record(host, TaskKey(host.scope(caller), task_id))
    if record.head.is_over:
        raise UnsupportedOperation(
            f"the task has ended ({record.head.state.value}); read it with GetTask", taskId=task_id
        )
    return _window(host, record, len(record.entries), host.clock(), history_length=None)


def _record(host: Host, key: TaskKey) -> Record:
    record = host.tasks.read(key, now=host.clock())
    if record is None:
        raise TaskNotFound
    return record


def _behind(message: Message, entries: Sequence[Entry]) -> int:
    """Where a stream begins: behind the message that asked for it, and what its acceptance alone did."""
    at = max(
        (position for position, entry in enumerate(entries) if isinstance(entry, Spoken) and _is(entry, message)),
        default=len(entries) - 1,
    )
    before = _newest_status(entries[:at])
    resumed = before is not None and is_interrupted(before.state)
    return at + 2 if resumed else at + 1


def _is(entry: Spoken, message: Message) -> bool:
    said = entry.message
    if said.message_id != message.message_id or len(said.parts) != len(message.parts):
        return False
    return all(is_same(one, other) for one, other in zip(said.parts, message.parts, strict=True))


def _newest_status(entries: Sequence[Entry]) -> TaskStatus | None:
    return next((entry.status for entry in reversed(entries) if isinstance(entry, StatusChanged)), None)


def _window(
    host: Host, record: Record, position: int, began: datetime, *, history_length: int | None
) -> Iterator[StreamEvent]:
    """The task as of `position`, then each event behind it, until the stream must close."""
    yield _as_of(record, position).task(history_length=history_length)
    head = record.head
    entries = record.entries[position:]
    while True:
        for entry in entries:
            event = event_of(entry, task_id=head.key.task_id, context_id=head.context_id)
            if event is not None:
                yield event
        position += len(entries)
        if head.is_over or _asks(entries):
            return
        newer = _next(host, head, began)
        if newer is None:
            return
        entries, head = host.tasks.entries_from(newer, position), newer


def _as_of(record: Record, position: int) -> Record:
    """The record as it was when the journal was that long; what the head alone knows of then is left out."""
    if position >= len(record.entries):
        return record
    entries = record.entries[:position]
    begun = TaskStatus(state=TaskState.SUBMITTED, timestamp=record.head.created_at)
    return Record(record.head.but(status=_newest_status(entries) or begun, wait=None, nudge_seq=0), entries)


def _asks(entries: Sequence[Entry]) -> bool:
    """Whether the newest status among these asks for input; an open question alone closes nothing."""
    newest = _newest_status(entries)
    return newest is not None and newest.state is TaskState.INPUT_REQUIRED


def _next(host: Host, head: Head, began: datetime) -> Head | None:
    """The head once it moved on, or None when the window closes first."""
    patience = _PARKED_SECONDS if head.state is TaskState.INPUT_REQUIRED else BLOCKING_SECONDS
    while (host.clock() - began).total_seconds() < patience:
        host.pause(_POLL_SECONDS)
        newer = host.tasks.head(head.key, now=host.clock())
        if newer is None:
            return None
        if newer.entries > head.entries:
            return newer
    return None
