"""What is not written down: whatever opens something, in whatever request or answer it travels."""

import re
from typing import Final

HIDDEN: Final = "(not kept)"
CALLBACK_KEY: Final = "key"
"""What opens a callback address is in its query, under this name: a gateway's access log keeps the path."""

_SECRETS: Final = frozenset({"token", "credentials"})
_WORDS: Final = frozenset({"message", "history", "artifacts", "artifact", "status"})
"""What callers and agents said. It is theirs, and kept as it is."""
_SIGNED: Final = re.compile(r"(X-Amz-(?:Signature|Security-Token|Credential)=)[^&\"\\\s]+")
_CALLBACK: Final = re.compile(r"(callbacks(?:\\?/|%2[Ff])[^\s/\"\\?%]+(?:\?|%3[Ff])key(?:=|%3[Dd]))[\w-]+")
"""Behind the public id of an address stands what opens it; a link inside of another address is escaped."""


def without_secrets(value: object) -> object:
    """JSON of a request or an answer, without the secrets of push configs and the queries of their addresses."""
    match value:
        case dict():
            return {name: _member(name, member) for name, member in value.items()}
        case list():
            return [without_secrets(element) for element in value]
        case _:
            return value


def _member(name: str, value: object) -> object:
    if name in _WORDS:
        return value
    if name in _SECRETS and value:
        return HIDDEN
    if name == "url" and isinstance(value, str):
        return without_query(value)
    return without_secrets(value)


def without_query(url: str) -> str:
    """An address without its query: some carry a secret there."""
    base, mark, query = url.partition("?")
    return f"{base}?{HIDDEN}" if mark and query else url


def without_signatures(text: str) -> str:
    """A text whose presigned addresses open nothing any more."""
    return _SIGNED.sub(rf"\1{HIDDEN}", text) if "X-Amz-" in text else text


def without_callbacks(text: str) -> str:
    """A text whose callback addresses open nothing any more."""
    return _CALLBACK.sub(rf"\1{HIDDEN}", text) if "callbacks" in text else text
