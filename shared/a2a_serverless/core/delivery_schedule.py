"""When a nudge is tried again, and who carries it until then. Times only: what happened is `delivery_outcome`'s."""

import math
import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final

STEPS: Final = tuple(
    timedelta(seconds=step)
    for step in (0, 5, 30, 120, 600, 1_800, 3_600, 7_200, 14_400, 28_800, 43_200, 86_400, 86_400)
)
"""Waiting time before each attempt, counted from the one before: 13 attempts within 75 h 42 min 35 s.

Five of them fall into the first 13 minutes, because most outages are deploys.
"""

ATTEMPTS: Final = len(STEPS)

JITTER: Final = (0.8, 1.2)
"""Each step is multiplied by a number drawn evenly from here, so that a crowd of nudges comes apart."""

LONGEST_HINT: Final = timedelta(hours=24)
"""A receiver may ask for a longer pause than this, but does not get it."""

BARE_THROTTLE: Final = timedelta(seconds=60)
"""What a 429 without a usable Retry-After is taken to ask for."""

LONGEST_PENDING: Final = timedelta(days=5)
"""A nudge that is held back this long, by pauses and open breakers, is given up like one that failed 13 times."""

PROGRESS_LIFETIME: Final = timedelta(minutes=10)
"""News that a task still works is worth nothing later; the next change is told anyway."""

QUEUE_REACH: Final = timedelta(seconds=900)
"""The longest DelaySeconds SQS takes."""

_LONGEST_HEADER = 64
_DATE = re.compile("(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]*,? [0-9A-Za-z: -]+")


def delay_after(attempts: int, *, hint: timedelta | None = None, jitter: float) -> timedelta | None:
    """How long to wait after the `attempts`-th failure in a row; None when there is no further attempt.

    Args:
        attempts: how many attempts the schedule has seen, the one that just failed included (1 to 13).
        hint: the pause the receiver asked for; the delay is never shorter.
        jitter: drawn evenly from `JITTER`. It never shortens the hint.
    """
    if attempts >= ATTEMPTS:
        return None
    step = STEPS[attempts] * jitter
    return step if hint is None else max(step, hint * max(1.0, jitter))


def retry_after(header: str | None, *, now: datetime) -> timedelta | None:
    """The pause a Retry-After header asks for (RFC 9110 10.2.3): seconds or a date, at most 24 hours.

    A date that has passed asks for no pause; None means that nothing usable was said.
    """
    text = (header or "").strip()
    if len(text) > _LONGEST_HEADER:
        return None
    if re.fullmatch("[0-9]+", text):
        return min(timedelta(seconds=min(int(text), 10**6)), LONGEST_HINT)
    moment = _http_date(text) if _DATE.fullmatch(text) else None
    return None if moment is None else min(max(moment - now, timedelta(0)), LONGEST_HINT)


def _http_date(text: str) -> datetime | None:
    # Imported here: only a receiver that sends a date pays for the e-mail package, and `api` never does.
    from email.utils import parsedate_to_datetime

    try:
        moment = parsedate_to_datetime(text)
        return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    except (ValueError, TypeError, OverflowError, IndexError):
        return None


@dataclass(frozen=True, slots=True)
class ByQueue:
    """Send the message now, to be seen after this many seconds (SQS DelaySeconds)."""

    seconds: int


@dataclass(frozen=True, slots=True)
class BySchedule:
    """Too far away for the queue: a one-time schedule sends the message then (whole seconds)."""

    at: datetime


Carrier = ByQueue | BySchedule


def carrier(at: datetime, *, now: datetime) -> Carrier:
    """Who brings a nudge back at `at`, never earlier."""
    delay = at - now
    if delay <= QUEUE_REACH:
        return ByQueue(max(0, math.ceil(delay.total_seconds())))
    return BySchedule(at if at.microsecond == 0 else at.replace(microsecond=0) + timedelta(seconds=1))
