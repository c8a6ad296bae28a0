"""One HTTP exchange over the standard library: TLS verified, no redirects, no proxies, everything capped."""

import contextlib
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
    deadline = _Deadline(request.timeout)
    try:
        connection.connect()
        deadline.watch(connection.sock)
        answer = _ask(connection, parts, request)
        deadline.check()
        return answer
    except ExchangeFailed:
        raise
    except (OSError, http.client.HTTPException, ValueError) as error:
        raise ExchangeFailed(f"{request.method} {parts.hostname}: {type(error).__name__}") from error
    finally:
        deadline.end()
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


def _ask(connection: "http.client.HTTPConnection", parts: SplitResult, request: HttpRequest) -> HttpAnswer:
    target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    headers = {"Accept-Encoding": "identity", "User-Agent": "a2a-receiver/0.1", **request.headers}
    connection.request(request.method, target, body=request.body, headers=headers)
    answer = connection.getresponse()
    body = answer.read(request.cap + 1)
    if len(body) > request.cap:
        raise ExchangeFailed(f"answer of {parts.hostname} is larger than {request.cap} bytes")
    if answer.length:
        raise ExchangeFailed(f"answer of {parts.hostname} ended {answer.length} bytes early")
    return HttpAnswer(answer.status, {name.lower(): value for name, value in answer.getheaders()}, body)


class _Deadline:
    """Ends a peer that drips for ever: socket timeouts count anew from every byte."""

    def __init__(self, seconds: float) -> None:
        self._lock = threading.Lock()
        self._socket: socket.socket | None = None
        self._has_passed = False
        self._timer = threading.Timer(seconds, self._cut)
        self._timer.daemon = True
        self._timer.start()

    def watch(self, connected: socket.socket) -> None:
        """Cut this socket when the time is up."""
        # Kept here: the connection lets go of it while the answer is still being read.
        with self._lock:
            self._socket = connected
        self.check()

    def check(self) -> None:
        """Raises if the time is up: what was read until the cut may look whole and is not."""
        if self._has_passed:
            raise ExchangeFailed("the exchange took longer than it may")

    def end(self) -> None:
        """Nothing is cut from here on."""
        self._timer.cancel()

    def _cut(self) -> None:
        with self._lock:
            self._has_passed = True
            if self._socket is None:
                return
            with contextlib.suppress(OSError):
                # The plain socket's method: the TLS one unwraps, and the reader would go on in clear.
                socket.socket.shutdown(self._socket, socket.SHUT_RDWR)
