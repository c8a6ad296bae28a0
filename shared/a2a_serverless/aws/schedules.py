"""Nudges that come back later than a queue can hold them: one-time schedules of EventBridge Scheduler.

Each webhook has one name in the group of its stack, so that a newer word replaces an older one, whoever gives it. A
schedule that fired deletes itself. It may fire up to a minute late (AWS), never early.
"""

from __future__ import annotations

import hashlib
import json
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

from botocore.exceptions import ClientError

from a2a_serverless.aws.keys import task_text
from a2a_serverless.aws.queues import nudge_text

if TYPE_CHECKING:
    from collections.abc import Callable

    from types_boto3_scheduler.client import EventBridgeSchedulerClient

    from a2a_serverless.types import TaskKey

_ROUNDS: Final = 4
_LONGEST_DESCRIPTION: Final = 512


class ScheduledNudges:
    """LaterNudges on EventBridge Scheduler.

    Args:
        client: gives the client of Scheduler.
        group: the schedule group of the stack.
        queue_arn: the queue of nudges.
        role_arn: whom Scheduler sends to that queue as; it may do nothing else.
    """

    def __init__(
        self, client: Callable[[], EventBridgeSchedulerClient], *, group: str, queue_arn: str, role_arn: str
    ) -> None:
        self._client: Any = client  # the stubs want literal shapes; what is sent is tested against the engine
        self._group = group
        self._queue = queue_arn
        self._role = role_arn

    def bring_back(self, key: TaskKey, config_id: str, seq: int, *, at: datetime) -> None:
        """Enqueue the nudge then, in place of whatever was to come back for this webhook."""
        schedule = self._schedule(key, config_id, seq, at)
        for _ in range(_ROUNDS):
            if self._done(self._client().create_schedule, schedule, unless="ConflictException"):
                return
            if self._done(self._client().update_schedule, schedule, unless="ResourceNotFoundException"):
                return
        raise RuntimeError(f"the schedule of config {config_id} came and went {_ROUNDS} times")

    def cancel(self, key: TaskKey, config_id: str) -> None:
        """Nothing is to come back for this webhook; that nothing was is fine."""
        named = {"GroupName": self._group, "Name": schedule_name(key, config_id)}
        self._done(self._client().delete_schedule, named, unless="ResourceNotFoundException")

    def _schedule(self, key: TaskKey, config_id: str, seq: int, at: datetime) -> dict[str, Any]:
        description = f"nudge of task {key.task_id} to webhook {config_id}"
        return {
            "GroupName": self._group,
            "Name": schedule_name(key, config_id),
            "Description": description[:_LONGEST_DESCRIPTION],
            "ScheduleExpression": f"at({at.astimezone(UTC):%Y-%m-%dT%H:%M:%S})",
            "ScheduleExpressionTimezone": "UTC",
            "FlexibleTimeWindow": {"Mode": "OFF"},
            "ActionAfterCompletion": "DELETE",
            "Target": {"Arn": self._queue, "RoleArn": self._role, "Input": nudge_text(key, config_id, seq)},
        }

    def _done(self, call: Any, request: dict[str, Any], *, unless: str) -> bool:
        """Whether the call was carried out; False if it was refused with that code."""
        try:
            call(**request)
        except ClientError as error:
            if error.response["Error"]["Code"] == unless:
                return False
            raise
        return True


def schedule_name(key: TaskKey, config_id: str) -> str:
    """The name of a webhook's schedule: 64 characters at most (Scheduler), so a hash of whose it is."""
    return hashlib.sha256(json.dumps([task_text(key), config_id]).encode()).hexdigest()
