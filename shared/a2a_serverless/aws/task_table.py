"""Tasks in DynamoDB: one partition per task, its head in one item, its journal in the head and in sealed segments.

Why no writer can harm what another wrote:

- A segment is immutable. Its name is a hash of its content and of the name of the segment before it, so a put of a name
  that is there writes the very same bytes: nothing is ever overwritten, by whomever and whenever it is written.
- A head names the newest segment, and so, by the chain, every one before it. Readers take what the chain names and
  ignore everything else in the partition. So a segment counts exactly if a committed head leads to it.
- Segments are written before the head that leads to them, and a head is written only if the stored version is the one
  that the writer read (`version = :seen`), so heads form one sequence. Of two writers at one version, the api appending
  a message while the runner flushes, one commits; the other's segments are named by no head, and it decides again.
- A writer that dies between its segments and its head leaves segments that nobody counts. They cost their storage until
  the task is forgotten, and nothing else. A writer that was fenced off and comes back late still has the old version,
  and fails the same condition.
- A reader may see a head and then segments that came later: he ignores them. He cannot miss one that the head counts,
  since it was written before; only a task that is being deleted shows gaps, and is then not there.

An answer that was lost is not a lost race. botocore repeats a request whose answer did not come; if the first one was
carried out, the second fails the condition. Each write carries a mark of its writer, and a refused one that finds its
own mark, or its own right below that of the next writer, has been carried out.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from a2a_serverless.app.ports import Ids, ListPage, ListQuery, PartStore, SendClaim
from a2a_serverless.aws import head_codec, journal_codec, task_list
from a2a_serverless.aws.head_codec import WRITER, WRITER_BEFORE, Written, head_key
from a2a_serverless.aws.items import Attribute, Item, bytes_in, moment_of, number, text, text_in, ttl
from a2a_serverless.aws.journal_codec import Segment
from a2a_serverless.aws.keys import fits, owner_text, task_key, task_text
from a2a_serverless.aws.settings import (
    DUE_INDEX,
    DUE_INDEX_PARTITION,
    DUE_INDEX_SORT,
    DUE_SHARDS,
    HEAD,
    PARTITION_KEY,
    SORT_KEY,
    TTL_ATTRIBUTE,
    VERSION,
)
from a2a_serverless.aws.table import NOT_THERE, Condition, Question, Refused, Table
from a2a_serverless.core.head import Change, Head, Record
from a2a_serverless.core.journal import Entry, StatusChanged
from a2a_serverless.core.large_parts import digest_of, moved_out
from a2a_serverless.errors import Conflict, EntryTooLarge
from a2a_serverless.types import Scope, TaskKey, TaskStatus

JOURNAL: Final = "JOURNAL#"
KEPT: Final = "kept"
"""What a segment has in place of its body when that is too large for an item."""
RETRY: Final = "RETRY#"

LONGEST_TAIL: Final = 3 * 1024
"""Bytes of entries that travel with the head: beyond that each heartbeat would pay for them again."""

_READS: Final = 3


class TaskTable:
    """TaskStore and DueTasks on DynamoDB.

    `ids` marks each write; its last twelve characters must tell writers apart. `parts` keeps what is too large for an
    item; without it that is refused.
    """

    def __init__(self, table: Table, *, ids: Ids, parts: PartStore | None = None) -> None:
        self._table = table
        self._ids = ids
        self._parts = parts

    def claim_send(
        self, scope: Scope, fingerprint: str, *, task_id: str, instead_of: str = "", until: datetime, now: datetime
    ) -> SendClaim:
        """Say that a send makes `task_id`, unless another task has it; asking again for the same one is fine."""
        claim = {
            PARTITION_KEY: text(owner_text(scope)),
            SORT_KEY: text(RETRY + fingerprint),
            "task_id": text(task_id),
            TTL_ATTRIBUTE: ttl(until),
        }
        free_or_forgotten_or_replaced = Condition(
            f"attribute_not_exists({PARTITION_KEY}) OR {TTL_ATTRIBUTE} <= :now OR task_id IN (:mine, :instead_of)",
            {":now": _seconds(now), ":mine": text(task_id), ":instead_of": text(instead_of or task_id)},
        )
        try:
            self._table.put(claim, only_if=free_or_forgotten_or_replaced)
        except Refused as refused:
            return SendClaim(text_in(refused.stored, "task_id"), mine=False)
        return SendClaim(task_id, mine=True)

    def create(self, change: Change) -> Head:
        """Store a new task: one write, unless its first message is too long for the head.

        Raises:
            Conflict: the task exists.
            EntryTooLarge: the message is larger than can be kept.
        """
        plan = planned(self._lightened(change))
        self._seal(plan)
        mark = self._mark()
        item = {**head_codec.new_item(plan.head, plan.written), WRITER: text(mark)}
        try:
            self._table.put(item, only_if=NOT_THERE)
        except Refused as refused:
            if not _was_ours(refused, mark):
                raise Conflict(f"task {plan.head.key.task_id} exists") from refused
        return plan.head

    def commit(self, change: Change) -> Head:
        """Write a change of a stored task: new segments, if the tail is full, then the head.

        Raises:
            Conflict: the task is no longer at `change.before.version`.
            EntryTooLarge: an entry is larger than can be kept.
        """
        plan = planned(self._lightened(change))
        self._seal(plan)
        self._write_head(plan)
        return plan.head

    def _lightened(self, change: Change) -> Change:
        """The change without the parts that are too large for a journal. They are kept first: a part of a change that
        is then lost costs its storage until the task is forgotten, and the same part again is the same object."""
        if self._parts is None:
            return change
        entries, contents = moved_out(change.entries)
        if not contents:
            return change
        for each in contents:
            self._parts.put(change.after.key, each.digest, each.content)
        statuses = [entry.status for entry in entries if isinstance(entry, StatusChanged)]
        after = change.after.but(status=statuses[-1]) if statuses else change.after
        return Change(change.before, after, entries)

    def _seal(self, plan: "Plan") -> None:
        for segment in plan.segments:
            if len(segment.body) > journal_codec.LARGEST_BODY:
                self._table.put(self._seal_apart(plan.head.key, segment))
            else:
                self._table.put(segment_item(plan.head.key, segment))

    def _seal_apart(self, key: TaskKey, segment: Segment) -> dict[str, Attribute]:
        """A segment of one entry that does not fit an item, without parts large enough to be kept apart."""
        if self._parts is None:
            raise EntryTooLarge(
                f"an entry of {len(segment.body)} bytes is too large to store: at most {journal_codec.LARGEST_BODY}"
            )
        digest = digest_of(segment.body)
        self._parts.put(key, digest, segment.body)
        return {**_segment_key(key, segment.name), "before": text(segment.before), KEPT: text(digest)}

    def _entries_in(self, key: TaskKey, segment: Item) -> tuple[Entry, ...]:
        if KEPT not in segment:
            return journal_codec.decode(bytes_in(segment, "body"))
        if self._parts is None:
            raise RuntimeError(f"a segment of task {key.task_id} is kept apart, and there is nothing to read it from")
        return journal_codec.decode(self._parts.get(key, text_in(segment, KEPT)))

    def _status_in(self, key: TaskKey, segment: Item | None) -> TaskStatus | None:
        return head_codec.newest_status(self._entries_in(key, segment)) if segment is not None else None

    def _write_head(self, plan: "Plan") -> None:
        before, mark = plan.before, self._mark()
        if before is None:
            raise ValueError("a change without a head before it is for create")
        changes = head_codec.changed(before, plan.head, plan.written)
        still_at_version = Condition(f"{VERSION} = :seen", {":seen": number(before.version)})
        try:
            self._table.update(
                head_key(before.key),
                {**changes, WRITER: text(mark)},
                only_if=still_at_version,
                copied={WRITER_BEFORE: WRITER},
            )
        except Refused as refused:
            if not _was_ours(refused, mark):
                raise Conflict(f"task {before.key.task_id} is no longer at version {before.version}") from refused

    def _mark(self) -> str:
        return self._ids()[-12:]

    def head(self, key: TaskKey, *, now: datetime) -> Head | None:
        """The head: one read, and a second one when the status message is long and no longer in the tail."""
        if not fits(task_text(key)):
            return None
        item = self._table.get(head_key(key))
        if item is None or _has_expired(item, now):
            return None
        segment = head_codec.segment_of_status(item)
        if not segment:
            return head_codec.decode_head(item)
        sealed = self._table.get(_segment_key(key, segment))
        return head_codec.decode_head(item, status=self._status_in(key, sealed)) if sealed is not None else None

    def read(self, key: TaskKey, *, now: datetime) -> Record | None:
        """The head and its whole journal: one Query, more beyond 1 MB."""
        if not fits(task_text(key)):
            return None
        for _ in range(_READS):
            head_and_segments = _between(key, HEAD, f"{JOURNAL}~")
            items = list(self._table.all(head_and_segments))
            if not items or text_in(items[0], SORT_KEY) != HEAD or _has_expired(items[0], now):
                return None
            chain = _chain(items[1:], text_in(items[0], head_codec.SEALED), down_to=0)
            if chain is not None:
                return _record(items[0], [entry for one in chain for entry in self._entries_in(key, one)])
        raise RuntimeError(f"the journal of task {key.task_id} has a gap")

    def entries_from(self, head: Head, position: int) -> Sequence[Entry]:
        """The entries from `position` on: those in the head's tail cost nothing, else the segments that hold them."""
        sealed_to = head.entries - len(head.tail)
        if position >= sealed_to:
            return head.tail[position - sealed_to :]
        needed = _between(head.key, f"{JOURNAL}{position + 1:08d}", JOURNAL + head.sealed)
        chain = _chain(self._table.all(needed), head.sealed, down_to=position)
        if chain is None:
            return ()  # the task is being forgotten
        sealed = [entry for item in chain for entry in self._entries_in(head.key, item)]
        return (*sealed[position - _first(chain[0]) :], *head.tail)

    def list(self, query: ListQuery) -> ListPage:
        """One page of a scope's tasks, from the list index."""
        return task_list.page(self._table, query, statuses=self._long_statuses)

    def _long_statuses(self, keys: "Sequence[TaskKey]") -> "dict[TaskKey, TaskStatus]":
        """The statuses of tasks whose message is too long for the index, as their heads tell them."""
        found: dict[TaskKey, TaskStatus] = {}
        for item in self._table.get_many([head_key(key) for key in keys]):
            key, segment = task_key(text_in(item, PARTITION_KEY)), head_codec.segment_of_status(item)
            sealed = self._table.get(_segment_key(key, segment)) if segment else None
            found[key] = head_codec.decode_head(item, status=self._status_in(key, sealed)).status
        return found

    def due_before(self, moment: datetime, *, limit: int) -> tuple[TaskKey, ...]:
        """Tasks whose time has come, earliest first: one Query per partition of the index."""
        found: list[tuple[str, str]] = []
        for shard in range(DUE_SHARDS):
            due = Condition(
                f"{DUE_INDEX_PARTITION} = :shard AND {DUE_INDEX_SORT} <= :moment",
                {":shard": text(str(shard)), ":moment": text(head_codec.due_text(moment))},
            )
            page = self._table.query(Question(where=due, index=DUE_INDEX), limit=limit)
            found += [(text_in(item, DUE_INDEX_SORT), text_in(item, PARTITION_KEY)) for item in page.items]
        return tuple(task_key(partition) for _, partition in sorted(found)[:limit])

    def postpone(self, head: Head, until: datetime | None) -> None:
        """Look at the task again then; None for never.

        Raises:
            Conflict: the task moved on since `head` was read.
        """
        shard = head_codec.due_shard(task_text(head.key))
        changes: dict[str, Attribute | None] = {
            DUE_INDEX_PARTITION: text(shard) if until is not None else None,
            DUE_INDEX_SORT: text(head_codec.due_text(until)) if until is not None else None,
        }
        still_at_version = Condition(f"{VERSION} = :seen", {":seen": number(head.version)})
        try:
            self._table.update(head_key(head.key), changes, only_if=still_at_version)
        except Refused as refused:
            raise Conflict(f"task {head.key.task_id} is no longer at version {head.version}") from refused

    def forget(self, key: TaskKey) -> int:
        """Delete what is left of a task whose head the TTL took: segments, webhooks, delivery log. Answers how many
        items that were. DynamoDB's TTL deletes for free, but only what knows its end when it is written."""
        everything = Condition(f"{PARTITION_KEY} = :task", {":task": text(task_text(key))})
        left = list(self._table.all(Question(where=everything, names=(PARTITION_KEY, SORT_KEY))))
        if any(text_in(item, SORT_KEY) == HEAD for item in left):
            return 0
        apart = self._parts.forget(key) if self._parts is not None else 0
        for item in left:
            self._table.delete({name: item[name] for name in (PARTITION_KEY, SORT_KEY)})
        return len(left) + apart


