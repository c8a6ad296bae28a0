"""Callback addresses: a person or a system outside A2A resumes a parked task, once.

An address is a random capability. The store keeps only its hash, bound to one run of one task: it opens the wait that
this very run ended with. The wait's end, by whatever means, makes it void, and a run that died or was overtaken took
its addresses along, so that nobody approves what he was not asked. There is no key to leak or to rotate, and nothing of
the task is in the address.
"""

import hashlib
import hmac
import logging
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Final, Protocol

from a2a_serverless.app.ports import Clock, Ids, TaskStore
from a2a_serverless.core import waits
from a2a_serverless.core.head import Change, Head, Rules, TurnTrigger, Wait
from a2a_serverless.core.masking import CALLBACK_KEY
from a2a_serverless.errors import Conflict
from a2a_serverless.types import JsonObject, Message, Part, Role, TaskKey

_TRIES: Final = 3
"""A parked task has few writers: its caller, who answers or cancels, and its deadline."""

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class CallbackGrant:
    """What an address opens: the wait that the run with this fence ended with, for whoever has the secret."""

    key: TaskKey
    fence: int
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

    def address(self, key: TaskKey, fence: int) -> str:
        """An address that resumes the wait which the run with this fence ends with."""
        grant_id, secret = self.ids(), self.secret()
        until = self.clock() + self.rules.longest_wait
        self.store.put_grant(grant_id, CallbackGrant(key, fence, _hash(secret), until))
        return f"{self.public_url}/callbacks/{grant_id}?{CALLBACK_KEY}={secret}"


def find(store: CallbackStore, grant_id: str, secret: str, *, now: datetime) -> CallbackGrant | None:
    """The grant of a genuine address, whether or not it still opens anything."""
    grant = store.grant(grant_id, now=now) if grant_id and secret else None
    if grant is None or not hmac.compare_digest(grant.secret_hash, _hash(secret)):
        return None
    return grant


def is_open(grant: CallbackGrant, tasks: TaskStore, *, now: datetime) -> bool:
    """Whether the address still opens its wait."""
    head = tasks.head(grant.key, now=now)
    return head is not None and _open_wait(head, grant, now) is not None


def use(grant: CallbackGrant, tasks: TaskStore, posted: JsonObject, *, ids: Ids, rules: Rules, now: datetime) -> bool:
    """Resume the task with what was posted, as data of a message that only the next turn sees as such; answers whether
    it goes on. It does not if the address was used or has expired, or if the task moved on.

    Raises:
        Conflict: others changed the task each time; the address still opens it.
    """
    message = Message(message_id=ids(), role=Role.USER, parts=(Part(data=posted),))
    for _ in range(_TRIES):
        head = tasks.head(grant.key, now=now)
        wait = _open_wait(head, grant, now) if head is not None else None
        if head is None or wait is None:
            return False
        try:
            tasks.commit(_resumed(head, wait, message, rules=rules, now=now))
        except Conflict:
            continue
        log.info("a callback resumed the task", extra={"task_id": grant.key.task_id, "wait": wait.number})
        return True
    raise Conflict(f"other writers came first {_TRIES} times on task {grant.key.task_id}")


def _resumed(head: Head, wait: Wait, message: Message, *, rules: Rules, now: datetime) -> Change:
    said = message.but(task_id=head.key.task_id, context_id=head.context_id)
    return waits.resume(head, wait.number, TurnTrigger.CALLBACK, message=said, rules=rules, now=now)


def _open_wait(head: Head, grant: CallbackGrant, now: datetime) -> Wait | None:
    """The wait that the grant opens. While a task waits, its fence is that of the run which parked it."""
    is_open = head.wait is not None and head.fence == grant.fence and now < head.wait.until
    return head.wait if is_open else None


def _hash(secret: str) -> str:
    return hashlib.sha256(secret.encode(errors="surrogatepass")).hexdigest()
