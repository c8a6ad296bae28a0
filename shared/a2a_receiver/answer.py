"""What goes back to the sender, and what is said about it inside. The two never mix."""

import logging
from collections.abc import Callable
from dataclasses import dataclass

from .nudge import Nudge

logger = logging.getLogger("a2a_receiver")


@dataclass(frozen=True, slots=True)
class Response:
    """The whole HTTP answer. The body is empty unless an ownership check is answered."""

    status: int
    headers: tuple[tuple[str, str], ...] = ()
    body: bytes = b""
    nudge: Nudge | None = None
    """The nudge this request brought, when it was accepted and is not a duplicate, stale or a test."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a request goes no further. The caller sees the status, only the observer sees the reason."""

    status: int
    reason: str


@dataclass(frozen=True, slots=True)
class Observation:
    """One request, for a log line or a metric. Holds no token, key or body."""

    status: int
    """As answered; 0 where there was no request, as in `found_by_reconcile`."""
    reason: str
    """`accepted`, `duplicate`, `stale_noop`, `unknown_task`, `test`, `challenge`, or why it was refused."""
    proof: str
    """Which kind of proof this receiver asks for: `strict`, `compat`, `standard-webhooks` or `token`."""
    task_id: str | None = None
    message_id: str | None = None
    """Both only when the request was verified: what an unproven sender claims is not repeated."""


Observer = Callable[[Observation], None]


def log_observation(seen: Observation) -> None:
    """The default observer: one line per request."""
    level = logging.INFO if seen.status < 300 else logging.WARNING
    logger.log(
        level,
        "push %s: %s proof=%s task_id=%s message_id=%s",
        seen.status,
        seen.reason,
        seen.proof,
        seen.task_id,
        seen.message_id,
    )
