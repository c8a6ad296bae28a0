"""Signing keys: made and wrapped by KMS, kept in the table, agreed on by all who begin at once."""

import uuid
from datetime import timedelta

import pytest
from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat, load_der_private_key

from a2a_serverless.aws.clients import Clients
from a2a_serverless.aws.signing_keys import KeyMaker, KeyTable, SigningAlgorithm
from a2a_serverless.aws.spki import jwk_members
from a2a_serverless.aws.table import Table
from a2a_serverless.cli.keys import renewed
from a2a_serverless.webhook.keys import FIRST_BACKDATED
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
    assert (made.algorithm, made.number, made.first_use) == (algorithm, 1, START)


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


def test_the_first_keys_of_all_sign_at_once_and_the_next_ones_in_a_day(keys: KeyTable, maker: KeyMaker) -> None:
    first = renewed(keys, maker, now=START, compromised=False)
    later = START + 10 * DAY

    both = renewed(keys, maker, now=later, compromised=False)

    at_once = START - FIRST_BACKDATED
    assert [(key.algorithm, key.first_use) for key in first] == [("ES256", at_once), ("RS256", at_once)]
    assert [key.first_use for key in both] == [at_once, later + DAY] * 2


def test_a_next_key_that_is_to_come_is_not_followed_by_another(keys: KeyTable, maker: KeyMaker) -> None:
    for now in (START, START + DAY):
        renewed(keys, maker, now=now, compromised=False)

    again = renewed(keys, maker, now=START + DAY * 3 / 2, compromised=False)

    assert len(again) == 4


def test_keys_that_are_compromised_are_replaced_with_those_to_come(keys: KeyTable, maker: KeyMaker) -> None:
    for now in (START, START + DAY):
        known = renewed(keys, maker, now=now, compromised=False)
    at = START + DAY * 3 / 2

    replaced = renewed(keys, maker, now=at, compromised=True)

    assert [key.first_use for key in replaced] == [at, at]
    assert not {key.kid for key in known} & {key.kid for key in replaced}


def test_a_key_shows_no_wrapped_secret_when_it_is_printed(keys: KeyTable, maker: KeyMaker) -> None:
    made = maker.make("ES256", known=(), first_use=START, keep_in=keys)

    assert repr(made.wrapped) not in repr(made)
