"""Who calls: what `service` asks before any operation, and the answer that needs no credentials.

`bearer` checks tokens. Identity never comes from what a message says (SPEC 7.4, 13.1).
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Protocol

from a2a_serverless.protocol.faults import Refusal
from a2a_serverless.protocol.http import Request
from a2a_serverless.types import Caller, JsonObject, Owner

LONGEST_NAME: Final = 255
"""Bytes of a subject or a tenant: both become part of a key of the store."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    """A caller whose credentials were checked.

    Attributes:
        tenant: the one he belongs to, empty without tenants; None where whoever names a tenant belongs to it, which
            is so only without authentication.
        actors: who acts for him, outermost first (RFC 8693 `act`).
    """

    subject: str
    tenant: str | None = ""
    actors: tuple[str, ...] = ()
    scopes: frozenset[str] = frozenset()

    def caller(self, tenant: str) -> Caller | None:
        """The caller within the tenant that a request names (empty: his own); None if that is not his."""
        if tenant and self.tenant is not None and tenant != self.tenant:
            return None
        if not fits_a_key(tenant):
            return None
        owner = Owner(self.subject, tenant if self.tenant is None else self.tenant)
        return Caller(owner, self.actors, self.scopes)


def fits_a_key(name: str) -> bool:
    """Whether a subject or tenant can be part of a key: short enough, and nothing that no text holds."""
    return len(name.encode("utf-8", "replace")) <= LONGEST_NAME and name.isprintable()


@dataclass(frozen=True, slots=True)
class Security:
    """What a card says of authentication: schemes as 1.0 wraps them, and which of them a request needs."""

    schemes: Mapping[str, JsonObject] = field(default_factory=dict)
    requirements: tuple[JsonObject, ...] = ()


class Authenticator(Protocol):
    """Checks the credentials of a request."""

    def authenticate(self, request: Request) -> Identity | Refusal:
        """Who calls, or the response that says what is missing (401 with a challenge, 403)."""

    def security(self) -> Security:
        """What the card declares."""


class Anonymous:
    """No authentication: everybody is the same caller. For local runs, and it is said loudly there."""

    def authenticate(self, request: Request) -> Identity | Refusal:
        """One and the same identity for all."""
        del request
        return Identity(subject="anonymous", tenant=None)

    def security(self) -> Security:
        """Nothing is asked for."""
        return Security()
