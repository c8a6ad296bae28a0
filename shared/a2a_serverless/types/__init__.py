"""The objects of the A2A data model, named and shaped as the specification has them (v1.0)."""

from a2a_serverless.types.card import (
    AgentCapabilities,
    AgentCard,
    AgentCardSignature,
    AgentExtension,
    AgentInterface,
    AgentProvider,
    AgentSkill,
)
from a2a_serverless.types.ids import Caller, Owner, Scope, TaskKey, is_trace_context
from a2a_serverless.types.model import A2AModel, JsonObject, timestamp_text
from a2a_serverless.types.push import AuthenticationInfo, TaskPushNotificationConfig
from a2a_serverless.types.task import (
    NO_DATA,
    Artifact,
    Message,
    Part,
    Role,
    StreamEvent,
    Task,
    TaskArtifactUpdateEvent,
    TaskState,
    TaskStatus,
    TaskStatusUpdateEvent,
    compact_json,
)

__all__ = [
    "NO_DATA",
    "A2AModel",
    "AgentCapabilities",
    "AgentCard",
    "AgentCardSignature",
    "AgentExtension",
    "AgentInterface",
    "AgentProvider",
    "AgentSkill",
    "Artifact",
    "AuthenticationInfo",
    "Caller",
    "JsonObject",
    "Message",
    "Owner",
    "Part",
    "Role",
    "Scope",
    "StreamEvent",
    "Task",
    "TaskArtifactUpdateEvent",
    "TaskKey",
    "TaskPushNotificationConfig",
    "TaskState",
    "TaskStatus",
    "TaskStatusUpdateEvent",
    "compact_json",
    "is_trace_context",
    "timestamp_text",
]
