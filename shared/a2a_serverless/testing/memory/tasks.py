"""Tasks in memory: what `aws.task_table` does, without AWS. Held to the same contract suite."""

import math
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from a2a_serverless.app.ports import Listed, ListPage, ListQuery, Position, SendClaim
from a2a_serverless.core.due import due_at, is_due_anew
from a2a_serverless.core.head import Change, Head, Record
from a2a_serverless.core.journal import Entry
from a2a_serverless.errors import Conflict
from a2a_serverless.testing.memory.push import MemoryPush
from a2a_serverless.types import Scope, TaskKey, timestamp_text

Committed = Callable[[Head | None, Head], None]


@dataclass(frozen=True)
class _Claim:
    task_id: str
    until: datetime


class MemoryTasks(MemoryPush):
    """TaskStore and DueTasks, and what `MemoryPush` is.

    Attributes:
        changes: every committed change of a head, as (old, new): what the stream would carry.
        on_commit: called with each change once it is stored; None for nothing.
    """

    def __init__(self, on_commit: Committed | None = None) -> None:
        super().__init__()
        self.changes: list[tuple[Head | None, Head]] = []
        self.on_commit = on_commit
        self._lock = threading.RLock()
        self._heads: dict[TaskKey, Head] = {}
        self._journals: dict[TaskKey, tuple[Entry, ...]] = {}
        self._claims: dict[tuple[Scope, str], _Claim] = {}
        self._due: dict[TaskKey, datetime] = {}

    # TaskStore

    def claim_send(
        self, scope: Scope, fingerprint: str, *, task_id: str, instead_of: str = "", until: datetime, now: datetime
    ) -> SendClaim:
        with self._lock:
            held = self._claims.get((scope, fingerprint))
            if held is not None and held.until > now and held.task_id not in {instead_of, task_id}:
                return SendClaim(held.task_id, mine=False)
            self._claims[scope, fingerprint] = _Claim(task_id, until)
            return SendClaim(task_id, mine=True)

    def create(self, change: Change) -> Head:
        with self._lock:
            if change.after.key in self._heads:
                raise Conflict(f"task {change.after.key.task_id} exists")
            return self._write(change)

    def commit(self, change: Change) -> Head:
        before = change.before
        if before is None:
            raise ValueError("a change without a head before it is for create")
        with self._lock:
            stored = self._heads.get(before.key)
            if stored is None or stored.version != before.version:
                raise Conflict(f"task {before.key.task_id} is no longer at version {before.version}")
            return self._write(change)

    def head(self, key: TaskKey, *, now: datetime) -> Head | None:
        with self._lock:
            head = self._heads.get(key)
        return head if head is not None and _is_there(head, now) else None

    def read(self, key: TaskKey, *, now: datetime) -> Record | None:
        with self._lock:
            head = self.head(key, now=now)
            return None if head is None else Record(head, self._journals[key])

    def entries_from(self, head: Head, position: int) -> Sequence[Entry]:
        with self._lock:
            return self._journals.get(head.key, ())[position : head.entries]

    def list(self, query: ListQuery) -> ListPage:
        with self._lock:
            found = [head for head in self._heads.values() if _matches(head, query)]
        found.sort(key=_listed, reverse=True)
        rest = [head for head in found if query.after is None or _listed(head) < _position_text(query.after)]
        page = rest[: query.page_size]
        total = query.after.total if query.after is not None else len(found)
        end = _position(page[-1], total) if len(rest) > query.page_size else None
        return ListPage(tuple(Listed(head.key, head.context_id, head.status) for head in page), end, total)

    # DueTasks

    def due_before(self, moment: datetime, *, limit: int) -> tuple[TaskKey, ...]:
        with self._lock:
            due = sorted((at, key.task_id, key) for key, at in self._due.items() if at <= moment)
        return tuple(key for _, _, key in due[:limit])

    def postpone(self, head: Head, until: datetime | None) -> None:
        with self._lock:
            stored = self._heads.get(head.key)
            if stored is None or stored.version != head.version:
                raise Conflict(f"task {head.key.task_id} is no longer at version {head.version}")
            self._set_due(head.key, until)

    def due_at(self, key: TaskKey) -> datetime | None:
        """When the task will be looked at, for a test to see."""
        return self._due.get(key)

    # What the state machine writes

    def store_token(self, key: TaskKey, number: int, token: str) -> bool:
        """What `await_input` does first: leave its token, if the task still waits with that number."""
        with self._lock:
            head = self._heads[key]
            if head.wait is None or head.wait.number != number:
                return False
            self._store(head.but(wait_token=token))
            return True

    def remind(self, key: TaskKey, number: int) -> bool:
        """What `await_input` does for a reminder: a new version of the same state."""
        with self._lock:
            head = self._heads[key]
            if head.wait is None or head.wait.number != number:
                return False
            self._store(head.but(version=head.version + 1, nudge_seq=head.version + 1))
            return True

    def keys(self) -> tuple[TaskKey, ...]:
        """Every task that is stored, oldest first."""
        return tuple(self._heads)

    def forget(self, key: TaskKey) -> None:
        """What the table's TTL does one day."""
        with self._lock:
            self._heads.pop(key, None)
            self._journals.pop(key, None)
            self._due.pop(key, None)

    def _write(self, change: Change) -> Head:
        after, before = _as_stored(change.after), change.before
        if before is not None:
            after = after.but(wait_token=self._token_after(after))
        self._journals[after.key] = self._journals.get(after.key, ()) + change.entries
        if is_due_anew(before, after):
            self._set_due(after.key, due_at(after))
        self._store(after)
        return after

    def _token_after(self, after: Head) -> str:
        """A token that was stored after the writer read the head stays, for as long as its wait is on."""
        stored = self._heads[after.key]
        same_wait = stored.wait is not None and after.wait is not None and stored.wait.number == after.wait.number
        return stored.wait_token if same_wait else ""

    def _store(self, head: Head) -> None:
        old = self._heads.get(head.key)
        self._heads[head.key] = head
        self.changes.append((old, head))
        if self.on_commit is not None:
            self.on_commit(old, head)

    def _set_due(self, key: TaskKey, at: datetime | None) -> None:
        if at is None:
            self._due.pop(key, None)
        else:
            self._due[key] = at


def _as_stored(head: Head) -> Head:
    """The table's TTL counts whole seconds."""
    if head.expires_at is None:
        return head
    return head.but(expires_at=datetime.fromtimestamp(math.ceil(head.expires_at.timestamp()), UTC))


def _is_there(head: Head, now: datetime) -> bool:
    return head.expires_at is None or head.expires_at > now


def _matches(head: Head, query: ListQuery) -> bool:
    moment = head.status.timestamp or head.created_at
    return (
        head.key.scope == query.scope
        and _is_there(head, query.now)
        and (not query.context_id or head.context_id == query.context_id)
        and (query.state is None or head.state is query.state)
        and (query.status_since is None or moment >= query.status_since)
    )


def _listed(head: Head) -> str:
    return f"{timestamp_text(head.status.timestamp or head.created_at)}#{head.key.task_id}"


def _position_text(position: Position) -> str:
    return f"{timestamp_text(position.status_time)}#{position.task_id}"


def _position(head: Head, total: int) -> Position:
    return Position(head.status.timestamp or head.created_at, head.key.task_id, total)


def with_status_time(head: Head, moment: datetime) -> Head:
    """The head with its status as of another time; for tests that build lists."""
    return replace(head, status=head.status.but(timestamp=moment))
