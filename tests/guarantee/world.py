"""The world of `tests/faults` with a crowd in it: many tasks at a time, each hop and each caller a strand."""

import random
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Final

from botocore.exceptions import BotoCoreError, ClientError

import functions.notify.handler as notify
import functions.relay.handler as relay
import functions.run_turn.handler as run_turn
from a2a_serverless.app.attempt import NudgeToSend, Sent
from a2a_serverless.aws.settings import NUDGE_SEQ, PARTITION_KEY
from a2a_serverless.core.delivery_outcome import Fault as NoAnswerBecause
from a2a_serverless.core.delivery_outcome import NoAnswer
from tests.faults.partner import Partner as Caller
from tests.faults.plan import STALL
from tests.faults.services import Queue
from tests.faults.world import World

from .hazards import Hazards, Mishap
from .partners import Endpoint, Partner
from .weave import PerStrand, Weave
from .wire import Wire

Object = dict[str, Any]

LANES: Final = 4
"""Of the stream, each in order (`cdk.relay`, parallelization_factor)."""
_BATCH: Final = 25
_RELAY_ATTEMPTS: Final = 11
_PATIENCE: Final = 30.0
"""Seconds after which a caller gives up on a request, and sends it again."""


@dataclass(frozen=True, slots=True)
class Tried:
    """One request to an endpoint."""

    at: datetime
    url: str
    task_id: str
    seq: int
    message_id: str
    registered: datetime
    """When its webhook was: one that is registered again is told anew where its task stands, under a new id."""


@dataclass
class Lane:
    """One part of the stream: its tasks' changes in order, one batch at a time."""

    records: list[Object] = field(default_factory=list)
    due: datetime | None = None
    """When its next batch may be handed on; None when it is at work."""
    tries: int = 0
    batch: int = _BATCH
    """How many records the next batch has: halved by each that failed as a whole (bisect_batch_on_error)."""


