"""What `run_turn` works with: a runner, and the delivery that brought the turn."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cache
from typing import Any, Final

from a2a_serverless.app.callbacks import Callbacks
from a2a_serverless.app.run_turn import Runner
from a2a_serverless.aws.callback_table import CallbackTable
from a2a_serverless.aws.context_table import ContextTable
from a2a_serverless.aws.queues import CancelNotice, SqsDeadLetters, SqsTurns, TurnDue
from functions import wiring
from functions.run_turn.pulse import Pulse

_MARGIN: Final = timedelta(seconds=5)
"""How much longer than the lease a delivery stays hidden: whoever gets it next finds the lease over."""


@dataclass(frozen=True, slots=True)
class Delivery:
    """One message of the queue `turns`, as a runner holds it."""

    receipt: str
    received: int
    """How often it was received, this time included."""

    @classmethod
    def of(cls, record: dict[str, Any]) -> "Delivery":
        """The delivery of an SQS record."""
        return cls(record["receiptHandle"], int(record["attributes"]["ApproximateReceiveCount"]))

    def extend(self) -> None:
        """Hide it for a lease from now; a worker that dies is followed by another that soon."""
        self._hide(wiring.rules().lease + _MARGIN)

    def hide_until(self, moment: datetime) -> None:
        """Bring it back then."""
        self._hide(moment - wiring.clock() + timedelta(seconds=1))

    def bury(self, due: TurnDue | CancelNotice, reason: str) -> None:
        """Put it with the dead letters, with the reason."""
        told = wiring.settings()
        letters = SqsDeadLetters(wiring.clients.sqs, turns=told.turns_dead_letters, nudges="")
        letters.bury_turn(due.key, due.turn if isinstance(due, TurnDue) else 0, reason)

    def _hide(self, time: timedelta) -> None:
        _queue().extend(self.receipt, max(0, round(time.total_seconds())))


@cache
def _queue() -> SqsTurns:
    return SqsTurns(wiring.clients.sqs, wiring.settings().turns_queue)


def runner(delivery: Delivery) -> Runner:
    """A runner whose pulse keeps this delivery hidden."""
    return Runner(
        agents=wiring.agent,
        tasks=wiring.tasks(),
        contexts=ContextTable(wiring.table(), clock=wiring.clock),
        callbacks=_callbacks(),
        clock=wiring.clock,
        ids=wiring.ids,
        rules=wiring.rules(),
        watch=Pulse(extend=delivery.extend),
        parts=wiring.parts(),
    )


@cache
def _callbacks() -> Callbacks:
    return Callbacks(
        store=CallbackTable(wiring.table()),
        public_url=wiring.settings().public_url,
        clock=wiring.clock,
        ids=wiring.ids,
        secret=wiring.secret,
        rules=wiring.rules(),
    )
