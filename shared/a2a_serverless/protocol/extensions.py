"""A2A-Extensions: what a request activates, and what an agent insists on (SPEC 3.3.4, 4.6)."""

from typing import Final

from a2a_serverless.core.push import WireVersion
from a2a_serverless.errors import ExtensionSupportRequired
from a2a_serverless.protocol.http import Request
from a2a_serverless.types import AgentExtension

HEADERS: Final = {WireVersion.V1_0: "a2a-extensions", WireVersion.V0_3: "x-a2a-extensions"}
"""0.3 knew the header by its experimental name; its newer clients send either."""


def requested(request: Request, version: WireVersion) -> tuple[str, ...]:
    """The URIs that a request asks for, each once, in its order."""
    values = request.header(HEADERS[WireVersion.V1_0])
    if version is WireVersion.V0_3:
        values += "," + request.header(HEADERS[version])
    return tuple(dict.fromkeys(uri for part in values.split(",") if (uri := part.strip()))) if values else ()


def activated(asked: tuple[str, ...], known: tuple[AgentExtension, ...]) -> tuple[str, ...]:
    """Those that the agent knows, by their exact URI: another version is another extension and is never tried."""
    uris = {extension.uri for extension in known}
    return tuple(uri for uri in asked if uri in uris)


def check_required(asked: tuple[str, ...], known: tuple[AgentExtension, ...]) -> None:
    """Refuse a request that does not ask for an extension the agent insists on.

    Raises:
        ExtensionSupportRequired: naming what is missing.
    """
    missing = [extension.uri for extension in known if extension.required and extension.uri not in asked]
    if missing:
        raise ExtensionSupportRequired(f"the agent insists on {', '.join(missing)}; name it in A2A-Extensions")


def echo(active: tuple[str, ...], version: WireVersion) -> dict[str, str]:
    """The response header that says which are active."""
    return {HEADERS[version]: ", ".join(active)} if active else {}
