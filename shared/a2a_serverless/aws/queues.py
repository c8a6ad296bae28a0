"""The queues: what a message says, in both directions. Bodies are ASCII, since SQS replaces odd characters."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from a2a_serverless.aws.keys import owner_text, task_key, task_text
from a2a_serverless.types import JsonObject, TaskKey

if TYPE_CHECKING:
    from types_boto3_sqs.client import SQSClient

LONGEST_DELAY: Final = 900
"""Seconds that SQS holds a message back."""
LONGEST_HIDING: Final = 43_200
"""Seconds that SQS hides a message that was received (12 hours, counted from its receipt)."""
_LONGEST_GROUP: Final = 128
_LONGEST_REASON: Final = 1_000


@dataclass(frozen=True, slots=True)
class TurnDue:
    """A message of the queue `turns`: this turn of the task is due."""

    key: TaskKey
    turn: int


@dataclass(frozen=True, slots=True)
class CancelNotice:
    """A message of the queue `turns`: the task was canceled."""

    key: TaskKey


@dataclass(frozen=True, slots=True)
class NudgeDue:
    """A message of the queue `nudges`: the webhook may have to hear of change `seq`."""

    key: TaskKey
    config_id: str
    seq: int


@dataclass(frozen=True, slots=True)
class PingDue:
    """A message of the queue `nudges`: somebody asked for a test of the webhook."""

    key: TaskKey
    config_id: str
    message_id: str


def turn_of(body: str) -> TurnDue | CancelNotice:
    """What a message of the queue `turns` says.

    Raises:
        ValueError: it is none of ours.
    """
    told = _object(body, "turns")
    if told.get("cancel") is True:
        return CancelNotice(_task(told))
    return TurnDue(_task(told), _whole(told, "turn"))


def nudge_of(body: str) -> NudgeDue | PingDue:
    """What a message of the queue `nudges` says.

    Raises:
        ValueError: it is none of ours.
    """
    told = _object(body, "nudges")
    if "ping" in told:
        return PingDue(_task(told), str(told.get("config", "")), str(told["ping"]))
    return NudgeDue(_task(told), str(told.get("config", "")), _whole(told, "seq"))


def _object(body: str, queue: str) -> JsonObject:
    try:
        told = json.loads(body)
    except ValueError as error:
        raise ValueError(f"a message of the queue {queue} that is no JSON") from error
    if not isinstance(told, dict):
        raise ValueError(f"a message of the queue {queue} that is no object")  # noqa: TRY004 (it is bad input)
    return told


def _task(told: JsonObject) -> TaskKey:
    return task_key(str(told.get("pk", "")))


def _whole(told: JsonObject, name: str) -> int:
    value = told.get(name)
    if type(value) is not int:
        raise ValueError(f"a message without {name}, which should be a whole number")
    return value


def nudge_text(key: TaskKey, config_id: str, seq: int) -> str:
    """A message of the queue `nudges`, as `nudge_of` reads it."""
    return _text({"pk": task_text(key), "config": config_id, "seq": seq})


class SqsTurns:
    """TurnQueue on SQS, and what a runner does with a message it holds."""

    def __init__(self, client: SQSClient, url: str) -> None:
        self._client = client
        self._url = url

    def enqueue_turn(self, key: TaskKey, turn: int) -> None:
        """The turn is due."""
        _send(self._client, self._url, {"pk": task_text(key), "turn": turn})

    def enqueue_cancel_notice(self, key: TaskKey) -> None:
        """The task was canceled: the agent may clean up."""
        _send(self._client, self._url, {"pk": task_text(key), "cancel": True})

    def extend(self, receipt: str, seconds: int) -> None:
        """Hide the message with this receipt handle for so long from now; 0 brings it back at once."""
        self._client.change_message_visibility(
            QueueUrl=self._url,
            ReceiptHandle=receipt,
            VisibilityTimeout=max(0, min(seconds, LONGEST_HIDING)),
        )


class SqsNudges:
    """NudgeQueue on SQS, as a fair queue: a crowd of nudges for one endpoint does not hold up those for others."""

    def __init__(self, client: SQSClient, url: str) -> None:
        self._client = client
        self._url = url

    def enqueue_nudge(
        self, key: TaskKey, config_id: str, seq: int, *, delay_seconds: int = 0, endpoint: str = ""
    ) -> None:
        """Tell this webhook that the task is at `seq`, after at most 900 seconds.

        `endpoint` is the host and port it leads to; who does not know it leaves it out, and the owner stands for it.
        """
        if not 0 <= delay_seconds <= LONGEST_DELAY:
            raise ValueError(f"a delay of {delay_seconds} s: SQS takes 0 to {LONGEST_DELAY}")
        said = {"pk": task_text(key), "config": config_id, "seq": seq}
        group = _group(endpoint or owner_text(key.scope))
        _send(self._client, self._url, said, DelaySeconds=delay_seconds, MessageGroupId=group)

    def enqueue_ping(self, key: TaskKey, config_id: str, message_id: str) -> None:
        """Send this webhook a test under that id."""
        said = {"pk": task_text(key), "config": config_id, "ping": message_id}
        _send(self._client, self._url, said, MessageGroupId=_group(owner_text(key.scope)))


class SqsDeadLetters:
    """DeadLetters on SQS: the message as it was, with the reason and the task as attributes."""

    def __init__(self, client: SQSClient, *, turns: str, nudges: str) -> None:
        self._client = client
        self._turns = turns
        self._nudges = nudges

    def bury_turn(self, key: TaskKey, turn: int, reason: str) -> None:
        """A turn that killed its worker each time."""
        self._bury(self._turns, {"pk": task_text(key), "turn": turn}, key, reason)

    def bury_nudge(self, key: TaskKey, config_id: str, seq: int, reason: str) -> None:
        """A nudge whose attempts are exhausted."""
        self._bury(self._nudges, {"pk": task_text(key), "config": config_id, "seq": seq}, key, reason)

    def _bury(self, url: str, said: JsonObject, key: TaskKey, reason: str) -> None:
        attributes = {"reason": _attribute(reason[:_LONGEST_REASON]), "task_id": _attribute(key.task_id)}
        _send(self._client, url, said, MessageAttributes=attributes)


def _attribute(value: str) -> dict[str, str]:
    return {"DataType": "String", "StringValue": value or "-"}


def _group(name: str) -> str:
    """SQS takes 128 letters, digits and punctuation marks."""
    if len(name) <= _LONGEST_GROUP and name.isascii() and name.isprintable() and " " not in name:
        return name
    return hashlib.sha256(name.encode()).hexdigest()


def _send(client: SQSClient, url: str, said: JsonObject, **more: Any) -> None:
    client.send_message(QueueUrl=url, MessageBody=_text(said), **more)


def _text(said: JsonObject) -> str:
    return json.dumps(said, separators=(",", ":"))
