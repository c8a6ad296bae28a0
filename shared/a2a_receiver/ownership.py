"""Answers to a sender that asks whether this URL wants its pushes: only to the question that is expected.

A receiver that echoes any token can be enrolled by strangers and turned on others.
"""

import hashlib
import re
import threading
from collections.abc import Mapping
from typing import Final, Protocol
from urllib.parse import parse_qsl

from .answer import Refusal, Response

VALID_FOR: Final = 600
"""Seconds a pending question is expected, as long as senders keep theirs."""
_CHALLENGE: Final = re.compile(r"[A-Za-z0-9._~-]{16,128}")
_ORIGIN: Final = re.compile(r"[A-Za-z0-9._:-]{1,255}")


class PendingChallenges(Protocol):
    """Port: which questions this receiver is waiting for, because it has just registered its URL somewhere."""

    def expects_token(self, token: str, *, now: float) -> bool:
        """Whether a registration that this validation token belongs to is pending at `now` (Unix seconds)."""
        ...

    def expects_origin(self, origin: str, *, now: float) -> bool:
        """Whether a registration with the sender of this name is pending."""
        ...


class MemoryChallenges:
    """The pending questions of one process. Call one of the `expect` methods before you register your URL."""

    def __init__(self) -> None:
        """Nothing pending."""
        self._until: dict[bytes, float] = {}
        self._next_token_until = 0.0
        self._lock = threading.Lock()

    def expect_token(self, token: str, *, now: float) -> None:
        """Wait ten minutes for this validation token."""
        self._expect("token", token, now=now)

    def expect_origin(self, origin: str, *, now: float) -> None:
        """Wait ten minutes for an OPTIONS request of this sender."""
        self._expect("origin", origin, now=now)

    def expect_next_token(self, *, now: float) -> None:
        """Wait ten minutes for one validation token that the sender makes up, whichever comes first.

        A stranger who asks in that time gets the one answer; the sender then fails to register, and you try again.
        """
        with self._lock:
            self._next_token_until = now + VALID_FOR

    def expects_token(self, token: str, *, now: float) -> bool:
        """See `PendingChallenges`."""
        if self._is_pending("token", token, now=now):
            return True
        with self._lock:
            is_open, self._next_token_until = self._next_token_until > now, 0.0
        if is_open:
            self.expect_token(token, now=now)  # asked again, it is answered again
        return is_open

    def expects_origin(self, origin: str, *, now: float) -> bool:
        """See `PendingChallenges`."""
        return self._is_pending("origin", origin, now=now)

    def _expect(self, kind: str, challenge: str, *, now: float) -> None:
        with self._lock:
            self._until = {known: until for known, until in self._until.items() if until > now}
            self._until[_digest(kind, challenge)] = now + VALID_FOR

    def _is_pending(self, kind: str, challenge: str, *, now: float) -> bool:
        with self._lock:
            return self._until.get(_digest(kind, challenge), 0.0) > now


def answer_token(query: str, pending: PendingChallenges | None, *, now: float) -> Response | Refusal:
    """The stock check: `GET ?validationToken=...` wants the token back. `query` is as sent, undecoded."""
    tokens = [value for name, value in _pairs(query) if name == "validationToken"]
    if not tokens:
        return Refusal(405, "method")
    if len(tokens) > 1 or not _CHALLENGE.fullmatch(tokens[0]):
        return Refusal(400, "bad_challenge")
    if pending is None or not pending.expects_token(tokens[0], now=now):
        return Refusal(400, "bad_challenge")
    headers = (("Content-Type", "text/plain; charset=utf-8"), ("X-Content-Type-Options", "nosniff"))
    return Response(200, headers, tokens[0].encode())


def answer_options(headers: Mapping[str, str], pending: PendingChallenges | None, *, now: float) -> Response | Refusal:
    """The CloudEvents check: `OPTIONS` with an origin wants that origin allowed."""
    asking = headers.get("webhook-request-origin")
    if asking is None:
        return Refusal(405, "method")
    if not _ORIGIN.fullmatch(asking):
        return Refusal(400, "bad_challenge")
    if pending is None or not pending.expects_origin(asking, now=now):
        return Refusal(400, "bad_challenge")
    return Response(200, (("WebHook-Allowed-Origin", asking), ("WebHook-Allowed-Rate", "*"), ("Allow", "POST")))


def _pairs(query: str) -> list[tuple[str, str]]:
    try:
        return parse_qsl(query, keep_blank_values=True, max_num_fields=20)
    except ValueError:
        return [("validationToken", "")]


def _digest(kind: str, challenge: str) -> bytes:
    """Looked up by hash, so that how long it takes says nothing about how much was right."""
    return hashlib.sha256(f"{kind} {challenge}".encode()).digest()
