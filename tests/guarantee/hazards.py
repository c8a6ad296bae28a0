"""What goes wrong by itself: each call, each delivery and each batch of the stream, at a rate, by dice with a seed."""

import random
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TypeVar

from tests.faults.plan import Faults, Kind

from .weave import PerStrand

Answer = TypeVar("Answer")


class Mishap(StrEnum):
    """What a queue, the stream or Lambda does, all of it within what AWS promises."""

    DELIVERED_TWICE = "message delivered twice"
    NEVER_DELETED = "worked off, and killed before the message was deleted"
    THROTTLED = "function throttled"
    OUT_OF_ORDER = "messages out of order"
    BATCH_AGAIN = "stream batch again"
    BATCH_KILLED = "relay killed behind a batch"
    STREAM_THROTTLED = "stream throttled"
    RECORD_DROPPED = "stream gave up on a batch"


ON_DELIVERY = (Mishap.DELIVERED_TWICE, Mishap.NEVER_DELETED, Mishap.THROTTLED, Mishap.OUT_OF_ORDER)
ON_BATCH = (Mishap.BATCH_AGAIN, Mishap.BATCH_KILLED, Mishap.STREAM_THROTTLED, Mishap.RECORD_DROPPED)


@dataclass
class Hazards(Faults):
    """Faults that nobody planned."""

    dice: random.Random = field(default_factory=lambda: random.Random(1))
    rate: float = 0.0
    """How often a call goes wrong, from 0 to 1; a delivery and a batch three times as often."""
    happened: Counter[str] = field(default_factory=Counter)
    """The faults that came about, by their kind."""
    made: int = 0
    """Calls, wrong ones included."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.hops = PerStrand("script")  # type: ignore[assignment]  # a list as far as anybody uses it

    def call(self, name: str, do: Callable[[], Answer]) -> Answer:
        """Make a call, or what the dice make of it."""
        if not self.is_on:
            return do()
        self.made += 1
        if self.dice.random() >= self.rate:
            return do()
        kind = self.dice.choice(_KINDS)
        self.happened[kind.value] += 1
        return self._wrong(kind, self.hops[-1], name, do)

    def on_delivery(self) -> Mishap | None:
        """What goes wrong with a message that is handed to a function."""
        return self._mishap(ON_DELIVERY)

    def on_batch(self) -> Mishap | None:
        """What goes wrong with a batch of the stream."""
        return self._mishap(ON_BATCH)

    def _mishap(self, kinds: tuple[Mishap, ...]) -> Mishap | None:
        if self.dice.random() >= 3 * self.rate:
            return None
        mishap = self.dice.choice(kinds)
        self.happened[mishap.value] += 1
        return mishap


_KINDS = tuple(Kind)
