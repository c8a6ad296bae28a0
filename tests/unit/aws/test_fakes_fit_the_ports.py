"""The fakes are adapters: mypy holds them to the ports here, the contract suite holds them to the behaviour."""

from typing import TYPE_CHECKING

from tests.fakes import (
    FakeClock,
    MemoryCallbacks,
    MemoryContexts,
    MemoryEndpoints,
    MemoryLater,
    MemoryQueues,
    MemoryTasks,
    MemoryWaits,
    PlainSealer,
    SequentialIds,
)

if TYPE_CHECKING:
    from a2a_serverless.app import callbacks, ports


def test_each_port_has_a_fake() -> None:
    tasks, queues = MemoryTasks(), MemoryQueues()

    store: ports.TaskStore = tasks
    due: ports.DueTasks = tasks
    push: ports.PushStore = tasks
    deliveries: ports.DeliveryStore = tasks
    receipts: ports.Receipts = tasks
    contexts: ports.ContextStore = MemoryContexts()
    endpoints: ports.Endpoints = MemoryEndpoints()
    grants: callbacks.CallbackStore = MemoryCallbacks()
    turns: ports.TurnQueue = queues
    nudges: ports.NudgeQueue = queues
    later: ports.LaterNudges = MemoryLater()
    dead: ports.DeadLetters = queues
    waits: ports.WaitRunner = MemoryWaits()
    sealer: ports.Sealer = PlainSealer()
    clock: ports.Clock = FakeClock()
    ids: ports.Ids = SequentialIds()

    assert all(
        (store, due, push, deliveries, receipts, contexts, endpoints, grants, turns, nudges, later, dead, waits, sealer)
    )
    assert clock().tzinfo is not None
    assert ids() != ids()
