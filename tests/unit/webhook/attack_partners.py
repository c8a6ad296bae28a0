"""Partners who behave as a sender's attack vector says: they answer, or they fail in the way that it names."""

import contextlib
import gzip
import re
import socket
import ssl
import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from a2a_serverless.webhook.exchange import Exchange
from tests.unit.webhook.loopback import (
    IMPATIENCE,
    PATIENCE,
    PUBLIC,
    STRICT,
    Authority,
    Guest,
    Handler,
    Network,
    post,
    receiver,
)


def _say_nothing(guest: Guest) -> None:
    guest.request()
    guest.stay()


def _hang_up(guest: Guest) -> None:
    guest.request()


def _reset(guest: Guest) -> None:
    guest.request()
    guest.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


def _flood(guest: Guest) -> None:
    guest.request()
    guest.say(b"HTTP/1.1 100 Continue\r\n\r\n" * 100_000)


def _overflow(guest: Guest) -> None:
    guest.request()
    guest.say(b"HTTP/1.1 200 OK\r\n" + b"X-Padding: " + b"x" * 40_000 + b"\r\nContent-Length: 0\r\n\r\n")


def _crowd(guest: Guest) -> None:
    guest.request()
    guest.say(b"HTTP/1.1 200 OK\r\n" + b"X: 1\r\n" * 3000 + b"Content-Length: 0\r\n\r\n")


def _drip(guest: Guest) -> None:
    guest.request()
    guest.drip(b"HTTP/1.1 200 OK\r\n" + b"X-Padding: 1\r\n" * 1000)


def _talk_nonsense(guest: Guest) -> None:
    guest.request()
    guest.say(b"SSH-2.0-OpenSSH_9.6\r\n\r\n")


def _speak_http2(guest: Guest) -> None:
    guest.request()
    guest.say(b"\0\0\x12\4\0\0\0\0\0\0\3\0\0\0\x80\0\4\0\1\0\0\0\5\0\xff\xff\xff")


def _break_off(guest: Guest) -> None:
    guest.request()
    guest.say(b"HTTP/1.1 200 OK\r\nContent-Le")


Tls = Callable[[Authority], ssl.SSLContext]


def _unknown_to_all(authority: Authority) -> ssl.SSLContext:
    return authority.context(self_signed=True)


@dataclass(frozen=True)
class _Failing:
    """How a partner fails, and where in the exchange."""

    handler: Handler = _hang_up
    tls: Tls = Authority.context
    dns: Any = field(default_factory=lambda: [PUBLIC])
    unreachable: OSError | None = None
    slow: bool = False


_NO_NAME: Final = _Failing(dns=OSError("no such name"))
_REFUSED: Final = _Failing(unreachable=ConnectionRefusedError("nobody answers"))
_TLS: Final = _Failing(tls=_unknown_to_all)
_OTHER_NAME: Final = _Failing(tls=lambda authority: authority.context("other.example.com"))

_ERRORS: Final[Mapping[str, _Failing]] = {
    "blocked_address": _Failing(dns=["169.254.169.254"]),
    "connect": _REFUSED,
    "connect_timeout": _Failing(unreachable=TimeoutError("nobody answers in time")),
    "header_overflow": _Failing(_overflow),
    "http2": _Failing(_speak_http2),
    "informational_flood": _Failing(_flood),
    "reset": _Failing(_reset),
    "timeout": _Failing(_say_nothing, slow=True),
    "tls_expired": _Failing(tls=lambda authority: authority.context(days=-2)),
    "tls_hostname": _OTHER_NAME,
    "tls_self_signed": _TLS,
    "tls_version": _Failing(tls=Authority.old_context),
    "too_many_headers": _Failing(_crowd),
}

