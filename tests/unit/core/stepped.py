"""A deployment that moves one step at a time: workers that a test leads by the hand, and a queue and a stream that may
deliver late, twice, in any order or not at all.

A worker is the real `run_turn` in a thread of its own; its agent does nothing but what it is told, and the thread runs
only while the test waits for it, so that every interleaving is one that the test chose.
"""

import threading
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from queue import SimpleQueue

from a2a_serverless.agent import Turn
from a2a_serverless.app.relay import relay_change
from a2a_serverless.app.run_turn import Buried, Done, Later, Outcome, run_turn
from a2a_serverless.app.turn_writer import TurnWriter
from a2a_serverless.core.head import Head
from a2a_serverless.types import TaskKey
from tests.unit.app.world import WorkerDied, World, agent_that

PATIENCE = 20.0
"""Seconds to wait for a worker's thread before the test is broken."""


@dataclass
class Delivery:
    """A message of the queue `turns`."""

    key: TaskKey
    turn: int
    received: int = 0


class Running:
    """The agent waits for its next command."""


RUNNING = Running()
Step = Callable[[Turn], bool]
"""What the agent does next; answers whether it then returns."""


class Worker:
    """One delivery at work."""

    def __init__(self, world: World, delivery: Delivery, *, decides_on_expiry: bool) -> None:
        self.world = world
        self.delivery = delivery
        self.turn: Turn | None = None
        self.number = 0
        """The turn and attempt it runs, once it runs one."""
        self.attempt = 0
        self.fence = 0
        self.writer: TurnWriter | None = None
        self.came: Outcome | BaseException | None = None
        """What became of the delivery, once it is over."""
        agent = agent_that(self._act, on_expire=self._act if decides_on_expiry else None)
        self._runner = replace(world.runner, agents=lambda _: agent, watch=self._watch)
        self._steps: SimpleQueue[Step] = SimpleQueue()
        self._answers: SimpleQueue[Running | Outcome | BaseException] = SimpleQueue()
        self._thread = threading.Thread(target=self._work, name="worker", daemon=True)

    @property
    def is_running(self) -> bool:
        """Whether the agent waits for a step."""
        return self.came is None

    def start(self) -> None:
        """Take the delivery, up to the agent's first step or to whatever else comes of it."""
        self.delivery.received += 1
        self._thread.start()
        self._hear()

    def do(self, step: Step) -> None:
        """Let the agent do one thing."""
        self._steps.put(step)
        self._hear()

    def die(self) -> None:
        """Kill the process."""
        self.do(_dies)

    def is_this_thread(self) -> bool:
        """Whether whoever asks is the worker itself."""
        return threading.current_thread() is self._thread

    def _hear(self) -> None:
        answer = self._answers.get(timeout=PATIENCE)
        if isinstance(answer, Running):
            return
        self._thread.join(PATIENCE)
        self.came = answer

    def _work(self) -> None:
        redelivered = self.delivery.received > 1
        try:
            outcome = run_turn(self._runner, self.delivery.key, self.delivery.turn, redelivered=redelivered)
        except BaseException as ended:  # noqa: BLE001 (the machine judges it)
            self._answers.put(ended)
        else:
            self._answers.put(outcome)

    def _watch(self, writer: TurnWriter, run: Callable[[], None]) -> None:
        self.writer = writer
        self.number, self.attempt, self.fence = writer.head.turn, writer.head.attempt, writer.head.fence
        run()

    def _act(self, turn: Turn) -> None:
        self.turn = turn
        while True:
            self._answers.put(RUNNING)
            if self._steps.get()(turn):
                return


def _dies(_turn: Turn) -> bool:
    raise WorkerDied


@dataclass
class TurnQueue:
    """SQS `turns`: at least once, in no order."""

    visible: list[Delivery] = field(default_factory=list)
    buried: list[Delivery] = field(default_factory=list)

    def take_in(self, world: World) -> None:
        """Whatever was enqueued since."""
        queued, world.queues.turns = world.queues.turns, []
        self.visible += [Delivery(turn.key, turn.turn) for turn in queued]

    def settle(self, worker: Worker) -> None:
        """What the handler does with the outcome."""
        match worker.came:
            case Done() | None:
                pass
            case Buried():
                self.buried.append(worker.delivery)
            case Later() | BaseException():
                self.visible.append(worker.delivery)


@dataclass
class Stream:
    """The table's stream: each task's changes in order, at least once, and where the test says so not at all."""

    world: World
    pending: dict[TaskKey, list[tuple[Head | None, Head]]] = field(default_factory=dict)
    past: list[tuple[Head | None, Head]] = field(default_factory=list)
    _seen: int = 0

    def take_in(self) -> None:
        """Whatever was committed since."""
        for old, new in self.world.tasks.changes[self._seen :]:
            self.pending.setdefault(new.key, []).append((old, new))
        self._seen = len(self.world.tasks.changes)

    def changed(self) -> list[TaskKey]:
        """Tasks that have changes to relay."""
        self.take_in()
        return [key for key, changes in self.pending.items() if changes]

    def relay(self, key: TaskKey) -> None:
        """The next change of a task."""
        old, new = self.pending[key].pop(0)
        self.past.append((old, new))
        relay_change(self.world.stream, old, new)

    def drop(self, key: TaskKey) -> None:
        """The next change of a task gets lost."""
        self.pending[key].pop(0)

    def replay(self, number: int) -> None:
        """A change that was relayed before, once more."""
        old, new = self.past[number % len(self.past)]
        relay_change(self.world.stream, old, new)
