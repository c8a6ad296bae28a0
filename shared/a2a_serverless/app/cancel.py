"""CancelTask."""

from a2a_serverless.agent.agent import notices_cancel
from a2a_serverless.app.host import Host
from a2a_serverless.app.retry import change_task
from a2a_serverless.core.cancels import cancel as decide_cancel
from a2a_serverless.errors import TaskNotFound
from a2a_serverless.types import Caller, Task, TaskKey


def cancel(host: Host, caller: Caller, task_id: str) -> Task:
    """End a task as CANCELED, whatever it does at the moment; answers the task as it is then.

    Raises:
        TaskNotCancelable: it has ended.
        TaskNotFound: the caller has no such task.
    """
    key, now, notice = TaskKey(host.scope(caller), task_id), host.clock(), notices_cancel(host.agent)
    change_task(host.tasks, key, lambda head: decide_cancel(head, notice=notice, rules=host.rules, now=now), now=now)
    record = host.tasks.read(key, now=now)
    if record is None:
        raise TaskNotFound
    return record.task()
