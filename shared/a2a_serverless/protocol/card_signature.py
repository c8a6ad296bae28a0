"""Signatures of agent cards: a detached JWS over the card's canonical form (SPEC 8.4, RFC 7515 appendix F)."""

from base64 import urlsafe_b64encode
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from a2a_serverless.protocol import jcs
from a2a_serverless.types import JsonObject

JWKS_PATH: Final = "/.well-known/agent-card-jwks.json"
"""Where the key is: apart from the keys of webhooks, so that neither signature can pass for the other."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CardSigner:
    """A key of its own for cards.

    Attributes:
        sign: the JWS signature of some bytes (for ES256 the 64 bytes r, s; deterministic, RFC 6979, so that all
            instances of a function serve the same bytes).
        public_jwk: gets the public key, with `kid` and `alg`.
    """

    sign: Callable[[bytes], bytes]
    public_jwk: Callable[[], JsonObject]

    def jwks(self) -> JsonObject:
        """The document that verifiers fetch."""
        return {"keys": [{**self.public_jwk(), "use": "sig"}]}


def signatures(card: JsonObject, signer: CardSigner, *, jwks_url: str) -> list[JsonObject]:
    """The signatures of a card of 1.0, one for each canonical form that verifiers use."""
    jwk = signer.public_jwk()
    header = {"alg": jwk["alg"], "jku": jwks_url, "kid": jwk["kid"], "typ": "JOSE"}
    protected = _base64url(jcs.canonical(header).encode())
    return [
        {
            "protected": protected,
            "signature": _base64url(signer.sign(f"{protected}.{_base64url(form.encode())}".encode())),
        }
        for form in canonical_forms(card)
    ]


def canonical_forms(card: JsonObject) -> tuple[str, ...]:
    """What is signed: the card as the SDKs canonicalise it, and as the text of SPEC 8.4.1 does where that differs.

    The SDKs drop every empty string, array and object; the text keeps required members that are empty.
    """
    unsigned = {name: value for name, value in card.items() if name != "signatures"}
    return tuple(dict.fromkeys((jcs.canonical(_without_empty(unsigned)), jcs.canonical(unsigned))))


def _without_empty(value: object) -> object:
    match value:
        case dict():
            kept = {name: cleaned for name, item in value.items() if not _is_empty(cleaned := _without_empty(item))}
            return kept or None
        case list() | tuple():
            return [cleaned for item in value if not _is_empty(cleaned := _without_empty(item))] or None
        case _:
            return value


def _is_empty(value: object) -> bool:
    return value is None or value == ""


def _base64url(content: bytes) -> str:
    return urlsafe_b64encode(content).rstrip(b"=").decode()
