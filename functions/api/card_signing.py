"""Signs cards: the key is fetched and opened when a card is first asked for, so that no other request pays for it."""

from functools import cache
from typing import TYPE_CHECKING

from a2a_serverless.aws.card_key import CardKey, CardKeys
from a2a_serverless.protocol.card_signature import CardSigner
from a2a_serverless.types import JsonObject
from functions import wiring

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey


def card_signer() -> CardSigner:
    """A signer with the deployment's card key."""
    return CardSigner(sign=_sign, public_jwk=_public_jwk)


@cache
def _keys() -> CardKeys:
    return CardKeys(wiring.table(), wiring.clients.kms, wiring.settings().sealing_key)


@cache
def _key() -> CardKey:
    return _keys().key()


def _public_jwk() -> JsonObject:
    return _key().public_jwk


@cache
def _private() -> "EllipticCurvePrivateKey":
    from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey
    from cryptography.hazmat.primitives.serialization import load_der_private_key

    private = load_der_private_key(_keys().unwrap(_key()), password=None)
    if not isinstance(private, EllipticCurvePrivateKey):
        raise TypeError("the key of the cards is on P-256")
    return private


def _sign(content: bytes) -> bytes:
    """ES256 as JWS has it (RFC 7518 3.4), deterministic (RFC 6979): every instance serves the same card."""
    from cryptography.hazmat.primitives.asymmetric.ec import ECDSA
    from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature
    from cryptography.hazmat.primitives.hashes import SHA256

    r, s = decode_dss_signature(_private().sign(content, ECDSA(SHA256(), deterministic_signing=True)))
    return r.to_bytes(32) + s.to_bytes(32)
