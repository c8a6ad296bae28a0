"""Nudges that come back at a time, in memory."""

from dataclasses import dataclass, field
from datetime import datetime

from a2a_serverless.testing.memory import QueuedNudge
from a2a_serverless.types import TaskKey


@dataclass
class MemoryLater:
    """LaterNudges: one for each webhook, with the time it comes back at."""

    coming: dict[tuple[TaskKey, str], tuple[QueuedNudge, datetime]] = field(default_factory=dict)

    def bring_back(self, key: TaskKey, config_id: str, seq: int, *, at: datetime) -> None:
        if at.microsecond:
            raise ValueError("a schedule counts whole seconds")
        self.coming[key, config_id] = (QueuedNudge(key, config_id, seq), at)

    def cancel(self, key: TaskKey, config_id: str) -> None:
        self.coming.pop((key, config_id), None)

    def due(self, now: datetime) -> list[QueuedNudge]:
        """What comes back by then; it is not there any more afterwards."""
        due = [name for name, (_, at) in self.coming.items() if at <= now]
        return [self.coming.pop(name)[0] for name in due]
