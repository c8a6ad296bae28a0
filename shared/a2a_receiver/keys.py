"""A published key set, read key by key: a bad entry costs itself and nothing else (RFC 7517)."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Final, Protocol

from .strict_json import NotStrictJson, loads

if TYPE_CHECKING:
    from jwt import PyJWK

ES256: Final = "ES256"
RS256: Final = "RS256"

_MAX_KEYS: Final = 100
_MIN_RSA_BITS: Final = 2048


class NoKey(Enum):
    """Why there is no key to check with."""

    UNKNOWN = "unknown_kid"
    """The issuer does not publish such a key: forged, or not yet seen here."""
    UNSUITABLE = "alg_key_mismatch"
    """Published, but not for signatures by this algorithm."""
    UNAVAILABLE = "jwks_unavailable"
    """Not known, and the issuer could not be asked: our own trouble, so the sender shall try again."""


@dataclass(frozen=True, slots=True)
class Key:
    """A public key of the issuer, tied to one algorithm."""

    _jwk: "PyJWK"

    def verifies(self, message: bytes, signature: bytes) -> bool:
        """True when `signature` (raw, as in a JWS) is this key's over `message`."""
        # By the algorithm object the JWK itself chose: an RSA key can never meet an ES256 token here.
        return self._jwk.Algorithm.verify(message, self._jwk.key, signature)


class KeySource(Protocol):
    """Where the receiver finds the issuer's public keys."""

    def find(self, kid: str, alg: str, *, now: float) -> Key | NoKey:
        """The key called `kid` for `alg`, at `now` in Unix seconds."""
        ...

    def warm(self, *, now: float) -> bool:
        """Load the keys ahead of the first request; False when they could not be loaded."""
        ...


class BadKeySet(ValueError):
    """The document is not a key set at all."""


@dataclass(frozen=True, slots=True)
class KeySet:
    """The usable keys of one document, and the names of those it holds for other uses."""

    _keys: Mapping[tuple[str, str], Key]
    _kids: frozenset[str]

    def find(self, kid: str, alg: str) -> Key | NoKey:
        """The key called `kid` for `alg`, from this document alone."""
        key = self._keys.get((kid, alg))
        if key is not None:
            return key
        return NoKey.UNSUITABLE if kid in self._kids else NoKey.UNKNOWN


def read_key_set(document: bytes) -> KeySet:
    """The keys of a JWKS document.

    Raises:
        BadKeySet: it is not strict JSON with a list `keys`. Entries that cannot be used do not raise.
    """
    try:
        parsed = loads(document)
    except NotStrictJson as error:
        raise BadKeySet(f"key set is not JSON: {error}") from error
    entries = parsed.get("keys") if isinstance(parsed, dict) else None
    if not isinstance(entries, list) or len(entries) > _MAX_KEYS:
        raise BadKeySet(f"key set needs a list `keys` of at most {_MAX_KEYS}")
    keys: dict[tuple[str, str], Key] = {}
    kids: set[str] = set()
    for entry in entries:
        kid = entry.get("kid") if isinstance(entry, dict) else None
        if not isinstance(kid, str):
            continue
        kids.add(kid)
        key = _usable(entry)
        if key is not None:
            keys.setdefault((kid, entry["alg"]), key)
    return KeySet(keys, frozenset(kids))


def load_cryptography() -> None:
    """Import what parses and verifies: 150 ms that belong to the start and not to the first request."""
    _jwk_class()


def _jwk_class() -> "type[PyJWK]":
    from jwt import PyJWK  # not at the top: receivers that verify no tokens never need it

    return PyJWK


def _usable(entry: Mapping[str, object]) -> Key | None:
    """The key of one entry, if it is a public signature key of a kind we verify with."""
    kind = (entry.get("alg"), entry.get("kty"), entry.get("crv"))
    if entry.get("use") != "sig" or kind not in ((ES256, "EC", "P-256"), (RS256, "RSA", None)):
        return None
    operations = entry.get("key_ops", ["verify"])
    if not isinstance(operations, list) or "verify" not in operations:
        return None
    if "d" in entry:  # a private key on the open web signs for anybody
        return None
    return _parse(entry)


def _parse(entry: Mapping[str, object]) -> Key | None:
    try:
        jwk = _jwk_class()(dict(entry))
    except Exception:  # noqa: BLE001  whatever a published entry makes the parser raise, it costs this entry only
        return None
    if entry["alg"] == RS256 and jwk.key.key_size < _MIN_RSA_BITS:
        return None
    return Key(jwk)
