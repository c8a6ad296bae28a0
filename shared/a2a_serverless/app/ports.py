"""What the use cases need from outside. Each port has an adapter for AWS and one in memory, held to one suite.

A port names what goes through it and loads none of that: whoever calls it has it already.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Final, Protocol

if TYPE_CHECKING:
    from a2a_serverless.core.delivery_endpoint import EndpointHealth
    from a2a_serverless.core.delivery_state import DeliveryState
    from a2a_serverless.core.head import Change, Head, Record, Wait
    from a2a_serverless.core.journal import Entry
    from a2a_serverless.core.push import PushConfig, PushSecrets
    from a2a_serverless.types import JsonObject, Owner, Scope, TaskKey, TaskState, TaskStatus

Clock = Callable[[], datetime]
"""The time now, aware, in UTC."""
Ids = Callable[[], str]
"""A new unique id: letters, digits and hyphens, at most 36 characters."""
Pause = Callable[[float], None]
"""Wait for some seconds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AttemptRecord:
    """One line of the delivery log: no secret, no body."""

    at: datetime
    message_id: str
    seq: int
    attempt: int
    result: str
    """The class of the outcome: `delivered`, `timeout`, `server_error`, `superseded`, …"""
    status: int = 0
    """The HTTP status, 0 without an answer."""
    milliseconds: int = 0
    key_id: str = ""
    next_at: datetime | None = None
    is_closing: bool = False
    """No attempt: the nudge is over, and `result` says how."""
    is_test: bool = False
    """About a test that the owner or the operator asked for; `queued` when he did."""


@dataclass(frozen=True, slots=True)
class Position:
    """Where a page of a list ended: behind this task in (status time, id), newest first."""

    status_time: datetime
    task_id: str
    total: int
    """How many tasks the first page counted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ListQuery:
    """Which tasks of a scope, newest status first, ties by id, descending (SPEC 3.1.4)."""

    scope: Scope
    page_size: int
    after: Position | None = None
    context_id: str = ""
    state: TaskState | None = None
    status_since: datetime | None = None
    now: datetime
    """Tasks that expired by then are not there."""


@dataclass(frozen=True, slots=True)
class Listed:
    """A task as the list index knows it."""

    key: TaskKey
    context_id: str
    status: TaskStatus


@dataclass(frozen=True, slots=True)
class ListPage:
    """One page, where it ended (None: it was the last), and how many tasks match in all."""

    tasks: tuple[Listed, ...]
    end: Position | None
    total: int


@dataclass(frozen=True, slots=True)
class SendClaim:
    """Which task the newest send of a kind made."""

    task_id: str
    mine: bool
    """Whether this very call claimed it."""


class TaskStore(Protocol):
    """Tasks, by scope. A task of another scope is simply not there."""

    def claim_send(
        self, scope: Scope, fingerprint: str, *, task_id: str, instead_of: str = "", until: datetime, now: datetime
    ) -> SendClaim:
        """Say that a send with this fingerprint makes `task_id`, unless another claimed it and is not `instead_of`.

        The claim is forgotten at `until`.
        """

    def create(self, change: Change) -> Head:
        """Store a new task.

        Raises:
            Conflict: the task exists.
            EntryTooLarge: the message is larger than can be kept.
        """

    def commit(self, change: Change) -> Head:
        """Write a change of a stored task, journal first; answers the head as stored.

        Raises:
            Conflict: the task is no longer at `change.before.version`.
            EntryTooLarge: an entry is larger than can be kept.
        """

    def head(self, key: TaskKey, *, now: datetime) -> Head | None:
        """The head, strongly consistent; None if there is no such task or it expired."""

    def read(self, key: TaskKey, *, now: datetime) -> Record | None:
        """The head and the whole journal, consistent with each other."""

    def entries_from(self, head: Head, position: int) -> Sequence[Entry]:
        """The entries of the journal from `position` (0 is the first) to the end that `head` counts."""

    def list(self, query: ListQuery) -> ListPage:
        """One page of a scope's tasks. Costs what the scope holds, never what others do."""


class PartStore(Protocol):
    """Content that is too large for the journal of its task, by task and by the hash of its bytes."""

    def put(self, key: TaskKey, digest: str, content: bytes) -> None:
        """Keep content; the same again changes nothing."""

    def get(self, key: TaskKey, digest: str) -> bytes:
        """What is kept.

        Raises:
            LookupError: nothing is.
        """

    def link(self, key: TaskKey, digest: str, *, media_type: str, filename: str) -> str:
        """An address where whoever has it can read the content, for `LINK_LIFETIME`."""

    def forget(self, key: TaskKey) -> int:
        """Delete whatever is kept for a task; answers how much that was."""


LINK_LIFETIME: Final = timedelta(minutes=10)


@dataclass(frozen=True, slots=True)
class ContextState:
    """What an agent keeps for a context of one owner; version 0 is not stored yet."""

    value: JsonObject
    version: int = 0


class ContextStore(Protocol):
    """Small JSON by scope and contextId: a guessed contextId of another owner finds nothing."""

    def context(self, scope: Scope, context_id: str) -> ContextState:
        """What is kept; empty when nothing is."""

    def save_context(self, scope: Scope, context_id: str, state: ContextState, *, expires_at: datetime) -> None:
        """Write `state.value` over version `state.version`.

        Raises:
            Conflict: another task of the context wrote meanwhile.
        """


