"""Nudges, decided: what happens when one arrives at `notify`, and what follows from an attempt. Pure.

A config has at most one nudge pending. Whatever arrives only says "look at this config": the stored `DeliveryState` and
the task's head decide, so that duplicates, late messages and lost races cost a look and nothing else.
"""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final

from a2a_serverless.core.delivery_endpoint import Admitted, EndpointHealth, Held, HoldReason, admit
from a2a_serverless.core.delivery_health import Alert, after_failure, after_success, failing_percent
from a2a_serverless.core.delivery_outcome import (
    Abort,
    Cause,
    Delivered,
    Disable,
    DisableReason,
    Outcome,
    ResendAsJson,
    Retry,
    Verdict,
    classify,
)
from a2a_serverless.core.delivery_schedule import (
    ATTEMPTS,
    LONGEST_PENDING,
    PROGRESS_LIFETIME,
    QUEUE_REACH,
    delay_after,
)
from a2a_serverless.core.delivery_state import (
    Closed,
    Closing,
    DeliveryState,
    Disabled,
    Finished,
    GiveUp,
    NextStep,
    PendingNudge,
    RetryAt,
    SwitchOff,
    closed,
    moved,
    settled,
)
from a2a_serverless.core.head import Head
from a2a_serverless.core.lifecycle import is_interrupted, is_terminal

CLAIM: Final = timedelta(seconds=30)
"""A sender that claimed a nudge and is not heard of for this long has died; an exchange takes 10 s at most."""

EARLY: Final = timedelta(seconds=1)
"""Queue and scheduler count in whole seconds: a nudge that comes back this much too soon is on time."""

PROGRESS_PAUSE: Final = timedelta(seconds=2)
BEHIND_PAUSE: Final = timedelta(seconds=1)


class DropReason(StrEnum):
    """Why an arrival means nothing."""

    TASK_GONE = "task_gone"
    DISABLED = "disabled"
    SETTLED = "settled"
    CARRIED = "carried"
    """Another message, for the newer change that is pending, will come back in time."""


@dataclass(frozen=True, slots=True)
class Drop:
    """Nothing to do and nothing to write."""

    reason: DropReason


