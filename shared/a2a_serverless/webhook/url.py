"""The grammar of a webhook URL: string rules before any DNS, and a second parser that must agree.

Parsers differ in what they take for the host, and attackers live in the difference. So a URL is taken apart by rules
that leave no room, put together again, and only the rebuilt text is stored, signed for and dialled.
"""

import re
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final
from urllib.parse import urlsplit

from a2a_serverless.core.registration import Refused
from a2a_serverless.webhook.policy import WebhookPolicy

LONGEST_URL: Final = 2048
PORTS: Final = frozenset({443, 8443})

SPECIAL_SUFFIXES: Final = frozenset(
    {
        "alt",
        "arpa",
        "consul",
        "corp",
        "example",
        "home",
        "internal",
        "intranet",
        "invalid",
        "lan",
        "local",
        "localdomain",
        "localhost",
        "onion",
        "private",
        "svc",
        "test",
    }
)
"""Top labels that no public receiver has: special use (RFC 6761 and its registry), or customary inside networks."""

_FORBIDDEN = re.compile('[\x00-\x20\x7f"<>\\\\^`{|}]')
_LABEL = re.compile("[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?")
_NUMBER = re.compile("[0-9]+|0x[0-9a-f]*")
_UNSEEN: Final = frozenset({"Cc", "Cf", "Co", "Cs", "Zl", "Zp", "Zs"})
_JOINERS: Final = frozenset("\u200c\u200d")
"""Zero width, and yet letters of some scripts depend on them."""
_DEFAULT_PORTS = {"https": 443, "http": 80}


@dataclass(frozen=True, slots=True)
class WebhookUrl:
    """A URL that passed. `text` is as registered, but for lower case in scheme and host: every token's audience."""

    scheme: str
    host: str
    port: int
    target: str
    """Path and query, as they go into the request line."""
    text: str

    @property
    def authority(self) -> str:
        """What the Host header says: the port only where it is not the scheme's own."""
        return self.host if self.port == _DEFAULT_PORTS[self.scheme] else f"{self.host}:{self.port}"

    @property
    def endpoint(self) -> str:
        """Names the endpoint that breaker, concurrency and the fair queue's group are kept for."""
        return f"{self.host}:{self.port}"


def replace_target(url: WebhookUrl, target: str) -> WebhookUrl:
    """The same endpoint with another path and query, for a question about the URL itself."""
    return replace(url, target=target, text=f"{url.scheme}://{url.authority}{target}")


@dataclass(frozen=True, slots=True)
class _Parts:
    """A URL cut at its delimiters; nothing is judged yet."""

    scheme: str
    authority: str
    rest: str

    @property
    def host(self) -> str:
        return self.authority.partition(":")[0]

    @property
    def port(self) -> str | None:
        _, colon, port = self.authority.partition(":")
        return port if colon else None


_Rule = Callable[[_Parts, WebhookPolicy], Refused | None]


def check_url(url: str, policy: WebhookPolicy) -> WebhookUrl | Refused:
    """The URL as it will be stored and dialled, or why it is not taken. Never raises, whatever the text."""
    if (refused := _check_text(url)) is not None:
        return refused
    parts = _cut(url)
    for rule in _PRIVATE_RULES if policy.allow_private else _RULES:
        if (refused := rule(parts, policy)) is not None:
            return refused
    return _agreed(_rebuilt(parts))


def _refused(reason: str, wanted: str) -> Refused:
    return Refused("url", reason, wanted)


def _check_text(url: str) -> Refused | None:
    if len(url) > LONGEST_URL:
        return _refused("length", f"must have at most {LONGEST_URL} characters")
    if not url.isascii():
        return _refused("non_ascii", "must be ASCII; write an international host name in its xn-- form")
    if _FORBIDDEN.search(url):
        return _refused("forbidden_char", 'must hold no control characters, blanks or any of " < > \\ ^ ` { | }')
    return None


def _cut(url: str) -> _Parts:
    scheme, _, after = url.partition("://")
    end = next((at for at, char in enumerate(after) if char in "/?#"), len(after))
    known = scheme.lower() if "://" in url else ""
    return _Parts(known, after[:end].lower(), after[end:])


def _https(parts: _Parts, policy: WebhookPolicy) -> Refused | None:
    allowed = ("https", "http") if policy.allow_private else ("https",)
    return None if parts.scheme in allowed else _refused("scheme", "must begin with https://")


def _no_userinfo(parts: _Parts, _: WebhookPolicy) -> Refused | None:
    if "@" in parts.authority:
        return _refused("userinfo", "must carry no user name or password; use authentication")
    return None


def _plain_host(parts: _Parts, _: WebhookPolicy) -> Refused | None:
    if not parts.host:
        return _refused("no_host", "must name a host")
    if "%" in parts.authority:
        return _refused("encoded_host", "must have a host without percent-encoding")
    return None


def _no_fragment(parts: _Parts, _: WebhookPolicy) -> Refused | None:
    return _refused("fragment", "must have no fragment (#)") if "#" in parts.rest else None


