"""One attempt: what goes into it, what came of it, and what it teaches. When it is made is `notify`'s business."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final, Protocol, assert_never
from urllib.parse import urlsplit

from a2a_serverless.app.ports import AttemptRecord, Endpoints
from a2a_serverless.core.delivery_endpoint import after_try
from a2a_serverless.core.delivery_outcome import (
    Abort,
    Answer,
    Delivered,
    Disable,
    Outcome,
    ResendAsJson,
    Retry,
    Verdict,
)
from a2a_serverless.core.delivery_state import PendingNudge
from a2a_serverless.core.head import Head
from a2a_serverless.core.push import PushConfig, PushSecrets


@dataclass(frozen=True, slots=True, kw_only=True)
class NudgeToSend:
    """Everything that goes into one request."""

    head: Head
    config: PushConfig
    secrets: PushSecrets
    nudge: PendingNudge
    plain_json: bool
    is_test: bool = False
    """It says nothing new: somebody asked whether it gets through."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sent:
    """What came of one request."""

    outcome: Outcome
    milliseconds: int
    key_id: str
    seen: "Seen | None" = None
    """What went over the wire; None if nothing did."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """Both sides of one request, without anything that is secret or proves who sent it."""

    url: str
    headers: Mapping[str, str]
    body: str
    answer_headers: Mapping[str, str]
    answer_body: str
    """At most `ANSWER_BYTES` of it."""


ANSWER_BYTES: Final = 1024


class Sender(Protocol):
    """Signs and posts. A partner's fault is an outcome, never an exception."""

    def __call__(self, nudge: NudgeToSend, *, now: datetime) -> Sent:
        """Make one attempt."""


def record_of(
    nudge: PendingNudge, sent: Sent, verdict: Verdict, *, at: datetime, next_at: datetime | None = None
) -> AttemptRecord:
    """An attempt as a line of the delivery log."""
    return AttemptRecord(
        at=at,
        message_id=nudge.message_id,
        seq=nudge.seq,
        attempt=nudge.attempts,
        result=result_of(verdict),
        status=sent.outcome.status if isinstance(sent.outcome, Answer) else 0,
        milliseconds=sent.milliseconds,
        key_id=sent.key_id,
        next_at=next_at,
    )


def learn(endpoints: Endpoints, endpoint: str, sent: Sent, verdict: Verdict, *, now: datetime, place: str = "") -> None:
    """Keep what an attempt says of its endpoint, and give back the place it had."""
    took = timedelta(milliseconds=sent.milliseconds)
    health = after_try(endpoints.endpoint(endpoint), sent.outcome, verdict, now=now, took=took)
    endpoints.save_endpoint(endpoint, health, leaving=place)


def result_of(verdict: Verdict) -> str:
    """The cause of a failure, or the verdict in a word."""
    match verdict:
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
            assert_never(verdict)


def endpoint_of(url: str) -> str:
    """The endpoint a URL leads to, `host:port`: what is guarded and counted, whoever's config it is."""
    parts = urlsplit(url)
    return f"{parts.hostname}:{parts.port or (443 if parts.scheme == 'https' else 80)}"
