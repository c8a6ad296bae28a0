"""Public keys as KMS gives them, as members of a JWK: the same that a library for cryptography says."""

import json

import pytest
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from jwt.algorithms import ECAlgorithm, RSAAlgorithm

from a2a_serverless.aws.spki import jwk_members


def der(public: ec.EllipticCurvePublicKey | rsa.RSAPublicKey | ed25519.Ed25519PublicKey) -> bytes:
    return public.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)


def members(jwk: str) -> dict[str, str]:
    return {name: value for name, value in json.loads(jwk).items() if name in {"kty", "crv", "x", "y", "n", "e"}}


def test_a_p256_key_has_the_members_that_the_library_says() -> None:
    for _ in range(20):
        public = ec.generate_private_key(ec.SECP256R1()).public_key()

        assert jwk_members(der(public)) == members(ECAlgorithm.to_jwk(public))


@pytest.mark.parametrize("size", [2048, 3072])
def test_an_rsa_key_has_the_members_that_the_library_says(size: int) -> None:
    public = rsa.generate_private_key(65537, size).public_key()

    assert jwk_members(der(public)) == members(RSAAlgorithm.to_jwk(public))


def test_a_key_of_another_kind_is_refused() -> None:
    p384 = der(ec.generate_private_key(ec.SECP384R1()).public_key())
    ed25519_key = der(ed25519.Ed25519PrivateKey.generate().public_key())

    for public in (p384, ed25519_key):
        with pytest.raises(ValueError, match="neither"):
            jwk_members(public)


def test_what_is_cut_short_is_refused() -> None:
    whole = der(rsa.generate_private_key(65537, 2048).public_key())

    for length in range(0, len(whole), 7):
        with pytest.raises(ValueError, match="public key"):
            jwk_members(whole[:length])
