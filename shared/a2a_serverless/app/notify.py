"""notify: a message says that a webhook may have to hear of a change; what is stored decides (`core.delivery`).

Claim, sign, post, record: the claim is written before the request goes out, so that two senders never send the same
nudge at once, and one that stalled cannot overwrite what a newer one found.
"""

import logging
from collections.abc import Callable
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Final, assert_never

from a2a_serverless.app.attempt import NudgeToSend, Sender, Sent, endpoint_of, learn, record_of, result_of
from a2a_serverless.app.ports import (
    AttemptRecord,
    Clock,
    DeadLetters,
    DeliveryStore,
    Endpoints,
    Ids,
    LaterNudges,
    NudgeQueue,
    PushStore,
    Receipts,
    Sealer,
    TaskStore,
)
from a2a_serverless.core.delivery import (
    AfterAttempt,
    Decision,
    Deliver,
    Drop,
    Postpone,
    Settle,
    after_attempt,
    decide_on_arrival,
)
from a2a_serverless.core.delivery_endpoint import LEASE
from a2a_serverless.core.delivery_health import Alert
from a2a_serverless.core.delivery_schedule import ByQueue, BySchedule, Carrier, carrier
from a2a_serverless.core.delivery_state import (
    Closed,
    Closing,
    DeliveryState,
    Finished,
    GiveUp,
    NextStep,
    PendingNudge,
    RetryAt,
    SwitchOff,
    carried,
)
from a2a_serverless.core.head import Head
from a2a_serverless.core.push import PushConfig, PushSecrets
from a2a_serverless.errors import Conflict
from a2a_serverless.types import TaskKey

_TRIES: Final = 5
_NO_PLACE: Final = ""

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Notifier:
    """What nudges are delivered with."""

    tasks: TaskStore
    push: PushStore
    deliveries: DeliveryStore
    endpoints: Endpoints
    receipts: Receipts
    nudges: NudgeQueue
    later: LaterNudges
    dead_letters: DeadLetters
    sealer: Sealer
    send: Sender
    clock: Clock
    ids: Ids
    jitter: Callable[[], float]
    """Drawn evenly from [0.8, 1.2]."""


def notify(notifier: Notifier, key: TaskKey, config_id: str, seq: int) -> str:
    """Work off one arrival; answers in a word what it came to.

    Raises:
        Exception: ours; the arrival must come again.
    """
    for _ in range(_TRIES):
        found = notifier.deliveries.webhook(key, config_id)
        if found is None:
            return "config_gone"
        config, state = found
        result = _Arrival(notifier, key, config, seq).work_off(state)
        if result is not None:
            return result
    raise Conflict(f"other senders came first {_TRIES} times for config {config_id}")


