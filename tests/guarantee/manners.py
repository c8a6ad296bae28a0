"""How receivers behave, and when: each way to answer wrongly, late or not at all, and what the weather is like."""

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import Enum
from typing import Final

TIMEOUT: Final = 10.0
"""Seconds that the product waits for an answer (`webhook.exchange.Limits`)."""


class End(Enum):
    """What the receiver does with the connection when it has said what it says."""

    KEEP = "keep"
    CLOSE = "close"
    RESET = "reset"
    HANG = "hang"
    POUR = "pour"
    """Goes on sending, without end."""
    DRIP = "drip"
    """Sends header after header, byte by byte, without end."""


@dataclass(frozen=True, slots=True)
class Manner:
    """One way to treat one request."""

    name: str
    takes: bool
    """Whether the request gets to the receiver's code; else a proxy, or nobody, treats it."""
    says: bytes | None = None
    """What goes back; None: what the receiver's code answers."""
    end: End = End.KEEP
    seconds: float = 0.0
    """How long the sender waits, in the world's time."""
    has_queue: bool = True
    """Whether the receiver's own queue is up."""
    listens: bool = True

    @property
    def never_answers(self) -> bool:
        """Whether the sender waits in vain, for as long as he is given."""
        return self.end in {End.HANG, End.DRIP}


def _answer(status: int, *headers: str, body: bytes = b"") -> bytes:
    lines = (f"HTTP/1.1 {status} Something", f"Content-Length: {len(body)}", *headers, "", "")
    return "\r\n".join(lines).encode() + body


ACCEPTS: Final = Manner("accepts", takes=True)
SLOW: Final = Manner("answers after 3 s", takes=True, seconds=3.0)
NOBODY: Final = Manner("nobody listens", takes=False, listens=False)
UNAVAILABLE: Final = Manner("503, Retry-After", takes=False, says=_answer(503, "Retry-After: 90"))
HANGS: Final = Manner("hangs", takes=False, end=End.HANG, seconds=TIMEOUT)
LATE: Final = Manner("takes it, answers too late", takes=True, end=End.HANG, seconds=TIMEOUT)
BAD_GATEWAY: Final = Manner("502", takes=False, says=_answer(502))

WRONG: Final = (
    NOBODY,
    UNAVAILABLE,
    HANGS,
    LATE,
    BAD_GATEWAY,
    SLOW,
    Manner("500", takes=False, says=_answer(500, body=b"Traceback")),
    Manner("500 after it was taken", takes=True, says=_answer(500)),
    Manner("429, Retry-After", takes=False, says=_answer(429, "Retry-After: 45")),
    Manner("429, Retry-After as a date", takes=False, says=_answer(429, "Retry-After: Mon, 30 Nov 2026 12:30:00 GMT")),
    Manner("429, Retry-After is garbage", takes=False, says=_answer(429, "Retry-After: -5")),
    Manner("400", takes=False, says=_answer(400)),
    Manner("401", takes=False, says=_answer(401)),
    Manner("403", takes=False, says=_answer(403)),
    Manner("404", takes=False, says=_answer(404)),
    Manner("415", takes=False, says=_answer(415)),
    Manner("redirects", takes=False, says=_answer(307, "Location: /elsewhere")),
    Manner("redirects to another host", takes=False, says=_answer(301, "Location: http://169.254.169.254/")),
    Manner("body too short", takes=True, says=b"HTTP/1.1 202 Accepted\r\nContent-Length: 50\r\n\r\nok", end=End.CLOSE),
    Manner("body too long", takes=True, says=b"HTTP/1.1 202 Accepted\r\nContent-Length: 2\r\n\r\nok, and more"),
    Manner("body without end", takes=True, says=b"HTTP/1.1 200 OK\r\nContent-Length: 5368709120\r\n\r\n", end=End.POUR),
    Manner("head without end", takes=True, says=b"HTTP/1.1 200 OK\r\n", end=End.DRIP, seconds=TIMEOUT),
    Manner("closes before it read", takes=False, says=b"", end=End.CLOSE),
    Manner("takes it, closes", takes=True, says=b"", end=End.CLOSE),
    Manner("takes it, resets", takes=True, says=b"", end=End.RESET),
    Manner("half a status line", takes=True, says=b"HTTP/1.1 20", end=End.CLOSE),
    Manner("no HTTP", takes=True, says=b"<html>hello</html>\r\n", end=End.CLOSE),
    Manner("accepts, then closes what is kept", takes=True, end=End.CLOSE),
    Manner("its own queue is down", takes=True, has_queue=False),
)
DOWN: Final = (NOBODY, NOBODY, UNAVAILABLE, HANGS, BAD_GATEWAY)


@dataclass(frozen=True, slots=True)
class Spell:
    """The weather until then: of all requests, this share is treated in one of these manners."""

    until: datetime
    share: float
    manners: Sequence[Manner]


BACK: Final = timedelta(hours=48)
"""Whoever was down is back by then."""
_MERCY: Final = 10
"""A receiver that is up takes the tenth attempt of a nudge: what is lost by mere bad luck proves nothing."""


@dataclass(frozen=True, slots=True)
class Weather:
    """How an endpoint is treating requests over the days."""

    name: str
    spells: tuple[Spell, ...]
    at_first: int = 0
    """So many attempts of each nudge go wrong, whatever the weather."""

    def manner(self, dice: random.Random, *, now: datetime, spent: int) -> Manner:
        """How the next request is treated."""
        drawn = dice.random()
        if spent <= self.at_first:
            return dice.choice(WRONG)
        spell = next((spell for spell in self.spells if now < spell.until), None)
        if spell is None or drawn >= spell.share or (spell.share < 1 and spent >= _MERCY):
            return ACCEPTS
        return dice.choice(spell.manners)


Climate = Callable[[random.Random, datetime], Weather]
"""Weather from dice, for a run that begins then."""


def fine(_dice: random.Random, start: datetime) -> Weather:
    """Something goes wrong now and then."""
    return Weather("fine", (Spell(start + BACK, 0.05, WRONG),))


def moody(dice: random.Random, start: datetime) -> Weather:
    """Something goes wrong more often than not, for hours."""
    hours = dice.uniform(2, 20)
    return Weather("moody", (Spell(start + timedelta(hours=hours), 0.6, WRONG), Spell(start + BACK, 0.05, WRONG)))


def outage(dice: random.Random, start: datetime) -> Weather:
    """Down for hours, or for two days; back with a few hiccups."""
    down = start + timedelta(minutes=dice.uniform(0, 20))
    up = down + timedelta(hours=dice.choice((0.5, 4, 20, 46)))
    return Weather("outage", (Spell(down, 0.05, WRONG), Spell(up, 1.0, DOWN), Spell(start + BACK, 0.1, WRONG)))


def flapping(dice: random.Random, start: datetime) -> Weather:
    """Up and down every few minutes, for a day."""
    spells, at = [], start
    while at < start + timedelta(days=1):
        spells += [
            Spell(at + timedelta(minutes=dice.uniform(1, 30)), 0.1, WRONG),
            Spell(at := at + timedelta(minutes=dice.uniform(30, 90)), 1.0, DOWN),
        ]
    return Weather("flapping", tuple(spells))


def contrary(_dice: random.Random, start: datetime) -> Weather:
    """The first two attempts of each nudge go wrong, those of its task's last word too."""
    return Weather("contrary", (Spell(start + BACK, 0.3, WRONG),), at_first=2)


CLIMATES: Final = (fine, moody, outage, flapping, contrary)
