"""How one push config has fared over all its nudges: when its owner is warned, and when it is switched off."""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final

DISABLE_AFTER: Final = timedelta(days=5)
"""Without a success for this long a config is switched off."""

FAILING_AT_LEAST: Final = timedelta(hours=24)
"""But never within a day of the first failure: a config that had nothing to do is not a broken one."""

REFUSALS: Final = 3
"""So many 401, 403 or 404 in a row are a fault in the configuration, worth telling early."""


class Alert(StrEnum):
    """What somebody should be told. All go to the config's owner but the last two, which are the operator's."""

    MISCONFIGURED = "misconfigured"
    FAILING_HALF = "failing_half"
    """Half of the time after which the config is switched off has passed."""
    FAILING_MOST = "failing_most"
    """80 % of it."""
    DISABLED = "disabled"
    EXHAUSTED = "exhausted"
    """A nudge was given up."""
    RECOVERED = "recovered"
    BLOCKED_ADDRESS = "blocked_address"
    """A security event: the host's name led to an address that must not be dialled."""
    TOO_LARGE = "too_large"
    """A receiver refused 240 bytes as too large."""


_STAGES: Final = ((50, Alert.FAILING_HALF), (80, Alert.FAILING_MOST))


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfigHealth:
    """The record of one config; `failures` and what goes with it start anew with every success."""

    failures: int = 0
    first_failure_at: datetime | None = None
    last_success_at: datetime | None = None
    refusals: int = 0
    """401, 403 and 404 in a row."""
    warned: int = 0
    """Percent of the way to being switched off that the owner was told of: 0, 50 or 80."""


def failing_percent(health: ConfigHealth, *, now: datetime) -> int:
    """How far a config is on its way to being switched off; 100 and more means now."""
    if health.first_failure_at is None:
        return 0
    failing = now - health.first_failure_at
    quiet = now - (health.last_success_at or health.first_failure_at)
    return int(100 * min(quiet / DISABLE_AFTER, failing / FAILING_AT_LEAST))


def after_success(health: ConfigHealth, *, now: datetime) -> tuple[ConfigHealth, tuple[Alert, ...]]:
    """A nudge got through. Whoever was warned hears of it."""
    was_told = health.warned > 0 or health.refusals >= REFUSALS
    return ConfigHealth(last_success_at=now), (Alert.RECOVERED,) if was_told else ()


def after_failure(
    health: ConfigHealth,
    *,
    refused: bool,
    now: datetime,
) -> tuple[ConfigHealth, tuple[Alert, ...]]:
    """An attempt failed. `refused`: by 401, 403 or 404. Each warning is given once."""
    failed = replace(
        health,
        failures=health.failures + 1,
        first_failure_at=health.first_failure_at or now,
        refusals=health.refusals + 1 if refused else 0,
    )
    percent = failing_percent(failed, now=now)
    due = [(stage, alert) for stage, alert in _STAGES if health.warned < stage <= percent]
    early = (Alert.MISCONFIGURED,) if failed.refusals == REFUSALS else ()
    if not due:
        return failed, early
    stage, alert = due[-1]
    return replace(failed, warned=stage), (*early, alert)
