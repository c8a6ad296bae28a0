"""Which key signs when, and which keys are published: the public half, so that serving the JWKS needs no secret.

A key is published a day before its first use, so that every cache knows it by then, and stays until nothing that it
signed can be on its way and no cache can still ask for it.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final, Protocol

from a2a_serverless.types import compact_json

TOKEN_LIFE: Final = timedelta(seconds=300)
LONGEST_CACHE: Final = timedelta(hours=24)
"""The longest a receiver may keep a JWKS."""

PUBLISH_BEFORE: Final = timedelta(hours=24)
KEEP_AFTER: Final = TOKEN_LIFE + LONGEST_CACHE
FIRST_BACKDATED: Final = timedelta(hours=1)
"""The first key may sign what began before it was made: making one takes seconds, and clocks differ."""

JWKS_HEADERS: Final = (("Content-Type", "application/jwk-set+json"), ("Cache-Control", "public, max-age=300"))


class Algorithm(StrEnum):
    """What a key is for: the strict signature, or the bearer that receivers of the a2a-samples kind know."""

    STRICT = "ES256"
    COMPAT = "RS256"


@dataclass(frozen=True, slots=True, kw_only=True)
class PublicKey:
    """A published key. `kid` is never used again for another."""

    kid: str
    algorithm: Algorithm
    members: Mapping[str, str]
    """The JWK's own members: kty, and crv, x, y or n, e."""
    first_use: datetime
    """It signs from then until the next key of its kind begins."""


def key_in_use(keys: Iterable[PublicKey], algorithm: Algorithm, *, now: datetime) -> PublicKey:
    """The key that signs now: of those that may, the one that began last.

    Raises:
        LookupError: there is none.
    """
    known = tuple(keys)
    may = [key for key in known if key.algorithm is algorithm and key.first_use <= now]
    if not may:
        raise LookupError(f"no {algorithm.value} key may sign at {now:%Y-%m-%dT%H:%M:%SZ}")
    return max(may, key=lambda key: key.first_use)


def published_keys(keys: Iterable[PublicKey], *, now: datetime) -> tuple[PublicKey, ...]:
    """The keys that receivers must be able to find now."""
    known = tuple(keys)
    return tuple(key for key in known if _is_published(key, known, now))


def _is_published(key: PublicKey, known: tuple[PublicKey, ...], now: datetime) -> bool:
    if now < key.first_use - PUBLISH_BEFORE:
        return False
    ended = _end(key, known)
    return ended is None or now <= ended + KEEP_AFTER


def _end(key: PublicKey, known: tuple[PublicKey, ...]) -> datetime | None:
    """The last moment at which the key could sign."""
    later = [other.first_use for other in known if other.algorithm is key.algorithm and other.first_use > key.first_use]
    return min(later, default=None)


def jwks_document(keys: Iterable[PublicKey], *, now: datetime) -> bytes:
    """The JWKS (RFC 7517 5) to serve at `/.well-known/jwks.json`, with `JWKS_HEADERS`."""
    listed = [
        {**key.members, "use": "sig", "alg": key.algorithm.value, "kid": key.kid}
        for key in published_keys(keys, now=now)
    ]
    return compact_json({"keys": listed}).encode()


class Key(Protocol):
    """What is asked of a key, published or kept."""

    @property
    def algorithm(self) -> str:
        """What it is for."""


def next_first_use(keys: Iterable[Key], algorithm: str, *, now: datetime) -> datetime:
    """When a key made now may sign first: in a day, or at once when there is none to sign meanwhile."""
    return now + PUBLISH_BEFORE if any(key.algorithm == algorithm for key in keys) else now - FIRST_BACKDATED
