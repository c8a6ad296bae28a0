"""Adapters of the ports in memory, for tests of use cases. No mocks: each is held to the contract suite of its port."""

from a2a_serverless.testing.memory import (
    START,
    FakeClock,
    MemoryCallbacks,
    MemoryContexts,
    MemoryPush,
    MemoryQueues,
    MemoryTasks,
    PlainSealer,
    QueuedCancel,
    QueuedNudge,
    QueuedPing,
    QueuedTurn,
    SequentialIds,
)

from .endpoints import MemoryEndpoints, MemoryHosts
from .later import MemoryLater
from .parts import MemoryParts
from .waits import MemoryWaits

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
