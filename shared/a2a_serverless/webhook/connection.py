"""One connection to one judged address: connect, agree on TLS, ask, under a deadline that no drip of bytes moves."""

import contextlib
import errno
import socket
import ssl
from collections.abc import Callable, Iterator
from ipaddress import ip_address
from typing import Final

from a2a_serverless.webhook.http1 import Response, read_response
from a2a_serverless.webhook.url import WebhookUrl

Connect = Callable[[str, int, float], socket.socket]
"""From a numeric address, a port and seconds to a connected socket. Raises OSError."""

UNACKNOWLEDGED: Final = 3.0
"""Seconds after which bytes that the other side's system has not even acknowledged count as lost (RFC 5482): whoever is
slow to answer acknowledges at once. A path that was dropped without a word is known by this, in time to try another."""
_USER_TIMEOUT: Final[int | None] = getattr(socket, "TCP_USER_TIMEOUT", None)


def tcp_connect(address: str, port: int, seconds: float) -> socket.socket:
    """Connect over TCP. The address is numeric, so nothing is resolved here."""
    family = socket.AF_INET6 if ip_address(address).version == 6 else socket.AF_INET
    connecting = socket.socket(family, socket.SOCK_STREAM)
    try:
        connecting.settimeout(seconds)
        connecting.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        connecting.connect((address, port))
        if _USER_TIMEOUT is not None:  # Linux; elsewhere the deadline does it, later
            connecting.setsockopt(socket.IPPROTO_TCP, _USER_TIMEOUT, int(1000 * UNACKNOWLEDGED))
    except BaseException:
        connecting.close()
        raise
    return connecting


class Connection:
    """A connected socket and what is known of it. For one thread at a time."""

    def __init__(
        self, connected: socket.socket, address: str, *, opened_at: float, monotonic: Callable[[], float]
    ) -> None:
        self.address = address
        self.opened_at = opened_at
        """On the clock by which connections age, which is not the one of deadlines (`Pool`)."""
        self.is_silent = True
        """Whether nothing has come back for the request that is under way."""
        self.tls_version = ""
        self._socket = connected
        self._monotonic = monotonic
        self._deadline = 0.0

    @classmethod
    def open(
        cls,
        connect: Connect,
        address: str,
        url: WebhookUrl,
        *,
        deadline: float,
        opened_at: float,
        monotonic: Callable[[], float],
    ) -> "Connection":
        """Connect to `address`, at the URL's port.

        Raises:
            OSError: nobody answers there, or not in time.
        """
        left = deadline - monotonic()
        if left <= 0:
            raise TimeoutError("there was no time left to connect")
        return cls(connect(address, url.port, left), address, opened_at=opened_at, monotonic=monotonic)

    def secure(self, tls: ssl.SSLContext, host: str, *, deadline: float) -> None:
        """Agree on TLS; the certificate must be for `host`.

        Raises:
            OSError: the partner's certificate, version or patience does not do.
        """
        self._deadline = deadline
        self._socket.settimeout(self._left())
        # As bytes, since a str is put through the IDNA codec, which is slow to load and has nothing to add.
        secured = tls.wrap_socket(self._socket, server_hostname=host.encode("ascii"))
        self._socket = secured
        self.tls_version = secured.version() or ""

    def ask(self, content: bytes, *, deadline: float, linger: float, body_limit: int) -> Response:
        """Send a request and read what comes back.

        Args:
            content: the request, whole.
            deadline: when the head of the answer must be there.
            linger: seconds for the body after that, within the deadline.
            body_limit: how many bytes of it are read.

        Raises:
            OSError: the connection failed before there was an answer.
            Malformed: what came was none.
        """
        self.is_silent = True
        self._deadline = deadline
        self._send(content)

        def hurry() -> None:
            self._deadline = min(deadline, self._monotonic() + linger)

        return read_response(self._receive, before_body=hurry, body_limit=body_limit)

    def is_quiet(self) -> bool:
        """Whether the connection is still open and has nothing to say: then, and only then, it may be used again."""
        try:
            self._socket.settimeout(0)
            self._socket.recv(1)
        except (BlockingIOError, ssl.SSLWantReadError):
            return True
        except OSError:
            return False
        return False

    def close(self) -> None:
        """Close it, whatever state it is in."""
        with contextlib.suppress(OSError):
            self._socket.close()

    def _left(self) -> float:
        left = self._deadline - self._monotonic()
        if left <= 0:
            raise TimeoutError("the exchange took too long")
        return left

    def _send(self, content: bytes) -> None:
        view = memoryview(content)
        while view:
            self._socket.settimeout(self._left())
            with _lost_path_told_apart():
                view = view[self._socket.send(view) :]

    def _receive(self, count: int) -> bytes:
        self._socket.settimeout(self._left())
        with _lost_path_told_apart():
            received = self._socket.recv(count)
        self.is_silent = self.is_silent and not received
        return received


@contextlib.contextmanager
def _lost_path_told_apart() -> Iterator[None]:
    """Nobody acknowledged what was sent: the connection is gone, and nobody is merely slow."""
    try:
        yield
    except TimeoutError as error:
        if error.errno != errno.ETIMEDOUT:
            raise
        raise ConnectionAbortedError(error.errno, "what was sent was not acknowledged") from error
