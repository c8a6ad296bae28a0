"""The key that signs cards: one pair, made and wrapped by KMS when a card is first asked for, kept in the table."""

from __future__ import annotations

import hashlib
import json
from base64 import urlsafe_b64encode
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from a2a_serverless.aws.items import Attribute, Item, binary, bytes_in, text, text_in
from a2a_serverless.aws.settings import CARD_CONTEXT, PARTITION_KEY, SORT_KEY
from a2a_serverless.aws.spki import jwk_members
from a2a_serverless.aws.table import NOT_THERE, Refused, Table
from a2a_serverless.types import JsonObject, compact_json

if TYPE_CHECKING:
    from types_boto3_kms.client import KMSClient

_WHERE: Final[dict[str, Attribute]] = {PARTITION_KEY: text("KEYS"), SORT_KEY: text("CARD")}
_CONTEXT: Final = {"purpose": CARD_CONTEXT}


@dataclass(frozen=True, slots=True)
class CardKey:
    """The pair: its public half as a JWK with `kid` and `alg`, its private half (PKCS #8, DER) wrapped by KMS."""

    public_jwk: JsonObject
    wrapped: bytes = field(repr=False)


class CardKeys:
    """Where the pair is kept. Delete the item `KEYS` / `CARD` to have another one made."""

    def __init__(self, table: Table, client: KMSClient, sealing_key: str) -> None:
        self._table = table
        self._client = client
        self._sealing_key = sealing_key

    def key(self) -> CardKey:
        """The pair, made now if there is none; of several made at once one is kept."""
        item = self._table.get(_WHERE)
        return _key(item) if item is not None else self._made()

    def unwrap(self, key: CardKey) -> bytes:
        """The private half (PKCS #8, DER)."""
        answer = self._client.decrypt(KeyId=self._sealing_key, CiphertextBlob=key.wrapped, EncryptionContext=_CONTEXT)
        return answer["Plaintext"]

    def _made(self) -> CardKey:
        answer = self._client.generate_data_key_pair_without_plaintext(
            KeyId=self._sealing_key, KeyPairSpec="ECC_NIST_P256", EncryptionContext=_CONTEXT
        )
        public = answer["PublicKey"]
        kid = urlsafe_b64encode(hashlib.sha256(public).digest()[:12]).decode()
        made = CardKey(
            {**jwk_members(public), "alg": "ES256", "kid": f"card-{kid}"}, answer["PrivateKeyCiphertextBlob"]
        )
        item = {**_WHERE, "jwk": text(compact_json(made.public_jwk)), "wrapped": binary(made.wrapped)}
        try:
            self._table.put(item, only_if=NOT_THERE)
        except Refused as refused:
            return _key(refused.stored)
        return made


def _key(item: Item) -> CardKey:
    return CardKey(json.loads(text_in(item, "jwk")), bytes_in(item, "wrapped"))
