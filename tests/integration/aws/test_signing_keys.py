"""Signing keys: made and wrapped by KMS, kept in the table, agreed on by all who begin at once."""

import uuid
from dataclasses import replace
from datetime import timedelta

import pytest
from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat, load_der_private_key

from a2a_serverless.aws.clients import Clients
from a2a_serverless.aws.signing_keys import KeyMaker, KeyTable, SigningAlgorithm, StoredKey
from a2a_serverless.aws.spki import jwk_members
from a2a_serverless.aws.table import Refused, Table
from tests.fakes import START

from .conftest import make_table

DAY = timedelta(days=1)


@pytest.fixture
def keys(clients: Clients) -> KeyTable:
    """A deployment of this test's own."""
    name = f"keys-{uuid.uuid4().hex[:8]}"
    make_table(clients, name)
    return KeyTable(Table(clients.dynamodb, name))


@pytest.fixture(scope="session")
def maker(clients: Clients) -> KeyMaker:
    return KeyMaker(clients.kms, clients.kms.create_key()["KeyMetadata"]["KeyId"])


@pytest.mark.parametrize("algorithm", ["ES256", "RS256"])
def test_a_key_is_kept_with_the_public_half_of_what_it_wraps(
    keys: KeyTable, maker: KeyMaker, algorithm: SigningAlgorithm
) -> None:
    made = maker.make(algorithm, known=(), first_use=START, keep_in=keys)

    assert keys.keys() == (made,)
    private = load_der_private_key(maker.unwrap(made), password=None)
    assert isinstance(private, EllipticCurvePrivateKey | RSAPrivateKey)
    public = private.public_key().public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    assert made.members == jwk_members(public)
    assert (made.algorithm, made.number, made.first_use, made.last_use) == (algorithm, 1, START, None)


def test_of_keys_made_at_once_all_use_the_one_that_was_kept(keys: KeyTable, maker: KeyMaker) -> None:
    first, second = (maker.make("ES256", known=(), first_use=START, keep_in=keys) for _ in range(2))

    assert first == second
    assert keys.keys() == (first,)


def test_the_next_key_stands_behind_those_that_are_known(keys: KeyTable, maker: KeyMaker) -> None:
    first = maker.make("ES256", known=(), first_use=START, keep_in=keys)
    compat = maker.make("RS256", known=(first,), first_use=START, keep_in=keys)

    second = maker.make("ES256", known=keys.keys(), first_use=START + DAY, keep_in=keys)

    assert keys.keys() == (first, second, compat)
    assert second.number == 2
    assert len({key.kid for key in (first, second, compat)}) == 3


def test_a_key_can_be_withdrawn(keys: KeyTable, maker: KeyMaker) -> None:
    made = maker.make("ES256", known=(), first_use=START, keep_in=keys)

    keys.withdraw(made, last_use=START + DAY)

    assert keys.keys() == (replace(made, last_use=START + DAY),)


def test_a_key_that_is_not_there_cannot_be_withdrawn(keys: KeyTable) -> None:
    unknown = StoredKey(kid="es256-x", algorithm="ES256", number=9, members={}, first_use=START, wrapped=b"")

    with pytest.raises(Refused):
        keys.withdraw(unknown, last_use=START)

    assert keys.keys() == ()


def test_a_key_shows_no_wrapped_secret_when_it_is_printed(keys: KeyTable, maker: KeyMaker) -> None:
    made = maker.make("ES256", known=(), first_use=START, keep_in=keys)

    assert repr(made.wrapped) not in repr(made)
