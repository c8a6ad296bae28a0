"""Agent cards: what the author wrote and what the deployment adds, pure 1.0 or hybrid (SPEC 8, a2a-protocol 8.2).

The hybrid holds the members of 0.3 beside those of 1.0; clients of both lines read it.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from a2a_serverless.app.host import Host
from a2a_serverless.core.head import PUSH_NUDGE_KEY, WAIT_EXTENSION_URI
from a2a_serverless.core.push import WireVersion
from a2a_serverless.protocol.authentication import Security
from a2a_serverless.protocol.operations import DELIVERIES_EXTENSION_URI, OPERATIONS
from a2a_serverless.types import AgentCapabilities, AgentCard, AgentExtension, AgentInterface, AgentSkill, JsonObject

JSON_RPC: Final = "JSONRPC"
REST: Final = "HTTP+JSON"
JWKS_PATH: Final = "/.well-known/jwks.json"

LEGACY_VERSION: Final = "0.3"


@dataclass(frozen=True, slots=True, kw_only=True)
class Deployment:
    """What a card says that only the deployment knows.

    Attributes:
        public_url: the address that partners use, without a slash at the end; never taken from a request.
        push_issuer: who signs webhooks, as receivers compare it.
    """

    public_url: str
    security: Security
    push_issuer: str


def completed(
    written: AgentCard, host: Host, deployment: Deployment, *, url: str, versions: tuple[WireVersion, ...]
) -> AgentCard:
    """The author's card with its addresses, capabilities and security filled in."""
    return written.but(
        skills=tuple(_secured(skill, deployment.security) for skill in written.skills),
        supported_interfaces=interfaces(url, versions),
        capabilities=capabilities(written, host, deployment),
        security_schemes=dict(deployment.security.schemes),
        security_requirements=deployment.security.requirements,
        signatures=(),
    )


def _secured(skill: AgentSkill, security: Security) -> AgentSkill:
    """The scopes that a skill asks for, in terms of the deployment's schemes; any of them will do."""
    if not skill.required_scopes or skill.security_requirements:
        return skill
    scopes = {"list": sorted(skill.required_scopes)}
    return skill.but(security_requirements=tuple({"schemes": {name: scopes}} for name in security.schemes))


def interfaces(url: str, versions: tuple[WireVersion, ...]) -> tuple[AgentInterface, ...]:
    """Both bindings of each version at one address, the preferred first."""
    return tuple(
        AgentInterface(url=url, protocol_binding=binding, protocol_version=version.value)
        for version in versions
        for binding in (JSON_RPC, REST)
    )


def capabilities(written: AgentCard, host: Host, deployment: Deployment) -> AgentCapabilities:
    """What the deployment does, and the extensions of author and deployment."""
    wanted = written.capabilities
    return AgentCapabilities(
        streaming=wanted.streaming is not False,
        push_notifications=host.push_supported,
        extended_agent_card=extended(host) is not None or wanted.extended_agent_card is True,
        extensions=extensions(host, deployment),
    )


def extended(host: Host) -> AgentCard | None:
    """The extended card that the author wrote."""
    return host.agent.extended_card


def extensions(host: Host, deployment: Deployment) -> tuple[AgentExtension, ...]:
    """The author's extensions, then the deployment's own: optional ones that only add metadata."""
    own = [_wait_extension()]
    if host.push_supported:
        own.append(_push_extension(deployment))
    if host.push_supported and host.desk is not None:
        own.append(_deliveries_extension())
    written = host.card.capabilities.extensions
    named = {extension.uri for extension in written}
    return (*written, *(extension for extension in own if extension.uri not in named))


def _wait_extension() -> AgentExtension:
    return AgentExtension(
        uri=WAIT_EXTENSION_URI,
        description="A task that waits for an answer says in its metadata until when.",
    )


def _push_extension(deployment: Deployment) -> AgentExtension:
    return AgentExtension(
        uri=PUSH_NUDGE_KEY,
        description=(
            "Webhooks are nudges: signed, at least once, newest state only. Verify, acknowledge, then fetch the task."
        ),
        params={
            "issuer": deployment.push_issuer,
            "jwksUri": deployment.public_url + JWKS_PATH,
            "algs": ["ES256"],
            "header": "A2A-Push-Signature",
        },
    )


