"""What is stored of a config's nudges, and the steps that follow from a decision. `delivery` decides.

One rule for the store: a state that a decision returns is written on the condition that the stored `generation` is the
one that was read, and is then one higher. A sender that stalled and was overtaken fails that condition: its result is
dropped, and the newer one's stands.
"""

from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import StrEnum

from a2a_serverless.core.delivery_health import ConfigHealth
from a2a_serverless.core.delivery_outcome import DisableReason
from a2a_serverless.core.delivery_schedule import BySchedule, Carrier


@dataclass(frozen=True, slots=True, kw_only=True)
class PendingNudge:
    """The one nudge that is on its way to a config."""

    seq: int
    message_id: str
    """The `webhook-id`, the same on every attempt."""
    since: datetime
    next_at: datetime
    """When the next attempt is due."""
    expires_at: datetime | None = None
    """When it is worth nothing any more; None for what stays true."""
    attempts: int = 0
    """Attempts begun, which numbers them: `<message_id>:<attempts>` is the token's jti."""
    spent: int = 0
    """Attempts that count for the schedule; a resend as JSON does not."""


@dataclass(frozen=True, slots=True)
class Disabled:
    """The config gets nothing until its owner tests or replaces it."""

    reason: DisableReason
    at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class DeliveryState:
    """What a push config's item holds beside the config. The acknowledgement by fetch is not in here: it is written
    by somebody else, at any time, and must not cost a sender its claim."""

    generation: int = 0
    """Rises with every write, and fences off whoever read an older one."""
    pending: PendingNudge | None = None
    claimed_until: datetime | None = None
    """An attempt is under way, and may be taken to be dead after this."""
    delivered_seq: int = 0
    """The newest change that the receiver took with 2xx."""
    settled_seq: int = 0
    """The newest change that is over with: delivered, fetched, expired, aborted or given up."""
    plain_json: bool = False
    """Send `application/json`: a 0.3 config, or a receiver that answered 415."""
    health: ConfigHealth = field(default_factory=ConfigHealth)
    disabled: Disabled | None = None
    scheduled_for: datetime | None = None
    """A one-time schedule brings the pending nudge back then, unless it is cancelled because it is needed no more."""


class Closing(StrEnum):
    """How a nudge ended."""

    DELIVERED = "delivered"
    SUPERSEDED = "superseded"
    ACKED_BY_FETCH = "acked_by_fetch"
    EXPIRED = "expired"
    ABORTED = "aborted"
    EXHAUSTED = "exhausted"
    DISABLED = "disabled"


@dataclass(frozen=True, slots=True)
class Closed:
    """A line for the delivery log: this nudge is over."""

    message_id: str
    seq: int
    attempts: int
    how: Closing


@dataclass(frozen=True, slots=True)
class Finished:
    """Nothing more to do for this nudge."""

    closed: Closed


@dataclass(frozen=True, slots=True)
class RetryAt:
    """Bring the nudge back then."""

    at: datetime


@dataclass(frozen=True, slots=True)
class GiveUp:
    """The nudge is lost unless somebody redrives it: put it with the dead letters."""

    closed: Closed


@dataclass(frozen=True, slots=True)
class SwitchOff:
    """The config is off from now on."""

    closed: Closed
    reason: DisableReason


NextStep = Finished | RetryAt | GiveUp | SwitchOff


def moved(
    state: DeliveryState,
    *,
    pending: PendingNudge | None,
    claimed_until: datetime | None = None,
) -> DeliveryState:
    """The state one write later, with `pending` as its nudge; a claim that is not renewed ends."""
    return replace(state, generation=state.generation + 1, pending=pending, claimed_until=claimed_until)


def carried(state: DeliveryState, carrier: Carrier | None, *, read: DeliveryState) -> DeliveryState:
    """The state with a note of the one-time schedule that will bring its nudge back, if one does.

    `read` is what the store holds: where nothing else changed, a new note is a write of its own.
    """
    noted = replace(state, scheduled_for=carrier.at if isinstance(carrier, BySchedule) else None)
    if noted == read or noted.generation > read.generation:
        return noted
    return replace(noted, generation=read.generation + 1)


def settled(state: DeliveryState, nudge: PendingNudge) -> DeliveryState:
    """The state once `nudge` is over with, however it ended."""
    return replace(moved(state, pending=None), settled_seq=max(state.settled_seq, nudge.seq))


def closed(nudge: PendingNudge, how: Closing) -> Closed:
    """How `nudge` ended, for the delivery log."""
    return Closed(nudge.message_id, nudge.seq, nudge.attempts, how)


def redeliver(state: DeliveryState, *, message_id: str, seq: int, attempts: int = 0, now: datetime) -> DeliveryState:
    """Begin the schedule anew for a nudge, under the id it had. A newer change supersedes it as ever.

    `attempts` is how many were made with that id: each gets a number of its own, since it names the signature.
    """
    nudge = PendingNudge(seq=seq, message_id=message_id, since=now, next_at=now, attempts=attempts)
    return moved(state, pending=nudge)


def switch_on(state: DeliveryState) -> DeliveryState:
    """A test got through, or the owner says so: the config gets nudges again, with a clean record.

    What it missed is told by an arrival with the task's current number.
    """
    return replace(moved(state, pending=state.pending), disabled=None, health=ConfigHealth())
