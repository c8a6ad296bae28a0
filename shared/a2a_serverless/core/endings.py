"""How a turn may end: what an agent says, before anything is decided about it."""

from dataclasses import dataclass
from datetime import timedelta

from a2a_serverless.core.head import WaitKind
from a2a_serverless.types import JsonObject, Message, TaskState


@dataclass(frozen=True, slots=True)
class Ended:
    """The agent ended its task in a terminal state."""

    state: TaskState
    message: Message | None = None
    metadata: JsonObject | None = None
    """What it says of the task beside the message."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What an agent asks, how long it waits for the answer, and when it asks to be reminded of."""

    kind: WaitKind
    message: Message
    within: timedelta
    remind: tuple[timedelta, ...] = ()
    metadata: JsonObject | None = None
    """What it says of the task beside the message."""


Ending = Ended | Question
