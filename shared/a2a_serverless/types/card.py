"""The agent card (SPEC 4.4, 8): written for the model that reads it, so a skill says what it needs and what it refuses.

An author writes what the agent is and does. The deployment adds what it alone knows: interfaces, capabilities,
security and signatures.
"""

from typing import Annotated

from pydantic import ConfigDict, Field, StrictBool, StrictStr

from a2a_serverless.types.model import A2AModel, JsonObject

Text = Annotated[StrictStr, Field(min_length=1)]


class Authored(A2AModel):
    """What an agent's author writes. No wire brings it, and a misspelt `required_scopes` would ask for no scope at all,
    so a member that is not known is refused."""

    model_config = ConfigDict(extra="forbid")


class AgentProvider(Authored):
    """Who runs the agent."""

    organization: Text
    url: Text


class AgentSkill(Authored):
    """One thing the agent does. The description tells a model when to call it, with what, and when not to."""

    id: Text
    name: Text
    description: Text
    tags: tuple[StrictStr, ...]
    examples: tuple[StrictStr, ...] = ()
    input_modes: tuple[StrictStr, ...] = ()
    output_modes: tuple[StrictStr, ...] = ()
    security_requirements: tuple[JsonObject, ...] = ()
    required_scopes: Annotated[tuple[StrictStr, ...], Field(exclude=True)] = ()
    """Scopes that the person the result is for must have granted: published as `security_requirements` in terms of the
    deployment's scheme, enforced where the agent says that it uses the skill (`Turn.use`)."""


class AgentExtension(Authored):
    """A protocol extension the agent knows (SPEC 4.6)."""

    uri: Text
    description: StrictStr = ""
    required: StrictBool = False
    params: JsonObject | None = None


class AgentCapabilities(Authored):
    """What the deployment offers beyond the core operations."""

    streaming: StrictBool | None = None
    push_notifications: StrictBool | None = None
    extended_agent_card: StrictBool | None = None
    extensions: tuple[AgentExtension, ...] = ()


class AgentInterface(A2AModel):
    """One address, binding and protocol version of the agent."""

    url: Text
    protocol_binding: Text
    protocol_version: Text
    tenant: StrictStr = ""


class AgentCardSignature(A2AModel):
    """A detached JWS over the card (SPEC 8.4)."""

    protected: Text
    signature: Text
    header: JsonObject | None = None


class AgentCard(Authored):
    """What an agent is and does. Authors leave `supported_interfaces` and below empty: the deployment fills them in."""

    name: Text
    description: Text
    version: Text
    skills: tuple[AgentSkill, ...]
    default_input_modes: tuple[StrictStr, ...] = ("text/plain",)
    default_output_modes: tuple[StrictStr, ...] = ("text/plain",)
    provider: AgentProvider | None = None
    documentation_url: StrictStr | None = None
    icon_url: StrictStr | None = None
    capabilities: AgentCapabilities = AgentCapabilities.unset()
    supported_interfaces: tuple[AgentInterface, ...] = ()
    security_schemes: dict[str, JsonObject] = Field(default_factory=dict)
    security_requirements: tuple[JsonObject, ...] = ()
    signatures: tuple[AgentCardSignature, ...] = ()
