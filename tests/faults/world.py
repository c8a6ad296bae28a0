"""A whole deployment in one process, on a clock that the world moves: the real handlers, wired as they wire themselves,
over clients that count and fail by plan. The world plays what AWS does between them: the stream, the queues, the state
machine, the schedules and the minute in which `sweep` comes.

One thing happens at a time, always the same way. A worker that stalls lets the world go on inside of its call.
"""

import itertools
import logging
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial
from types import SimpleNamespace
from typing import Any, Final

import pytest

import functions.api.handler as api
import functions.api.parts as api_parts
import functions.api.seldom as api_seldom
import functions.expire.handler as expire
import functions.expire.parts as expire_parts
import functions.notify.handler as notify
import functions.notify.parts as notify_parts
import functions.relay.handler as relay
import functions.relay.parts as relay_parts
import functions.run_turn.handler as run_turn
import functions.run_turn.parts as run_turn_parts
import functions.sweep.handler as sweep
import functions.sweep.parts as sweep_parts
from a2a_serverless.app import evidence
from a2a_serverless.app.attempt import NudgeToSend, Sent
from a2a_serverless.app.sweep import Sweeper, Swept
from a2a_serverless.app.sweep import sweep as sweep_once
from a2a_serverless.app.turn_writer import TurnWriter
from a2a_serverless.aws.keys import task_key
from a2a_serverless.aws.settings import HEAD, PARTITION_KEY, SORT_KEY, Variable
from a2a_serverless.core.head import Head
from a2a_serverless.errors import LeaseLost
from functions import signing, wiring
from functions.run_turn import pulse
from tests.fakes import START, FakeClock

from . import agent
from .machine import Machine, TaskFailed
from .partner import Partner
from .plan import STALL, Faults, WorkerDied
from .services import MOST_RECEIPTS, S3, VISIBLE_AGAIN, Kms, Queue, Scheduler, Sqs, Waiting
from .table import TABLE, DynamoDB

Object = dict[str, Any]

AGENTS: Final = "tester=tests.faults.agent:agent"
FORGIVING: Final = "tester=tests.faults.agent:forgiving"
_PATIENCE: Final = 30.0
"""Seconds after which a caller gives up on a request."""
_RELAY_ATTEMPTS: Final = 11
"""The first and ten more (`cdk.relay`)."""
_BEAT: Final = 1.0
_EXTEND_EVERY: Final = 10.0
_MINUTE: Final = timedelta(minutes=1)


