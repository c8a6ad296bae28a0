"""Step Functions: one execution as it walks through its states, and where it stands for another process."""

import contextvars
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Protocol

Execution = dict[str, Any]
Json = Any


@dataclass(frozen=True)
class Checkpoint:
    """Where an execution stands: enough to go on from there in another process."""

    state: str
    data: Json
    """The input of the state."""
    entered_at: float
    variables: Mapping[str, Json] = field(default_factory=dict)
    token: str | None = None
    """The task token of a task that waits for it."""
    dispatched: bool = False
    """Whether the token was sent off."""
    times_out_at: float | None = None


class ExecutionJournal(Protocol):
    """Keeps executions where a killed process cannot lose them."""

    def keep(self, execution: Execution, checkpoint: Checkpoint | None) -> None:
        """Store an execution and where it stands; no checkpoint: it is over."""


@dataclass(eq=False)
class Run:
    """One execution that walks through its states in a thread."""

    execution: Execution
    role: str
    machine: str
    checkpoint: Checkpoint
    resumed: bool = False
    context: dict[str, Any] = field(default_factory=dict)
    """The context object of the present task."""
    alone: bool = True
    """False inside a Parallel or Map state, whose branches are not checkpointed one by one."""
    stopped: threading.Event = field(default_factory=threading.Event)


current: contextvars.ContextVar[Run | None] = contextvars.ContextVar("run", default=None)
waits_since: contextvars.ContextVar[float | None] = contextvars.ContextVar("waits_since", default=None)


def epoch(iso: str) -> float:
    """A moment as epoch seconds."""
    return datetime.fromisoformat(iso).timestamp()
