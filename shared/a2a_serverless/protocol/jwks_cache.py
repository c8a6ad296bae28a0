"""The published keys of an issuer: fetched seldom, kept long, never asked for by what a token says."""

import json
import logging
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from typing import Any, Final

from a2a_serverless.app.ports import Clock
from a2a_serverless.types import JsonObject

FetchJwks = Callable[[str], bytes]
"""The document at an address; any `OSError` or `ValueError` says that it cannot be had now."""

FRESH: Final = timedelta(minutes=10)
STALE: Final = timedelta(hours=24)
"""How long keys serve while the issuer cannot be reached."""
REFRESH: Final = timedelta(minutes=1)
"""How often an unknown `kid` may make us ask again, for all of them together."""
LARGEST: Final = 65_536
MOST_KEYS: Final = 100

_ALGORITHMS: Final = {
    ("EC", "P-256"): ("ES256",),
    ("EC", "P-384"): ("ES384",),
    ("EC", "P-521"): ("ES512",),
    ("OKP", "Ed25519"): ("EdDSA",),
    ("RSA", ""): ("RS256", "PS256", "RS384", "PS384", "RS512", "PS512"),
}
"""By kind of key; the first is meant where the key does not say. Secrets shared with an issuer are none of them."""

log = logging.getLogger(__name__)


class KeysUnavailable(Exception):
    """An issuer's keys cannot be had, and none are kept that may still serve."""


class IssuerKeys:
    """The keys of one issuer, each for one algorithm."""

    def __init__(self, uri: str, jwks: JsonObject | None, fetch: FetchJwks, clock: Clock) -> None:
        self._uri = uri
        self._fetch = fetch
        self._clock = clock
        self._keys = _usable(jwks) if jwks is not None else ()
        self._given = jwks is not None
        self._fetched: datetime | None = None
        self._tried: datetime | None = None

    def find(self, kid: str, algorithm: str) -> Mapping[str, Any] | None:
        """The key with this id, if it is for this algorithm.

        Raises:
            KeysUnavailable: there is no telling, because the issuer cannot be reached.
        """
        now = self._clock()
        if not self._given and (self._fetched is None or now - self._fetched > FRESH):
            self._refresh(now)
        key = self._find(kid, algorithm)
        if key is None and not self._given and self._may_try(now):
            self._refresh(now)
            key = self._find(kid, algorithm)
        return key

    def _find(self, kid: str, algorithm: str) -> Mapping[str, Any] | None:
        fitting = [key for key in self._keys if key["alg"] == algorithm]
        named = [key for key in fitting if key.get("kid", "") == kid]
        if kid or len(fitting) != 1:
            return named[0] if named else None
        return fitting[0]  # a token need not name the only key

    def _may_try(self, now: datetime) -> bool:
        return self._tried is None or now - self._tried >= REFRESH

    def _refresh(self, now: datetime) -> None:
        if self._may_try(now):
            self._tried = now
            try:
                self._keys, self._fetched = _usable(_read(self._fetch(self._uri))), now
            except (OSError, ValueError) as error:
                log.warning("could not fetch keys", extra={"uri": self._uri, "error": type(error).__name__})
        if self._fetched is None or now - self._fetched > STALE:
            raise KeysUnavailable(self._uri)


def _read(document: bytes) -> JsonObject:
    if len(document) > LARGEST:
        raise ValueError("the document is too large")
    value = json.loads(document)
    if not isinstance(value, dict):
        raise ValueError("the document is no JWKS")  # noqa: TRY004 (like any other unusable document)
    return value


def _usable(jwks: JsonObject) -> tuple[Mapping[str, Any], ...]:
    """Keys for signatures by an algorithm we know; others are passed over, and one bad key spoils no set."""
    listed = jwks.get("keys")
    usable: list[Mapping[str, Any]] = []
    for key in listed[:MOST_KEYS] if isinstance(listed, list) else ():
        if not isinstance(key, dict) or key.get("use", "sig") != "sig":
            continue
        algorithms = _ALGORITHMS.get((str(key.get("kty")), "" if key.get("kty") == "RSA" else str(key.get("crv"))), ())
        algorithm = key.get("alg", algorithms[0] if algorithms else "")
        if algorithm in algorithms:
            usable.append({**key, "alg": algorithm})
    return tuple(usable)
