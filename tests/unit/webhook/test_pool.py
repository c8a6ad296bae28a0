"""Keeping connections."""

import socket

from a2a_serverless.webhook.connection import Connection
from a2a_serverless.webhook.pool import IN_ALL, PER_ENDPOINT, Pool
from tests.unit.webhook.loopback import url_of


class _Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


class _Line:
    """A connection whose other end is held open."""

    def __init__(self, clock: _Clock) -> None:
        ours, self.other = socket.socketpair()
        self.connection = Connection(ours, "192.0.2.7", opened_at=clock(), monotonic=clock)


def test_it_keeps_so_many_for_an_endpoint_and_so_many_in_all() -> None:
    clock = _Clock()
    pool = Pool(reuse=30.0, clock=clock)
    lines = [_Line(clock) for _ in range(2 * IN_ALL)]
    urls = [url_of(f"https://rx{at // (PER_ENDPOINT + 1)}.example.com/p") for at in range(len(lines))]
    for line, url in zip(lines, urls, strict=True):
        pool.give(url, line.connection)

    kept = [sum(pool.take(url) is not None for _ in range(PER_ENDPOINT + 1)) for url in dict.fromkeys(urls)]

    assert kept[: IN_ALL // PER_ENDPOINT] == [PER_ENDPOINT] * (IN_ALL // PER_ENDPOINT)
    assert sum(kept) == IN_ALL
    _close(lines)


def test_an_old_connection_is_neither_kept_nor_given_out() -> None:
    clock = _Clock()
    pool = Pool(reuse=30.0, clock=clock)
    url = url_of("https://rx.example.com/p")
    young, old = _Line(clock), _Line(clock)

    pool.give(url, young.connection)
    clock.now = 29.9
    assert pool.take(url) is young.connection
    pool.give(url, young.connection)
    clock.now = 30.0
    pool.give(url, old.connection)

    assert pool.take(url) is None
    assert old.other.recv(1) == b""
    assert young.other.recv(1) == b""
    _close([young, old])


def test_after_a_clock_was_set_back_a_connection_is_not_trusted() -> None:
    clock = _Clock()
    pool = Pool(reuse=30.0, clock=clock)
    url = url_of("https://rx.example.com/p")
    line = _Line(clock)

    pool.give(url, line.connection)
    clock.now = -3_600.0

    assert pool.take(url) is None
    _close([line])


def test_closing_it_closes_all() -> None:
    clock = _Clock()
    pool = Pool(reuse=30.0, clock=clock)
    line = _Line(clock)
    pool.give(url_of("https://rx.example.com/p"), line.connection)

    pool.close()

    assert line.other.recv(1) == b""
    assert pool.take(url_of("https://rx.example.com/p")) is None
    _close([line])


def _close(lines: list[_Line]) -> None:
    for line in lines:
        line.connection.close()
        line.other.close()
