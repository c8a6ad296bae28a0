"""Standard Webhooks 1.0.0, symmetric (`v1`): for senders that were issued a `whsec_` secret out of band."""

import base64
import binascii
import hashlib
import hmac
import re
from collections.abc import Mapping, Sequence
from typing import Final

from .answer import Refusal
from .claims import MESSAGE_ID
from .urls import ConfigError, is_text

TOLERANCE: Final = 5 * 60
"""Seconds, to both sides."""
MAX_SIGNATURES: Final = 16
"""A sender that rotates keys sends one per key; each costs us a comparison with each secret."""
MIN_SECRET: Final = 24
"""Bytes, as the specification asks."""

_SECRET: Final = re.compile(r"whsec_[\x21-\x7e]*")
_TIMESTAMP: Final = re.compile(r"[1-9][0-9]{0,11}")
_V1: Final = re.compile(r"v1,([A-Za-z0-9+/]{43}=)")


def read_secret(text: str) -> bytes:
    """The key of a `whsec_` secret.

    Raises:
        ConfigError: another prefix, not base64, or fewer than 24 bytes.
    """
    if not is_text(text, _SECRET):
        raise ConfigError("a Standard Webhooks secret starts with whsec_ and continues in base64")
    try:
        secret = base64.b64decode(text.removeprefix("whsec_"), validate=True)
    except (binascii.Error, ValueError) as error:
        raise ConfigError("a Standard Webhooks secret is base64 after whsec_") from error
    if len(secret) < MIN_SECRET or len(set(secret)) < 8:
        raise ConfigError(f"a Standard Webhooks secret has at least {MIN_SECRET} random bytes")
    return secret


def wrong_signature(headers: Mapping[str, str], body: bytes, secrets: Sequence[bytes], *, now: float) -> Refusal | None:
    """What is wrong with the `webhook-*` headers of a request at `now` (Unix seconds), if anything."""
    message_id, timestamp = headers.get("webhook-id", ""), headers.get("webhook-timestamp", "")
    signatures = headers.get("webhook-signature", "")
    if not signatures:
        return Refusal(401, "no_signature")
    if not MESSAGE_ID.fullmatch(message_id):
        return Refusal(401, "webhook_id")
    if not _TIMESTAMP.fullmatch(timestamp):
        return Refusal(401, "timestamp_format")
    if abs(now - int(timestamp)) > TOLERANCE:
        return Refusal(401, "timestamp_window")
    entries = signatures.split(" ")
    if len(entries) > MAX_SIGNATURES:
        return Refusal(401, "too_many_signatures")
    if not _any_holds(entries, f"{message_id}.{timestamp}.".encode() + body, secrets):
        return Refusal(401, "signature")
    return None


def _any_holds(entries: Sequence[str], signed: bytes, secrets: Sequence[bytes]) -> bool:
    """Compares every entry with every secret, whatever came before. Malformed entries are passed over."""
    right = [base64.b64encode(hmac.digest(secret, signed, hashlib.sha256)) for secret in secrets]
    given = [entry.group(1).encode() for entry in map(_V1.fullmatch, entries) if entry is not None]
    matches = [hmac.compare_digest(one, other) for one in given for other in right]
    return any(matches)