@dataclass
class World:
    """One run of one script."""

    faults: Faults = field(default_factory=Faults)
    stream_is_lost: bool = False
    """The stream carries nothing: only the sweep is left."""

    def __post_init__(self) -> None:
        self.clock = FakeClock(START)
        self.numbers = itertools.count(1)
        self.table = DynamoDB(self.faults)
        self.turns = Queue("turns", VISIBLE_AGAIN["turns"], MOST_RECEIPTS)
        self.nudges = Queue("nudges", VISIBLE_AGAIN["nudges"], MOST_RECEIPTS)
        self.turns_dead = Queue("turns-dead", timedelta(0), 1_000_000)
        self.nudges_dead = Queue("nudges-dead", timedelta(0), 1_000_000)
        self.sqs = Sqs(self.faults, self.clock, self.turns, self.nudges, self.turns_dead, self.nudges_dead)
        self.scheduler = Scheduler(self.faults)
        self.machine = Machine(self.faults, self.clock, self._update_item, self._expire)
        self.kms = Kms(self.faults)
        self.s3 = S3(self.faults)
        self.partner = Partner(self)
        self.ledger = agent.begin_anew()
        self.ledger.work = self._work
        self.ledger.is_known = lambda task: task in self.accepted
        self.accepted: dict[str, list[str]] = {}
        """By task, the ids of messages that were accepted."""
        self.repaired: list[tuple[str, str]] = []
        """What the sweeps reported: which task, and why it was put back."""
        self.lost_records: list[Object] = []
        self.invoked: Counter[str] = Counter()
        """How often each function was called."""
        self._pulses: list[tuple[TurnWriter, Callable[[], None], list[datetime]]] = []
        self._stream_at = START
        self._stream_tries = 0
        self._stream_is_busy = False
        self._sweep_at: tuple[int, datetime | None] = (-1, None)
        self.faults.stall = self._stall

    # Time

    def run_for(self, seconds: float) -> None:
        """Let so much time pass, and everything happen that is due in it."""
        self.run_until(self.clock() + timedelta(seconds=seconds))

    def run_until(self, end: datetime) -> None:
        """Let everything happen until then."""
        while self.step(end):
            pass
        self.clock.now = max(self.clock.now, end)

    def wait_until(self, happened: Callable[[], bool], *, within: timedelta) -> None:
        """Let time pass until something is so.

        Raises:
            AssertionError: it was not in time.
        """
        end = self.clock() + within
        while not happened():
            assert self.step(end), f"it did not happen within {within}"

    def drain(self, *, within: timedelta = timedelta(days=6)) -> None:
        """Let time pass until nothing is to come any more."""
        end = self.clock() + within
        while self.step(end):
            pass

    def step(self, end: datetime) -> bool:
        """Let the next thing happen, if it is due by `end`."""
        due = [(at, order, do) for order, (at, do) in enumerate(self._next()) if at is not None and at <= end]
        if not due:
            return False
        at, _, do = min(due, key=lambda one: (max(one[0], self.clock.now), one[1]))
        self.clock.now = max(self.clock.now, at)
        do()
        return True

    def _next(self) -> Iterator[tuple[datetime | None, Callable[[], None]]]:
        """Everything that may happen next, and when; what comes first of two at a time."""
        streams = self.table.stream and not self._stream_is_busy
        yield (self._stream_at if streams else None), self._stream
        yield self.turns.next_at(), lambda: self._deliver(self.turns, "run_turn", run_turn.handler)
        yield self.nudges.next_at(), lambda: self._deliver(self.nudges, "notify", notify.handler)
        yield (self.clock.now if self.partner.to_fetch else None), self.partner.fetch
        yield self.machine.next_at(), self.machine.step
        yield self.scheduler.next_at(), self._scheduled
        yield self._next_sweep(), self._sweep

    # Hops

    def invoke(self, hop: str, handler: Callable[[Any, object], Object], event: Object) -> Object | None:
        """Call a function as Lambda does; None if it raised or died."""
        self.invoked[hop] += 1
        self.faults.hops.append(hop)
        try:
            return handler(event, None)
        except (Exception, WorkerDied):  # noqa: BLE001 (Lambda does not care either)
            return None
        finally:
            self.faults.hops.pop()

    def http(self, path: str, body: str) -> Object | None:
        """A request to the API."""
        event = {
            "version": "2.0",
            "rawPath": path.partition("?")[0],
            "rawQueryString": path.partition("?")[2],
            "headers": {"content-type": "application/json", "a2a-version": "1.0"},
            "requestContext": {"http": {"method": "POST"}},
            "body": body,
        }
        return self.invoke("api", api.handler, event)

    def _stream(self) -> None:
        if self.stream_is_lost:
            self.table.stream.clear()
            return
        records = self.table.stream[:25]
        self._stream_is_busy = True
        answer = self.invoke("relay", relay.handler, {"Records": records})
        self._stream_is_busy = False
        failures = [_sequence(records[0])]
        if answer is not None:
            failures = [failure["itemIdentifier"] for failure in answer["batchItemFailures"]]
        names = [_sequence(record) for record in records]
        done = names.index(failures[0]) if failures else len(records)
        del self.table.stream[:done]
        self._stream_tries = self._stream_tries + 1 if failures and not done else int(bool(failures))
        self._stream_at = self.clock() + timedelta(seconds=1) if failures else self.clock()
        if self._stream_tries >= _RELAY_ATTEMPTS:
            self.lost_records.append(self.table.stream.pop(0))
            self._stream_tries = 0

    def _deliver(self, queue: Queue, hop: str, handler: Callable[[Any, object], Object]) -> None:
        message = queue.receive(self.clock())
        if message is None:
            return
        receipt = message.receipt
        answer = self.invoke(hop, handler, {"Records": [_record(message)]})
        if answer is not None and not answer["batchItemFailures"]:
            queue.delete(message, receipt)

    def _update_item(self, **request: Any) -> Object:
        """The machine's own writes; which table it is, the template says."""
        return self.table.update_item(**request | {"TableName": TABLE})

    def _expire(self, event: Object) -> Object:
        answer = self.invoke("expire", expire.handler, event)
        if answer is None:
            raise TaskFailed("Lambda.Unknown")
        return answer

    def _scheduled(self) -> None:
        for body in self.scheduler.due(self.clock()):
            self.sqs.send(QueueUrl="nudges", MessageBody=body)

    def _next_sweep(self) -> datetime | None:
        """The first whole minute in which a sweep has something to look at: those before it would find nothing."""
        if self._sweep_at[0] != (writes := self.table.writes):
            first = min(self.table.due.values(), default=None)
            self._sweep_at = (writes, datetime.fromisoformat(first) if first else None)
        due = self._sweep_at[1]
        if due is None:
            return None
        minutes = -((START - max(due, self.clock.now)) // _MINUTE)
        return START + minutes * _MINUTE

    def _sweep(self) -> None:
        self.invoke("sweep", sweep.handler, {})
        # One sweep in a minute: what it left is for the next.
        self.clock.now = max(self.clock.now, self.clock.now + timedelta(milliseconds=1))

    # Faults that take time

    def _stall(self, hop: str) -> None:
        if hop != "api" or not self.partner.under_way:
            self.run_for(STALL)
            return
        self.run_for(_PATIENCE)
        self.partner.lose_patience()
        self.run_for(STALL - _PATIENCE)

    # The agent's time

    def watch(self, extend: Callable[[], None]) -> Callable[[TurnWriter, Callable[[], None]], None]:
        """What stands for the pulse of `run_turn`: it beats whenever the agent lets time pass."""

        def watching(writer: TurnWriter, run: Callable[[], None]) -> None:
            self._pulses.append((writer, extend, [self.clock()]))
            try:
                run()
            finally:
                self._pulses.pop()

        return watching

    def _work(self, seconds: float) -> None:
        """The agent works: time passes beat by beat, and everything else happens meanwhile."""
        writer, extend, due = self._pulses[-1]
        hops = len(self.faults.hops)
        end = self.clock() + timedelta(seconds=seconds)
        if writer.lost:
            raise LeaseLost("the run was stopped")  # it had its grace
        while self.clock() < end:
            self.run_for(min(_BEAT, (end - self.clock()).total_seconds()))
            assert len(self.faults.hops) == hops
            if not pulse._ticked(writer):
                return
            if self.clock() >= due[0]:
                pulse.Pulse(extend=extend)._extend(writer)
                due[0] = self.clock() + timedelta(seconds=_EXTEND_EVERY)

    # What there is to see

    def heads(self) -> dict[str, Head]:
        """Every task by its id, as it is stored."""
        keys = [task_key(item[PARTITION_KEY]["S"]) for item in self.table.items() if item[SORT_KEY]["S"] == HEAD]
        with self.uncounted():
            found = {key.task_id: wiring.tasks().head(key, now=self.clock()) for key in keys}
        return {name: head for name, head in found.items() if head is not None}

    @contextmanager
    def uncounted(self) -> Iterator[None]:
        """A look that is none of the run's calls."""
        self.faults.is_on = False
        try:
            yield
        finally:
            self.faults.is_on = True


def _sequence(record: Object) -> str:
    sequence: str = record["dynamodb"]["SequenceNumber"]
    return sequence


def _record(message: Waiting) -> Object:
    attributes = {"ApproximateReceiveCount": str(message.received)}
    return {
        "messageId": message.id,
        "receiptHandle": message.receipt,
        "body": message.body,
        "attributes": attributes,
    }


class Present:
    """The world that is on; the functions are wired once, to whatever it is."""

    world: World

    def clock(self) -> datetime:
        """Its time."""
        return self.world.clock()

    def pause(self, seconds: float) -> None:
        """A caller waits."""
        self.world.run_for(seconds)

    def new(self, name: str) -> str:
        """A new id, or a new secret."""
        return f"{name}-{next(self.world.numbers):012d}"

    def watch(self, extend: Callable[[], None]) -> Callable[[TurnWriter, Callable[[], None]], None]:
        """What stands for `Pulse`."""
        return self.world.watch(extend)

    def post(self, nudge: NudgeToSend, *, now: datetime) -> Sent:
        """What stands for the sender of webhooks."""
        return self.world.partner(nudge, now=now)

    def sweep(self, sweeper: Sweeper) -> Swept:
        """Sweep, and keep what was reported."""
        swept = sweep_once(sweeper)
        self.world.repaired.extend(swept.repaired)
        return swept


class _Client:
    """A client of the world that is on."""

    def __init__(self, present: Present, name: str) -> None:
        self._present = present
        self._name = name

    def __getattr__(self, operation: str) -> Any:
        return getattr(getattr(self._present.world, self._name), operation)


def wire(patch: pytest.MonkeyPatch, *, agents: str = AGENTS, evidence_days: int = 0) -> Present:
    """Wire the functions, as they wire themselves, to the world that will be on."""
    present = Present()
    unwire()
    for name, value in _ENVIRONMENT.items():
        patch.setenv(name, value)
    patch.setenv(Variable.AGENTS, agents)
    patch.setenv(Variable.EVIDENCE_DAYS, str(evidence_days))
    services = {"dynamodb": "table", "stepfunctions": "machine"}
    names = ("dynamodb", "sqs", "stepfunctions", "scheduler", "kms", "s3")
    clients = SimpleNamespace(**{name: _Client(present, services.get(name, name)) for name in names})
    patch.setattr(wiring, "clients", clients)
    patch.setattr(wiring, "clock", present.clock)
    patch.setattr(wiring, "ids", lambda: present.new("id"))
    patch.setattr(wiring, "secret", lambda: present.new("secret"))
    patch.setattr(signing, "kept_fresh", lambda _now: ())
    patch.setattr(evidence, "threading", SimpleNamespace(Thread=_AtOnce))
    patch.setattr(sweep, "sweep", present.sweep)
    patch.setattr(api_parts, "time", SimpleNamespace(sleep=present.pause, monotonic=lambda: 0.0))
    patch.setattr(notify, "ThreadPoolExecutor", _OneByOne)
    patch.setattr(notify_parts, "random", SimpleNamespace(uniform=lambda *_: 1.0))
    patch.setattr(notify_parts, "_send", present.post)
    patch.setattr(run_turn_parts, "Pulse", present.watch)
    logging.disable(logging.CRITICAL)
    return present


class _AtOnce:
    """A thread that is over when it was started: one thing happens at a time."""

    def __init__(self, *, target: Callable[..., None], args: tuple[Any, ...], **_: object) -> None:
        self.start: Callable[[], None] = partial(target, *args)

    def join(self, _patience: float) -> None:
        pass

    def is_alive(self) -> bool:
        """Never."""
        return False


class _OneByOne:
    """A batch has one message here, and needs no thread."""

    def __init__(self, **_: Any) -> None:
        pass

    def __enter__(self) -> "_OneByOne":
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def map(self, do: Callable[[Any], Any], batch: Iterable[Any]) -> list[Any]:
        """What each comes to."""
        return [do(one) for one in batch]


def unwire() -> None:
    """Nothing that was built for another deployment may be found."""
    logging.disable(logging.NOTSET)
    forget()


def forget() -> None:
    """Let the functions begin anew, as new processes would: what they remember is part of a run."""
    parts = (
        api_parts,
        api_seldom,
        expire_parts,
        notify_parts,
        relay_parts,
        run_turn_parts,
        sweep_parts,
        signing,
        wiring,
    )
    for name, built in itertools.chain.from_iterable(vars(module).items() for module in parts):
        if callable(clear := getattr(built, "cache_clear", None)) and not name.startswith("__"):
            clear()


_ENVIRONMENT: Final = {
    Variable.STAGE: "test",
    Variable.PUBLIC_URL: "https://agent.example",
    Variable.TABLE: TABLE,
    Variable.BUCKET: "bucket",
    Variable.TURNS_QUEUE: "turns",
    Variable.TURNS_DEAD_LETTERS: "turns-dead",
    Variable.NUDGES_QUEUE: "nudges",
    Variable.NUDGES_DEAD_LETTERS: "nudges-dead",
    Variable.NUDGES_QUEUE_ARN: "arn:nudges",
    Variable.SCHEDULE_GROUP: "group",
    Variable.SCHEDULE_ROLE: "arn:role",
    Variable.WAIT_MACHINE: "arn:machine",
    Variable.SEALING_KEY: "key",
}
