"""The other services as far as the adapters use them, on the world's clock: queues, schedules, keys, objects."""

import io
import itertools
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from botocore.exceptions import ClientError

from .plan import Faults

Object = dict[str, Any]
Clock = Callable[[], datetime]


@dataclass
class Waiting:
    """A message in a queue."""

    id: str
    body: str
    visible_at: datetime
    attributes: Object = field(default_factory=dict)
    received: int = 0
    receipt: str = ""


@dataclass
class Queue:
    """A standard queue: at least once, hidden while it is worked on, to the dead letters after so many receipts."""

    name: str
    visibility: timedelta
    most_receipts: int
    messages: list[Waiting] = field(default_factory=list)
    dead: list[Waiting] = field(default_factory=list)

    def receive(self, now: datetime) -> Waiting | None:
        """The oldest message that is visible, hidden from now on."""
        while True:
            message = next((message for message in self.messages if message.visible_at <= now), None)
            if message is None or message.received < self.most_receipts:
                break
            self.delete(message, message.receipt)
            self.dead.append(message)
        if message is not None:
            message.received += 1
            message.receipt = f"{message.id}/{message.received}"
            message.visible_at = now + self.visibility
        return message

    def delete(self, message: Waiting, receipt: str) -> None:
        """It was worked off by whoever received it last; who received it earlier deletes nothing, as SQS documents."""
        if message.receipt == receipt:
            self.messages = [other for other in self.messages if other is not message]

    def next_at(self) -> datetime | None:
        """When a message is visible next."""
        return min((message.visible_at for message in self.messages), default=None)


class Sqs:
    """A botocore client of SQS."""

    def __init__(self, faults: Faults, clock: Clock, *queues: Queue) -> None:
        self._faults = faults
        self._clock = clock
        self._queues = {queue.name: queue for queue in queues}
        self._numbers = itertools.count(1)

    def send_message(self, **request: Any) -> Object:
        return self._faults.call(f"sqs.send_message {request['QueueUrl']}", lambda: self.send(**request))

    def send(self, *, QueueUrl: str, MessageBody: str, DelaySeconds: int = 0, **more: Any) -> Object:  # noqa: N803
        """Put a message into a queue; not counted."""
        at = self._clock() + timedelta(seconds=DelaySeconds)
        message = Waiting(f"message-{next(self._numbers)}", MessageBody, at, more.get("MessageAttributes", {}))
        self._queues[QueueUrl].messages.append(message)
        return {"MessageId": message.id}

    def change_message_visibility(self, **request: Any) -> Object:
        return self._faults.call("sqs.change_message_visibility", lambda: self._hide(**request))

    def _hide(self, *, QueueUrl: str, ReceiptHandle: str, VisibilityTimeout: int) -> Object:  # noqa: N803
        for message in self._queues[QueueUrl].messages:
            if message.receipt == ReceiptHandle:
                message.visible_at = self._clock() + timedelta(seconds=VisibilityTimeout)
                return {}
        raise refusal("InvalidParameterValue", "the receipt handle has expired")


@dataclass
class Scheduler:
    """A botocore client of EventBridge Scheduler: one-time schedules that delete themselves."""

    faults: Faults
    kept: dict[str, tuple[datetime, str]] = field(default_factory=dict)

    def create_schedule(self, **request: Any) -> Object:
        return self.faults.call("scheduler.create_schedule", lambda: self._put(request, must_exist=False))

    def update_schedule(self, **request: Any) -> Object:
        return self.faults.call("scheduler.update_schedule", lambda: self._put(request, must_exist=True))

    def delete_schedule(self, **request: Any) -> Object:
        return self.faults.call("scheduler.delete_schedule", lambda: self._delete(request["Name"]))

    def _put(self, request: Object, *, must_exist: bool) -> Object:
        if (request["Name"] in self.kept) is not must_exist:
            raise refusal("ResourceNotFoundException" if must_exist else "ConflictException", request["Name"])
        at = datetime.strptime(request["ScheduleExpression"], "at(%Y-%m-%dT%H:%M:%S)").replace(tzinfo=UTC)
        self.kept[request["Name"]] = (at, request["Target"]["Input"])
        return {}

    def _delete(self, name: str) -> Object:
        if self.kept.pop(name, None) is None:
            raise refusal("ResourceNotFoundException", name)
        return {}

    def next_at(self) -> datetime | None:
        """When a schedule fires next."""
        return min((at for at, _ in self.kept.values()), default=None)

    def due(self, now: datetime) -> list[str]:
        """What those send that fire by now."""
        names = [name for name, (at, _) in self.kept.items() if at <= now]
        return [self.kept.pop(name)[1] for name in names]


@dataclass
class Kms:
    """A botocore client of KMS: ciphertext that opens only in the context it was made in."""

    faults: Faults

    def encrypt(self, **request: Any) -> Object:
        sealed = repr(sorted(request["EncryptionContext"].items())).encode() + b"|" + request["Plaintext"]
        return self.faults.call("kms.encrypt", lambda: {"CiphertextBlob": sealed})

    def decrypt(self, **request: Any) -> Object:
        context, _, plain = request["CiphertextBlob"].partition(b"|")
        if context != repr(sorted(request["EncryptionContext"].items())).encode():
            raise refusal("InvalidCiphertextException", "another context")
        return self.faults.call("kms.decrypt", lambda: {"Plaintext": plain})


@dataclass
class S3:
    """A botocore client of S3."""

    faults: Faults
    kept: dict[str, bytes] = field(default_factory=dict)

    def put_object(self, **request: Any) -> Object:
        return self.faults.call("s3.put_object", lambda: self._put(request["Key"], request["Body"]))

    def _put(self, name: str, content: bytes) -> Object:
        self.kept[name] = content
        return {}

    def get_object(self, **request: Any) -> Object:
        return self.faults.call("s3.get_object", lambda: self._get(request["Key"]))

    def _get(self, name: str) -> Object:
        if name not in self.kept:
            raise refusal("NoSuchKey", name)
        return {"Body": io.BytesIO(self.kept[name])}

    def list_objects_v2(self, **request: Any) -> Object:
        return self.faults.call("s3.list_objects_v2", lambda: self._list(request["Prefix"]))

    def _list(self, prefix: str) -> Object:
        found = [{"Key": name} for name in sorted(self.kept) if name.startswith(prefix)]
        return {"Contents": found, "KeyCount": len(found), "IsTruncated": False}

    def delete_objects(self, **request: Any) -> Object:
        return self.faults.call("s3.delete_objects", lambda: self._delete(request["Delete"]["Objects"]))

    def _delete(self, objects: list[Object]) -> Object:
        for each in objects:
            self.kept.pop(each["Key"], None)
        return {}

    def generate_presigned_url(self, *_: Any, **__: Any) -> str:
        return "https://bucket.example/part"


def refusal(code: str, message: str) -> ClientError:
    """What botocore raises for an answer of this code."""
    return ClientError({"Error": {"Code": code, "Message": message}}, "an operation")


VISIBLE_AGAIN: Final = {"turns": timedelta(minutes=15), "nudges": timedelta(minutes=12)}
"""As `cdk.tasks` and `cdk.nudges` set it."""
MOST_RECEIPTS: Final = 5
"""As `cdk.queues` sets it."""
