"""A receiver's server on loopback: it treats each request in the manner that it was told."""

import contextlib
import socket
import ssl
import struct
import threading
import time
from collections.abc import Callable
from http import HTTPStatus
from typing import Final

from a2a_receiver import Response

from .manners import ACCEPTS, End, Manner

Take = Callable[[list[tuple[str, str]], bytes], Response]
"""The receiver's code: headers and body to its answer."""

_POURED: Final = b"x" * 65_536
_ELSEWHERE: Final = b"POST /elsewhere "


class Server:
    """One endpoint. `manner` holds until it is changed; one request is under way at a time."""

    def __init__(self, take: Take, *, tls: ssl.SSLContext | None) -> None:
        self.manner: Manner = ACCEPTS
        self.settled = threading.Event()
        """Set when a request was treated, whatever is still to be said."""
        self.requests = 0
        self.followed = 0
        """Redirects that were followed."""
        self._take = take
        self._tls = tls
        self._open: set[socket.socket] = set()
        self._threads: list[threading.Thread] = []
        self._fresh: list[threading.Thread] = []
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listening.getsockname()[1]
        with socket.create_server(("127.0.0.1", 0)) as nobody:
            self.dead_port: int = nobody.getsockname()[1]
            """Where nobody listens."""
        self._begin(self._accept)

    def close(self) -> None:
        """Stop, and end every connection."""
        with contextlib.suppress(OSError):
            self._listening.shutdown(socket.SHUT_RDWR)
        self._listening.close()
        self.hang_up()
        for thread in self._threads:
            thread.join(timeout=10)

    def expect(self, manner: Manner) -> None:
        """Treat the next request in this manner."""
        self.manner = manner
        self.settled.clear()
        self._fresh.clear()
        if not manner.listens:
            self.hang_up()

    def finish(self, seconds: float) -> None:
        """Wait for what came since, and was hung up on: none of it may be treated at a later time of the world."""
        for thread in self._fresh:
            thread.join(timeout=seconds)

    def hang_up(self) -> None:
        """End every connection: the host is down."""
        for each in list(self._open):
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)

    def _begin(self, work: Callable[[], None]) -> None:
        thread = threading.Thread(target=work, daemon=True, name="receiver")
        self._threads.append(thread)
        self._fresh.append(thread)
        thread.start()

    def _accept(self) -> None:
        while True:
            try:
                accepted, _ = self._listening.accept()
            except OSError:
                return
            self._threads = [thread for thread in self._threads if thread.is_alive()]
            self._begin(lambda accepted=accepted: self._serve(accepted))  # type: ignore[misc]

    def _serve(self, accepted: socket.socket) -> None:
        self._open.add(accepted)
        with contextlib.suppress(OSError), contextlib.closing(accepted):
            accepted.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            spoken = self._tls.wrap_socket(accepted, server_side=True) if self._tls else accepted
            self._open.add(spoken)
            with contextlib.closing(spoken):
                self._talk(spoken)
            self._open.discard(spoken)
        self._open.discard(accepted)

    def _talk(self, spoken: socket.socket) -> None:
        while request := _request(spoken):
            manner = self.manner
            self.requests += 1
            self.followed += request.startswith(_ELSEWHERE)
            said = self._treat(request, manner)
            self.settled.set()
            spoken.sendall(said)
            if manner.end is not End.KEEP:
                _end(spoken, manner.end)
                return

    def _treat(self, request: bytes, manner: Manner) -> bytes:
        head, _, body = request.partition(b"\r\n\r\n")
        lines = [line.partition(": ") for line in head.decode("latin-1").split("\r\n")[1:]]
        answer = self._take([(name, value) for name, _, value in lines], body) if manner.takes else Response(500)
        return _bytes(answer) if manner.says is None and not manner.never_answers else manner.says or b""


def _request(spoken: socket.socket) -> bytes:
    """The next request whole; empty when the other side closed."""
    buffer = b""
    while b"\r\n\r\n" not in buffer:
        if not (received := spoken.recv(65_536)):
            return b""
        buffer += received
    head, _, body = buffer.partition(b"\r\n\r\n")
    length = next(int(line[15:]) for line in head.split(b"\r\n") if line.lower().startswith(b"content-length:"))
    while len(body) < length:
        if not (received := spoken.recv(65_536)):
            return b""
        body += received
    return head + b"\r\n\r\n" + body


def _bytes(answer: Response) -> bytes:
    lines = [f"{name}: {value}" for name, value in answer.headers]
    head = (
        f"HTTP/1.1 {answer.status} {HTTPStatus(answer.status).phrase}",
        *lines,
        f"Content-Length: {len(answer.body)}",
    )
    return "\r\n".join((*head, "", "")).encode() + answer.body


def _end(spoken: socket.socket, end: End) -> None:
    """Go on as `end` says until the other side hangs up, which is an OSError."""
    match end:
        case End.HANG:
            _wait(spoken)
        case End.POUR:
            _send_for_ever(spoken, _POURED)
        case End.DRIP:
            _send_for_ever(spoken, b"X-Padding: 1\r\n", pause=0.005)
        case End.RESET:
            spoken.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        case End.KEEP | End.CLOSE:
            pass


def _wait(spoken: socket.socket) -> None:
    while spoken.recv(65_536):
        pass


def _send_for_ever(spoken: socket.socket, content: bytes, *, pause: float = 0.0) -> None:
    while True:
        spoken.sendall(content)
        time.sleep(pause)
