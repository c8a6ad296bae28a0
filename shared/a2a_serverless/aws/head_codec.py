"""A task's head as an item, and back: the format of `HEAD`.

Attributes of their own are those that an index needs, that the state machine writes (`settings`), or that a condition
names; the rest is one compact JSON text.
"""

import json
import zlib
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from a2a_serverless.aws import journal_codec
from a2a_serverless.aws.items import (
    Attribute,
    Item,
    binary,
    bytes_in,
    milliseconds,
    moment_of,
    number,
    number_in,
    text,
    text_in,
    ttl,
    ttl_in,
)
from a2a_serverless.aws.keys import owner_text, task_key, task_text
from a2a_serverless.aws.settings import (
    DUE_INDEX_PARTITION,
    DUE_INDEX_SORT,
    DUE_SHARDS,
    HEAD,
    NUDGE_SEQ,
    OWNER_INDEX_PARTITION,
    OWNER_INDEX_SORT,
    PARTITION_KEY,
    SORT_KEY,
    TTL_ATTRIBUTE,
    VERSION,
    WAIT_NUMBER,
    WAIT_REMINDED,
    WAIT_TOKEN,
)
from a2a_serverless.core.due import due_at, is_due_anew
from a2a_serverless.core.head import Head, LastSend, Lease, TurnTrigger, Wait, WaitKind
from a2a_serverless.core.journal import Entry, StatusChanged
from a2a_serverless.core.large_parts import has_stored
from a2a_serverless.types import Caller, JsonObject, Message, Owner, TaskKey, TaskState, TaskStatus, compact_json
from a2a_serverless.types.model import timestamp_text

STATE: Final = "state"
CONTEXT: Final = "context_id"
STATUS: Final = "status"
STATUS_IN: Final = "status_in"
"""The segment that holds the newest status, when its message is too long for the head and no longer in the tail."""
REST: Final = "head"
MEMORY: Final = "memory"
TAIL: Final = "tail"
SEALED: Final = "sealed"
WRITER: Final = "writer"
WRITER_BEFORE: Final = "writer_before"

LONGEST_STATUS: Final = 400
"""Bytes of a status message that the list index carries; a longer one is read from the journal."""
IN_JOURNAL: Final = "+"
"""Stands for a status message that is longer."""
OF_THE_TASK: Final = "="
"""Precedes a status message whose task and context are the task's own, and left out."""


def head_key(key: TaskKey) -> dict[str, Attribute]:
    """Where the head of a task is."""
    return {PARTITION_KEY: text(task_text(key)), SORT_KEY: text(HEAD)}


def new_item(head: Head, written: "Written") -> dict[str, Attribute]:
    """The whole item of a new task."""
    return {
        **head_key(head.key),
        OWNER_INDEX_PARTITION: text(owner_text(head.key.scope)),
        CONTEXT: text(head.context_id),
        **{name: value for name, value in changed(None, head, written).items() if value is not None},
    }


@dataclass(frozen=True, slots=True)
class Written:
    """How a journal is stored: what stays in the head, what precedes it, and where the newest status is."""

    tail: tuple[Entry, ...]
    sealed: str
    shown: TaskStatus | None
    """The newest status, if the head's own attributes tell it whole; None if its entry in the journal does."""
    status_in: str = ""
    """The new segment that holds the newest status, if one does."""
    body: bytes = b""
    """The tail as it is stored."""


def tail_of(head: Head, tail: tuple[Entry, ...]) -> Written:
    """The journal's newest entries kept in the head."""
    shown = _shown(head, is_in_journal=any(isinstance(entry, StatusChanged) for entry in tail))
    body = journal_codec.encode(tail, shown=shown) if tail else b""
    return Written(tail, head.sealed, shown, body=body)


def sealed_in(head: Head, segment: str, *, status_in: str) -> Written:
    """All entries sealed, the newest in `segment`, the newest status in `status_in` if it was among them."""
    return Written((), segment, _shown(head, is_in_journal=bool(status_in)), status_in)


def _shown(head: Head, *, is_in_journal: bool) -> TaskStatus | None:
    message = head.status.message
    if message is None or not is_in_journal:
        return head.status
    is_short = not has_stored(message.parts) and len(_message_text(message, head).encode()) <= LONGEST_STATUS
    return head.status if is_short else None


def changed(before: Head | None, after: Head, written: Written) -> dict[str, Attribute | None]:
    """The attributes that a change sets, or with None removes. Those of the list index are among them only when the
    status changes, those of the index `due` only as `_due` says."""
    return {
        VERSION: number(after.version),
        NUDGE_SEQ: number(after.nudge_seq),
        REST: text(compact_json(_rest(after))),
        TAIL: binary(written.body) if written.body else None,
        SEALED: text(written.sealed) if written.sealed else None,
        **_status(before, after, written),
        **_expiry(before, after),
        **_memory(before, after),
        **_wait(before, after),
        **_due(before, after),
    }


