"""Reading a response: any bytes, cut anywhere."""

from collections.abc import Callable
from itertools import chain, repeat

import pytest
from hypothesis import given
from hypothesis import strategies as st

from a2a_serverless.webhook.http1 import BODY_LIMIT, HEAD_LIMIT, Malformed, Response, read_response

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


@pytest.mark.parametrize(
    ("head", "reusable"),
    [
        (b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", True),
        (b"HTTP/1.1 200 OK\nContent-Length: 0\n\n", True),
        (b"HTTP/1.0 200 OK\r\nContent-Length: 0\r\n\r\n", False),
        (b"HTTP/1.1 200 OK\r\nno colon\r\nContent-Length: 0\r\n\r\n", False),
        (b"HTTP/1.1 200 OK\r\nConnection: Close\r\nContent-Length: 0\r\n\r\n", False),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\nHTTP/1.1", False),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nx", False),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 0, 0\r\n\r\n", False),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n", False),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nTrailer: x\r\n\r\n", False),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nxx0\r\n\r\n", False),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n", False),
        (b"HTTP/1.1 200 OK\r\n\r\n", False),
    ],
)
def test_only_an_answer_that_ends_where_both_sides_know_leaves_the_connection_usable(
    head: bytes, reusable: bool
) -> None:
    response = _read(head)

    assert response is not None
    assert (response.status, response.reusable) == (200, reusable)


def test_a_body_as_long_as_the_limit_is_whole_and_a_longer_one_is_cut() -> None:
    fits = _read(b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc", limit=3)
    cut = _read(b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nabcd", limit=3)

    assert fits == Response(200, {"content-length": "3"}, b"abc", reusable=True)
    assert cut == Response(200, {"content-length": "4"}, b"abc", reusable=False)


def test_a_line_ends_with_a_line_feed_alone() -> None:
    response = _read(b"HTTP/1.1 200 OK\nRetry-After: 120\nContent-Length: 1\n\nx")

    assert response == Response(200, {"retry-after": "120", "content-length": "1"}, b"x", reusable=True)


def test_a_switch_of_protocols_is_no_interim_answer() -> None:
    response = _read(b"HTTP/1.1 101 Switching Protocols\r\n\r\nHTTP/1.1 200 OK\r\n\r\n")

    assert response is not None
    assert response.status == 101


@pytest.mark.parametrize(("lines", "read"), [(100, True), (101, False)])
def test_an_answer_has_at_most_100_header_lines(lines: int, read: bool) -> None:
    response = _read(b"HTTP/1.1 204 X\r\n" + b"A: 1\r\n" * lines + b"\r\n")

    assert (response is not None) is read


@pytest.mark.parametrize(("interim", "read"), [(8, True), (9, False)])
def test_at_most_eight_interim_answers_are_waited_for(interim: int, read: bool) -> None:
    response = _read(b"HTTP/1.1 102 Processing\r\n\r\n" * interim + b"HTTP/1.1 204 X\r\n\r\n")

    assert (response is not None) is read


@pytest.mark.parametrize("start", [b"", b"HTTP/1.1 200 OK\r\nX: "])
def test_a_line_without_end_is_not_collected_beyond_the_limit(start: bytes) -> None:
    given_out = 0

    def receive(count: int) -> bytes:
        nonlocal given_out
        given_out += count
        return start if given_out == count and start else b"x" * count

    with pytest.raises(Malformed):
        read_response(receive, before_body=lambda: None)

    assert given_out < 4 * HEAD_LIMIT


def test_a_chunk_line_without_end_only_ends_the_body() -> None:
    response = _read(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3;" + b"x" * 300 + b"\r\nabc\r\n0\r\n\r\n")

    assert response == Response(200, {"transfer-encoding": "chunked"}, b"", reusable=False)


@pytest.mark.parametrize("size", [b"", b"zz", b"-1", b"+1", b"0x1", b"1_0", b"1 1", b"f" * 16])
def test_a_chunk_size_is_hexadecimal_and_nothing_else(size: bytes) -> None:
    response = _read(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + size + b"\r\na\r\n0\r\n\r\n")

    assert response == Response(200, {"transfer-encoding": "chunked"}, b"", reusable=False)
