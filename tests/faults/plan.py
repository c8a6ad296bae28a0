"""Faults by plan: every call that leaves the process is counted, and the one that the plan names goes wrong.

A call is a request to AWS or to a webhook. The same script makes the same calls in the same order until the first
fault, so a fault is named by the number of its call, and a failing run can be had again.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final, TypeVar

from botocore.exceptions import ClientError, ReadTimeoutError

Answer = TypeVar("Answer")

STALL: Final = 45.0
"""Seconds that a stalled call takes: longer than a lease, than the claim of a nudge, and than a caller waits."""


class Kind(StrEnum):
    """What goes wrong with a call."""

    RAISE_BEFORE = "raise before"
    """AWS refuses it for the moment; nothing happened."""
    RAISE_AFTER = "raise after"
    """It happened, and the answer is lost."""
    TWICE = "twice"
    """It happened, the answer was lost, and botocore sent it again."""
    STALL_BEFORE = "stall before"
    """The worker stands still while the world goes on, then the call is made: a write that comes too late."""
    STALL_AFTER = "stall after"
    """The call is made, and the worker stands still before it hears of it."""
    KILL_BEFORE = "kill before"
    """The worker dies; nothing happened."""
    KILL_AFTER = "kill after"
    """It happened, and the worker died of it."""


class WorkerDied(BaseException):
    """Unwinds a hop as the death of its process would: nothing in the product may hold it back."""


@dataclass(frozen=True, slots=True, order=True)
class Fault:
    """Call number `at` (from 1) goes wrong in this way."""

    at: int
    kind: Kind

    def __str__(self) -> str:
        return f"{self.kind.value} call {self.at}"


@dataclass
class Faults:
    """Counts the calls of one run, and lets go wrong what was planned."""

    planned: Iterable[Fault] = ()
    stall: Callable[[str], None] = lambda _hop: None
    """Lets the world go on for `STALL` seconds without the hop of that name."""
    hops: list[str] = field(default_factory=lambda: ["script"])
    """Who is at work; the last one makes the calls."""
    calls: list[str] = field(default_factory=list)
    """Every call so far: `hop service.operation`."""
    came: list[str] = field(default_factory=list)
    """The faults that came about."""
    is_on: bool = True
    """Off while a test looks at things: such calls are none of the run's."""

    def __post_init__(self) -> None:
        self._left = {fault.at: fault.kind for fault in self.planned}

    def call(self, name: str, do: Callable[[], Answer]) -> Answer:
        """Make a call, or what the plan makes of it."""
        if not self.is_on:
            return do()
        hop = self.hops[-1]
        self.calls.append(f"{hop} {name}")
        kind = self._left.pop(len(self.calls), None)
        if kind is None:
            return do()
        self.came.append(f"{kind.value}: call {len(self.calls)}, {hop} {name}")
        return self._wrong(kind, hop, name, do)

    def _wrong(self, kind: Kind, hop: str, name: str, do: Callable[[], Answer]) -> Answer:
        match kind:
            case Kind.RAISE_BEFORE:
                raise ClientError(_THROTTLED, name)
            case Kind.RAISE_AFTER:
                do()
                raise ReadTimeoutError(endpoint_url=f"https://{name}")
            case Kind.TWICE:
                do()
                return do()
            case Kind.STALL_BEFORE:
                self.stall(hop)
                return do()
            case Kind.STALL_AFTER:
                answer = do()
                self.stall(hop)
                return answer
            case Kind.KILL_BEFORE:
                raise WorkerDied(name)
            case Kind.KILL_AFTER:
                do()
                raise WorkerDied(name)


_THROTTLED: Final[Any] = {"Error": {"Code": "ThrottlingException", "Message": "Rate exceeded"}}
