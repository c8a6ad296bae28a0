"""notify: a message says that a webhook may have to hear of a change; what is stored decides (`core.delivery`).

Claim, sign, post, record: the claim is written before the request goes out, so that two senders never send the same
nudge at once, and one that stalled cannot overwrite what a newer one found.
"""

import logging
from collections.abc import Callable
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Final, Protocol, assert_never
from urllib.parse import urlsplit

from a2a_serverless.app.ports import (
    AttemptRecord,
    Clock,
    DeadLetters,
    DeliveryStore,
    Endpoints,
    Ids,
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
from a2a_serverless.core.delivery_endpoint import after_try
from a2a_serverless.core.delivery_outcome import Abort, Answer, Delivered, Disable, Outcome, ResendAsJson, Retry
from a2a_serverless.core.delivery_schedule import ByQueue, carrier
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
)
from a2a_serverless.core.head import Head
from a2a_serverless.core.push import PushConfig, PushSecrets
from a2a_serverless.errors import Conflict
from a2a_serverless.types import TaskKey

_TRIES: Final = 5
_QUEUE_SECONDS: Final = 900

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class NudgeToSend:
    """Everything that goes into one request."""

    head: Head
    config: PushConfig
    secrets: PushSecrets
    nudge: PendingNudge
    plain_json: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Sent:
    """What came of one request."""

    outcome: Outcome
    milliseconds: int
    key_id: str


class Sender(Protocol):
    """Signs and posts. A partner's fault is an outcome, never an exception."""

    def __call__(self, nudge: NudgeToSend, *, now: datetime) -> Sent:
        """Make one attempt."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Notifier:
    """What nudges are delivered with."""

    tasks: TaskStore
    push: PushStore
    deliveries: DeliveryStore
    endpoints: Endpoints
    receipts: Receipts
    nudges: NudgeQueue
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
    config = notifier.push.config(key, config_id)
    if config is None:
        return "config_gone"
    return _Arrival(notifier, key, config, seq).work_off()


@dataclass(frozen=True, slots=True)
class _Arrival:
    """A message at work: it says only which config may have to hear of which change."""

    notifier: Notifier
    key: TaskKey
    config: PushConfig
    seq: int

    def work_off(self) -> str:
        """Decide and do; again when another sender wrote in between, for it may know less than this arrival does."""
        for _ in range(_TRIES):
            state = self.notifier.deliveries.delivery(self.key, self.config.id)
            head = self.notifier.tasks.head(self.key, now=self.notifier.clock())
            if head is not None and self.config.id not in head.push:
                return "config_gone"
            decision = self._decide(state, head)
            try:
                self._write_decided(state, decision)
            except Conflict:
                continue
            return self._do(decision, head)
        raise Conflict(f"other senders came first {_TRIES} times for config {self.config.id}")

    def _decide(self, state: DeliveryState, head: Head | None) -> Decision:
        return decide_on_arrival(
            state,
            seq=self.seq,
            head=head,
            acked_seq=self.notifier.receipts.fetched(self.key),
            endpoint=self.notifier.endpoints.endpoint(self._endpoint),
            message_id=f"msg_{self.notifier.ids()}",
            now=self.notifier.clock(),
            jitter=self.notifier.jitter(),
        )

    def _write_decided(self, before: DeliveryState, decision: Decision) -> None:
        if isinstance(decision, Drop) or decision.state == before:
            return
        self._save(decision.state)

    def _do(self, decision: Decision, head: Head | None) -> str:
        match decision:
            case Drop(reason):
                return reason.value
            case Postpone(reason=reason):
                self._log_closed(decision.superseded)
                pending = decision.state.pending
                self._bring_back(max(self.seq, pending.seq if pending else 0), decision.until)
                return reason.value
            case Settle():
                self._step(decision.step, seq=self.seq)
                return decision.step.closed.how.value
            case Deliver():
                if head is None:
                    raise RuntimeError("a nudge is delivered for a task that is there")
                self._log_closed(decision.superseded)
                return self._attempt(head, decision)
            case _:
                assert_never(decision)

    def _attempt(self, head: Head, decision: Deliver) -> str:
        """Send what was claimed and record what came of it, unless the claim was lost meanwhile."""
        notifier = self.notifier
        notifier.endpoints.save_endpoint(self._endpoint, decision.endpoint)
        sent = notifier.send(self._wanted(head, decision), now=notifier.clock())
        now = notifier.clock()
        after = after_attempt(decision.state, sent.outcome, now=now, jitter=notifier.jitter())
        health = after_try(notifier.endpoints.endpoint(self._endpoint), sent.outcome, after.verdict, now=now)
        notifier.endpoints.save_endpoint(self._endpoint, health)
        self._record(decision.nudge, sent, after)
        try:
            self._save(after.state)
        except Conflict:
            return "overtaken"
        self._step(after.step, seq=decision.nudge.seq)
        return _result(after)

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

    def _step(self, step: NextStep, *, seq: int) -> None:
        match step:
            case Finished(closed):
                if closed.how is not Closing.DELIVERED:
                    self._log_closed(closed)
            case RetryAt(at):
                self._bring_back(seq, at)
            case GiveUp(closed):
                reason = f"{closed.how.value} after {closed.attempts} attempts"
                log.error("nudge %s", reason, extra=self._where | {"seq": closed.seq})
                self.notifier.dead_letters.bury_nudge(self.key, self.config.id, closed.seq, reason)
            case SwitchOff(_, reason):
                log.error("webhook disabled", extra=self._where | {"reason": reason.value})
            case _:
                assert_never(step)

    def _bring_back(self, seq: int, at: datetime) -> None:
        """By the queue; what lies further away takes several trips, each of which only looks and costs no attempt."""
        carried = carrier(at, now=self.notifier.clock())
        seconds = carried.seconds if isinstance(carried, ByQueue) else _QUEUE_SECONDS
        self.notifier.nudges.enqueue_nudge(self.key, self.config.id, seq, delay_seconds=seconds)

    def _save(self, state: DeliveryState) -> None:
        self.notifier.deliveries.save_delivery(self.key, self.config.id, state)

    def _record(self, nudge: PendingNudge, sent: Sent, after: AfterAttempt) -> None:
        """One line per attempt, in the delivery log and in the log, every decision folded in."""
        line = AttemptRecord(
            at=self.notifier.clock(),
            message_id=nudge.message_id,
            seq=nudge.seq,
            attempt=nudge.attempts,
            result=_result(after),
            status=sent.outcome.status if isinstance(sent.outcome, Answer) else 0,
            milliseconds=sent.milliseconds,
            key_id=sent.key_id,
            next_at=after.step.at if isinstance(after.step, RetryAt) else None,
        )
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
        )
        self.notifier.deliveries.log_attempt(self.key, self.config.id, line)

    @property
    def _endpoint(self) -> str:
        return endpoint_of(self.config.url)

    @property
    def _where(self) -> dict[str, object]:
        return {"task_id": self.key.task_id, "config_id": self.config.id}


def _result(after: AfterAttempt) -> str:
    """The cause of a failure, or the verdict in a word."""
    match after.verdict:
        case Retry(cause):
            return cause.value
        case Delivered():
            return "delivered"
        case ResendAsJson():
            return "resend_as_json"
        case Abort():
            return "aborted"
        case Disable(reason=reason):
            return reason.value
        case _:
            assert_never(after.verdict)


def endpoint_of(url: str) -> str:
    """The endpoint a URL leads to, `host:port`: what is guarded and counted, whoever's config it is."""
    parts = urlsplit(url)
    return f"{parts.hostname}:{parts.port or (443 if parts.scheme == 'https' else 80)}"