def _deliveries_extension() -> AgentExtension:
    ours = [operation.v1 for operation in OPERATIONS if operation.extension == DELIVERIES_EXTENSION_URI]
    return AgentExtension(
        uri=DELIVERIES_EXTENSION_URI,
        description="The owner of a webhook sees what became of its nudges, has one sent again, and has a test sent.",
        params={
            "methods": [spelling.method for spelling in ours],
            "routes": [route for spelling in ours for route in spelling.routes],
        },
    )


def wire(card: AgentCard) -> JsonObject:
    """A card of 1.0 as JSON: what is required is there even when it is empty (SPEC 5.7)."""
    required = {
        "name": card.name,
        "description": card.description,
        "supportedInterfaces": [],
        "version": card.version,
        "capabilities": {},
        "defaultInputModes": list(card.default_input_modes),
        "defaultOutputModes": list(card.default_output_modes),
        "skills": [],
    }
    return required | card.to_wire()


def with_legacy_members(pure: JsonObject) -> JsonObject:
    """The hybrid: the same card with what clients of 0.3 look for (SPEC03 5.5)."""
    addresses = [entry for entry in pure["supportedInterfaces"] if entry["protocolVersion"] == LEGACY_VERSION]
    preferred, *others = addresses
    hybrid = {
        **pure,
        "protocolVersion": LEGACY_VERSION,
        "url": preferred["url"],
        "preferredTransport": preferred["protocolBinding"],
        "additionalInterfaces": [{"url": entry["url"], "transport": entry["protocolBinding"]} for entry in others],
        "skills": [_with_legacy_security(skill) for skill in pure["skills"]],
    }
    if pure["capabilities"].get("extendedAgentCard"):
        hybrid["supportsAuthenticatedExtendedCard"] = True
    if "securitySchemes" in pure:
        hybrid["securitySchemes"] = {name: _merged(scheme) for name, scheme in pure["securitySchemes"].items()}
    return _with_legacy_security(hybrid)


def _with_legacy_security(described: Mapping[str, Any]) -> JsonObject:
    """`security` beside `securityRequirements`, on a card or a skill."""
    requirements = described.get("securityRequirements")
    if not requirements:
        return dict(described)
    flat = [
        {name: list(scopes.get("list", [])) for name, scopes in requirement.get("schemes", {}).items()}
        for requirement in requirements
    ]
    return {**described, "security": flat}


def with_scope_lists(shown: JsonObject) -> JsonObject:
    """The card with the scopes of every required scheme as a list, though it be empty.

    ProtoJSON leaves an empty list out and takes it where it stands; the SDK for Rust reads no card without it.
    """
    skills = [_with_scope_lists(skill) for skill in shown["skills"]]
    return _with_scope_lists({**shown, "skills": skills})


def _with_scope_lists(described: JsonObject) -> JsonObject:
    requirements = described.get("securityRequirements")
    if not requirements:
        return described
    return {**described, "securityRequirements": [_with_lists(requirement) for requirement in requirements]}


def _with_lists(requirement: JsonObject) -> JsonObject:
    schemes = requirement.get("schemes", {})
    return {**requirement, "schemes": {name: {"list": [], **scopes} for name, scopes in schemes.items()}}


_LEGACY_TYPES: Final = {
    "apiKeySecurityScheme": "apiKey",
    "httpAuthSecurityScheme": "http",
    "oauth2SecurityScheme": "oauth2",
    "openIdConnectSecurityScheme": "openIdConnect",
    "mtlsSecurityScheme": "mutualTLS",
}


def _merged(scheme: JsonObject) -> JsonObject:
    """One object that reads as the wrapper of 1.0 and as the OpenAPI form of 0.3."""
    for wrapper, legacy_type in _LEGACY_TYPES.items():
        if wrapper in scheme:
            flat = dict(scheme[wrapper])
            if "location" in flat:
                flat["in"] = flat.pop("location")
            return {**scheme, **flat, "type": legacy_type}
    return scheme
