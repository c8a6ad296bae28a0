"""Callback addresses: a person or a system outside A2A resumes a parked task, once.

An address is a random capability. The store keeps only its hash, bound to one wait of one task; the wait's end, by
whatever means, makes it void. So there is no key to leak or to rotate, and nothing of the task is in the address.
"""

import hashlib
import hmac
import logging
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from a2a_serverless.app.ports import Clock, Ids, TaskStore
from a2a_serverless.core import waits
from a2a_serverless.core.head import Change, Head, Rules, TurnTrigger
from a2a_serverless.errors import Conflict
from a2a_serverless.types import JsonObject, Message, Part, Role, TaskKey

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class CallbackGrant:
    """What an address opens: wait `number` of a task, for whoever has the secret with this hash."""

    key: TaskKey
    number: int
    secret_hash: str
    expires_at: datetime


class CallbackStore(Protocol):
    """Grants by their public id."""

    def put_grant(self, grant_id: str, grant: CallbackGrant) -> None:
        """Keep a grant until it expires."""

    def grant(self, grant_id: str, *, now: datetime) -> CallbackGrant | None:
        """The grant, if there is one that has not expired."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Callbacks:
    """Makes addresses."""

    store: CallbackStore
    public_url: str
    clock: Clock
    ids: Ids
    secret: Callable[[], str]
    """A new secret: at least 256 bits, URL-safe."""
    rules: Rules

    def address(self, key: TaskKey, number: int) -> str:
        """An address that resumes wait `number` of the task."""
        grant_id, secret = self.ids(), self.secret()
        until = self.clock() + self.rules.longest_wait
        self.store.put_grant(grant_id, CallbackGrant(key, number, _hash(secret), until))
        return f"{self.public_url}/callbacks/{grant_id}.{secret}"


@dataclass(frozen=True, slots=True)
class Resumed:
    """The task goes on."""


@dataclass(frozen=True, slots=True)
class Void:
    """The address opens nothing: never made, used, expired, or the task moved on. Which of these is not told."""


def check(store: CallbackStore, tasks: TaskStore, token: str, *, now: datetime) -> CallbackGrant | None:
    """The grant of an address that still opens its wait."""
    grant_id, _, secret = token.partition(".")
    grant = store.grant(grant_id, now=now) if grant_id and secret else None
    if grant is None or not hmac.compare_digest(grant.secret_hash, _hash(secret)):
        return None
    head = tasks.head(grant.key, now=now)
    if head is None or not _is_open(head, grant.number, now):
        return None
    return grant


def use(
    store: CallbackStore,
    tasks: TaskStore,
    token: str,
    posted: JsonObject,
    *,
    ids: Ids,
    rules: Rules,
    now: datetime,
) -> Resumed | Void:
    """Resume the task with what was posted, as data of a message that only the next turn sees as such."""
    grant = check(store, tasks, token, now=now)
    if grant is None:
        return Void()
    message = Message(message_id=ids(), role=Role.USER, parts=(Part(data=posted),))
    for _ in range(3):
        head = tasks.head(grant.key, now=now)
        if head is None or not _is_open(head, grant.number, now):
            return Void()
        try:
            tasks.commit(_resumed(head, grant, message, rules=rules, now=now))
        except Conflict:
            continue
        log.info("a callback resumed the task", extra={"task_id": grant.key.task_id, "wait": grant.number})
        return Resumed()
    raise Conflict("other writers came first each time")


def _resumed(head: Head, grant: CallbackGrant, message: Message, *, rules: Rules, now: datetime) -> Change:
    said = message.but(task_id=grant.key.task_id, context_id=head.context_id)
    return waits.resume(head, grant.number, TurnTrigger.CALLBACK, message=said, rules=rules, now=now)


def _is_open(head: Head, number: int, now: datetime) -> bool:
    return head.wait is not None and head.wait.number == number and now < head.wait.until


def _hash(secret: str) -> str:
    return hashlib.sha256(secret.encode(errors="surrogatepass")).hexdigest()
