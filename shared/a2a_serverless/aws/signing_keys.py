"""Signing keys: pairs made and wrapped by KMS, kept in the table, published by their public half.

Only `notify` may unwrap one, once per process. `api` reads what it publishes and never needs KMS. When a key begins and
ends to be used, and which are published, is `webhook.keys`' to say; here they are data.
"""

from __future__ import annotations

import hashlib
import json
from base64 import urlsafe_b64encode
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Final, Literal, get_args

from a2a_serverless.aws.items import (
    Attribute,
    Item,
    binary,
    bytes_in,
    milliseconds,
    moment_of,
    number,
    number_in,
    text,
    text_in,
)
from a2a_serverless.aws.settings import PARTITION_KEY, SIGNING_CONTEXT, SORT_KEY
from a2a_serverless.aws.spki import jwk_members
from a2a_serverless.aws.table import NOT_THERE, Refused, Table, beginning_with
from a2a_serverless.types import compact_json

if TYPE_CHECKING:
    from types_boto3_kms.client import KMSClient

KEYS: Final = "KEYS"
SIGN: Final = "SIGN#"

SigningAlgorithm = Literal["ES256", "RS256"]
ALGORITHMS: Final[tuple[SigningAlgorithm, ...]] = get_args(SigningAlgorithm)
"""A deployment has keys for each of them."""

_SPECS: Final[dict[SigningAlgorithm, Literal["ECC_NIST_P256", "RSA_2048"]]] = {
    "ES256": "ECC_NIST_P256",
    "RS256": "RSA_2048",
}
_CONTEXT: Final = {"purpose": SIGNING_CONTEXT}


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredKey:
    """A signing key as it is kept."""

    kid: str
    """Derived from the public key, so never used again for another."""
    algorithm: SigningAlgorithm
    number: int
    """Counts the keys of its algorithm, from 1."""
    members: dict[str, str]
    """The JWK's own members: kty, and crv, x, y or n, e."""
    first_use: datetime
    wrapped: bytes = field(repr=False)
    """The private key (PKCS #8, DER), encrypted by KMS."""


class KeyTable:
    """The signing keys of a deployment."""

    def __init__(self, table: Table) -> None:
        self._table = table

    def keys(self) -> tuple[StoredKey, ...]:
        """All keys, past and to come, by algorithm and age: one read."""
        return tuple(_key(item) for item in self._table.all(beginning_with(KEYS, SIGN)))

    def add(self, key: StoredKey) -> StoredKey:
        """Keep a key, unless somebody else made one of this number: then that one is the answer."""
        try:
            self._table.put(_item(key), only_if=NOT_THERE)
        except Refused as refused:
            return _key(refused.stored)
        return key

    def forget(self, key: StoredKey) -> None:
        """Let nobody trust a key any more: it is neither published nor signed with."""
        self._table.delete(_where(key))


class KeyMaker:
    """What KMS does for signing keys."""

    def __init__(self, client: KMSClient, sealing_key: str) -> None:
        self._client = client
        self._sealing_key = sealing_key

    def make(
        self, algorithm: SigningAlgorithm, *, known: Iterable[StoredKey], first_use: datetime, keep_in: KeyTable
    ) -> StoredKey:
        """A new key behind those that are known. Of several made at once, one is kept and is the answer to all."""
        answer = self._client.generate_data_key_pair_without_plaintext(
            KeyId=self._sealing_key, KeyPairSpec=_SPECS[algorithm], EncryptionContext=_CONTEXT
        )
        public = answer["PublicKey"]
        made = StoredKey(
            kid=_kid(algorithm, public),
            algorithm=algorithm,
            number=1 + max((key.number for key in known if key.algorithm == algorithm), default=0),
            members=jwk_members(public),
            first_use=first_use,
            wrapped=answer["PrivateKeyCiphertextBlob"],
        )
        return keep_in.add(made)

    def unwrap(self, key: StoredKey) -> bytes:
        """The private key (PKCS #8, DER)."""
        answer = self._client.decrypt(KeyId=self._sealing_key, CiphertextBlob=key.wrapped, EncryptionContext=_CONTEXT)
        return answer["Plaintext"]


def _kid(algorithm: SigningAlgorithm, public_key: bytes) -> str:
    digest = hashlib.sha256(public_key).digest()[:12]
    return f"{algorithm.lower()}-{urlsafe_b64encode(digest).decode()}"


def _where(key: StoredKey) -> dict[str, Attribute]:
    return {PARTITION_KEY: text(KEYS), SORT_KEY: text(f"{SIGN}{key.algorithm}#{key.number:06d}")}


def _item(key: StoredKey) -> dict[str, Attribute]:
    return {
        **_where(key),
        "kid": text(key.kid),
        "algorithm": text(key.algorithm),
        "number": number(key.number),
        "jwk": text(compact_json(key.members)),
        "first_use": number(milliseconds(key.first_use)),
        "wrapped": binary(key.wrapped),
    }


def _key(item: Item) -> StoredKey:
    return StoredKey(
        kid=text_in(item, "kid"),
        algorithm=_algorithm(text_in(item, "algorithm")),
        number=number_in(item, "number"),
        members=json.loads(text_in(item, "jwk")),
        first_use=moment_of(number_in(item, "first_use")),
        wrapped=bytes_in(item, "wrapped"),
    )


def _algorithm(name: str) -> SigningAlgorithm:
    return next(algorithm for algorithm in ALGORITHMS if algorithm == name)
