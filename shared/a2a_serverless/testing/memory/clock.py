"""Time, ids and pauses that a test decides on."""

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

START = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)


@dataclass
class FakeClock:
    """A clock that stands still until it is told to go on. Call it for the time."""

    now: datetime = START

    def __call__(self) -> datetime:
        return self.now

    def advance(self, by: timedelta | float) -> datetime:
        """Go on, by a timedelta or seconds; answers the new time."""
        self.now += by if isinstance(by, timedelta) else timedelta(seconds=by)
        return self.now

    def pause(self, seconds: float) -> None:
        """A pause that takes no time but moves the clock: `pause=clock.pause`."""
        self.advance(seconds)


@dataclass
class SequentialIds:
    """`id-1`, `id-2`, …; with a prefix of its own where a test wants to tell them apart."""

    prefix: str = "id"
    given: list[str] = field(default_factory=list)

    def __call__(self) -> str:
        self.given.append(f"{self.prefix}-{len(self.given) + 1}")
        return self.given[-1]
