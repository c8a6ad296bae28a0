"""The kinds of proof a receiver can ask for, and what would make each of them worthless.

A receiver asks for exactly one kind. There is no "strict, else compat": whoever could choose the weaker one would.
Serve senders of different kinds at different URLs.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Final

from .keys import KeySource
from .nudge import NUDGE_EXTENSION
from .standard_webhooks import read_secret
from .urls import ConfigError, configured_url, is_text, origin

MIN_TOKEN: Final = 24
"""Characters of a token that is all the proof there is."""

_TOKEN: Final = re.compile(r"[\x21-\x7e]{1,512}")
_AUTHORIZATION: Final = re.compile(r"[A-Za-z]{1,32} [!-+\--~]{1,4096}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Strict:
    """`A2A-Push-Signature`: an ES256 token over the exact bytes, for exactly this URL. The one to use."""

    kind: ClassVar[str] = "strict"

    issuer: str
    """The agent's issuer URL, exactly as its card states it."""
    audience: str
    """The URL you registered, exactly: scheme, host, path, trailing slash or none."""
    jwks_url: str | None = None
    """Where the issuer publishes its keys; `/.well-known/jwks.json` at its origin if not set."""
    keys: KeySource | None = None
    """Another source of keys than that URL, for tests or to share a cache."""
    notification_tokens: Sequence[str] = field(default=(), repr=False)
    """The tokens of your push configs, when you set any: an additional check, never a replacement."""
    extension_uri: str = NUDGE_EXTENSION
    """The metadata key of a nudge's version; only a sender that is not this kit's has another."""
    allow_loopback_http: bool = False
    """For local runs: accept `http://` where the host is loopback."""

    def __post_init__(self) -> None:
        _check_token_proof(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class Compat:
    """`Authorization: Bearer`: our RS256 token without `aud`, for stacks that can verify nothing else.

    Bound to this URL by `a2a_push_url_sha256` instead. Prefer `Strict`, which says what each setting means.
    """

    kind: ClassVar[str] = "compat"

    issuer: str
    audience: str
    jwks_url: str | None = None
    keys: KeySource | None = None
    notification_tokens: Sequence[str] = field(default=(), repr=False)
    extension_uri: str = NUDGE_EXTENSION
    allow_loopback_http: bool = False

    def __post_init__(self) -> None:
        _check_token_proof(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class StandardWebhooks:
    """`webhook-signature` (`v1`, HMAC-SHA256) with secrets that were issued to you out of band.

    Both sides can forge with such a secret, and nothing binds it to one URL.
    """

    kind: ClassVar[str] = "standard-webhooks"

    secrets: Sequence[str] = field(repr=False)
    """`whsec_...`; the previous one too while you rotate."""
    notification_tokens: Sequence[str] = field(default=(), repr=False)
    extension_uri: str = NUDGE_EXTENSION

    def __post_init__(self) -> None:
        if not 1 <= len(self.secrets) <= 10:
            raise ConfigError("secrets must be a sequence of one to ten whsec_ secrets")
        _check_tokens(self.notification_tokens, at_least=1)
        for secret in map(read_secret, self.secrets):
            if any(secret in (token.encode(), token.encode()[:64]) for token in self.notification_tokens):
                raise ConfigError("a notification token travels in every request: it cannot be the secret too")


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenOnly:
    """A fixed token or `Authorization` header, as stock A2A SDKs send them.

    Proves only that the sender knows it, on any body: nothing is deduplicated, no order is kept, and what the body
    says is not verified. Safe because a nudge is only a reason to fetch.
    """

    kind: ClassVar[str] = "token"

    notification_tokens: Sequence[str] = field(default=(), repr=False)
    """Any one of them must come in `X-A2A-Notification-Token` (or `A2A-Notification-Token`)."""
    authorizations: Sequence[str] = field(default=(), repr=False)
    """Any one of them must be the `Authorization` header, scheme included: `Bearer 5b1f...`."""
    extension_uri: str = NUDGE_EXTENSION

    def __post_init__(self) -> None:
        if not self.notification_tokens and not self.authorizations:
            raise ConfigError("TokenOnly needs notification_tokens or authorizations: without, it proves nothing")
        _check_tokens(self.notification_tokens, at_least=MIN_TOKEN)
        for value in self.authorizations:
            if not is_text(value, _AUTHORIZATION):
                raise ConfigError("each of authorizations is a scheme, one space and visible ASCII without commas")
            _check_length(value.partition(" ")[2], MIN_TOKEN)


Proof = Strict | Compat | StandardWebhooks | TokenOnly


def key_set_url(proof: Strict | Compat) -> str:
    """Where this proof's issuer publishes its keys."""
    issuer = configured_url(proof.issuer, "issuer", allow_loopback_http=proof.allow_loopback_http)
    return proof.jwks_url or f"{origin(issuer)}/.well-known/jwks.json"


def _check_token_proof(proof: Strict | Compat) -> None:
    allow = proof.allow_loopback_http
    configured_url(proof.issuer, "issuer", allow_loopback_http=allow)
    configured_url(proof.audience, "audience", allow_loopback_http=allow)
    configured_url(key_set_url(proof), "jwks_url", allow_loopback_http=allow)
    _check_tokens(proof.notification_tokens, at_least=1)


def _check_tokens(tokens: Sequence[str], *, at_least: int) -> None:
    if isinstance(tokens, str):
        raise ConfigError("notification_tokens must be a sequence of strings, not one string")
    for token in tokens:
        if not is_text(token, _TOKEN):
            raise ConfigError("a notification token is 1 to 512 visible ASCII characters")
        _check_length(token, at_least)


def _check_length(secret: str, at_least: int) -> None:
    if len(secret) < at_least or (at_least > 1 and len(set(secret)) < 8):
        raise ConfigError(f"a token that is the only proof has at least {at_least} random characters")
