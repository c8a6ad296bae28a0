"""Reading a response: any bytes, cut anywhere."""

from collections.abc import Callable
from itertools import chain, repeat

import pytest
from hypothesis import given
from hypothesis import strategies as st

from a2a_serverless.webhook.http1 import BODY_LIMIT, Malformed, Response, read_response

_PIECES = (
    b"HTTP/1.1 200 OK\r\n",
    b"HTTP/1.1 100 Continue\r\n\r\n",
    b"HTTP/1.0 503 Busy\n",
    b"Content-Length: 3\r\n",
    b"Content-Length: 99999999999999999999\r\n",
    b"Transfer-Encoding: chunked\r\n",
    b"Connection: close\r\n",
    b"X: \xff\x00\r\n",
    b": no name\r\n",
    b"\r\n",
    b"\n",
    b"3\r\nabc\r\n",
    b"0\r\n\r\n",
    b"fffffffffffffff\r\n",
    b"abc",
)


def _in_pieces(content: bytes, sizes: list[int]) -> Callable[[int], bytes]:
    lengths = chain(sizes, repeat(len(content) or 1))
    position = 0

    def receive(count: int) -> bytes:
        nonlocal position
        taken = content[position : position + min(count, next(lengths))]
        position += len(taken)
        return taken

    return receive


def _read(content: bytes, sizes: list[int] | None = None, *, limit: int = BODY_LIMIT) -> Response | None:
    try:
        return read_response(_in_pieces(content, sizes or []), before_body=lambda: None, body_limit=limit)
    except Malformed:
        return None


@given(st.lists(st.sampled_from(_PIECES) | st.binary(max_size=40), max_size=12), st.lists(st.integers(1, 50)))
def test_any_bytes_are_an_answer_or_none(pieces: list[bytes], sizes: list[int]) -> None:
    response = _read(b"".join(pieces), sizes, limit=10)

    assert response is None or 0 <= response.status <= 999
    assert response is None or len(response.body) <= 10


@given(st.lists(st.sampled_from(_PIECES) | st.binary(max_size=40), max_size=12), st.lists(st.integers(1, 50)))
def test_where_the_bytes_are_cut_changes_nothing_of_the_answer(pieces: list[bytes], sizes: list[int]) -> None:
    content = b"".join(pieces)

    cut, whole = _read(content, sizes), _read(content)

    assert (cut is None) == (whole is None)
    if cut is not None and whole is not None:
        assert (cut.status, cut.headers, cut.body) == (whole.status, whole.headers, whole.body)


@given(st.binary(max_size=300), st.integers(1, 64))
def test_a_chunked_body_comes_out_whole(body: bytes, size: int) -> None:
    chunks = [body[at : at + size] for at in range(0, len(body), size)]
    coded = b"".join(b"%x\r\n%s\r\n" % (len(chunk), chunk) for chunk in chunks)

    response = _read(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: Chunked\r\n\r\n" + coded + b"0\r\n\r\n")

    assert response == Response(200, {"transfer-encoding": "Chunked"}, body, reusable=True)


@pytest.mark.parametrize("status", [204, 304])
def test_a_status_without_body_needs_no_length(status: int) -> None:
    response = _read(b"HTTP/1.1 %d X\r\n\r\n" % status)

    assert response == Response(status, {}, b"", reusable=True)


def test_headers_that_come_twice_are_joined() -> None:
    response = _read(b"HTTP/1.1 429 X\r\nRetry-After: 1\r\nretry-after:2\r\nContent-Length: 0\r\n\r\n")

    assert response is not None
    assert response.headers["retry-after"] == "1, 2"


def test_a_long_run_of_blanks_in_a_header_takes_no_time() -> None:
    response = _read(b"HTTP/1.1 200 OK\r\nX:" + b" " * 30_000 + b"y\r\nContent-Length: 0\r\n\r\n")

    assert response is not None
    assert response.headers["x"] == "y"
