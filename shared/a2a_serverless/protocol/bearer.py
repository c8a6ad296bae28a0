"""Bearer tokens: JWTs of configured issuers, checked against their published keys (RFC 6750, 7519, 9068, 8693).

PyJWT verifies the signature; everything that depends on time or on us is decided here, with our clock.
"""

import binascii
import logging
from base64 import urlsafe_b64decode
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

from a2a_serverless.app.ports import Clock
from a2a_serverless.errors import A2AError
from a2a_serverless.protocol.authentication import Identity, Security, fits_a_key
from a2a_serverless.protocol.faults import Refusal
from a2a_serverless.protocol.http import Request
from a2a_serverless.protocol.jwks_cache import FetchJwks, IssuerKeys, KeysUnavailable
from a2a_serverless.protocol.strict_json import parse
from a2a_serverless.types import JsonObject

SCHEME: Final = "bearer"
"""Name of the scheme in the card."""

_LONGEST_TOKEN: Final = 8192
_LEEWAY: Final = timedelta(seconds=30)
_TYPES: Final = frozenset({"", "jwt", "at+jwt", "application/at+jwt"})
"""RFC 9068 2.1. Other kinds of JWT, such as our own push signatures, are no access tokens."""

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Issuer:
    """Somebody whose tokens are taken, for one audience. Keys come from `jwks_uri` or are given as `jwks`."""

    issuer: str
    audience: str
    jwks_uri: str = ""
    jwks: JsonObject | None = None
    tenant_claim: str = "tenant"
    """The claim that says which tenant the subject belongs to; without it in a token, none."""
    required_scopes: Collection[str] = ()
    """Scopes that every call needs."""


class _Refused(Exception):
    """A token is no good. The reason is for the log; the caller is told as much as RFC 6750 3.1 lets him know."""

    def __init__(self, reason: str, *, status: int = 401, error: str = "invalid_token", scope: str = "") -> None:
        super().__init__(reason)
        self.reason = reason
        self.status = status
        self.error = error
        self.scope = scope


class BearerTokens:
    """Takes JWTs of the given issuers.

    Args:
        issuers: whose tokens are taken.
        fetch_jwks: gets the keys of an issuer.
        clock: the time that tokens are checked against.
        max_delegation_depth: how many actors may stand between the subject and us (RFC 8693 `act`).
    """

    def __init__(
        self, issuers: tuple[Issuer, ...], fetch_jwks: FetchJwks, clock: Clock, *, max_delegation_depth: int = 1
    ) -> None:
        self._issuers = {issuer.issuer: issuer for issuer in issuers}
        self._keys = {issuer.issuer: IssuerKeys(issuer.jwks_uri, issuer.jwks, fetch_jwks, clock) for issuer in issuers}
        self._clock = clock
        self._depth = max_delegation_depth

    def security(self) -> Security:
        """HTTP bearer, with the scopes that every issuer asks for."""
        wanted = [frozenset(issuer.required_scopes) for issuer in self._issuers.values()]
        scopes = sorted(frozenset.intersection(*wanted)) if wanted else []
        return Security(
            {
                SCHEME: {
                    "httpAuthSecurityScheme": {
                        "description": f"An access token (JWT) of {' or '.join(sorted(self._issuers))}",
                        "scheme": "Bearer",
                        "bearerFormat": "JWT",
                    }
                }
            },
            ({"schemes": {SCHEME: {"list": scopes} if scopes else {}}},),
        )

    def authenticate(self, request: Request) -> Identity | Refusal:
        """The identity in the bearer token, or 401, 403, or 503 while an issuer's keys cannot be had."""
        scheme, _, token = request.header("authorization").partition(" ")
        if scheme.lower() != "bearer" or not token.strip():
            return _challenge(401, "send a token of a trusted issuer, as `Authorization: Bearer TOKEN`", "")
        try:
            return self._identity(token.strip())
        except _Refused as refused:
            log.warning("refused a token", extra={"reason": refused.reason, "status": refused.status})
            return _challenge(refused.status, _TOLD[refused.error], refused.error, refused.scope)
        except KeysUnavailable as unavailable:
            log.warning("keys of an issuer are unavailable", extra={"reason": str(unavailable)})
            return Refusal(
                503, "UNAVAILABLE", "the token cannot be checked at the moment; try again", {"retry-after": "5"}
            )

    def _identity(self, token: str) -> Identity:
        header, claims = _unverified(token)
        issuer = self._issuers.get(claims["iss"]) if isinstance(claims.get("iss"), str) else None
        if issuer is None:
            raise _Refused("unknown issuer")
        if str(header.get("typ", "")).lower() not in _TYPES:
            raise _Refused("no access token")
        key = self._keys[issuer.issuer].find(str(header.get("kid", "")), str(header.get("alg", "")))
        if key is None:
            raise _Refused("no key of the issuer fits kid and alg")
        _verify(token, key)
        _check_times(claims, self._clock())
        _check_audience(claims, issuer.audience)
        return self._who(claims, issuer)

    def _who(self, claims: JsonObject, issuer: Issuer) -> Identity:
        subject, tenant = claims.get("sub"), claims.get(issuer.tenant_claim, "")
        if not isinstance(subject, str) or not subject.strip() or not fits_a_key(subject):
            raise _Refused("no usable sub")
        if not isinstance(tenant, str) or not fits_a_key(tenant):
            raise _Refused("no usable tenant")
        actors = _actors(claims)
        if len(actors) > self._depth:
            raise _Refused("too many actors", status=403, error="insufficient_scope")
        scopes = _scopes(claims)
        if not frozenset(issuer.required_scopes) <= scopes:
            needed = " ".join(sorted(issuer.required_scopes))
            raise _Refused("missing scope", status=403, error="insufficient_scope", scope=needed)
        return Identity(subject=subject, tenant=tenant, actors=actors, scopes=scopes)


