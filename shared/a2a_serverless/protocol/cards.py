"""The cards of a deployment as they are served: made once per process, signed, with what caches need (SPEC 8.6)."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from email.utils import format_datetime, parsedate_to_datetime
from typing import TYPE_CHECKING, Final

from a2a_serverless.app.host import Host
from a2a_serverless.core.push import WireVersion
from a2a_serverless.protocol import card
from a2a_serverless.protocol.http import Request, Response
from a2a_serverless.protocol.media import JSON
from a2a_serverless.protocol.strict_json import text_of
from a2a_serverless.types import AgentCard, AgentExtension, JsonObject

if TYPE_CHECKING:
    from a2a_serverless.protocol.card_signature import CardSigner

MAX_AGE_SECONDS: Final = 300
_PURE: Final = (WireVersion.V1_0,)
_HYBRID: Final = (WireVersion.V1_0, WireVersion.V0_3)


@dataclass(frozen=True, slots=True)
class Document:
    """A document that clients may keep: its text, a strong validator of it, and since when it is so."""

    text: str
    etag: str
    since: datetime

    @classmethod
    def of(cls, content: JsonObject, *, since: datetime) -> "Document":
        """The document with this content."""
        text = text_of(content)
        return cls(text, f'"{hashlib.sha256(text.encode()).hexdigest()[:32]}"', since)

    def response(self, request: Request, *, cache: str = "public", media_type: str = JSON) -> Response:
        """The document, or 304 to a client that has it (RFC 9110 13)."""
        headers = {
            "cache-control": f"{cache}, max-age={MAX_AGE_SECONDS}",
            "etag": self.etag,
            "last-modified": format_datetime(self.since, usegmt=True),
        }
        if self._is_known(request):
            return Response(304, headers)
        return Response(200, {"content-type": media_type, **headers}, self.text)

    def _is_known(self, request: Request) -> bool:
        """`If-None-Match` decides alone where it is given."""
        known = request.header("if-none-match")
        if known:
            tags = {tag.strip().removeprefix("W/") for tag in known.split(",")}
            return "*" in tags or self.etag in tags
        return self._is_as_of(request.header("if-modified-since"))

    def _is_as_of(self, moment: str) -> bool:
        try:
            return bool(moment) and parsedate_to_datetime(moment) >= self.since.replace(microsecond=0)
        except (ValueError, TypeError):
            return False


@dataclass(frozen=True, slots=True, kw_only=True)
class Cards:
    """The cards of all agents of a deployment."""

    deployment: card.Deployment
    signer: "CardSigner | None"
    since: datetime
    """When what they say became so: the time of the deployment, or of the start of this process."""
    _kept: dict[tuple[str, bool], Document] = field(default_factory=dict)
    _extensions: dict[str, tuple[AgentExtension, ...]] = field(default_factory=dict)

    def at_root(self, host: Host) -> Document:
        """The hybrid card of the default agent."""
        return self._document(host, hybrid=True)

    def of_agent(self, host: Host) -> Document:
        """The card of 1.0 under an agent's own address."""
        return self._document(host, hybrid=False)

    def extended(self, host: Host, version: WireVersion, *, url: str) -> JsonObject | None:
        """The extended card in the shape of a version, if the agent has one."""
        written = card.extended(host)
        return None if written is None else self._wire(written, host, url=url, hybrid=version is WireVersion.V0_3)

    def extensions(self, host: Host) -> tuple[AgentExtension, ...]:
        """The extensions that an agent knows."""
        known = self._extensions.get(host.name)
        if known is None:
            known = self._extensions[host.name] = card.extensions(host, self.deployment)
        return known

    def url_of(self, name: str) -> str:
        """An agent's own address."""
        return f"{self.deployment.public_url}/agents/{name}"

    def _document(self, host: Host, *, hybrid: bool) -> Document:
        known = self._kept.get((host.name, hybrid))
        if known is None:
            url = self.deployment.public_url if hybrid else self.url_of(host.name)
            known = Document.of(self._wire(host.card, host, url=url, hybrid=hybrid), since=self.since)
            self._kept[host.name, hybrid] = known
        return known

    def _wire(self, written: AgentCard, host: Host, *, url: str, hybrid: bool) -> JsonObject:
        """Signed over the members of 1.0.

        Verifiers read the card as 1.0 first, and drop what 0.3 adds and lists that are empty (SPEC 8.4.1).
        """
        versions = _HYBRID if hybrid else _PURE
        shown = card.wire(card.completed(written, host, self.deployment, url=url, versions=versions))
        signed: Mapping[str, object] = {}
        if self.signer is not None:
            from a2a_serverless.protocol import card_signature

            keys = self.deployment.public_url + card_signature.JWKS_PATH
            signed = {"signatures": card_signature.signatures(shown, self.signer, jwks_url=keys)}
        served = card.with_legacy_members(shown) if hybrid else shown
        return card.with_scope_lists({**served, **signed})