@dataclass(frozen=True, slots=True)
class Plan:
    """What a commit writes, in this order: segments, then the head."""

    before: Head | None
    head: Head
    written: Written
    segments: tuple[Segment, ...]


def planned(change: Change) -> Plan:
    """How a change is stored. While the newest entries are few they stay in the head's tail; once they are too many
    all of them are sealed, since a tail is paid for with every write of the head."""
    head = change.after
    tail = (*(change.before.tail if change.before is not None else ()), *change.entries)
    written = head_codec.tail_of(head, tail)
    if len(written.body) <= LONGEST_TAIL:
        return Plan(change.before, _as_stored(head, written), written, ())
    segments = journal_codec.seal(tail, after=head.sealed)
    written = head_codec.sealed_in(head, segments[-1].name, status_in=_status_segment(segments, tail))
    return Plan(change.before, _as_stored(head, written), written, segments)


def _as_stored(head: Head, written: Written) -> Head:
    """The head as it will be read: with its tail, and its expiry in whole seconds."""
    expires_at = moment_of(int(ttl(head.expires_at)["N"]) * 1000) if head.expires_at is not None else None
    return head.but(tail=written.tail, sealed=written.sealed, expires_at=expires_at)


def _status_segment(segments: Sequence[Segment], entries: Sequence[Entry]) -> str:
    """The segment with the newest status, if any of these entries is one."""
    offset = segments[0].first
    statuses = [at for at, entry in enumerate(entries, start=offset) if isinstance(entry, StatusChanged)]
    return next((one.name for one in segments if statuses and one.first <= statuses[-1] < one.end), "")