def _status(before: Head | None, after: Head, written: Written) -> dict[str, Attribute | None]:
    shown = written.shown
    moved: dict[str, Attribute | None] = {}
    if written.status_in:
        moved[STATUS_IN] = text(written.status_in) if shown is None else None
    if before is not None and before.status == after.status:
        return moved
    message = after.status.message
    inline = _message_text(message, after) if message is not None and shown is not None else None
    return {
        STATE: text(after.state.name),
        OWNER_INDEX_SORT: text(listed_text(after.status.timestamp or after.created_at, after.key.task_id)),
        STATUS: None if message is None else text(inline or IN_JOURNAL),
        STATUS_IN: None,
        **moved,
    }


def _expiry(before: Head | None, after: Head) -> dict[str, Attribute | None]:
    if before is not None and before.expires_at == after.expires_at:
        return {}
    return {TTL_ATTRIBUTE: ttl(after.expires_at) if after.expires_at is not None else None}


def _memory(before: Head | None, after: Head) -> dict[str, Attribute | None]:
    if before is not None and before.memory == after.memory:
        return {}
    if not after.memory:
        return {MEMORY: None}
    return {MEMORY: binary(journal_codec.compressed(compact_json(after.memory).encode()))}


def _wait(before: Head | None, after: Head) -> dict[str, Attribute | None]:
    """`wait_number` is there exactly while a wait is on. The token is the state machine's to write: a writer that did
    not see it must not take it away while the wait goes on."""
    number_before = before.wait.number if before is not None and before.wait is not None else 0
    number_after = after.wait.number if after.wait is not None else 0
    if number_before == number_after:
        return {}
    return {WAIT_NUMBER: number(number_after) if number_after else None, WAIT_TOKEN: None, WAIT_REMINDED: None}


def _due(before: Head | None, after: Head) -> dict[str, Attribute | None]:
    """Where the task stands in the index `due`."""
    if not is_due_anew(before, after):
        return {}
    at = due_at(after)
    if at is None:
        return {DUE_INDEX_PARTITION: None, DUE_INDEX_SORT: None}
    return {DUE_INDEX_PARTITION: text(due_shard(task_text(after.key))), DUE_INDEX_SORT: text(due_text(at))}


def due_shard(partition: str) -> str:
    """Which partition of the index `due` a task is in."""
    return str(zlib.crc32(partition.encode()) % DUE_SHARDS)


def due_text(moment: datetime) -> str:
    """A time as the index `due` sorts it."""
    return timestamp_text(moment)


def listed_text(moment: datetime, task_id: str) -> str:
    """Where a task stands in its owner's list: by status time, then by id."""
    return f"{timestamp_text(moment)}#{task_id}"


def _rest(head: Head) -> JsonObject:
    """What no index, condition or state machine needs, members at their default left out."""
    rest: JsonObject = {
        "created": milliseconds(head.created_at),
        "caller": _caller(head.caller, head.key),
        "accepts": list(head.accepts),
        "entries": head.entries,
        "turn": head.turn,
        "due": head.turn_due,
        "trigger": "" if head.trigger is TurnTrigger.MESSAGE else head.trigger.value,
        "attempt": head.attempt,
        "fence": head.fence,
        "lease": milliseconds(head.lease.until) if head.lease is not None else 0,
        "from": head.turn_from,
        "read": head.read_to,
        "shown": head.shown_to,
        "spoken": head.spoken_to,
        "waits": head.waits,
        "wait": _wait_text(head.wait) if head.wait is not None else None,
        "push": list(head.push),
        "notice": head.notice_due,
        "trace": head.trace,
        "sent": [head.last_send.fingerprint, milliseconds(head.last_send.at)] if head.last_send is not None else None,
    }
    return {name: value for name, value in rest.items() if value}


def _caller(caller: Caller, key: TaskKey) -> JsonObject:
    told: JsonObject = {}
    if caller.owner != key.scope.owner:
        told["owner"] = [caller.owner.subject, caller.owner.tenant]
    if caller.actors:
        told["actors"] = list(caller.actors)
    if caller.scopes:
        told["scopes"] = sorted(caller.scopes)
    return told


