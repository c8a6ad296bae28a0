"""Queues and dead letters in memory: lists of what was asked for, which a test works off itself."""

from dataclasses import dataclass, field

from a2a_serverless.types import TaskKey


@dataclass(frozen=True)
class QueuedTurn:
    """A turn that is due."""

    key: TaskKey
    turn: int


@dataclass(frozen=True)
class QueuedCancel:
    """A task that was canceled."""

    key: TaskKey


@dataclass(frozen=True)
class QueuedNudge:
    """A webhook that may have to hear of `seq`, after a delay."""

    key: TaskKey
    config_id: str
    seq: int
    delay_seconds: int = 0
    endpoint: str = field(default="", compare=False)


@dataclass(frozen=True)
class QueuedPing:
    """A test that somebody asked for."""

    key: TaskKey
    config_id: str
    message_id: str


@dataclass
class MemoryQueues:
    """TurnQueue, NudgeQueue and DeadLetters. What was enqueued is in lists, oldest first."""

    turns: list[QueuedTurn] = field(default_factory=list)
    cancels: list[QueuedCancel] = field(default_factory=list)
    nudges: list[QueuedNudge] = field(default_factory=list)
    pings: list[QueuedPing] = field(default_factory=list)
    buried: list[tuple[QueuedTurn | QueuedNudge, str]] = field(default_factory=list)
    """What went to the dead letters, with the reason."""

    def enqueue_turn(self, key: TaskKey, turn: int) -> None:
        self.turns.append(QueuedTurn(key, turn))

    def enqueue_cancel_notice(self, key: TaskKey) -> None:
        self.cancels.append(QueuedCancel(key))

    def enqueue_nudge(
        self, key: TaskKey, config_id: str, seq: int, *, delay_seconds: int = 0, endpoint: str = ""
    ) -> None:
        if not 0 <= delay_seconds <= 900:
            raise ValueError("SQS delays by 0 to 900 seconds")
        self.nudges.append(QueuedNudge(key, config_id, seq, delay_seconds, endpoint))

    def enqueue_ping(self, key: TaskKey, config_id: str, message_id: str) -> None:
        self.pings.append(QueuedPing(key, config_id, message_id))

    def bury_turn(self, key: TaskKey, turn: int, reason: str) -> None:
        self.buried.append((QueuedTurn(key, turn), reason))

    def bury_nudge(self, key: TaskKey, config_id: str, seq: int, reason: str) -> None:
        self.buried.append((QueuedNudge(key, config_id, seq), reason))