def segment_item(key: TaskKey, segment: Segment) -> dict[str, Attribute]:
    """A segment as an item."""
    return {**_segment_key(key, segment.name), "before": text(segment.before), "body": {"B": segment.body}}


def _segment_key(key: TaskKey, name: str) -> dict[str, Attribute]:
    return {PARTITION_KEY: text(task_text(key)), SORT_KEY: text(JOURNAL + name)}


def _between(key: TaskKey, first: str, last: str) -> Question:
    where = Condition(
        f"{PARTITION_KEY} = :task AND {SORT_KEY} BETWEEN :first AND :last",
        {":task": text(task_text(key)), ":first": text(first), ":last": text(last)},
    )
    return Question(where=where)


def _chain(items: Iterable[Item], newest: str, *, down_to: int) -> "list[Item] | None":
    """The segments from the one with entry `down_to` to `newest`, oldest first; None if one is missing."""
    by_name = {text_in(item, SORT_KEY).removeprefix(JOURNAL): item for item in items}
    chain: list[Item] = []
    name = newest
    while journal_codec.end_of(name) > down_to:
        item = by_name.get(name)
        if item is None:
            return None
        chain.append(item)
        name = text_in(item, "before")
    return chain[::-1]


def _first(segment: Item) -> int:
    return journal_codec.end_of(text_in(segment, "before"))


def _record(item: Item, sealed: Sequence[Entry]) -> Record:
    in_segment = head_codec.newest_status(tuple(sealed)) if head_codec.segment_of_status(item) else None
    head = head_codec.decode_head(item, status=in_segment)
    return Record(head, (*sealed, *head.tail))


def _has_expired(item: Item, now: datetime) -> bool:
    return TTL_ATTRIBUTE in item and int(item[TTL_ATTRIBUTE]["N"]) <= now.timestamp()


def _was_ours(refused: Refused, mark: str) -> bool:
    return mark in {text_in(refused.stored, WRITER), text_in(refused.stored, WRITER_BEFORE)}


def _seconds(now: datetime) -> Attribute:
    return number(int(now.timestamp()))