def _no_brackets(parts: _Parts, _: WebhookPolicy) -> Refused | None:
    if "[" in parts.authority or "]" in parts.authority:
        return _refused("ip_literal", "must have a host name, not an address")
    return None


def _allowed_port(parts: _Parts, _: WebhookPolicy) -> Refused | None:
    if parts.port is None or parts.port in {str(port) for port in PORTS}:
        return None
    return _refused("port", "must use port 443 or 8443")


def _any_port(parts: _Parts, _: WebhookPolicy) -> Refused | None:
    if parts.port is None or (re.fullmatch("[1-9][0-9]{0,4}", parts.port) and int(parts.port) <= 65_535):
        return None
    return _refused("port", "must use a port from 1 to 65535")


def _no_number(parts: _Parts, _: WebhookPolicy) -> Refused | None:
    """A host whose last label is a number is an IPv4 address to some resolver, in one of its many spellings."""
    last = parts.host.rstrip(".").rpartition(".")[2]
    if _NUMBER.fullmatch(last):
        return _refused("ip_literal", "must have a host name, not an address")
    return None


def _no_trailing_dot(parts: _Parts, _: WebhookPolicy) -> Refused | None:
    if parts.host.endswith("."):
        return _refused("trailing_dot", "must have a host without a dot at its end")
    return None


def _proper_labels(parts: _Parts, _: WebhookPolicy) -> Refused | None:
    labels = parts.host.split(".")
    if len(parts.host) > 253 or not all(_LABEL.fullmatch(label) for label in labels):
        return _refused(
            "host_label",
            "must have a host of at most 253 characters, whose labels are letters, digits and inner hyphens, "
            "63 at most each",
        )
    if not all(_decodes(label) for label in labels):
        return _refused("host_label", "must have a host whose xn-- labels are valid Punycode")
    return None


def _decodes(label: str) -> bool:
    """Whether an xn-- label is what an international label encodes to, and not an ASCII name in disguise."""
    if not label.startswith("xn--"):
        return True
    try:
        decoded = label[4:].encode("ascii").decode("punycode")
        is_only_spelling = decoded.encode("punycode").decode("ascii") == label[4:]
    except (UnicodeError, OverflowError, ValueError):
        return False
    return is_only_spelling and not decoded.isascii() and _is_writing(decoded)


def _is_writing(label: str) -> bool:
    """Whether some script could write this label; no code point fails here that IDNA allows (RFC 5892 section 2).

    Controls, blanks and what normalizes to other characters, dots and digits among them, show one name and are another.
    """
    unseen = (char for char in label if unicodedata.category(char) in _UNSEEN and char not in _JOINERS)
    return unicodedata.normalize("NFKC", label) == label and not any(unseen)


def _public_name(parts: _Parts, policy: WebhookPolicy) -> Refused | None:
    *_, domain, top = ("", *parts.host.split("."))
    if not domain:
        return _refused("single_label", "must have a host of two labels or more")
    if top in SPECIAL_SUFFIXES:
        return _refused("reserved_suffix", f"must be reachable on the Internet; .{top} is not")
    if any(parts.host == own or parts.host.endswith(f".{own}") for own in policy.own_hosts):
        return _refused("own_host", "must lead to your server, not to this one")
    return None


_RULES: tuple[_Rule, ...] = (
    _https,
    _no_userinfo,
    _plain_host,
    _no_fragment,
    _no_brackets,
    _allowed_port,
    _no_number,
    _no_trailing_dot,
    _proper_labels,
    _public_name,
)


def _name_or_address(parts: _Parts, policy: WebhookPolicy) -> Refused | None:
    """For local runs: a name of any depth, or an IPv4 address in its one usual spelling."""
    octets = parts.host.split(".")
    if len(octets) == 4 and all(re.fullmatch("0|[1-9][0-9]{0,2}", octet) and int(octet) < 256 for octet in octets):
        return None
    return _no_number(parts, policy) or _proper_labels(parts, policy)


_PRIVATE_RULES: tuple[_Rule, ...] = (
    _https,
    _no_userinfo,
    _plain_host,
    _no_fragment,
    _no_brackets,
    _any_port,
    _name_or_address,
)


def _rebuilt(parts: _Parts) -> WebhookUrl:
    port = int(parts.port) if parts.port else _DEFAULT_PORTS[parts.scheme]
    target = parts.rest if parts.rest.startswith("/") else f"/{parts.rest}"
    text = f"{parts.scheme}://{parts.authority}{parts.rest}"
    return WebhookUrl(parts.scheme, parts.host, port, target, text)


def _agreed(url: WebhookUrl) -> WebhookUrl | Refused:
    """A second parser must read the rebuilt text as we do."""
    try:
        split = urlsplit(url.text)
        read = (split.scheme, split.hostname, split.port or _DEFAULT_PORTS[url.scheme], split.username)
    except ValueError:
        read = None
    if read == (url.scheme, url.host, url.port, None):
        return url
    return _refused("ambiguous", "must be read alike by every parser; write it plainly")
