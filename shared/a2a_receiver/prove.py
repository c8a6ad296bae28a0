"""Who sent this? One function per kind of proof, from a request to what is proven or why not."""

import hmac
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, assert_never

from .answer import Refusal
from .claims import Claims, Expected, has_exact_audience, has_url_digest, read_claims
from .jwks import JwksCache
from .jws import read_jws
from .keys import ES256, RS256, Key, KeySource, NoKey
from .proof import Compat, Proof, StandardWebhooks, Strict, TokenOnly, key_set_url
from .request import SIGNATURE, TOKEN_NAMES, Request
from .standard_webhooks import read_secret, wrong_signature

STRICT_TYP: Final = "a2a-push+jwt"
COMPAT_TYP: Final = "JWT"


@dataclass(frozen=True, slots=True)
class Proven:
    """The sender and these bytes are proven. What is None, this kind of proof does not cover."""

    task_id: str | None = None
    """The body must be about this task."""
    message_id: str | None = None
    """Names the delivery over its retries; the `webhook-id` header must agree."""
    seq: int | None = None
    issuer: str | None = None
    body_is_signed: bool = True


Prove = Callable[[Request, bytes, float], Proven | Refusal]
"""From a request, its raw body and the Unix time."""


def prover(proof: Proof) -> tuple[Prove, KeySource | None]:
    """The check that `proof` asks for, and the keys it goes by, where it needs any."""
    match proof:
        case Strict() | Compat():
            keys = proof.keys or JwksCache(key_set_url(proof))
            return _token_prover(proof, keys), keys
        case StandardWebhooks():
            secrets = [read_secret(secret) for secret in proof.secrets]
            return lambda request, body, now: _prove_hmac(request, body, secrets, now=now), None
        case TokenOnly():
            return lambda request, _body, _now: _prove_token(request, proof), None
        case _:
            assert_never(proof)


def wrong_notification_token(headers: Mapping[str, str], tokens: Sequence[str]) -> Refusal | None:
    """Step 10: the token of the push config, where the configuration names any."""
    if not tokens:
        return None
    given = next((headers[name] for name in TOKEN_NAMES if name in headers), "")
    return None if _is_one_of(given, tokens) else Refusal(401, "token")


def _token_prover(proof: Strict | Compat, keys: KeySource) -> Prove:
    strict = isinstance(proof, Strict)
    alg, typ = (ES256, STRICT_TYP) if strict else (RS256, COMPAT_TYP)
    audience = has_exact_audience(proof.audience) if strict else has_url_digest(proof.audience)
    expected = Expected(proof.issuer, audience)
    token_of = _signature_header if strict else _bearer

    def prove(request: Request, body: bytes, now: float) -> Proven | Refusal:
        payload = _signed_payload(token_of(request.headers), keys, alg=alg, typ=typ, now=now)
        if isinstance(payload, Refusal):
            return payload
        claims = read_claims(payload, body, expected, now=now)
        if isinstance(claims, Refusal):
            return claims
        return _proven(claims, proof.issuer)

    return prove


def _proven(claims: Claims, issuer: str) -> Proven:
    return Proven(claims.task_id, claims.message_id, claims.seq, issuer)


def _signed_payload(token: str, keys: KeySource, *, alg: str, typ: str, now: float) -> bytes | Refusal:
    """Steps 4 to 7: the payload of a token that a published key of the issuer signed."""
    jws = read_jws(token, alg=alg, typ=typ)
    if isinstance(jws, Refusal):
        return jws
    match keys.find(jws.kid, alg, now=now):
        case NoKey.UNAVAILABLE as missing:
            return Refusal(503, missing.value)
        case NoKey.UNKNOWN | NoKey.UNSUITABLE as missing:
            return Refusal(401, missing.value)
        case Key() as key:
            if not key.verifies(jws.signing_input, jws.signature):
                return Refusal(401, "signature")
            return jws.payload


def _signature_header(headers: Mapping[str, str]) -> str:
    return headers.get(SIGNATURE, "")


def _bearer(headers: Mapping[str, str]) -> str:
    scheme, _, token = headers.get("authorization", "").partition(" ")
    return token if scheme == "Bearer" else ""


def _prove_hmac(request: Request, body: bytes, secrets: Sequence[bytes], *, now: float) -> Proven | Refusal:
    wrong = wrong_signature(request.headers, body, secrets, now=now)
    return wrong or Proven(message_id=request.headers["webhook-id"])


def _prove_token(request: Request, proof: TokenOnly) -> Proven | Refusal:
    given = request.headers.get("authorization", "")
    if proof.authorizations and not _is_one_of(given, proof.authorizations):
        return Refusal(401, "authorization")
    return Proven(body_is_signed=False)


def _is_one_of(given: str, allowed: Sequence[str]) -> bool:
    """Compares with all of them: how long it takes tells neither which one nor how much of it was right."""
    matches = [hmac.compare_digest(given.encode(), one.encode()) for one in allowed]
    return any(matches)
