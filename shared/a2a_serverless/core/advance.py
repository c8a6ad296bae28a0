"""The one way a head moves on: entries are appended, the lifecycle is asked, the version rises by one.

Every decision ends here, so that no rule of a change can be forgotten by one of them.
"""

from datetime import datetime
from typing import Any

from a2a_serverless.core import lifecycle
from a2a_serverless.core.head import Change, Head, Rules
from a2a_serverless.core.journal import ArtifactChanged, Entry, Spoken, StatusChanged
from a2a_serverless.errors import IllegalChange
from a2a_serverless.types import JsonObject, Message, TaskState, TaskStatus


def status(
    state: TaskState, now: datetime, message: Message | None = None, *, metadata: JsonObject | None = None
) -> StatusChanged:
    """An entry for a new status as of now."""
    return StatusChanged(TaskStatus(state=state, message=message, timestamp=now), metadata)


def advance(head: Head, *entries: Entry, rules: Rules, now: datetime, **fields: Any) -> Change:
    """Append `entries` to the journal of `head` and set `fields`, as one change.

    Raises:
        IllegalChange: the task is over, or a status may not follow the one before it. Nothing was changed.
    """
    if head.is_over and entries:
        raise IllegalChange(f"nothing may follow {head.state.name}")
    newest = _newest_status(head, entries)
    version = head.version + 1
    length = head.entries + len(entries)
    moved: dict[str, Any] = {"version": version, "entries": length, "status": newest}
    if any(isinstance(entry, Spoken) for entry in entries):
        moved["spoken_to"] = head.entries + _end_of_speech(entries)
    if any(_is_told(entry) for entry in entries):
        moved["nudge_seq"] = version
    if lifecycle.is_terminal(newest.state) and not head.is_over:
        moved |= {"lease": None, "wait": None, "wait_token": "", "expires_at": now + rules.retention}
    return Change(head if head.version else None, head.but(**(fields | moved)), entries)


def _newest_status(head: Head, entries: tuple[Entry, ...]) -> TaskStatus:
    newest = head.status
    for entry in entries:
        if isinstance(entry, StatusChanged):
            lifecycle.check(newest.state, entry.status.state)
            newest = entry.status
    return newest


def _end_of_speech(entries: tuple[Entry, ...]) -> int:
    return max(position for position, entry in enumerate(entries, start=1) if isinstance(entry, Spoken))


def _is_told(entry: Entry) -> bool:
    """A partner hears of a new status and of a finished result, not of each chunk or of his own words."""
    match entry:
        case StatusChanged():
            return True
        case ArtifactChanged(append=append, last_chunk=last_chunk):
            return last_chunk or not append
        case _:
            return False
