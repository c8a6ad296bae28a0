"""Steps 1 to 3: what can be refused from the method and headers alone, before a body byte is read."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from .answer import Refusal

MAX_BODY: Final = 64 * 1024
"""Bytes. A nudge has about 240; whatever needs more is no nudge."""

SIGNATURE: Final = "a2a-push-signature"
TOKEN_NAMES: Final = ("x-a2a-notification-token", "a2a-notification-token")

# The headers this library reads. Each at most once: two readers that disagree on which copy counts are an attack.
_READ: Final = frozenset(
    {
        SIGNATURE,
        *TOKEN_NAMES,
        "authorization",
        "content-encoding",
        "content-length",
        "content-type",
        "webhook-id",
        "webhook-request-origin",
        "webhook-signature",
        "webhook-timestamp",
    }
)
# WSGI servers, Lambda's payload 2.0 and some proxies fold two copies into one with a comma.
_NEVER_WITH_COMMA: Final = (SIGNATURE, "authorization", "content-type", "webhook-id", "webhook-timestamp")
# A list of signatures has commas of its own, but none after the padding of one and before the version of the next.
_JOINED_SIGNATURES: Final = re.compile(r"=, ?v1a?,")
_MEDIA_TYPES: Final = frozenset({"application/a2a+json", "application/json"})
_PRINTABLE: Final = re.compile(r"[\x20-\x7e]*")
_DIGITS: Final = re.compile(r"[0-9]+")

HeaderPairs = Iterable[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class Request:
    """A request whose headers may be trusted to mean one thing. Not yet proven to come from anybody."""

    method: str
    headers: Mapping[str, str]
    """Lower-case names of the headers this library reads, printable ASCII values."""


def read_request(method: str, headers: HeaderPairs, *, max_body: int) -> Request | Refusal:
    """The request as far as its headers tell it, or the first thing wrong with them."""
    if method not in ("POST", "GET", "OPTIONS"):
        return Refusal(405, "method")
    pairs = [(name.lower(), value) for name, value in headers if name.isascii()]
    too_large = _declared_length(pairs, max_body)
    if too_large is not None:
        return too_large
    single = _single_valued(pairs)
    if isinstance(single, Refusal):
        return single
    if method == "POST":
        wrong_content = _content(single)
        if wrong_content is not None:
            return wrong_content
    return Request(method, single)


def _declared_length(pairs: list[tuple[str, str]], max_body: int) -> Refusal | None:
    for name, value in pairs:
        if name != "content-length":
            continue
        if not _DIGITS.fullmatch(value):
            return Refusal(400, "content_length")
        # 18 digits are always too much, and int() of a very long text would raise.
        if len(value.lstrip("0")) > 18 or int(value[-18:]) > max_body:
            return Refusal(413, "too_large")
    return None


def _single_valued(pairs: list[tuple[str, str]]) -> dict[str, str] | Refusal:
    found: dict[str, str] = {}
    for name, value in pairs:
        if name not in _READ:
            continue
        if name in found:
            return Refusal(400, "duplicate_header")
        if not _PRINTABLE.fullmatch(value):
            return Refusal(400, "header_charset")
        found[name] = value
    if all(name in found for name in TOKEN_NAMES):
        return Refusal(400, "duplicate_header")
    if any("," in found.get(name, "") for name in _NEVER_WITH_COMMA):
        return Refusal(400, "duplicate_header")
    if _JOINED_SIGNATURES.search(found.get("webhook-signature", "")):
        return Refusal(400, "duplicate_header")
    return found


def _content(headers: Mapping[str, str]) -> Refusal | None:
    if headers.get("content-encoding", "identity").lower() != "identity":
        return Refusal(415, "content_encoding")
    media_type, _, parameters = headers.get("content-type", "").partition(";")
    if media_type.strip().lower() not in _MEDIA_TYPES:
        return Refusal(415, "content_type")
    for parameter in parameters.split(";"):
        name, _, value = parameter.partition("=")
        if name.strip().lower() == "charset" and value.strip().strip('"').lower() not in ("utf-8", "utf8"):
            return Refusal(415, "content_type")
    return None
