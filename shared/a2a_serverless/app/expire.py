"""expire: the deadline of a question passed. The agent decides if it wants to, else the task fails and says why."""

import logging
from collections.abc import Callable
from dataclasses import dataclass

from a2a_serverless.agent.agent import Agent, decides_on_expiry
from a2a_serverless.app.ports import Clock, Ids, TaskStore
from a2a_serverless.app.retry import change_task
from a2a_serverless.core import waits
from a2a_serverless.core.head import Change, Head, Rules, TurnTrigger
from a2a_serverless.errors import TaskNotFound
from a2a_serverless.types import TaskKey

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Expiry:
    """What waits are ended with."""

    agents: Callable[[str], Agent]
    tasks: TaskStore
    clock: Clock
    ids: Ids
    rules: Rules


def expire(expiry: Expiry, key: TaskKey, number: int) -> Head | None:
    """End wait `number` by its deadline; None when the task is gone. One that was answered meanwhile stays as it is."""
    now = expiry.clock()

    def decide(head: Head) -> Change | None:
        if not waits.waits_with(head, number):
            return None
        if decides_on_expiry(expiry.agents(key.scope.agent)):
            return waits.resume(head, number, TurnTrigger.EXPIRED, rules=expiry.rules, now=now)
        return waits.expire(head, number, message_id=expiry.ids(), rules=expiry.rules, now=now)

    try:
        head = change_task(expiry.tasks, key, decide, now=now)
    except TaskNotFound:
        log.warning("a wait of a task that is gone expired", extra={"task_id": key.task_id, "wait": number})
        return None
    log.info("wait expired", extra={"task_id": key.task_id, "wait": number, "state": head.state.value})
    return head
