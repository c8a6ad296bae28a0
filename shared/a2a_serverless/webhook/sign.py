"""Signatures over a nudge's exact bytes. The only module that knows private keys; `notify` alone imports it."""

import base64
import binascii
import hashlib
import hmac
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final

import jwt
from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, EllipticCurvePrivateKey
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey
from cryptography.hazmat.primitives.serialization import load_der_private_key
from jwt.algorithms import ECAlgorithm, RSAAlgorithm

from a2a_serverless.webhook.keys import TOKEN_LIFE, Algorithm, PublicKey, key_in_use

BACKDATED: Final = timedelta(seconds=5)
"""Receivers of the a2a-samples kind refuse a token whose iat is ahead of their clock."""

STRICT_TYPE: Final = "a2a-push+jwt"
HMAC_SECRET_BYTES: Final = (24, 64)
"""Shortest and longest secret (Standard Webhooks 1.0.0, symmetric signatures)."""


@dataclass(frozen=True, slots=True)
class SigningKey:
    """A private key with its public half. Loaded once per process: loading costs more than signing."""

    public: PublicKey
    private: EllipticCurvePrivateKey | RSAPrivateKey = field(repr=False)


@dataclass(frozen=True, slots=True)
class KeyRing:
    """All signing keys of a deployment, of both algorithms, past and to come."""

    keys: tuple[SigningKey, ...]

    @property
    def public(self) -> tuple[PublicKey, ...]:
        """What the JWKS is made of."""
        return tuple(key.public for key in self.keys)

    def in_use(self, algorithm: Algorithm, *, now: datetime) -> SigningKey:
        """The key that signs now.

        Raises:
            LookupError: there is none.
        """
        chosen = key_in_use(self.public, algorithm, now=now)
        return next(key for key in self.keys if key.public is chosen)


def signing_key(der: bytes, *, kid: str, first_use: datetime) -> SigningKey:
    """Load a private key as KMS GenerateDataKeyPair gives it: PKCS #8 DER, on P-256 or RSA.

    Raises:
        ValueError: it is a key of another kind.
    """
    # The check that is skipped guards against made-up RSA keys and takes 40 ms; ours come out of KMS.
    private = load_der_private_key(der, password=None, unsafe_skip_rsa_key_validation=True)
    match private:
        case EllipticCurvePrivateKey(curve=SECP256R1()):
            algorithm, jwk = Algorithm.STRICT, ECAlgorithm.to_jwk(private.public_key(), as_dict=True)
        case RSAPrivateKey(key_size=size) if size >= 2048:
            algorithm, jwk = Algorithm.COMPAT, RSAAlgorithm.to_jwk(private.public_key(), as_dict=True)
        case _:
            raise ValueError("a signing key is a P-256 or an RSA key of 2048 bits or more")
    members = {str(name): str(value) for name, value in jwk.items() if name in {"kty", "crv", "x", "y", "n", "e"}}
    public = PublicKey(kid=kid, algorithm=algorithm, members=members, first_use=first_use)
    return SigningKey(public, private)


@dataclass(frozen=True, slots=True, kw_only=True)
class Vouched:
    """What a token vouches for: these bytes, for this receiver, about this change."""

    url: str
    """The receiver's URL, exactly as it is registered."""
    task_id: str
    seq: int
    message_id: str
    attempt: int
    body: bytes


@dataclass(frozen=True, slots=True)
class Token:
    """A signed token, and the key to name in the delivery log."""

    text: str = field(repr=False)
    kid: str


def strict_token(vouched: Vouched, *, issuer: str, keys: KeyRing, now: datetime) -> Token:
    """The A2A-Push-Signature: ES256, its type and its audience, the receiver's URL, its own.

    Raises:
        LookupError: no key may sign.
    """
    claims = {**_claims(vouched, issuer=issuer, now=now), "aud": vouched.url}
    return _signed(claims, keys.in_use(Algorithm.STRICT, now=now), STRICT_TYPE)


def compat_token(vouched: Vouched, *, issuer: str, keys: KeyRing, now: datetime) -> Token:
    """The bearer for receivers of the a2a-samples kind: RS256 and no audience, which they refuse.

    Raises:
        LookupError: no key may sign.
    """
    audience = hashlib.sha256(vouched.url.encode()).hexdigest()
    claims = {**_claims(vouched, issuer=issuer, now=now), "a2a_push_url_sha256": audience}
    return _signed(claims, keys.in_use(Algorithm.COMPAT, now=now), "JWT")


def _claims(vouched: Vouched, *, issuer: str, now: datetime) -> dict[str, str | int]:
    issued = int((now - BACKDATED).timestamp())
    return {
        "iss": issuer,
        "sub": vouched.task_id,
        "jti": f"{vouched.message_id}:{vouched.attempt}",
        "msg": vouched.message_id,
        "seq": vouched.seq,
        "iat": issued,
        "exp": issued + int(TOKEN_LIFE.total_seconds()),
        "request_body_sha256": hashlib.sha256(vouched.body).hexdigest(),
    }


def _signed(claims: dict[str, str | int], key: SigningKey, kind: str) -> Token:
    headers = {"typ": kind, "kid": key.public.kid}
    return Token(jwt.encode(claims, key.private, algorithm=key.public.algorithm.value, headers=headers), key.public.kid)


@dataclass(frozen=True, slots=True)
class HmacSecret:
    """A Standard Webhooks secret that a partner was issued; printing it shows nothing."""

    value: bytes = field(repr=False)

    @classmethod
    def parse(cls, text: str) -> "HmacSecret":
        """Read `whsec_` and base64.

        Raises:
            ValueError: it is none, or shorter than 24 or longer than 64 bytes.
        """
        shortest, longest = HMAC_SECRET_BYTES
        value = _decoded(text, "whsec_")
        if not shortest <= len(value) <= longest:
            raise ValueError(f"a webhook secret has {shortest} to {longest} bytes")
        return cls(value)


def ed25519_key(text: str) -> Ed25519PrivateKey:
    """Read a Standard Webhooks private key: `whsk_` and base64 of the 32-byte seed, with or without the public half.

    Raises:
        ValueError: it is none.
    """
    value = _decoded(text, "whsk_")
    if len(value) not in {32, 64}:
        raise ValueError("a webhook signing key has 32 bytes, or 64 with its public half")
    return Ed25519PrivateKey.from_private_bytes(value[:32])


def _decoded(text: str, prefix: str) -> bytes:
    if not text.startswith(prefix):
        raise ValueError(f"must begin with {prefix}")
    try:
        return base64.b64decode(text.removeprefix(prefix), validate=True)
    except binascii.Error as error:
        raise ValueError(f"must be {prefix} and base64") from error


def standard_signatures(
    message_id: str,
    body: bytes,
    *,
    timestamp: int,
    secrets: Sequence[HmacSecret] = (),
    ed25519: Sequence[Ed25519PrivateKey] = (),
) -> str:
    """The `webhook-signature` of Standard Webhooks 1.0.0: a `v1` per secret and a `v1a` per key, empty for neither."""
    content = f"{message_id}.{timestamp}.".encode() + body
    symmetric = [("v1", hmac.digest(secret.value, content, "sha256")) for secret in secrets]
    asymmetric = [("v1a", key.sign(content)) for key in ed25519]
    return " ".join(f"{kind},{base64.b64encode(value).decode()}" for kind, value in (*symmetric, *asymmetric))
