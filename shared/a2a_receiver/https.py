"""One HTTP exchange over the standard library: TLS verified, no redirects, no proxies, everything capped."""

import socket
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Final
from urllib.parse import SplitResult

from .urls import configured_url

if TYPE_CHECKING:
    import http.client
    import ssl

# http.client and ssl are imported where they are used: 60 ms that a start without a fetch need not pay.

DOCUMENT_CAP: Final = 64 * 1024
"""Bytes of a key set or token answer."""
DOCUMENT_TIMEOUT: Final = 5.0
"""Seconds for the whole exchange, however slowly it drips."""


class ExchangeFailed(OSError):
    """No usable answer: refused, timed out, too large, or not HTTP."""


@dataclass(frozen=True, slots=True)
class HttpRequest:
    """What to ask. `repr` leaves out headers and body: they hold credentials."""

    method: str
    url: str
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    body: bytes | None = field(default=None, repr=False)
    timeout: float = DOCUMENT_TIMEOUT
    cap: int = DOCUMENT_CAP


@dataclass(frozen=True, slots=True)
class HttpAnswer:
    """Status, headers by lower-case name, and the body as sent."""

    status: int
    headers: Mapping[str, str]
    body: bytes = field(repr=False)


Exchange = Callable[[HttpRequest], HttpAnswer]


def exchange(request: HttpRequest) -> HttpAnswer:
    """Ask once. A redirect is an answer like any other.

    Raises:
        ExchangeFailed: no answer within the request's time and cap.
    """
    import http.client

    parts = configured_url(request.url, "url", allow_loopback_http=True)
    connection = _connection(parts, request.timeout)
    # Socket timeouts count from the last byte; the watchdog ends a peer that drips for ever.
    out_of_time = threading.Event()
    watchdog = threading.Timer(request.timeout, _cut, (connection, out_of_time))
    watchdog.daemon = True
    watchdog.start()
    try:
        return _ask(connection, parts, request, out_of_time)
    except ExchangeFailed:
        raise
    except (OSError, http.client.HTTPException, ValueError) as error:
        raise ExchangeFailed(f"{request.method} {parts.hostname}: {type(error).__name__}") from error
    finally:
        watchdog.cancel()
        connection.close()


def _connection(parts: SplitResult, timeout: float) -> "http.client.HTTPConnection":
    import http.client

    host = parts.hostname or ""
    if parts.scheme == "https":
        return http.client.HTTPSConnection(host, parts.port, timeout=timeout, context=_trust())
    return http.client.HTTPConnection(host, parts.port, timeout=timeout)


@cache
def _trust() -> "ssl.SSLContext":
    """The platform's authorities, read once: that costs tens of milliseconds."""
    import ssl

    context = ssl.create_default_context()
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    return context


def _ask(
    connection: "http.client.HTTPConnection",
    parts: SplitResult,
    request: HttpRequest,
    out_of_time: threading.Event,
) -> HttpAnswer:
    target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    headers = {"Accept-Encoding": "identity", "User-Agent": "a2a-receiver/0.1", **request.headers}
    connection.request(request.method, target, body=request.body, headers=headers)
    answer = connection.getresponse()
    body = answer.read(request.cap + 1)
    if len(body) > request.cap:
        raise ExchangeFailed(f"answer of {parts.hostname} is larger than {request.cap} bytes")
    # What was read until the cut, or until the peer hung up, may look whole and is not.
    if out_of_time.is_set():
        raise ExchangeFailed(f"answer of {parts.hostname} took over {request.timeout} s")
    if answer.length:
        raise ExchangeFailed(f"answer of {parts.hostname} ended {answer.length} bytes early")
    return HttpAnswer(answer.status, {name.lower(): value for name, value in answer.getheaders()}, body)


def _cut(connection: "http.client.HTTPConnection", out_of_time: threading.Event) -> None:
    out_of_time.set()
    try:
        if connection.sock is not None:
            # The plain socket's method: the TLS one unwraps, and the reader would go on in clear.
            socket.socket.shutdown(connection.sock, socket.SHUT_RDWR)
    except OSError:
        return