@dataclass
class Deployment(World):
    """One deployment, its partners, and what went over the wire between them."""

    faults: Hazards = field(default_factory=Hazards)
    wire: Wire | None = None
    partners: list[Partner] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__post_init__()
        self._pulses = PerStrand()  # type: ignore[assignment]  # a list as far as anybody uses it
        self._callers = PerStrand()
        self.weave = Weave(self.clock)
        self.lanes = [Lane(due=self.clock()) for _ in range(LANES)]
        self.tried: list[Tried] = []
        self.committed: dict[tuple[str, int], datetime] = {}
        """When the stream showed a task's change for the first time, by task and number."""
        self.endpoints: dict[str, Endpoint] = {}
        self._swept_at = datetime.min.replace(tzinfo=self.clock().tzinfo)

    @property
    def dice(self) -> random.Random:
        """What all chance comes from."""
        return self.faults.dice

    @property
    def manners(self) -> Mapping[str, int]:
        """How requests were treated, and how often each way."""
        return sum((endpoint.manners for endpoint in self.endpoints.values()), Counter[str]())

    def close(self) -> None:
        """End everything that is on."""
        self.weave.close()
        for endpoint in self.endpoints.values():
            endpoint.server.close()

    # Time

    def run_for(self, seconds: float) -> None:
        """Let so much time pass: a strand sleeps, and whoever plays the world lets everything happen."""
        if self.weave.is_inside:
            self.weave.sleep(seconds)
        else:
            super().run_for(seconds)

    def later(self, seconds: float, do: Callable[[], None]) -> None:
        """Do something then."""
        self.weave.begin_at(self.clock() + timedelta(seconds=seconds), do)

    def _next(self) -> Iterator[tuple[datetime | None, Callable[[], None]]]:
        self._follow_stream()
        now = self.clock.now
        yield self.weave.next_at(), self.weave.resume
        for lane in self.lanes:
            yield (lane.due if lane.records else None), self._strand(self._relay, lane)
        yield self.turns.next_at(), self._strand(self._hand_out, self.turns, "run_turn", run_turn.handler)
        yield self.nudges.next_at(), self._strand(self._hand_out, self.nudges, "notify", notify.handler)
        for partner in self.partners:
            fetches = partner.to_fetch and not partner.is_fetching
            yield (now if fetches else None), self._strand(partner.fetch)
        yield self.machine.next_at(), self._strand(self.machine.step)
        yield self.scheduler.next_at(), self._strand(self._scheduled)
        yield self._next_sweep(), self._strand(self._sweep)

    def _strand(self, do: Callable[..., None], *about: object) -> Callable[[], None]:
        return lambda: self.weave.begin(lambda: do(*about))

    # The stream

    def _follow_stream(self) -> None:
        for record in self.table.stream:
            images = record["dynamodb"]
            task = images["Keys"][PARTITION_KEY]["S"]
            self.lanes[sum(task.encode()) % LANES].records.append(record)
            seq = int(images.get("NewImage", {}).get(NUDGE_SEQ, {"N": "0"})["N"])
            if seq:
                self.committed.setdefault((task.rpartition("/")[2], seq), self.clock.now)
        self.table.stream.clear()

    def _relay(self, lane: Lane) -> None:
        if self.stream_is_lost:
            lane.records.clear()
            return
        mishap = self.faults.on_batch()
        if mishap is Mishap.STREAM_THROTTLED:
            lane.due = self.clock() + timedelta(seconds=self.dice.uniform(1, 60))
            return
        batch = lane.records[: lane.batch]
        if mishap is Mishap.RECORD_DROPPED:
            self._give_up(lane, len(batch))
            return
        lane.due = None
        answer = self.invoke("relay", relay.handler, {"Records": batch})
        if mishap in {Mishap.BATCH_AGAIN, Mishap.BATCH_KILLED}:
            answer = None if mishap is Mishap.BATCH_KILLED else self.invoke("relay", relay.handler, {"Records": batch})
        self._go_on(lane, batch, answer)

    def _go_on(self, lane: Lane, batch: list[Object], answer: Object | None) -> None:
        names = [record["dynamodb"]["SequenceNumber"] for record in batch]
        if answer is None:
            done, lane.batch = 0, max(1, len(batch) // 2)
        else:
            failures = [failure["itemIdentifier"] for failure in answer["batchItemFailures"]]
            done, lane.batch = names.index(failures[0]) if failures else len(batch), _BATCH
        del lane.records[:done]
        lane.tries = 0 if done else lane.tries + 1
        lane.due = self.clock() + timedelta(seconds=0 if done == len(batch) else 1)
        if lane.tries >= _RELAY_ATTEMPTS:
            self._give_up(lane, 1)

    def _give_up(self, lane: Lane, count: int) -> None:
        """To the dead letters of the stream, where nobody looks: the sweep has to find what they tell of."""
        self.lost_records += lane.records[:count]
        del lane.records[:count]
        lane.due, lane.tries = self.clock(), 0

    # The queues

    def _hand_out(self, queue: Queue, hop: str, handler: Callable[[Any, object], Object]) -> None:
        mishap = self.faults.on_delivery()
        if mishap is Mishap.OUT_OF_ORDER:
            self.dice.shuffle(queue.messages)
        message = queue.receive(self.clock())
        if message is None:
            return
        if mishap is Mishap.THROTTLED:
            message.visible_at = self.clock() + timedelta(seconds=self.dice.uniform(1, 120))
            return
        if mishap is Mishap.DELIVERED_TWICE:
            self.sqs.send(QueueUrl=queue.name, MessageBody=message.body, DelaySeconds=self.dice.randrange(3))
        receipt = message.receipt
        event = {"messageId": message.id, "receiptHandle": receipt, "body": message.body}
        received = {"attributes": {"ApproximateReceiveCount": str(message.received)}}
        answer = self.invoke(hop, handler, {"Records": [event | received]})
        is_done = answer is not None and not answer["batchItemFailures"]
        if is_done and mishap is not Mishap.NEVER_DELETED:
            queue.delete(message, receipt)

    # The minute

    def _next_sweep(self) -> datetime | None:
        due = super()._next_sweep()
        return None if due is None else max(due, self._swept_at + timedelta(minutes=1))

    def _sweep(self) -> None:
        self._swept_at = self.clock()
        super()._sweep()

    # Faults that take time

    @contextmanager
    def calling(self, caller: Caller) -> Iterator[None]:
        """Whoever calls the API in this strand has the patience of a caller."""
        self._callers.append(caller)
        try:
            yield
        finally:
            self._callers.pop()

    def _stall(self, hop: str) -> None:
        caller = self._callers[-1] if hop == "api" and len(self._callers) else None
        if not isinstance(caller, Caller) or not caller.under_way:
            self.run_for(STALL)
            return
        self.run_for(_PATIENCE)
        caller.lose_patience()
        self.run_for(STALL - _PATIENCE)

    # The way of a nudge

    def post(self, nudge: NudgeToSend, *, now: datetime) -> Sent:
        """Take a nudge from `notify` to its endpoint, with the product's own sender."""
        try:
            return self.faults.call("partner.post", lambda: self._post(nudge, now=self.clock()))
        except ClientError:
            outcome = NoAnswer(NoAnswerBecause.CONNECT)
        except BotoCoreError:
            outcome = NoAnswer(NoAnswerBecause.TIMEOUT)
        return Sent(outcome=outcome, milliseconds=0, key_id="")

    def _post(self, nudge: NudgeToSend, *, now: datetime) -> Sent:
        endpoint, told = self.endpoints[nudge.config.url], nudge.nudge
        manner = endpoint.prepare(self.dice, now=now, spent=told.spent)
        task, registered = nudge.head.key.task_id, nudge.config.created_at
        self.tried.append(Tried(now, endpoint.url, task, told.seq, told.message_id, registered))
        assert self.wire is not None
        sent = self.wire.send(nudge, endpoint, manner, now=now)
        if manner.seconds:
            self.run_for(manner.seconds)
        return sent
