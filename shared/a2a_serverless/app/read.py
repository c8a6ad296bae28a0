"""GetTask and ListTasks: what a caller may see, as he asked to see it. Reading never changes anything."""

import logging
from dataclasses import dataclass
from datetime import datetime

from a2a_serverless.app.host import Host
from a2a_serverless.app.ports import Listed, ListQuery, Position
from a2a_serverless.core.head import Head
from a2a_serverless.errors import InvalidParams, TaskNotFound
from a2a_serverless.types import Caller, Task, TaskKey, TaskState, timestamp_text

log = logging.getLogger(__name__)

LARGEST_PAGE = 100
DEFAULT_PAGE = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class ListRequest:
    """ListTasks (SPEC 3.1.4). `after` is what a page token carries."""

    context_id: str = ""
    state: TaskState | None = None
    page_size: int | None = None
    after: Position | None = None
    history_length: int | None = None
    status_since: datetime | None = None
    include_artifacts: bool = False


@dataclass(frozen=True, slots=True)
class TaskPage:
    """One page of tasks; `end` is None on the last."""

    tasks: tuple[Task, ...]
    end: Position | None
    page_size: int
    total: int


def get(host: Host, caller: Caller, task_id: str, *, history_length: int | None = None) -> Task:
    """GetTask.

    Raises:
        TaskNotFound: the caller has no such task.
        InvalidParams: `history_length` is negative.
    """
    _check_history(history_length)
    record = host.tasks.read(TaskKey(host.scope(caller), task_id), now=host.clock())
    if record is None:
        raise TaskNotFound
    _acknowledge(host, record.head)
    return record.task(history_length=history_length)


def _acknowledge(host: Host, head: Head) -> None:
    """Whoever fetched the task need not be told of it again. A receipt that is lost costs one nudge too many."""
    if not head.push or not head.nudge_seq:
        return
    try:
        host.receipts.mark_fetched(head.key, head.nudge_seq)
    except Exception:
        log.warning("a receipt was lost", extra={"task_id": head.key.task_id}, exc_info=True)


def list_tasks(host: Host, caller: Caller, request: ListRequest) -> TaskPage:
    """ListTasks. Without `history_length` the tasks come without history: ask for it, and pay for it.

    Raises:
        InvalidParams: the page size is not 1 to 100, or `history_length` is negative.
    """
    _check_history(request.history_length)
    size = DEFAULT_PAGE if request.page_size is None else request.page_size
    if not 1 <= size <= LARGEST_PAGE:
        raise InvalidParams.of("pageSize", f"must be 1 to {LARGEST_PAGE}")
    page = host.tasks.list(
        ListQuery(
            scope=host.scope(caller),
            page_size=size,
            after=request.after,
            context_id=request.context_id,
            state=request.state,
            status_since=request.status_since,
            now=host.clock(),
        )
    )
    tasks = (task for listed in page.tasks if (task := _shown(host, listed, request)) is not None)
    return TaskPage(tuple(sorted(tasks, key=_newness, reverse=True)), page.end, size, page.total)


def _newness(task: Task) -> tuple[str, str]:
    """A task that moved on between index and read stands where it belongs now."""
    return timestamp_text(task.status.timestamp) if task.status.timestamp else "", task.id


def _shown(host: Host, listed: Listed, request: ListRequest) -> Task | None:
    """The index knows a task's status; history and artifacts are read only when they are asked for, a moment later."""
    if not request.include_artifacts and not request.history_length:
        return Task(id=listed.key.task_id, context_id=listed.context_id, status=listed.status)
    record = host.tasks.read(listed.key, now=host.clock())
    if record is None or request.state not in {None, record.head.state}:
        return None  # gone, or no longer in the state that was asked for
    return record.task(history_length=request.history_length or 0, artifacts=request.include_artifacts)


def _check_history(length: int | None) -> None:
    if length is not None and length < 0:
        raise InvalidParams.of("historyLength", "must be 0 or more")