class PushStore(Protocol):
    """The webhooks of a task."""

    def put_config(self, key: TaskKey, config: PushConfig) -> None:
        """Store or replace a config by its id."""

    def config(self, key: TaskKey, config_id: str) -> PushConfig | None:
        """One config."""

    def configs(self, key: TaskKey) -> tuple[PushConfig, ...]:
        """All configs of a task, oldest first."""

    def delete_config(self, key: TaskKey, config_id: str) -> None:
        """Forget a config and its secrets; no such config is fine."""


class WebhookHosts(Protocol):
    """At how many hosts an owner points webhooks."""

    def admit(self, owner: Owner, host: str, *, most: int, now: datetime) -> bool:
        """Count a host to this hour of its owner; False when it would be one more than `most`."""


class Sealer(Protocol):
    """Encryption of secrets at rest, bound to the task and config they belong to."""

    def seal(self, secrets: PushSecrets, key: TaskKey, config_id: str) -> bytes:
        """Ciphertext that only `open` with the same key and id turns back."""

    def open(self, sealed: bytes, key: TaskKey, config_id: str) -> PushSecrets:
        """The secrets in the clear."""


class TurnQueue(Protocol):
    """Work for `run_turn`."""

    def enqueue_turn(self, key: TaskKey, turn: int) -> None:
        """The turn is due. Harmless when repeated."""

    def enqueue_cancel_notice(self, key: TaskKey) -> None:
        """The task was canceled: the agent may clean up."""


class NudgeQueue(Protocol):
    """Work for `notify`."""

    def enqueue_nudge(
        self, key: TaskKey, config_id: str, seq: int, *, delay_seconds: int = 0, endpoint: str = ""
    ) -> None:
        """Tell this webhook that the task is at `seq`, after at most 900 seconds of delay.

        `endpoint` is the host and port it leads to: a crowd for one must not hold up the others. Who would have to read
        the config to know leaves it out.
        """

    def enqueue_ping(self, key: TaskKey, config_id: str, message_id: str) -> None:
        """Send this webhook a test under that id."""


class LaterNudges(Protocol):
    """Nudges that come back later than the queue reaches: at most one for each webhook."""

    def bring_back(self, key: TaskKey, config_id: str, seq: int, *, at: datetime) -> None:
        """Enqueue the nudge then, in place of whatever was to come back for this webhook. `at` is a whole second."""

    def cancel(self, key: TaskKey, config_id: str) -> None:
        """Nothing is to come back for this webhook; that nothing was is fine."""


class WaitRunner(Protocol):
    """The state machine that holds waits."""

    def start_wait(self, key: TaskKey, wait: Wait) -> None:
        """Hold a wait. Harmless when repeated: the execution is named by task and number."""

    def end_wait(self, token: str) -> None:
        """Let go of a wait that was answered. One that is over already is fine."""


class DeliveryStore(Protocol):
    """What is known of the nudges of each config."""

    def webhook(self, key: TaskKey, config_id: str) -> tuple[PushConfig, DeliveryState] | None:
        """A config and the state of its nudges, read as one; None if there is no such config."""

    def delivery(self, key: TaskKey, config_id: str) -> DeliveryState:
        """The state as stored, or a fresh one."""

    def save_delivery(self, key: TaskKey, config_id: str, state: DeliveryState) -> None:
        """Write a state whose generation is one more than the stored one.

        Raises:
            Conflict: the stored generation is another: somebody was faster.
        """

    def log_attempt(self, key: TaskKey, config_id: str, attempt: AttemptRecord) -> None:
        """Append a line to the delivery log. Kept 14 days."""

    def attempts(self, key: TaskKey, config_id: str, *, limit: int = 1_000) -> tuple[AttemptRecord, ...]:
        """The newest lines of the delivery log of a config, oldest first."""


class Endpoints(Protocol):
    """How each endpoint (host:port) is doing, whoever's configs lead there. A lost update only slows its guard; its
    places are counted exactly, however many senders ask for one at once."""

    def endpoint(self, name: str) -> EndpointHealth:
        """What is known; fresh when nothing is."""

    def enter(self, name: str, *, places: int, until: datetime) -> str | None:
        """Take one of so many places, until then at most. Answers what names it; None when all are taken."""

    def save_endpoint(self, name: str, health: EndpointHealth, *, leaving: str = "") -> None:
        """Keep what is known, except which places are taken, and give back the place of that name."""


class Receipts(Protocol):
    """Which version of a task its owner has fetched: a nudge for it need not be repeated."""

    def mark_fetched(self, key: TaskKey, seq: int) -> None:
        """The owner has the task at `seq`. Lower numbers than the stored one change nothing."""

    def fetched(self, key: TaskKey) -> int:
        """The newest number fetched; 0 for none."""


class DueTasks(Protocol):
    """Tasks that something should have happened to by now, by a sparse index, never a scan."""

    def due_before(self, moment: datetime, *, limit: int) -> tuple[TaskKey, ...]:
        """Tasks whose time has come, earliest first."""

    def postpone(self, head: Head, until: datetime | None) -> None:
        """Look at the task again then; None for never. Does not touch its version.

        Raises:
            Conflict: the task moved on since `head` was read.
        """


class DeadLetters(Protocol):
    """Where deliveries go that nobody could work off, with the reason."""

    def bury_turn(self, key: TaskKey, turn: int, reason: str) -> None:
        """A turn that killed its worker each time."""

    def bury_nudge(self, key: TaskKey, config_id: str, seq: int, reason: str) -> None:
        """A nudge whose attempts are exhausted."""
