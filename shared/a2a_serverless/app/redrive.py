"""What becomes of a dead letter that an operator puts back. Nothing that has ended begins again by it."""

from dataclasses import dataclass
from enum import StrEnum

from a2a_serverless.app import deliveries
from a2a_serverless.app.deliveries import Desk
from a2a_serverless.app.ports import Receipts, TurnQueue
from a2a_serverless.core.delivery_state import Closing, DeliveryState
from a2a_serverless.core.head import Head
from a2a_serverless.errors import InvalidParams, UnsupportedOperation
from a2a_serverless.types import TaskKey, TaskState


class Outcome(StrEnum):
    """What became of a letter."""

    SENT = "sent again"
    DROPPED = "dropped"
    """There is nothing left to do."""
    KEPT = "kept"
    """Something has to be done first."""


@dataclass(frozen=True, slots=True)
class Fate:
    """What becomes of a letter, and why."""

    outcome: Outcome
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Redrive:
    """What letters are put back with; a rehearsal only says what it would do."""

    desk: Desk
    receipts: Receipts
    turns: TurnQueue
    rehearsal: bool = False

    def turn(self, key: TaskKey, turn: int) -> Fate:
        """A turn that nobody ran."""
        head = self.desk.tasks.head(key, now=self.desk.clock())
        if head is None:
            return _dropped("the task is gone")
        if head.is_over:
            return _dropped(f"the task ended as {head.state.name}")
        if turn < head.turn_due:
            return _dropped(f"the task went on to turn {head.turn_due}")
        if not self.rehearsal:
            self.turns.enqueue_turn(key, turn)
        return _sent("the turn is still due")

    def cancel_notice(self, key: TaskKey) -> Fate:
        """An agent that did not hear of a cancel."""
        head = self.desk.tasks.head(key, now=self.desk.clock())
        if head is None or head.state is not TaskState.CANCELED:
            return _dropped("the task is gone")
        if not self.rehearsal:
            self.turns.enqueue_cancel_notice(key)
        return _sent("the agent may clean up")

    def nudge(self, key: TaskKey, config_id: str, seq: int) -> Fate:
        """A nudge that was given up."""
        head = self.desk.tasks.head(key, now=self.desk.clock())
        if head is None or config_id not in head.push:
            return _dropped("the task or its webhook is gone")
        state = self.desk.deliveries.delivery(key, config_id)
        return self._settled(key, state, seq) or self._again(key, config_id, head, state, seq)

    def ping(self) -> Fate:
        """A test that was never sent."""
        return _dropped("a test is asked for again, not repeated")

    def _settled(self, key: TaskKey, state: DeliveryState, seq: int) -> Fate | None:
        if state.disabled is not None:
            return Fate(Outcome.KEPT, f"the webhook is switched off ({state.disabled.reason.value}): ping it first")
        if state.delivered_seq >= seq:
            return _dropped("the webhook was told since")
        if self.receipts.fetched(key) >= seq:
            return _dropped("the owner has fetched the task since")
        return None

    def _again(self, key: TaskKey, config_id: str, head: Head, state: DeliveryState, seq: int) -> Fate:
        """What was given up begins anew under its id; what never came to an end is looked at again."""
        if state.settled_seq < seq or state.pending is not None:
            if not self.rehearsal:
                self.desk.nudges.enqueue_nudge(key, config_id, head.nudge_seq)
            return _sent("the nudge is still due")
        log = deliveries.log_of(self.desk, key, config_id)
        given_up = [each for each in log.deliveries if each.seq == seq and each.outcome == Closing.EXHAUSTED]
        if not given_up:
            return Fate(Outcome.KEPT, "its delivery log is gone: redeliver or ping by hand")
        return self._redelivered(key, config_id, given_up[0].message_id)

    def _redelivered(self, key: TaskKey, config_id: str, message_id: str) -> Fate:
        if self.rehearsal:
            return _sent("the webhook was not told")
        try:
            deliveries.redeliver(self.desk, key, config_id, message_id=message_id)
        except (UnsupportedOperation, InvalidParams) as refused:
            return Fate(Outcome.KEPT, refused.message)
        return _sent("the webhook was not told")


def _dropped(why: str) -> Fate:
    return Fate(Outcome.DROPPED, why)


def _sent(why: str) -> Fate:
    return Fate(Outcome.SENT, why)
