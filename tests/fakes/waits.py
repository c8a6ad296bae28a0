"""Waits in memory: nobody holds them, and a test sees which were asked for."""

from dataclasses import dataclass, field

from a2a_serverless.core.head import Wait
from a2a_serverless.types import TaskKey


@dataclass
class MemoryWaits:
    """WaitRunner: which waits are held, by task and number, and which tokens were let go."""

    held: dict[tuple[TaskKey, int], Wait] = field(default_factory=dict)
    ended: list[str] = field(default_factory=list)

    def start_wait(self, key: TaskKey, wait: Wait) -> None:
        self.held.setdefault((key, wait.number), wait)

    def end_wait(self, token: str) -> None:
        self.ended.append(token)
