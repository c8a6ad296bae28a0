"""Adapters of the ports in memory. No mocks: each is held to the contract suite of its port, as those of AWS are."""

from a2a_serverless.testing.memory.clock import START, FakeClock, SequentialIds
from a2a_serverless.testing.memory.push import MemoryCallbacks, MemoryContexts, MemoryPush
from a2a_serverless.testing.memory.queues import MemoryQueues, QueuedCancel, QueuedNudge, QueuedPing, QueuedTurn
from a2a_serverless.testing.memory.sealer import PlainSealer
from a2a_serverless.testing.memory.tasks import MemoryTasks

__all__ = [
    "START",
    "FakeClock",
    "MemoryCallbacks",
    "MemoryContexts",
    "MemoryPush",
    "MemoryQueues",
    "MemoryTasks",
    "PlainSealer",
    "QueuedCancel",
    "QueuedNudge",
    "QueuedPing",
    "QueuedTurn",
    "SequentialIds",
]
