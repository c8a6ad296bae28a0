"""What a caller may have us send in headers to his webhook: a scheme, credentials and a token. Never a header's name.

Checked at registration, so that nothing that could end a header line is ever stored.
"""

import re
from dataclasses import dataclass, field
from typing import Final

LONGEST_CREDENTIALS: Final = 4096
LONGEST_TOKEN: Final = 512
SCHEMES: Final = {"bearer": "Bearer", "basic": "Basic"}
"""Schemes that work in one shot, as they are sent. Digest and Negotiate answer a challenge, and nobody challenges a
webhook."""

_CREDENTIALS = re.compile("[A-Za-z0-9._~+/-]+=*")
_TOKEN = re.compile("[\x21-\x7e]+")


@dataclass(frozen=True, slots=True)
class Refused:
    """A part of a registration that is not taken."""

    field: str
    """The member of the config, as the specification names it."""
    reason: str
    """One word for logs and tests."""
    wanted: str
    """What would be right, for the developer at the other end."""


@dataclass(frozen=True, slots=True)
class Authentication:
    """The Authorization header a config brings; printing it shows no secret. Without credentials we bring our own."""

    scheme: str
    credentials: str = field(default="", repr=False)

    @property
    def header(self) -> str:
        """The value, its credentials exactly as registered (SPEC 4.3.3)."""
        return f"{self.scheme} {self.credentials}"


@dataclass(frozen=True, slots=True)
class NotificationToken:
    """What goes back in X-A2A-Notification-Token; printing it shows no secret."""

    value: str = field(repr=False)


def check_authentication(scheme: str | None, credentials: str | None) -> Authentication | Refused | None:
    """The checked authentication; None when a config has none at all, which is both arguments None.

    Bearer may come without credentials (None, not empty): the receiver then takes the bearer token that we sign, as
    those made after the first samples of 0.3 do.
    """
    if scheme is None and credentials is None:
        return None
    if scheme is None or scheme.lower() not in SCHEMES:
        return Refused("authentication.scheme", "unsupported_scheme", "must be Bearer or Basic")
    known = SCHEMES[scheme.lower()]
    if credentials is None and known == "Bearer":
        return Authentication(known)
    if credentials is None or len(credentials) > LONGEST_CREDENTIALS or not _CREDENTIALS.fullmatch(credentials):
        return Refused(
            "authentication.credentials",
            "bad_credentials",
            f"must be 1 to {LONGEST_CREDENTIALS} of A-Z a-z 0-9 - . _ ~ + /, then = if any (token68, RFC 9110 11.2)",
        )
    return Authentication(known, credentials)


def check_token(token: str | None) -> NotificationToken | Refused | None:
    """The checked token; None when a config has none."""
    if token is None:
        return None
    if len(token) > LONGEST_TOKEN or not _TOKEN.fullmatch(token):
        return Refused("token", "bad_token", f"must be 1 to {LONGEST_TOKEN} visible ASCII characters without blanks")
    return NotificationToken(token)
