"""Signing keys between the table, KMS and the webhooks: made when they are missing, renewed when they are old.

`api` publishes them, `notify` signs with them, `sweep` renews them. A key that is made while another one signs is
published for a day before it signs itself (`webhook.keys`).
"""

from datetime import datetime, timedelta
from functools import cache
from typing import Final

from a2a_serverless.aws.signing_keys import ALGORITHMS, KeyMaker, KeyTable, SigningAlgorithm, StoredKey
from a2a_serverless.webhook.keys import Algorithm, PublicKey, next_first_use
from functions import wiring

RENEW_AFTER: Final = timedelta(days=90)


@cache
def key_table() -> KeyTable:
    """Where keys are kept."""
    return KeyTable(wiring.table())


@cache
def key_maker() -> KeyMaker:
    """What makes and unwraps them."""
    return KeyMaker(wiring.clients.kms, wiring.settings().sealing_key)


def public(stored: StoredKey) -> PublicKey:
    """What is published of a key."""
    return PublicKey(
        kid=stored.kid,
        algorithm=Algorithm(stored.algorithm),
        members=stored.members,
        first_use=stored.first_use,
    )


def published() -> tuple[PublicKey, ...]:
    """The public half of all keys."""
    stored = key_table().keys()
    return tuple(public(key) for key in stored)


def kept_fresh(now: datetime) -> tuple[StoredKey, ...]:
    """All keys, with a new one for each algorithm that has none or whose newest has signed for 90 days."""
    keys = key_table().keys()
    made = tuple(_make(algorithm, keys, now) for algorithm in ALGORITHMS if _is_due(algorithm, keys, now))
    return keys + made


def _is_due(algorithm: SigningAlgorithm, keys: tuple[StoredKey, ...], now: datetime) -> bool:
    newest = max((key.first_use for key in keys if key.algorithm == algorithm), default=None)
    return newest is None or now - newest >= RENEW_AFTER


def _make(algorithm: SigningAlgorithm, keys: tuple[StoredKey, ...], now: datetime) -> StoredKey:
    first_use = next_first_use(keys, algorithm, now=now)
    return key_maker().make(algorithm, known=keys, first_use=first_use, keep_in=key_table())
