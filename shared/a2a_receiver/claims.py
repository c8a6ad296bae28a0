"""Steps 7 to 9: what a verified token says, held against what this receiver expects."""

import hashlib
import hmac
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from .answer import Refusal
from .strict_json import NotStrictJson, loads

EXPIRY_LEEWAY: Final = 30
"""Seconds that a token is taken beyond its `exp`, since clocks differ."""
FUTURE_LEEWAY: Final = 60
"""Seconds that `iat` and `nbf` may lie ahead of our clock."""
MAX_AGE: Final = 330
"""Seconds since `iat`: the five minutes that our tokens live, and the leeway."""
MAX_LIFETIME: Final = 600
"""Seconds from `iat` to `exp`, whoever made the token."""
MAX_SEQ: Final = 2**53 - 1
"""Largest integer that every JSON reader and store keeps exactly (RFC 8259 section 6)."""

MESSAGE_ID: Final = re.compile(r"[A-Za-z0-9_:~@+=/-]{1,256}")
"""No dot: Standard Webhooks joins id, timestamp and body with dots."""
_NAME: Final = re.compile(r"[\x21-\x7e]{1,512}")
_SHA256: Final = re.compile(r"[0-9a-f]{64}")

ClaimMap = Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Claims:
    """A token whose issuer, audience, times and body hash hold."""

    task_id: str
    message_id: str
    seq: int


@dataclass(frozen=True, slots=True)
class Expected:
    """What this receiver was configured with."""

    issuer: str
    is_for_us: Callable[[ClaimMap], bool]
    """Whether the audience is exactly this receiver."""


def read_claims(payload: bytes, body: bytes, expected: Expected, *, now: float) -> Claims | Refusal:
    """The claims of a token whose signature holds, or the first that does not; `now` in Unix seconds."""
    try:
        claims = loads(payload)
    except NotStrictJson:
        return Refusal(401, "claims_format")
    if not isinstance(claims, dict):
        return Refusal(401, "claims_format")
    return (
        _wrong_time(claims, now=now) or _wrong_party(claims, expected) or _wrong_body(claims, body) or _identity(claims)
    )


def _wrong_time(claims: ClaimMap, *, now: float) -> Refusal | None:
    issued, expires = claims.get("iat"), claims.get("exp")
    # `type is int`: true is an int to Python, and 1.8e9 or "1796040295" must not become one.
    if type(issued) is not int or type(expires) is not int or issued < 0:
        return Refusal(401, "time_type")
    not_before = claims.get("nbf", issued)
    if type(not_before) is not int:
        return Refusal(401, "time_type")
    if now >= expires + EXPIRY_LEEWAY:
        return Refusal(401, "expired")
    if max(issued, not_before) > now + FUTURE_LEEWAY:
        return Refusal(401, "future")
    if now - issued > MAX_AGE:
        return Refusal(401, "too_old")
    if not 0 < expires - issued <= MAX_LIFETIME:
        return Refusal(401, "lifetime")
    return None


def _wrong_party(claims: ClaimMap, expected: Expected) -> Refusal | None:
    # Compared here and as text: libraries have accepted parts of an issuer and members of a list.
    if claims.get("iss") != expected.issuer:
        return Refusal(401, "iss")
    if not expected.is_for_us(claims):
        return Refusal(401, "aud")
    if not _is_name(claims.get("jti")):
        return Refusal(401, "jti")
    if not _is_name(claims.get("sub")):
        return Refusal(401, "sub")
    return None


def _wrong_body(claims: ClaimMap, body: bytes) -> Refusal | None:
    stated = claims.get("request_body_sha256")
    if not isinstance(stated, str) or not _SHA256.fullmatch(stated):
        return Refusal(401, "body_hash")
    if not hmac.compare_digest(stated, hashlib.sha256(body).hexdigest()):
        return Refusal(401, "body_hash")
    return None


def _identity(claims: ClaimMap) -> Claims | Refusal:
    message_id, seq = claims.get("msg"), claims.get("seq")
    if not isinstance(message_id, str) or not MESSAGE_ID.fullmatch(message_id):
        return Refusal(401, "msg")
    if type(seq) is not int or not 0 <= seq <= MAX_SEQ:
        return Refusal(401, "seq")
    return Claims(str(claims["sub"]), message_id, seq)


def _is_name(value: object) -> bool:
    return isinstance(value, str) and _NAME.fullmatch(value) is not None


def has_exact_audience(audience: str) -> Callable[[ClaimMap], bool]:
    """Whether `aud` is this one string: no list, no prefix, no other case."""
    return lambda claims: claims.get("aud") == audience


def has_url_digest(audience: str) -> Callable[[ClaimMap], bool]:
    """Whether `a2a_push_url_sha256` is this URL's: the audience of a token that may not have an `aud`."""
    digest = hashlib.sha256(audience.encode()).hexdigest()
    return lambda claims: claims.get("a2a_push_url_sha256") == digest and claims.get("aud", audience) == audience
