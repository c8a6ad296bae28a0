"""What one attempt means: from the receiver's answer, or the lack of one, to a verdict. No state in here."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from a2a_serverless.core.delivery_schedule import BARE_THROTTLE, retry_after


class Fault(StrEnum):
    """Why there was no answer."""

    DNS = "dns"
    BLOCKED_ADDRESS = "blocked_address"
    CONNECT = "connect"
    TLS = "tls"
    TIMEOUT = "timeout"
    PROTOCOL = "protocol"


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """The receiver answered: the status, and the two headers that steer the sender."""

    status: int
    retry_after: str | None = None
    control: str | None = None
    """The `webhook-delivery` header: `abort-message` or `disable`, else of no meaning."""


@dataclass(frozen=True, slots=True)
class NoAnswer:
    """There was no answer. `detail` is for the record of the exchange: short, and nothing of the request in it."""

    fault: Fault
    detail: str = ""

    def __str__(self) -> str:
        return f"{self.fault.value}: {self.detail}" if self.detail else self.fault.value


Outcome = Answer | NoAnswer


class Cause(StrEnum):
    """Why an attempt failed, as the delivery log and the metrics call it."""

    MOVED = "moved"
    """A redirect, which is never followed: the owner must register the new address."""
    REFUSED = "refused"
    """401, 403 or 404: three in a row are a fault in the configuration."""
    REJECTED = "rejected"
    TOO_LARGE = "too_large"
    """413, impossible by design: ours to look at."""
    THROTTLED = "throttled"
    SERVER_ERROR = "server_error"
    GATEWAY = "gateway"
    DNS = "dns"
    CONNECT = "connect"
    TLS = "tls"
    TIMEOUT = "timeout"
    PROTOCOL = "protocol"


class DisableReason(StrEnum):
    """Why a config gets no nudges any more."""

    GONE = "gone"
    ASKED = "asked"
    BLOCKED_ADDRESS = "blocked_address"
    FAILING = "failing"


@dataclass(frozen=True, slots=True)
class Delivered:
    """The receiver has it."""


@dataclass(frozen=True, slots=True)
class Retry:
    """Try again on schedule, not before `hint` has passed."""

    cause: Cause
    hint: timedelta | None = None

    @property
    def throttle(self) -> timedelta | None:
        """How long the endpoint, not this message alone, asked to be left alone."""
        return self.hint if self.cause is Cause.THROTTLED else None


@dataclass(frozen=True, slots=True)
class ResendAsJson:
    """The receiver does not know `application/a2a+json`: send again at once as `application/json`, and keep to it."""


@dataclass(frozen=True, slots=True)
class Abort:
    """The receiver wants no more of this message."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Disable:
    """The receiver wants nothing more, or must not get anything. `delivered`: it took this one."""

    reason: DisableReason
    delivered: bool = False


Verdict = Delivered | Retry | ResendAsJson | Abort | Disable

_CAUSES = {
    401: Cause.REFUSED,
    403: Cause.REFUSED,
    404: Cause.REFUSED,
    413: Cause.TOO_LARGE,
    429: Cause.THROTTLED,
    502: Cause.GATEWAY,
    503: Cause.THROTTLED,
    504: Cause.GATEWAY,
}


def classify(outcome: Outcome, *, plain_json: bool, now: datetime) -> Verdict:
    """The verdict over one attempt.

    Args:
        outcome: what came back.
        plain_json: whether the request already said `application/json`.
        now: what a Retry-After date is compared with.
    """
    match outcome:
        case NoAnswer(fault=Fault.BLOCKED_ADDRESS):
            return Disable(reason=DisableReason.BLOCKED_ADDRESS)
        case NoAnswer(fault=fault):
            return Retry(Cause(fault.value))
        case Answer():
            return _judge(outcome, plain_json=plain_json, now=now)


def _judge(answer: Answer, *, plain_json: bool, now: datetime) -> Verdict:
    taken = 200 <= answer.status <= 299
    control = (answer.control or "").strip().lower()
    if control == "disable":
        return Disable(reason=DisableReason.ASKED, delivered=taken)
    if taken:
        return Delivered()
    if answer.status == 410:
        return Disable(reason=DisableReason.GONE)
    if control == "abort-message":
        return Abort()
    if answer.status == 415 and not plain_json:
        return ResendAsJson()
    return _retry(answer, now=now)


def _retry(answer: Answer, *, now: datetime) -> Retry:
    hint = retry_after(answer.retry_after, now=now)
    if answer.status == 429 and hint is None:
        hint = BARE_THROTTLE
    return Retry(_CAUSES.get(answer.status) or _class_of(answer.status), hint)


def _class_of(status: int) -> Cause:
    """By hundreds. A final 1xx, or a number HTTP does not know, is no answer to a POST."""
    by_hundreds = {3: Cause.MOVED, 4: Cause.REJECTED, 5: Cause.SERVER_ERROR}
    return by_hundreds.get(status // 100, Cause.PROTOCOL)


def speaks_ill(outcome: Outcome) -> bool | None:
    """Whether the attempt shows that the endpoint as a whole is unwell; None when it says nothing about it.

    A refusal of one message (4xx, a redirect) shows an endpoint that is up; an address we refuse to dial shows nothing.
    """
    match outcome:
        case NoAnswer(fault=Fault.BLOCKED_ADDRESS):
            return None
        case NoAnswer():
            return True
        case Answer(status=status):
            return status >= 500 or status == 429