_FAMILIES: Final[tuple[tuple[tuple[str, ...], _Failing], ...]] = (
    (("blocked",), _ERRORS["blocked_address"]),
    (("dns", "nxdomain", "servfail", "resolve", "resolution"), _NO_NAME),
    (("expired",), _ERRORS["tls_expired"]),
    (("hostname", "wrong_host", "wrong_name", "tls_name", "tls_host", "san"), _OTHER_NAME),
    (("version", "tls1", "sslv3"), _ERRORS["tls_version"]),
    (("tls", "ssl", "cert", "handshake"), _TLS),
    (("connect_timeout", "connection_timeout"), _ERRORS["connect_timeout"]),
    (("slow", "drip", "loris"), _Failing(_drip, slow=True)),
    (("timeout", "timed_out", "hang", "stall"), _ERRORS["timeout"]),
    (("reset", "rst"), _ERRORS["reset"]),
    (("too_many_headers", "header_count"), _ERRORS["too_many_headers"]),
    (("header", "overflow"), _ERRORS["header_overflow"]),
    (("informational", "1xx", "interim", "100_continue"), _ERRORS["informational_flood"]),
    (("http2", "h2"), _ERRORS["http2"]),
    (("truncated", "incomplete", "partial"), _Failing(_break_off)),
    (("malformed", "garbage", "status", "invalid", "protocol", "not_http", "http_0", "bad_"), _Failing(_talk_nonsense)),
    (("closed", "close", "eof", "hang_up", "disconnect", "no_response", "empty"), _Failing(_hang_up)),
    (("connect", "refused", "unreachable", "network"), _REFUSED),
)
"""What an error means by a part of its name, for names that `_ERRORS` lacks; the first that fits."""


def is_known_error(name: str) -> bool:
    """Whether there is a partner who fails like that."""
    return _failing(name) is not None


def _failing(name: str) -> _Failing | None:
    if name in _ERRORS:
        return _ERRORS[name]
    return next((failing for words, failing in _FAMILIES if any(word in name.lower() for word in words)), None)


def exchanged(response: Mapping[str, Any], authority: Authority) -> tuple[Exchange, list[bytes]]:
    """One exchange with a partner who behaves as the vector says, and the requests he saw."""
    error = response.get("error")
    failing = _failing(error) if error else _Failing(_answers(response))
    assert failing is not None, f"nobody here fails like {error}"
    with receiver(failing.handler, tls=failing.tls(authority)) as partner:
        network = Network(partner.port, answers=[failing.dns], unreachable=failing.unreachable)
        limits = IMPATIENCE if failing.slow else PATIENCE
        exchange = network.dialler(cafile=authority.cafile, policy=STRICT, limits=limits).send(post())
    return exchange, partner.requests


_FRAMING: Final = frozenset({"content-length", "transfer-encoding"})


def _answers(response: Mapping[str, Any]) -> Handler:
    given = response.get("headers") or {}
    headers = list(given.items()) if isinstance(given, dict) else [tuple(pair) for pair in given]
    body = body_of(response.get("body"))
    lines = [f"HTTP/1.1 {response['status']} X", *(f"{name}: {value}" for name, value in headers)]
    if not _FRAMING & {name.lower() for name, _ in headers}:  # else the vector lies about it, or means it
        lines.append(f"Content-Length: {5 * 2**30 if _is_huge(response.get('body')) else len(body)}")

    def handle(guest: Guest) -> None:
        guest.request()
        guest.say(_on_the_wire("\r\n".join((*lines, "", ""))))
        with contextlib.suppress(OSError):  # who has read enough hangs up
            for _ in range(5 * 1024 if _is_huge(response.get("body")) else 1):
                guest.say(body)
            guest.request()

    return handle


def _on_the_wire(head: str) -> bytes:
    try:
        return head.encode("latin-1")
    except UnicodeEncodeError:
        return head.encode("utf-8", "surrogatepass")


def _is_huge(body: object) -> bool:
    return isinstance(body, str) and re.fullmatch("[0-9]+ ?GB", body.upper()) is not None


def is_bomb(body: object) -> bool:
    """Whether a vector names a small body that would be a large one if somebody decoded it."""
    return isinstance(body, str) and re.fullmatch("[a-z]+ bomb", body.lower()) is not None


def body_of(body: object) -> bytes:
    """The body a vector names: a bomb, more than fits, or the very text."""
    if is_bomb(body):
        return gzip.compress(b"\0" * 10_000_000, mtime=0)
    return b"x" * 2**20 if _is_huge(body) else str(body or "").encode()
