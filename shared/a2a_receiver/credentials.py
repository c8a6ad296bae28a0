"""What the receiver shows the agent when it fetches. Its own: nothing a webhook brought is ever used."""

import base64
import re
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final, Protocol
from urllib.parse import quote_plus, urlencode

from .https import Exchange, HttpAnswer, HttpRequest, exchange
from .strict_json import NotStrictJson, loads
from .urls import ConfigError, configured_url, is_text

_CREDENTIALS: Final = re.compile(r"[\x21-\x7e]+")
_DEFAULT_LIFETIME: Final = 300
"""Seconds, where the server does not say: `expires_in` is only recommended (RFC 6749 section 5.1)."""
_RENEW_BEFORE: Final = 60


class CredentialsFailed(Exception):
    """The authorization server gave no usable access token."""


class Credentials(Protocol):
    """Port: the `Authorization` header for the agent."""

    def authorization(self) -> str:
        """The header's value, renewed if need be.

        Raises:
            CredentialsFailed: there is none to be had.
        """
        ...

    def refused(self) -> None:
        """The agent answered 401 to the last value; forget it."""
        ...


@dataclass(frozen=True, slots=True)
class StaticBearer:
    """A token that does not change while the process lives."""

    token: str = field(repr=False)

    def __post_init__(self) -> None:
        if not is_text(self.token, _CREDENTIALS):
            raise ConfigError("a bearer token is visible ASCII without spaces")

    def authorization(self) -> str:
        """See `Credentials`."""
        return f"Bearer {self.token}"

    def refused(self) -> None:
        """See `Credentials`. There is no other token to try."""


class ClientCredentials:
    """OAuth 2.0 client credentials (RFC 6749 section 4.4), renewed a minute before they run out. Thread-safe."""

    def __init__(
        self,
        token_url: str,
        *,
        client_id: str,
        client_secret: str,
        scope: str | None = None,
        audience: str | None = None,
        allow_loopback_http: bool = False,
        ask: Exchange = exchange,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Tokens from `token_url`; `audience` is sent where the server wants one; `clock` counts seconds.

        Raises:
            ConfigError: the URL is not https, or id or secret is empty.
        """
        configured_url(token_url, "token_url", allow_loopback_http=allow_loopback_http)
        if not client_id or not client_secret:
            raise ConfigError("client_id and client_secret must not be empty")
        asked = {"grant_type": "client_credentials", "scope": scope, "audience": audience}
        pair = f"{quote_plus(client_id)}:{quote_plus(client_secret)}"
        self._request = HttpRequest(
            "POST",
            token_url,
            {
                "Accept": "application/json",
                "Authorization": f"Basic {base64.b64encode(pair.encode()).decode()}",
                "Content-Type": "application/x-www-form-urlencoded",
            },
            urlencode({name: value for name, value in asked.items() if value}).encode(),
        )
        self._ask = ask
        self._clock = clock
        self._lock = threading.Lock()
        self._token = ""
        self._renew_at = 0.0

    def authorization(self) -> str:
        """See `Credentials`."""
        with self._lock:
            if not self._token or self._clock() >= self._renew_at:
                self._token, lifetime = self._fetch()
                self._renew_at = self._clock() + max(lifetime - _RENEW_BEFORE, lifetime / 2)
            return f"Bearer {self._token}"

    def refused(self) -> None:
        """See `Credentials`."""
        with self._lock:
            self._token = ""

    def _fetch(self) -> tuple[str, float]:
        try:
            answer = self._ask(self._request)
        except OSError as error:
            raise CredentialsFailed(f"authorization server did not answer: {error}") from error
        return _read_token(answer)


def _read_token(answer: HttpAnswer) -> tuple[str, float]:
    """Access token and lifetime in seconds (RFC 6749 section 5.1). Error texts leave the answer's body out."""
    try:
        members = loads(answer.body)
    except NotStrictJson:
        members = None
    if answer.status != 200 or not isinstance(members, dict):
        raise CredentialsFailed(f"authorization server answered {answer.status}")
    token, kind = members.get("access_token"), members.get("token_type")
    if not is_text(token, _CREDENTIALS) or str(kind).lower() != "bearer":
        raise CredentialsFailed("authorization server gave no bearer token")
    lifetime = members.get("expires_in", _DEFAULT_LIFETIME)
    known = isinstance(lifetime, int | float) and lifetime > 0
    return str(token), float(lifetime) if known else float(_DEFAULT_LIFETIME)