class PostponeReason(StrEnum):
    """Why an arrival comes too soon, beside an endpoint that is held."""

    NOT_DUE = "not_due"
    CLAIMED = "claimed"
    BEHIND = "behind"
    """The head that was read is older than the change the arrival speaks of."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Postpone:
    """Bring it back at `until`; no attempt is spent. Write `state` first if it is not the one that was read."""

    until: datetime
    reason: PostponeReason | HoldReason
    state: DeliveryState
    superseded: Closed | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Settle:
    """The nudge is over without an attempt: write `state`, then do `step`."""

    state: DeliveryState
    step: Finished | GiveUp
    alerts: tuple[Alert, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Deliver:
    """Take one of so many `places`, write `state` (the claim), sign and send `nudge`, then ask `after_attempt`.

    A `probe` writes `endpoint` too, so that nobody else is one.
    """

    state: DeliveryState
    nudge: PendingNudge
    endpoint: EndpointHealth
    places: int
    probe: bool = False
    superseded: Closed | None = None


Decision = Drop | Postpone | Settle | Deliver


def decide_on_arrival(
    state: DeliveryState,
    *,
    seq: int,
    head: Head | None,
    acked_seq: int,
    endpoint: EndpointHealth,
    message_id: str,
    now: datetime,
    jitter: float,
) -> Decision:
    """What to do with a message that says: this config may have to hear of change `seq`.

    Args:
        state: as it is stored with the config.
        seq: the number the message carries.
        head: the task as it stands; None when it is gone.
        acked_seq: the newest number in a task that the config's owner has fetched; 0 for none.
        endpoint: as it is stored for the host and port of the config.
        message_id: a fresh id, for a nudge that begins now.
        now: the time.
        jitter: drawn evenly from [0.8, 1.2].
    """
    if head is None:
        return Drop(DropReason.TASK_GONE)
    if state.disabled is not None:
        return Drop(DropReason.DISABLED)
    if seq > head.nudge_seq:
        return Postpone(until=now + BEHIND_PAUSE, reason=PostponeReason.BEHIND, state=state)
    nudge = _current(state, head, message_id=message_id, now=now)
    if nudge is None:
        return Drop(DropReason.SETTLED)
    if (busy := _claimed(state, nudge, head, seq=seq, now=now)) is not None:
        return busy
    if (over := _over(state, nudge, acked_seq=acked_seq, now=now)) is not None:
        return over
    if now < nudge.next_at - EARLY:
        return _later(state, nudge, seq, until=nudge.next_at, reason=PostponeReason.NOT_DUE)
    return _attempt(state, nudge, endpoint, now=now, jitter=jitter)


def _current(state: DeliveryState, head: Head, *, message_id: str, now: datetime) -> PendingNudge | None:
    """The nudge that is to go out: the pending one, or one for where the task stands now."""
    newest = max(state.pending.seq if state.pending else 0, state.settled_seq)
    if head.nudge_seq <= newest:
        return state.pending
    expires_at = None if _lasts(head) else now + PROGRESS_LIFETIME
    return PendingNudge(seq=head.nudge_seq, message_id=message_id, since=now, next_at=now, expires_at=expires_at)


def _later(
    state: DeliveryState, nudge: PendingNudge, seq: int, *, until: datetime, reason: PostponeReason
) -> Postpone | Drop:
    """Bring the message back, unless it speaks of an older change: each has one, and that of `nudge` will do."""
    if nudge is state.pending and seq < nudge.seq:
        return Drop(DropReason.CARRIED)
    return Postpone(until=until, reason=reason, state=state)


def _lasts(head: Head) -> bool:
    """Whether the state stays true until somebody acts, or for ever."""
    return is_terminal(head.state) or is_interrupted(head.state)


def _claimed(
    state: DeliveryState, nudge: PendingNudge, head: Head, *, seq: int, now: datetime
) -> Postpone | Drop | None:
    """Hold an arrival back while an attempt is under way, except for news that lasts: that overtakes it at once.

    Progress comes often; waiting for the attempt makes one nudge of many.
    """
    if state.claimed_until is None or state.claimed_until <= now:
        return None
    if nudge is state.pending:
        return _later(state, nudge, seq, until=state.claimed_until, reason=PostponeReason.CLAIMED)
    if _lasts(head):
        return None
    return Postpone(until=min(state.claimed_until, now + PROGRESS_PAUSE), reason=PostponeReason.CLAIMED, state=state)


def _over(state: DeliveryState, nudge: PendingNudge, *, acked_seq: int, now: datetime) -> Settle | None:
    """A fetch stops the retries but not the first attempt: the specification promises that one (SPEC 3.1.7)."""
    if nudge.spent > 0 and acked_seq >= nudge.seq:
        return Settle(state=settled(state, nudge), step=Finished(closed(nudge, Closing.ACKED_BY_FETCH)))
    if nudge.expires_at is not None and nudge.expires_at <= now:
        return Settle(state=settled(state, nudge), step=Finished(closed(nudge, Closing.EXPIRED)))
    if nudge.since + LONGEST_PENDING <= now or nudge.spent >= ATTEMPTS:
        given_up = GiveUp(closed(nudge, Closing.EXHAUSTED))
        return Settle(state=settled(state, nudge), step=given_up, alerts=(Alert.EXHAUSTED,))
    return None


def _attempt(
    state: DeliveryState,
    nudge: PendingNudge,
    endpoint: EndpointHealth,
    *,
    now: datetime,
    jitter: float,
) -> Postpone | Deliver:
    is_new = nudge is not state.pending
    replaced = state.pending if is_new else None
    superseded = closed(replaced, Closing.SUPERSEDED) if replaced else None
    match admit(endpoint, now=now, jitter=jitter):
        case Held(until, reason):
            if reason is HoldReason.BUSY:
                until = max(until, now + _patience(nudge, now) * jitter)
            # Whoever looks at the state must see that nobody is late, or the sweep sends a second message on its way.
            worth_telling = is_new or until - now > CLAIM
            parked = moved(state, pending=replace(nudge, next_at=until)) if worth_telling else state
            return Postpone(until=until, reason=reason, state=parked, superseded=superseded)
        case Admitted(admitted, probe) as admission:
            begun = replace(nudge, attempts=nudge.attempts + 1, spent=nudge.spent + 1)
            claimed = moved(state, pending=begun, claimed_until=now + CLAIM)
            return Deliver(
                state=claimed,
                nudge=begun,
                endpoint=admitted,
                places=admission.places,
                probe=probe,
                superseded=superseded,
            )


def _patience(nudge: PendingNudge, now: datetime) -> timedelta:
    """How long to leave a busy endpoint alone: a crowd that waits for it would else do nothing but look."""
    return min((now - nudge.since) / 2, QUEUE_REACH)


@dataclass(frozen=True, slots=True, kw_only=True)
class AfterAttempt:
    """Write `state` on the condition that the claim still stands, then do `step` and tell of `alerts`."""

    state: DeliveryState
    step: NextStep
    verdict: Verdict
    alerts: tuple[Alert, ...] = ()


def after_attempt(state: DeliveryState, outcome: Outcome, *, now: datetime, jitter: float) -> AfterAttempt:
    """What follows from an attempt that was claimed with `state`.

    Raises:
        ValueError: `state` is no claim.
    """
    nudge = state.pending
    if nudge is None:
        raise ValueError("an attempt is made with the state that claimed it")
    verdict = classify(outcome, plain_json=state.plain_json, now=now)
    match verdict:
        case Delivered():
            return _delivered(state, nudge, verdict, now=now)
        case ResendAsJson():
            again = replace(nudge, spent=nudge.spent - 1, next_at=now)
            resent = replace(moved(state, pending=again), plain_json=True)
            return AfterAttempt(state=resent, step=RetryAt(now), verdict=verdict)
        case Abort():
            step = Finished(closed(nudge, Closing.ABORTED))
            return AfterAttempt(state=settled(state, nudge), step=step, verdict=verdict)
        case Disable(reason=reason):
            return _switched_off(state, nudge, verdict, reason, now=now)
        case Retry():
            return _failed(state, nudge, verdict, now=now, jitter=jitter)


def _delivered(state: DeliveryState, nudge: PendingNudge, verdict: Verdict, *, now: datetime) -> AfterAttempt:
    health, alerts = after_success(state.health, now=now)
    taken = replace(settled(state, nudge), delivered_seq=max(state.delivered_seq, nudge.seq), health=health)
    step = Finished(closed(nudge, Closing.DELIVERED))
    return AfterAttempt(state=taken, step=step, verdict=verdict, alerts=alerts)


def _failed(
    state: DeliveryState,
    nudge: PendingNudge,
    verdict: Retry,
    *,
    now: datetime,
    jitter: float,
) -> AfterAttempt:
    health, alerts = after_failure(state.health, refused=verdict.cause is Cause.REFUSED, now=now)
    if verdict.cause is Cause.TOO_LARGE:
        alerts = (*alerts, Alert.TOO_LARGE)
    failed = replace(state, health=health)
    if failing_percent(health, now=now) >= 100:
        return _switched_off(failed, nudge, verdict, DisableReason.FAILING, now=now, alerts=alerts)
    delay = delay_after(nudge.spent, hint=verdict.hint, jitter=jitter)
    if delay is None or now + delay >= nudge.since + LONGEST_PENDING:
        return AfterAttempt(
            state=settled(failed, nudge),
            step=GiveUp(closed(nudge, Closing.EXHAUSTED)),
            verdict=verdict,
            alerts=(*alerts, Alert.EXHAUSTED),
        )
    if nudge.expires_at is not None and nudge.expires_at <= now + delay:
        step = Finished(closed(nudge, Closing.EXPIRED))
        return AfterAttempt(state=settled(failed, nudge), step=step, verdict=verdict, alerts=alerts)
    due = moved(failed, pending=replace(nudge, next_at=now + delay))
    return AfterAttempt(state=due, step=RetryAt(now + delay), verdict=verdict, alerts=alerts)


def _switched_off(
    state: DeliveryState,
    nudge: PendingNudge,
    verdict: Verdict,
    reason: DisableReason,
    *,
    now: datetime,
    alerts: tuple[Alert, ...] = (),
) -> AfterAttempt:
    """The nudge stays unsettled: a config that is switched on again hears of where its task stands."""
    taken = isinstance(verdict, Disable) and verdict.delivered
    last = settled(state, nudge) if taken else moved(state, pending=None)
    delivered_seq = max(state.delivered_seq, nudge.seq) if taken else state.delivered_seq
    off = replace(last, delivered_seq=delivered_seq, disabled=Disabled(reason, now))
    blocked = (Alert.BLOCKED_ADDRESS,) if reason is DisableReason.BLOCKED_ADDRESS else ()
    return AfterAttempt(
        state=off,
        step=SwitchOff(closed(nudge, Closing.DELIVERED if taken else Closing.DISABLED), reason),
        verdict=verdict,
        alerts=(*alerts, *blocked, Alert.DISABLED),
    )
