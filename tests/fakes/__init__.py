"""Adapters of the ports in memory, for tests of use cases. No mocks: each is held to the contract suite of its port."""

from .clock import START, FakeClock, SequentialIds
from .parts import MemoryParts
from .push import MemoryCallbacks, MemoryContexts, MemoryEndpoints, MemoryHosts, MemoryPush
from .queues import MemoryLater, MemoryQueues, MemoryWaits, QueuedCancel, QueuedNudge, QueuedPing, QueuedTurn
from .sealer import PlainSealer
from .tasks import MemoryTasks

__all__ = [
    "START",
    "FakeClock",
    "MemoryCallbacks",
    "MemoryContexts",
    "MemoryEndpoints",
    "MemoryHosts",
    "MemoryLater",
    "MemoryParts",
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