def _wait_text(wait: Wait) -> JsonObject:
    remind = [at // timedelta(milliseconds=1) for at in wait.remind]
    times = {"since": milliseconds(wait.since), "until": milliseconds(wait.until)}
    return {"kind": wait.kind.value, **times, **({"remind": remind} if remind else {})}


def decode_head(item: Item, *, status: TaskStatus | None = None) -> Head:
    """The head that an item holds.

    `status` is the newest status as its segment tells it, where the item says that one does (`segment_of_status`).
    """
    told = status or told_status(item)
    tail = journal_codec.decode(bytes_in(item, TAIL), shown=told) if TAIL in item else ()
    if status is None and text_in(item, STATUS) == IN_JOURNAL:
        told = newest_status(tail) or told
    memory = json.loads(journal_codec.expanded(bytes_in(item, MEMORY))) if MEMORY in item else {}
    return _head(item, told).but(tail=tail, memory=memory)


def decode_outline(item: Item) -> Head:
    """The head without the journal's tail, the agent's memory and a long status message: what effects are read from."""
    return _head(item, told_status(item))


def segment_of_status(item: Item) -> str:
    """The segment that holds the newest status; empty when the head holds it."""
    return text_in(item, STATUS_IN)


def newest_status(entries: tuple[Entry, ...]) -> TaskStatus | None:
    """The last status among these."""
    return next((entry.status for entry in reversed(entries) if isinstance(entry, StatusChanged)), None)


def told_status(item: Item) -> TaskStatus:
    """The status that an item, or its entry in the list index, tells; a long message is left out."""
    since, _, task_id = text_in(item, OWNER_INDEX_SORT).partition("#")
    message = _message_of(text_in(item, STATUS), task_id=task_id, context_id=text_in(item, CONTEXT))
    return TaskStatus(state=TaskState[text_in(item, STATE)], message=message, timestamp=datetime.fromisoformat(since))


def _message_text(message: Message, head: Head) -> str:
    """A status message; its task and context are left out where they are the task's own, as they nearly always are."""
    if (message.task_id, message.context_id) == (head.key.task_id, head.context_id):
        return OF_THE_TASK + message.but(task_id="", context_id="").to_json()
    return message.to_json()


def _message_of(told: str, *, task_id: str, context_id: str) -> Message | None:
    if not told or told == IN_JOURNAL:
        return None
    if told.startswith(OF_THE_TASK):
        ids = f'"taskId":{json.dumps(task_id)},"contextId":{json.dumps(context_id)},'
        told = f"{{{ids}{told[len(OF_THE_TASK) + 1 :]}"
    return Message.model_validate_json(told)


def _head(item: Item, status: TaskStatus) -> Head:
    rest = json.loads(text_in(item, REST))
    key = task_key(text_in(item, PARTITION_KEY))
    lease, sent = rest.get("lease"), rest.get("sent")
    return Head(
        key=key,
        context_id=text_in(item, CONTEXT),
        caller=_caller_of(rest.get("caller", {}), key),
        accepts=tuple(rest.get("accepts", ())),
        status=status,
        created_at=moment_of(rest["created"]),
        version=number_in(item, VERSION),
        entries=rest.get("entries", 0),
        turn=rest.get("turn", 0),
        turn_due=rest.get("due", 0),
        trigger=TurnTrigger(rest.get("trigger", TurnTrigger.MESSAGE)),
        attempt=rest.get("attempt", 0),
        fence=rest.get("fence", 0),
        lease=Lease(moment_of(lease)) if lease else None,
        turn_from=rest.get("from", 0),
        read_to=rest.get("read", 0),
        notice_due=rest.get("notice", False),
        shown_to=rest.get("shown", 0),
        spoken_to=rest.get("spoken", 0),
        waits=rest.get("waits", 0),
        wait=_wait_of(rest.get("wait"), number_in(item, WAIT_NUMBER)),
        wait_token=text_in(item, WAIT_TOKEN),
        trace=rest.get("trace", ""),
        nudge_seq=number_in(item, NUDGE_SEQ),
        push=tuple(rest.get("push", ())),
        last_send=LastSend(sent[0], moment_of(sent[1])) if sent else None,
        expires_at=ttl_in(item, TTL_ATTRIBUTE),
        sealed=text_in(item, SEALED),
    )


def _caller_of(told: JsonObject, key: TaskKey) -> Caller:
    owner = Owner(*told["owner"]) if "owner" in told else key.scope.owner
    return Caller(owner, tuple(told.get("actors", ())), frozenset(told.get("scopes", ())))


def _wait_of(told: JsonObject | None, number_: int) -> Wait | None:
    """A wait is on exactly while its number is there, whatever the rest says."""
    if told is None or not number_:
        return None
    return Wait(
        number=number_,
        kind=WaitKind(told["kind"]),
        since=moment_of(told["since"]),
        until=moment_of(told["until"]),
        remind=tuple(timedelta(milliseconds=at) for at in told.get("remind", ())),
    )
