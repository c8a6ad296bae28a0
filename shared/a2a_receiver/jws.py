"""Steps 4 and 5: the token as text and its header, before any cryptography sees it (RFC 7515)."""

import base64
import binascii
import re
from dataclasses import dataclass
from typing import Final

from .answer import Refusal
from .strict_json import NotStrictJson, loads

MAX_TOKEN: Final = 4096
"""Characters. An ES256 token with our claims has about 530, an RS256 one about 850."""

_COMPACT: Final = re.compile(r"([A-Za-z0-9_-]+)\.([A-Za-z0-9_-]+)\.([A-Za-z0-9_-]*)")
_KID: Final = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9._~-]{0,127}")
"""A thumbprint (RFC 7638) may begin with any character of base64url; what begins with a dot is a path."""
_HEADER_NAMES: Final = frozenset({"alg", "typ", "kid"})


@dataclass(frozen=True, slots=True)
class Jws:
    """A well-formed token. Its signature is not checked yet, so `payload` says nothing yet."""

    kid: str
    signing_input: bytes
    payload: bytes
    signature: bytes


def read_jws(text: str, *, alg: str, typ: str) -> Jws | Refusal:
    """The parts of a compact JWS whose header names `alg` and `typ` and nothing else but a `kid`."""
    if not text:
        return Refusal(401, "no_signature")
    if len(text) > MAX_TOKEN:
        return Refusal(401, "jws_format")
    parts = _COMPACT.fullmatch(text)
    if parts is None:
        return Refusal(401, "jws_format")
    header = _decode(parts[1])
    if header is None:
        return Refusal(401, "jws_format")
    kid = _kid(header, alg=alg, typ=typ)
    if isinstance(kid, Refusal):
        return kid
    payload, signature = _decode(parts[2]), _decode(parts[3])
    if payload is None or signature is None:
        return Refusal(401, "jws_format")
    return Jws(kid, text.rpartition(".")[0].encode(), payload, signature)


def _decode(part: str) -> bytes | None:
    """The bytes of one base64url part; None unless this text is their only spelling."""
    try:
        raw = base64.urlsafe_b64decode(part + "=" * (-len(part) % 4))
    except binascii.Error:
        return None
    return raw if base64.urlsafe_b64encode(raw).rstrip(b"=") == part.encode() else None


def _kid(raw: bytes, *, alg: str, typ: str) -> str | Refusal:
    try:
        header = loads(raw)
    except NotStrictJson:
        return Refusal(401, "jws_format")
    if not isinstance(header, dict):
        return Refusal(401, "jws_format")
    # jku, jwk, x5u, x5c would bring keys along; crit and b64 change what is signed. None is ever needed.
    if not header.keys() <= _HEADER_NAMES:
        return Refusal(401, "jws_header_params")
    if header.get("alg") != alg:
        return Refusal(401, "alg")
    if header.get("typ") != typ:
        return Refusal(401, "typ")
    kid = header.get("kid")
    if not isinstance(kid, str) or not _KID.fullmatch(kid):
        return Refusal(401, "kid")
    return kid
