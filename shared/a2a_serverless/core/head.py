"""The head of a task: everything decisions need, in one value that is written by one conditional write.

What is long (history, artifacts) is in the journal; a head only counts it and carries its end along.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any, Self

from a2a_serverless.core.journal import Entry, fold
from a2a_serverless.core.lifecycle import is_terminal
from a2a_serverless.types import (
    Artifact,
    Caller,
    JsonObject,
    Message,
    Task,
    TaskKey,
    TaskState,
    TaskStatus,
    timestamp_text,
)

WAIT_EXTENSION_URI = "https://a2a-serverless.dev/ext/wait/v1"
"""Key in a task's metadata: `{"until": timestamp}`, the deadline of the question it waits with."""

PUSH_NUDGE_KEY = "https://a2a-serverless.dev/ext/push-nudge/v1"
"""Key in the metadata of a nudge, and of the task it speaks of: `{"seq": text}`, the version of the change."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """The times and counts that decisions keep to. The deployment may set them; the defaults are the product's."""

    lease: timedelta = timedelta(seconds=30)
    """How long a runner may be silent before another takes over."""
    attempts: int = 3
    """How often a turn may kill its worker before its task fails."""
    retention: timedelta = timedelta(days=30)
    """How long a task is kept after its terminal state."""
    retry_window: timedelta = timedelta(hours=1)
    """How long a repeated send is taken for a retry."""
    longest_wait: timedelta = timedelta(days=364)
    """A Standard execution lives a year at most."""
    push_configs: int = 10
    """Webhooks per task."""
    webhook_hosts: int = 20
    """Hosts that an owner may point webhooks at within an hour: nobody scans or floods others through us."""
    memory_bytes: int = 16_384
    """The JSON that an agent may keep between turns."""

    @property
    def longest_question(self) -> timedelta:
        """How long a question may be open: never longer than tasks are kept."""
        return min(self.longest_wait, self.retention)


class WaitKind(StrEnum):
    """What is waited for."""

    INPUT = "input"
    AUTH = "auth"


class TurnTrigger(StrEnum):
    """Why a turn runs."""

    MESSAGE = "message"
    """The caller said something."""
    CALLBACK = "callback"
    """Somebody outside A2A used the callback address."""
    EXPIRED = "expired"
    """The deadline of a question passed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wait:
    """The task is parked until an answer or a deadline."""

    number: int
    """Counts the waits of the task; names the execution that holds this one."""
    kind: WaitKind
    since: datetime
    until: datetime
    remind: tuple[timedelta, ...] = ()
    """When to nudge again, counted from `since`, ascending, before `until`."""


@dataclass(frozen=True, slots=True)
class Lease:
    """One runner has the task until then, unless it says it is alive."""

    until: datetime


@dataclass(frozen=True, slots=True)
class LastSend:
    """The newest message the task accepted: the same again within the window is a retry, not a message."""

    fingerprint: str
    at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Head:
    """Where a task stands. `version` rises by one with every committed change; 0 is not stored yet."""

    key: TaskKey
    context_id: str
    caller: Caller
    """Whose authority the newest message carries."""
    accepts: tuple[str, ...] = ()
    """Media types that the caller takes results in, as he last said; none if he never did."""
    status: TaskStatus
    created_at: datetime
    version: int = 0
    entries: int = 0
    """How long the journal is."""
    turn: int = 0
    """The last turn that began."""
    turn_due: int = 0
    """The turn that should run, or the last that did."""
    trigger: TurnTrigger = TurnTrigger.MESSAGE
    """Why the turn that is due runs."""
    attempt: int = 0
    """How often the current turn began."""
    fence: int = 0
    """Rises with every lease: a runner with an older number has lost the task."""
    lease: Lease | None = None
    turn_from: int = 0
    """Length of the journal when the current turn began for the first time."""
    read_to: int = 0
    """Length of the journal that ended turns have seen."""
    shown_to: int = 0
    """Length of the journal that the current turn was given."""
    spoken_to: int = 0
    """Length of the journal up to and with the newest message of the caller."""
    waits: int = 0
    wait: Wait | None = None
    wait_token: str = ""
    trace: str = ""
    """The trace context (W3C) of the message that the task goes on with, to be passed on; empty if it had none."""
    nudge_seq: int = 0
    """The version of the newest change that a partner hears of; 0 while there was none."""
    push: tuple[str, ...] = ()
    """Ids of the push configs."""
    memory: JsonObject = field(default_factory=dict)
    """What the agent keeps between turns."""
    last_send: LastSend | None = None
    expires_at: datetime | None = None
    notice_due: bool = False
    """The agent is still to be told that its task was canceled."""
    tail: tuple[Entry, ...] = ()
    """The newest entries, which travel with the head; the store alone fills and seals it."""
    sealed: str = ""
    """The newest sealed segment of the journal, which precedes the tail; a name that only the store understands."""

    @property
    def state(self) -> TaskState:
        """The state of the status."""
        return self.status.state

    @property
    def is_over(self) -> bool:
        """Whether nothing can follow."""
        return is_terminal(self.state)

    @property
    def has_unread(self) -> bool:
        """Whether a message came after what the current turn was given."""
        return self.spoken_to > self.shown_to

    def but(self, **changes: Any) -> Self:
        """A copy with some fields replaced."""
        return replace(self, **changes)


@dataclass(frozen=True, slots=True)
class Change:
    """A decided change: to be written if the task still is at `before.version`, or to be decided again.

    `before` is None for a new task. `after.version` is one more than before.
    """

    before: Head | None
    after: Head
    entries: tuple[Entry, ...] = ()


@dataclass(frozen=True, slots=True)
class Record:
    """A task read whole: its head and every entry of its journal."""

    head: Head
    entries: Sequence[Entry]

    def task(self, *, history_length: int | None = None, artifacts: bool = True) -> Task:
        """The Task of the specification.

        Args:
            history_length: None for all messages, else at most that many of the newest (SPEC 3.2.4).
            artifacts: whether to include them.
        """
        folded = fold(self.entries)
        history = _newest(folded.history, history_length)
        shown = folded.artifacts if artifacts else ()
        return task_of(self.head, history=history, artifacts=shown, metadata=folded.metadata)


def _newest(history: tuple[Message, ...], length: int | None) -> tuple[Message, ...]:
    if length is None:
        return history
    return history[-length:] if length > 0 else ()


def task_of(
    head: Head,
    *,
    history: tuple[Message, ...] = (),
    artifacts: tuple[Artifact, ...] = (),
    metadata: JsonObject | None = None,
) -> Task:
    """The Task: what the head knows of it, with what its journal adds."""
    return Task(
        id=head.key.task_id,
        context_id=head.context_id,
        status=head.status,
        artifacts=artifacts,
        history=history,
        metadata=_shown_metadata(head, metadata),
    )


_OF_THE_KIT = frozenset({WAIT_EXTENSION_URI, PUSH_NUDGE_KEY})


def _shown_metadata(head: Head, said: JsonObject | None) -> JsonObject | None:
    """What the agent said of the task, with the deadline it waits for and the number its newest nudge carries.

    These two are the kit's to say: an agent that gives back the task it was given says what they were.
    """
    metadata = {name: value for name, value in (said or {}).items() if name not in _OF_THE_KIT}
    if head.wait is not None:
        metadata[WAIT_EXTENSION_URI] = {"until": timestamp_text(head.wait.until)}
    if head.nudge_seq:
        metadata[PUSH_NUDGE_KEY] = {"seq": str(head.nudge_seq)}
    return metadata or None
