"""A request and a response, free of any framework. Adapters translate; nothing else of HTTP is seen outside."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import parse_qsl, unquote

MOST_QUERY_FIELDS = 100


@dataclass(frozen=True, slots=True)
class Request:
    """One request as it came.

    Attributes:
        method: in capitals.
        path: percent-encoded or already decoded by a gateway; ids of ours read the same either way.
        query: what stands behind the question mark, still encoded.
        headers: names in small letters; repeated headers joined by commas (RFC 9110 5.3).
        body: the bytes.
    """

    method: str
    path: str
    query: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""

    def header(self, name: str) -> str:
        """A header's value without blanks around it; empty if there is none. `name` is in small letters."""
        return self.headers.get(name, "").strip()

    def query_fields(self) -> dict[str, str]:
        """The query by name; a repeated name has its values joined by commas (SPEC 11.5)."""
        fields: dict[str, str] = {}
        for name, value in parse_qsl(self.query, keep_blank_values=True)[:MOST_QUERY_FIELDS]:
            fields[name] = f"{fields[name]},{value}" if name in fields else value
        return fields

    def segments(self) -> tuple[str, ...]:
        """The path between its slashes, decoded. Empty segments count for nothing, so a slash at the end or a
        doubled one (a base URL that ends in a slash) changes nothing."""
        return tuple(unquote(segment) for segment in self.path.split("/") if segment)


@dataclass(frozen=True, slots=True)
class Response:
    """One response. The body is text: JSON or server-sent events, always UTF-8."""

    status: int
    headers: Mapping[str, str] = field(default_factory=dict)
    body: str = ""
