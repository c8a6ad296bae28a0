"""Adapters of the ports in memory. No mocks: each is held to the contract suite of its port, as those of AWS are."""

from .clock import START, FakeClock, SequentialIds
from .push import MemoryCallbacks, MemoryContexts, MemoryPush
from .queues import MemoryQueues, MemoryWaits, QueuedCancel, QueuedNudge, QueuedPing, QueuedTurn
from .sealer import PlainSealer
from .tasks import MemoryTasks

__all__ = [
    "START",
    "FakeClock",
    "MemoryCallbacks",
    "MemoryContexts",
    "MemoryPush",
    "MemoryQueues",
    "MemoryTasks",
    "MemoryWaits",
    "PlainSealer",
    "QueuedCancel",
    "QueuedNudge",
    "QueuedPing",
    "QueuedTurn",
    "SequentialIds",
]
