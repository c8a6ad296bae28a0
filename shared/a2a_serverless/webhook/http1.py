"""One HTTP/1.1 response, read from bytes: as much of it as a sender of webhooks needs, and never more.

No sockets and no clock in here: `receive` gives the next bytes or raises. Whatever a receiver sends leads to a
`Response` or a `Malformed`; interim answers are skipped, content codings are left alone.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

HEAD_LIMIT: Final = 32 * 1024
"""Status line and headers, interim answers included."""

HEADER_LIMIT: Final = 100
"""Header lines of one answer."""

INTERIM_LIMIT: Final = 8
"""1xx answers before the real one. Nobody sends more than one or two; a flood is an attack."""

BODY_LIMIT: Final = 64 * 1024
_READ = 16 * 1024
_LONGEST_CHUNK_LINE = 256

_STATUS_LINE = re.compile(rb"HTTP/1\.([01]) ([0-9]{3})(?: .*)?")
_HEADER = re.compile(rb"([!#$%&'*+.^_`|~0-9A-Za-z-]+):(.*)", re.DOTALL)
_BODYLESS: Final = frozenset({204, 304})

Receive = Callable[[int], bytes]
"""At most that many bytes, at least one; none at the end of the stream. Raises OSError, TimeoutError among them."""


class Malformed(Exception):
    """What came is no HTTP/1.x response, or too much of one."""


@dataclass(frozen=True, slots=True)
class Response:
    """An answer. Header names are in lower case; values that came several times are joined by a comma."""

    status: int
    headers: Mapping[str, str]
    body: bytes
    """What was read of it, as it was sent."""
    reusable: bool
    """Whether it ended where it said it would, so that another request may follow on the connection."""


class _Stream:
    """Bytes that came, and bytes to come."""

    def __init__(self, receive: Receive) -> None:
        self._receive = receive
        self._buffer = bytearray()

    @property
    def is_empty(self) -> bool:
        return not self._buffer

    def line(self, limit: int) -> bytes:
        """The next line without its end (LF alone is taken, RFC 9112 2.2)."""
        while (end := self._buffer.find(b"\n", 0, limit)) < 0:
            if len(self._buffer) >= limit:
                raise Malformed("a line or the header section is too long")
            self._fill()
        line = bytes(self._buffer[:end])
        del self._buffer[: end + 1]
        return line[:-1] if line.endswith(b"\r") else line

    def take(self, count: int) -> bytes:
        """Up to `count` bytes, at least one unless `count` is 0."""
        if count and not self._buffer:
            self._fill()
        taken = bytes(self._buffer[:count])
        del self._buffer[:count]
        return taken

    def _fill(self) -> None:
        received = self._receive(_READ)
        if not received:
            raise Malformed("the connection ended before the answer did")
        self._buffer += received


@dataclass(frozen=True, slots=True)
class _Head:
    """Status line and headers. `is_clean`: no line had to be skipped, and the version is 1.1."""

    status: int
    headers: Mapping[str, str]
    is_clean: bool


def read_response(receive: Receive, *, before_body: Callable[[], None], body_limit: int = BODY_LIMIT) -> Response:
    """Read one response.

    Once the status is known the answer stands: a body that is too long, cut off or late only ends the connection.

    Args:
        receive: gives bytes.
        before_body: called once the head is there; the caller may shorten its deadline.
        body_limit: how much of the body is read, in bytes.

    Raises:
        Malformed: there was no such answer.
        OSError: `receive` failed before the head was there.
    """
    stream = _Stream(receive)
    head = _read_head(stream)
    before_body()
    body = _Body(limit=body_limit)
    try:
        ended = _read_body(stream, head, body)
    except (OSError, Malformed):
        ended = False
    keeps = head.is_clean and ended and stream.is_empty
    closes = "close" in head.headers.get("connection", "").lower()
    return Response(head.status, head.headers, bytes(body.content), reusable=keeps and not closes)


def _read_head(stream: _Stream) -> _Head:
    left = HEAD_LIMIT
    for _ in range(INTERIM_LIMIT + 1):
        head, left = _read_one_head(stream, left)
        if not 100 <= head.status <= 199 or head.status == 101:
            return head
    raise Malformed("too many interim answers")


def _read_one_head(stream: _Stream, left: int) -> tuple[_Head, int]:
    line = stream.line(left)
    left -= len(line) + 1
    match = _STATUS_LINE.fullmatch(line)
    if match is None:
        raise Malformed("the status line is not HTTP/1.x")
    headers: dict[str, str] = {}
    clean = match[1] == b"1"
    lines = 0
    while line := stream.line(left):
        left -= len(line) + 1
        lines += 1
        if lines > HEADER_LIMIT:
            raise Malformed("too many headers")
        clean = _add_header(headers, line) and clean
    return _Head(int(match[2]), headers, clean), left


def _add_header(headers: dict[str, str], line: bytes) -> bool:
    """Whether the line is a header. One that is none is skipped: the status counts, but the framing is in doubt."""
    match = _HEADER.fullmatch(line)
    if match is None:
        return False
    name, value = match[1].decode("ascii").lower(), match[2].strip(b" \t").decode("latin-1")
    headers[name] = f"{headers[name]}, {value}" if name in headers else value
    return True


class _Body:
    """Collects up to a limit."""

    def __init__(self, *, limit: int) -> None:
        self.content = bytearray()
        self._limit = limit

    @property
    def left(self) -> int:
        return self._limit - len(self.content)

    def read(self, stream: _Stream, length: int) -> bool:
        """Read `length` bytes; False when the limit comes first."""
        while length and self.left:
            taken = stream.take(min(length, self.left))
            self.content += taken
            length -= len(taken)
        return length == 0


def _read_body(stream: _Stream, head: _Head, body: _Body) -> bool:
    """Whether the body was read to an end that both sides know of (RFC 9112 6.3)."""
    if head.status in _BODYLESS:
        return True
    coding = head.headers.get("transfer-encoding")
    length = head.headers.get("content-length")
    if coding is not None:
        return coding.lower() == "chunked" and length is None and _read_chunks(stream, body)
    if length is not None and re.fullmatch("[0-9]{1,18}", length):
        return body.read(stream, int(length))
    while body.left:
        body.content += stream.take(body.left)
    return False


def _read_chunks(stream: _Stream, body: _Body) -> bool:
    while True:
        size = stream.line(_LONGEST_CHUNK_LINE).partition(b";")[0].strip()
        if not re.fullmatch(b"[0-9A-Fa-f]{1,15}", size):
            return False
        if int(size, 16) == 0:
            return stream.line(_LONGEST_CHUNK_LINE) == b""
        if not body.read(stream, int(size, 16)) or stream.line(_LONGEST_CHUNK_LINE):
            return False
