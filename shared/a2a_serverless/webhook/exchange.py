"""What goes out, what comes back, and how much of time and memory either may take."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from a2a_serverless.core.delivery_outcome import Outcome
from a2a_serverless.webhook.http1 import BODY_LIMIT
from a2a_serverless.webhook.url import WebhookUrl


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Times, in seconds, and sizes, in bytes, of one exchange."""

    connect: float = 3.0
    """To resolve, connect and agree on TLS."""
    total: float = 10.0
    """For all of it."""
    linger: float = 1.0
    """For a body, once the status is known: nobody waits for bytes that nobody needs."""
    body: int = BODY_LIMIT
    reuse: float = 30.0
    """A connection older than this is not used again: its address is judged anew."""


LIMITS = Limits()
"""What a deployment uses; tests are less patient."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What goes on the wire, but for Host, Content-Length and Accept-Encoding, which the dialler adds."""

    method: str
    url: WebhookUrl
    headers: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    body: bytes = field(default=b"", repr=False)

    def to_bytes(self) -> bytes:
        """The request as one piece.

        Raises:
            ValueError: a header could end its line. Everything in them was checked before, so this is our fault.
        """
        lines = [
            f"{self.method} {self.url.target} HTTP/1.1",
            f"Host: {self.url.authority}",
            "Accept-Encoding: identity",
            *(f"{name}: {value}" for name, value in self.headers),
            *((f"Content-Length: {len(self.body)}",) if self.body or self.method == "POST" else ()),
        ]
        if any("\r" in line or "\n" in line or "\0" in line for line in lines):
            raise ValueError("a line of the request's head holds a control character")
        return "\r\n".join((*lines, "", "")).encode("ascii") + self.body


@dataclass(frozen=True, slots=True, kw_only=True)
class Exchange:
    """What came of a request, for the decision (`outcome`), the delivery log and the owner check (the rest)."""

    outcome: Outcome
    milliseconds: int
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    body: bytes = field(default=b"", repr=False)
    """At most `Limits.body` bytes, as they were sent."""
    address: str = ""
    """The address that was dialled; empty when none was."""
    tls: str = ""
    """TLS version, as `ssl` names it."""
    reused: bool = False
