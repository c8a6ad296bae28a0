"""The state machine that holds waits: one Standard execution per wait, named by its task and number.

`cdk/await_input.asl.json` is the other side: it takes `{pk, number, task, waits}`, ids and times only.
"""

from __future__ import annotations

import itertools
import json
import math
from datetime import datetime
from typing import TYPE_CHECKING, Final

from botocore.exceptions import ClientError

from a2a_serverless.app.ports import Clock
from a2a_serverless.aws.keys import task_text
from a2a_serverless.core.head import Wait
from a2a_serverless.types import TaskKey

if TYPE_CHECKING:
    from types_boto3_stepfunctions.client import SFNClient

_OVER_ALREADY: Final = frozenset({"TaskTimedOut", "TaskDoesNotExist", "InvalidToken"})


class StepFunctionsWaits:
    """WaitRunner on Step Functions."""

    def __init__(self, client: SFNClient, machine: str, *, clock: Clock) -> None:
        self._client = client
        self._machine = machine
        self._clock = clock

    def start_wait(self, key: TaskKey, wait: Wait) -> None:
        """Hold a wait. One that is held, or was, under the same number is fine."""
        told = {
            "pk": task_text(key),
            "number": wait.number,
            "task": key.task_id,
            "waits": seconds_between(wait, now=self._clock()),
        }
        try:
            self._client.start_execution(
                stateMachineArn=self._machine,
                name=f"{key.task_id}-{wait.number}",
                input=json.dumps(told, separators=(",", ":")),
            )
        except ClientError as error:
            if _code(error) != "ExecutionAlreadyExists":
                raise

    def end_wait(self, token: str) -> None:
        """Let go of a wait that was answered. The head has changed by then, so one that is over already is fine."""
        try:
            self._client.send_task_success(taskToken=token, output="{}")
        except ClientError as error:
            if _code(error) not in _OVER_ALREADY:
                raise


def seconds_between(wait: Wait, *, now: datetime) -> list[int]:
    """The seconds until each reminder to come and then the deadline, each counted from the one before.

    The machine takes whole seconds, one or more. Nothing comes early; a reminder that has passed, or falls into the
    same second as the next thing, is left out; a deadline that has passed comes in a second.
    """
    moments = [wait.since + after for after in wait.remind]
    due = [math.ceil((moment - now).total_seconds()) for moment in moments if moment > now]
    deadline = max(1, math.ceil((wait.until - now).total_seconds()))
    reminders = sorted({seconds for seconds in due if 0 < seconds < deadline})
    stops = [0, *reminders, deadline]
    return [later - earlier for earlier, later in itertools.pairwise(stops)]


def _code(error: ClientError) -> str:
    return error.response["Error"]["Code"]
