"""Connections kept for the next nudge to the same endpoint, for seconds only."""

import threading
from collections.abc import Callable
from typing import Final

from a2a_serverless.webhook.connection import Connection
from a2a_serverless.webhook.url import WebhookUrl

PER_ENDPOINT: Final = 8
IN_ALL: Final = 64

_Key = tuple[str, str, int]


class Pool:
    """Idle connections. Safe to use from many threads: a connection is either in here or in one sender's hands.

    They outlive an invocation, and are frozen with their process after it. So they age by `clock`, the time of day: a
    monotonic clock may stand still meanwhile, and a connection of an hour ago would look young.
    """

    def __init__(self, *, reuse: float, clock: Callable[[], float]) -> None:
        self._reuse = reuse
        self._clock = clock
        self._lock = threading.Lock()
        self._idle: dict[_Key, list[Connection]] = {}

    def take(self, url: WebhookUrl) -> Connection | None:
        """A connection that is young, open and quiet; those that are not are closed."""
        while (connection := self._pop(url)) is not None:
            if self._is_young(connection) and connection.is_quiet():
                return connection
            connection.close()
        return None

    def give(self, url: WebhookUrl, connection: Connection) -> None:
        """Keep a connection whose last answer has been read to its end; close it when there are enough."""
        with self._lock:
            kept = self._idle.setdefault(_key(url), [])
            room = len(kept) < PER_ENDPOINT and sum(map(len, self._idle.values())) < IN_ALL
            if room and self._is_young(connection):
                kept.append(connection)
                return
        connection.close()

    def close(self) -> None:
        """Close all of them."""
        with self._lock:
            idle, self._idle = self._idle, {}
        for connection in (each for kept in idle.values() for each in kept):
            connection.close()

    def _pop(self, url: WebhookUrl) -> Connection | None:
        with self._lock:
            kept = self._idle.get(_key(url))
            if not kept:
                return None
            connection = kept.pop()
            if not kept:
                del self._idle[_key(url)]
            return connection

    def _is_young(self, connection: Connection) -> bool:
        """A clock that was set back says nothing: whatever it is wrong by counts as age."""
        return abs(self._clock() - connection.opened_at) < self._reuse


def _key(url: WebhookUrl) -> _Key:
    return (url.scheme, url.host, url.port)
