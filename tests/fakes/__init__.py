"""Adapters of the ports in memory, for tests of use cases. No mocks: each is held to the contract suite of its port."""

from .clock import START, FakeClock, SequentialIds
from .push import MemoryCallbacks, MemoryContexts, MemoryEndpoints, MemoryPush
from .queues import MemoryQueues, MemoryWaits, QueuedCancel, QueuedNudge, QueuedTurn
from .sealer import PlainSealer
from .tasks import MemoryTasks

__all__ = [
    "START",
    "FakeClock",
    "MemoryCallbacks",
    "MemoryContexts",
    "MemoryEndpoints",
    "MemoryPush",
    "MemoryQueues",
    "MemoryTasks",
    "MemoryWaits",
    "PlainSealer",
    "QueuedCancel",
    "QueuedNudge",
    "QueuedTurn",
    "SequentialIds",
]
