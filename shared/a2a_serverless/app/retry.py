"""Read a task, decide, write; decide again if another writer came first, a bounded number of times.

Beside it stand the few that must notice more than a lost race: `turn_writer`, `run_turn._begin` and `callbacks.use`.
"""

import logging
from collections.abc import Callable
from datetime import datetime
from typing import Final

from a2a_serverless.app.ports import TaskStore
from a2a_serverless.core.head import Change, Head
from a2a_serverless.errors import Conflict, TaskNotFound
from a2a_serverless.types import TaskKey

_TRIES: Final = 40
"""Each race that is lost was won by somebody: so many at once on one task all get through."""

log = logging.getLogger(__name__)


def change_task(tasks: TaskStore, key: TaskKey, decide: Callable[[Head], Change | None], *, now: datetime) -> Head:
    """Read the head, let `decide` say what changes, and write it; again if another writer came first.

    `decide` answers None when nothing is to be written; then the head is answered as it was read.

    Raises:
        TaskNotFound: there is no such task in this scope.
        Conflict: other writers came first each time.
    """
    for _ in range(_TRIES):
        head = tasks.head(key, now=now)
        if head is None:
            raise TaskNotFound
        change = decide(head)
        if change is None:
            return head
        try:
            return tasks.commit(change)
        except Conflict:
            log.info("lost a race", extra={"task_id": key.task_id, "version": head.version})
    raise Conflict(f"other writers came first {_TRIES} times on task {key.task_id}")
