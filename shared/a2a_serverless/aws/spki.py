"""Public keys as KMS gives them (X.509 SubjectPublicKeyInfo, DER) turned into the members of a JWK (RFC 7517, 7518).

Two kinds of key in one fixed form each: reading them here spares `api` a library for cryptography.
"""

from base64 import urlsafe_b64encode
from typing import Final

_P256: Final = bytes.fromhex("3059301306072a8648ce3d020106082a8648ce3d03010703420004")
"""Everything before the coordinates of an uncompressed point on P-256 (RFC 5480)."""
_RSA: Final = bytes.fromhex("300d06092a864886f70d0101010500")
"""The algorithm of an RSA key (RFC 3279 2.3.1)."""

_SEQUENCE, _INTEGER, _BIT_STRING = 0x30, 0x02, 0x03


def jwk_members(public_key: bytes) -> dict[str, str]:
    """`kty` with `crv`, `x` and `y`, or with `n` and `e`.

    Raises:
        ValueError: it is neither a P-256 nor an RSA key.
    """
    if public_key.startswith(_P256) and len(public_key) == len(_P256) + 64:
        x, y = public_key[-64:-32], public_key[-32:]
        return {"kty": "EC", "crv": "P-256", "x": _base64(x), "y": _base64(y)}
    inner, _ = _taken(public_key, _SEQUENCE)
    if not inner.startswith(_RSA):
        raise ValueError("a public key that is neither P-256 nor RSA")
    bits, _ = _taken(inner[len(_RSA) :], _BIT_STRING)
    numbers, _ = _taken(bits[1:], _SEQUENCE)  # the first byte counts unused bits
    modulus, rest = _taken(numbers, _INTEGER)
    exponent, _ = _taken(rest, _INTEGER)
    return {"kty": "RSA", "n": _base64(modulus.lstrip(b"\0")), "e": _base64(exponent.lstrip(b"\0"))}


def _taken(der: bytes, tag: int) -> tuple[bytes, bytes]:
    """The content of the first value, which must have this tag, and what follows it."""
    if len(der) < 2 or der[0] != tag:
        raise ValueError("a public key that is not DER")
    length, start = der[1], 2
    if length & 0x80:
        start += length & 0x7F
        length = int.from_bytes(der[2:start], "big")
    if start + length > len(der):
        raise ValueError("a public key that is cut short")
    return der[start : start + length], der[start + length :]


def _base64(number: bytes) -> str:
    return urlsafe_b64encode(number).decode().rstrip("=")