_TOLD: Final = {
    "invalid_token": "the token is malformed, expired, or not made for this agent",
    "insufficient_scope": "the token does not entitle to this",
}


def _challenge(status: int, message: str, error: str, scope: str = "") -> Refusal:
    """RFC 6750 3: the scheme, and what is wrong with a token that was given."""
    parameters = ['realm="a2a"']
    if error:
        parameters += [f'error="{error}"', f'error_description="{message}"']
    if scope:
        parameters.append(f'scope="{scope}"')
    rpc_status = "UNAUTHENTICATED" if status == 401 else "PERMISSION_DENIED"
    return Refusal(status, rpc_status, message, {"www-authenticate": f"Bearer {', '.join(parameters)}"})


def _unverified(token: str) -> tuple[JsonObject, JsonObject]:
    """Header and claims, believed for nothing but the choice of a key."""
    parts = token.split(".")
    if len(token) > _LONGEST_TOKEN or len(parts) != 3:
        raise _Refused("no JWT")
    return _object(parts[0]), _object(parts[1])


def _object(part: str) -> JsonObject:
    try:
        value = parse(urlsafe_b64decode(part + "=" * (-len(part) % 4)))
    except (ValueError, binascii.Error, A2AError) as error:
        raise _Refused("no JWT") from error
    if not isinstance(value, dict):
        raise _Refused("no JWT")
    return value


def _verify(token: str, jwk: Mapping[str, Any]) -> None:
    """The signature, by the one algorithm that the key is for."""
    import jwt  # only a deployment that checks tokens pays for it

    try:
        key = jwt.PyJWK(dict(jwk))
        jwt.api_jws.decode(token, key=key, algorithms=[jwk["alg"]])
    except (jwt.exceptions.PyJWTError, ValueError) as error:
        raise _Refused("the signature does not verify") from error


def _check_times(claims: JsonObject, now: datetime) -> None:
    """`exp` must be there; `nbf` and `iat` must not lie ahead (RFC 7519 4.1)."""
    moments = {name: claims.get(name) for name in ("exp", "nbf", "iat")}
    if any(type(value) not in {int, float, type(None)} for value in moments.values()) or moments["exp"] is None:
        raise _Refused("no usable times")
    seconds, leeway = now.timestamp(), _LEEWAY.total_seconds()
    if moments["exp"] <= seconds - leeway:
        raise _Refused("expired")
    if any(value is not None and value > seconds + leeway for value in (moments["nbf"], moments["iat"])):
        raise _Refused("not valid yet")


def _check_audience(claims: JsonObject, audience: str) -> None:
    named = claims.get("aud")
    if audience not in ([named] if isinstance(named, str) else named if isinstance(named, list) else []):
        raise _Refused("made for another audience")


def _actors(claims: JsonObject) -> tuple[str, ...]:
    """The chain of `act`, outermost first."""
    actors: list[str] = []
    act = claims.get("act")
    while act is not None:
        if not isinstance(act, dict) or not isinstance(act.get("sub"), str) or not act["sub"] or len(actors) > 32:
            raise _Refused("no usable act")
        actors.append(act["sub"])
        act = act.get("act")
    return tuple(actors)


def _scopes(claims: JsonObject) -> frozenset[str]:
    """RFC 8693 4.2 `scope`, or the `scp` of some issuers."""
    for name in ("scope", "scp"):
        value = claims.get(name)
        if isinstance(value, str):
            return frozenset(value.split())
        if isinstance(value, list):
            return frozenset(scope for scope in value if isinstance(scope, str))
    return frozenset()
