"""a2a-serverless: host an A2A agent on API Gateway, Lambda, DynamoDB and Step Functions.

An agent's author needs what is named here; everything else belongs to the kit.
"""

from a2a_serverless.agent import Agent, InboundMessage, Turn, TurnTrigger
from a2a_serverless.types import (
    AgentCard,
    AgentExtension,
    AgentProvider,
    AgentSkill,
    Artifact,
    Caller,
    Message,
    Owner,
    Part,
    Role,
    Task,
    TaskState,
)

__all__ = [
    "Agent",
    "AgentCard",
    "AgentExtension",
    "AgentProvider",
    "AgentSkill",
    "Artifact",
    "Caller",
    "InboundMessage",
    "Message",
    "Owner",
    "Part",
    "Role",
    "Task",
    "TaskState",
    "Turn",
    "TurnTrigger",
]