@dataclass(frozen=True, slots=True)
class _Arrival:
    """A message at work: it says only which config may have to hear of which change."""

    notifier: Notifier
    key: TaskKey
    config: PushConfig
    seq: int

    def work_off(self, state: DeliveryState) -> str | None:
        """Decide and do. None if another sender wrote in between: it may know less than this arrival does, so look
        again."""
        head = self.notifier.tasks.head(self.key, now=self.notifier.clock())
        if head is not None and self.config.id not in head.push:
            return "config_gone"
        decision = self._decide(state, head)
        place = self._enter(decision)
        if place is None:
            return None
        by = self._carrier(decision)
        if isinstance(decision, Settle):
            self._bury(decision.step)
        try:
            self._write_decided(state, decision, by)
        except Conflict:
            self._leave(place)
            return None
        return self._do(decision, head, by, place)

    def _decide(self, state: DeliveryState, head: Head | None) -> Decision:
        return decide_on_arrival(
            state,
            seq=self.seq,
            head=head,
            acked_seq=self._acked(state),
            endpoint=self.notifier.endpoints.endpoint(self._endpoint),
            message_id=f"msg_{self.notifier.ids()}",
            now=self.notifier.clock(),
            jitter=self.notifier.jitter(),
        )

    def _acked(self, state: DeliveryState) -> int:
        """What the owner has fetched. A first attempt is made whatever that is, so it does not pay for the question."""
        is_retry = state.pending is not None and state.pending.spent > 0
        return self.notifier.receipts.fetched(self.key) if is_retry else 0

    def _enter(self, decision: Decision) -> str | None:
        """A place at the endpoint for who is to send; None when others took the last ones since it was looked at."""
        if not isinstance(decision, Deliver):
            return _NO_PLACE
        until = self.notifier.clock() + LEASE
        return self.notifier.endpoints.enter(self._endpoint, places=decision.places, until=until)

    def _leave(self, place: str) -> None:
        if place != _NO_PLACE:
            health = self.notifier.endpoints.endpoint(self._endpoint)
            self.notifier.endpoints.save_endpoint(self._endpoint, health, leaving=place)

    def _carrier(self, step: Decision | NextStep) -> Carrier | None:
        """Who brings the nudge back, if it has to come back."""
        match step:
            case Postpone(until=at) | RetryAt(at):
                return carrier(at, now=self.notifier.clock())
            case _:
                return None

    def _write_decided(self, before: DeliveryState, decision: Decision, by: Carrier | None) -> None:
        if isinstance(decision, Drop):
            return
        state = carried(decision.state, by, read=before)
        if state != before:
            self._save(state)
        if _is_coming(before, now=self.notifier.clock()) and state.scheduled_for is None:
            self.notifier.later.cancel(self.key, self.config.id)

    def _do(self, decision: Decision, head: Head | None, by: Carrier | None, place: str) -> str:
        match decision:
            case Drop(reason):
                return reason.value
            case Postpone(reason=reason):
                self._log_closed(decision.superseded)
                pending = decision.state.pending
                self._bring_back(max(self.seq, pending.seq if pending else 0), by)
                return reason.value
            case Settle():
                self._tell(decision.alerts)
                self._step(decision.step)
                return decision.step.closed.how.value
            case Deliver():
                if head is None:
                    raise RuntimeError("a nudge is delivered for a task that is there")
                self._log_closed(decision.superseded)
                return self._attempt(head, decision, place)
            case _:
                assert_never(decision)

    def _attempt(self, head: Head, decision: Deliver, place: str) -> str:
        """Send what was claimed and record what came of it, unless the claim was lost meanwhile."""
        notifier = self.notifier
        if decision.probe:
            notifier.endpoints.save_endpoint(self._endpoint, decision.endpoint)
        sent = notifier.send(self._wanted(head, decision), now=notifier.clock())
        now = notifier.clock()
        after = after_attempt(decision.state, sent.outcome, now=now, jitter=notifier.jitter())
        learn(notifier.endpoints, self._endpoint, sent, after.verdict, now=now, place=place)
        self._record(decision.nudge, sent, after)
        by = self._carrier(after.step)
        self._bury(after.step)
        try:
            self._save(carried(after.state, by, read=decision.state))
        except Conflict:
            return "overtaken"
        self._tell(after.alerts)
        self._bring_back(decision.nudge.seq, by)
        self._step(after.step)
        return result_of(after.verdict)

    def _wanted(self, head: Head, decision: Deliver) -> NudgeToSend:
        sealed = self.config.sealed
        secrets = self.notifier.sealer.open(sealed, self.key, self.config.id) if sealed else PushSecrets()
        return NudgeToSend(
            head=head,
            config=self.config,
            secrets=secrets,
            nudge=decision.nudge,
            plain_json=decision.state.plain_json,
        )

    def _step(self, step: NextStep) -> None:
        match step:
            case RetryAt():
                pass  # it is on its way back
            case Finished(closed):
                if closed.how is not Closing.DELIVERED:
                    self._log_closed(closed)
            case GiveUp(closed):
                log.error("nudge %s", _reason(closed), extra=self._where | {"seq": closed.seq})
                self._log_closed(closed)
            case SwitchOff(closed, reason):
                log.error("webhook disabled", extra=self._where | {"reason": reason.value})
                self._log_closed(closed)
            case _:
                assert_never(step)

    def _bury(self, step: NextStep) -> None:
        """Put a nudge that is given up with the dead letters, before its state says that it is over: a sender that dies
        in between leaves it there twice, and not nowhere."""
        if isinstance(step, GiveUp):
            self.notifier.dead_letters.bury_nudge(self.key, self.config.id, step.closed.seq, _reason(step.closed))

    def _bring_back(self, seq: int, by: Carrier | None) -> None:
        notifier, config = self.notifier, self.config.id
        match by:
            case None:
                pass
            case ByQueue(seconds):
                endpoint = self._endpoint
                notifier.nudges.enqueue_nudge(self.key, config, seq, delay_seconds=seconds, endpoint=endpoint)
            case BySchedule(at):
                notifier.later.bring_back(self.key, config, seq, at=at)
            case _:
                assert_never(by)

    def _tell(self, alerts: tuple[Alert, ...]) -> None:
        """One line for each: the stack counts them by `alert` and wakes somebody (`cdk.watch`)."""
        for alert in alerts:
            log.warning("webhook alert", extra=self._where | {"alert": alert.value, "endpoint": self._endpoint})

    def _save(self, state: DeliveryState) -> None:
        self.notifier.deliveries.save_delivery(self.key, self.config.id, state)

    def _record(self, nudge: PendingNudge, sent: Sent, after: AfterAttempt) -> None:
        """One line per attempt, in the delivery log and in the log, every decision folded in."""
        next_at = after.step.at if isinstance(after.step, RetryAt) else None
        line = record_of(nudge, sent, after.verdict, at=self.notifier.clock(), next_at=next_at)
        self.notifier.deliveries.log_attempt(self.key, self.config.id, line)
        alerts = [alert.value for alert in after.alerts]
        log.info("delivery attempted", extra=self._where | asdict(line) | {"alerts": alerts})

    def _log_closed(self, closed: Closed | None) -> None:
        if closed is None:
            return
        line = AttemptRecord(
            at=self.notifier.clock(),
            message_id=closed.message_id,
            seq=closed.seq,
            attempt=closed.attempts,
            result=closed.how.value,
            is_closing=True,
        )
        self.notifier.deliveries.log_attempt(self.key, self.config.id, line)

    @property
    def _endpoint(self) -> str:
        return endpoint_of(self.config.url)

    @property
    def _where(self) -> dict[str, object]:
        return {"task_id": self.key.task_id, "config_id": self.config.id}


def _reason(closed: Closed) -> str:
    return f"{closed.how.value} after {closed.attempts} attempts"


def _is_coming(state: DeliveryState, *, now: datetime) -> bool:
    """Whether a schedule is still to fire; one that fired is gone by itself."""
    return state.scheduled_for is not None and state.scheduled_for > now
