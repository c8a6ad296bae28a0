"""What a verified webhook says: that a task changed. It never says what the task now is."""

import json
from dataclasses import asdict, dataclass
from typing import Final, Self

NUDGE_EXTENSION: Final = "https://a2a-serverless.dev/ext/push-nudge/v1"
"""The metadata key under which a nudge and a fetched task carry `{"seq": "7"}`."""


@dataclass(frozen=True, slots=True)
class Nudge:
    """One verified wake-up. Act on the task you fetch because of it, not on what stands here."""

    task_id: str
    seq: int | None = None
    """Version of the task the sender speaks of; fetch until you hold at least this one. None: not told."""
    state: str | None = None
    """The state as the sender wrote it, for logs. A hint: the truth is the fetched task."""
    context_id: str | None = None
    message_id: str | None = None
    """The same for every retry of one delivery (`webhook-id`)."""
    issuer: str | None = None
    is_test: bool = False
    """True for a sender's `ping`: verified like any other, never enqueued, nothing to fetch."""

    def to_json(self) -> str:
        """ASCII JSON for a queue message."""
        return json.dumps(asdict(self), separators=(",", ":"))

    @classmethod
    def from_json(cls, text: str | bytes) -> Self:
        """The nudge that `to_json` wrote.

        Raises:
            ValueError, TypeError: the text is not one.
        """
        return cls(**json.loads(text))
