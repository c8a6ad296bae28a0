"""What lies in a queue of dead letters, and taking it out. `redrive` decides what becomes of each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from a2a_serverless.aws.queues import CancelNotice, NudgeDue, PingDue, TurnDue, nudge_of, turn_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from types_boto3_sqs.client import SQSClient

Said = TurnDue | CancelNotice | NudgeDue | PingDue

_HELD_SECONDS: Final = 300
"""How long a letter that was taken out is hidden from everybody else."""
_AT_A_TIME: Final = 10


@dataclass(frozen=True, slots=True)
class DeadLetter:
    """A message that nobody could work off."""

    said: Said | None
    """None: it cannot be read, so it is none of ours."""
    body: str
    reason: str
    receipt: str


class DeadLetterQueue:
    """One queue of dead letters."""

    def __init__(self, client: SQSClient, url: str, read: Callable[[str], Said]) -> None:
        self._client: Any = client  # the stubs want literal shapes
        self._url = url
        self._read = read

    @classmethod
    def of_turns(cls, client: SQSClient, url: str) -> DeadLetterQueue:
        """The dead letters of the queue `turns`."""
        return cls(client, url, turn_of)

    @classmethod
    def of_nudges(cls, client: SQSClient, url: str) -> DeadLetterQueue:
        """The dead letters of the queue `nudges`."""
        return cls(client, url, nudge_of)

    def take(self) -> list[DeadLetter]:
        """All letters; for five minutes nobody else sees them."""
        taken: list[DeadLetter] = []
        while True:
            answer = self._client.receive_message(
                QueueUrl=self._url,
                MaxNumberOfMessages=_AT_A_TIME,
                VisibilityTimeout=_HELD_SECONDS,
                WaitTimeSeconds=1,  # asks every server of the queue, so that an empty answer means empty
                MessageAttributeNames=["All"],
                MessageSystemAttributeNames=["ApproximateReceiveCount"],
            )
            messages = answer.get("Messages", [])
            if not messages:
                return taken
            taken += [self._letter(message) for message in messages]

    def remove(self, letter: DeadLetter) -> None:
        """The letter is done with."""
        self._client.delete_message(QueueUrl=self._url, ReceiptHandle=letter.receipt)

    def put_back(self, letter: DeadLetter) -> None:
        """The letter stays, for everybody to see."""
        self._client.change_message_visibility(QueueUrl=self._url, ReceiptHandle=letter.receipt, VisibilityTimeout=0)

    def _letter(self, message: dict[str, Any]) -> DeadLetter:
        body: str = message["Body"]
        try:
            said = self._read(body)
        except ValueError:
            said = None
        told = message.get("MessageAttributes", {}).get("reason", {}).get("StringValue", "")
        return DeadLetter(said, body, told or "its function failed each time", message["ReceiptHandle"])
