"""The objects of version 0.3 as its JSON-RPC binding spells them: told apart by `kind`, states in small letters."""

from typing import Any, Final

from a2a_serverless.protocol.legacy_requests import DATA_PART_COMPAT
from a2a_serverless.types import (
    Artifact,
    JsonObject,
    Message,
    Part,
    Role,
    Task,
    TaskArtifactUpdateEvent,
    TaskPushNotificationConfig,
    TaskState,
    TaskStatus,
    TaskStatusUpdateEvent,
    timestamp_text,
)

STATES: Final = {state: state.name.lower().replace("_", "-") for state in TaskState}
ROLES: Final = {Role.USER: "user", Role.AGENT: "agent"}


def task(shown: Task) -> JsonObject:
    """A task."""
    return _without_nothing(
        id=shown.id,
        contextId=shown.context_id,
        kind="task",
        status=status(shown.status),
        history=[message(spoken) for spoken in shown.history] or None,
        artifacts=[artifact(made) for made in shown.artifacts] or None,
        metadata=shown.metadata,
    )


def status(shown: TaskStatus) -> JsonObject:
    """A status."""
    return _without_nothing(
        state=STATES[shown.state],
        message=message(shown.message) if shown.message else None,
        timestamp=timestamp_text(shown.timestamp) if shown.timestamp else None,
    )


def message(shown: Message) -> JsonObject:
    """A message."""
    return _without_nothing(
        kind="message",
        messageId=shown.message_id,
        role=ROLES[shown.role],
        parts=[part(content) for content in shown.parts],
        contextId=shown.context_id or None,
        taskId=shown.task_id or None,
        metadata=shown.metadata,
        extensions=list(shown.extensions) or None,
        referenceTaskIds=list(shown.reference_task_ids) or None,
    )


def part(shown: Part) -> JsonObject:
    """A part. Its media type and file name have no place in a text or data part of 0.3."""
    if shown.text is not None:
        return _without_nothing(kind="text", text=shown.text, metadata=shown.metadata)
    if shown.has_data:
        return _data_part(shown)
    file = _without_nothing(
        bytes=shown.raw,
        uri=shown.url,
        name=shown.filename or None,
        mimeType=shown.media_type or None,
    )
    return _without_nothing(kind="file", file=file, metadata=shown.metadata)


def _data_part(shown: Part) -> JsonObject:
    """0.3 holds objects only; anything else travels as `{"value": x}`, marked as both SDKs mark it."""
    if isinstance(shown.data, dict):
        return _without_nothing(kind="data", data=shown.data, metadata=shown.metadata)
    marked = {**(shown.metadata or {}), DATA_PART_COMPAT: True}
    return {"kind": "data", "data": {"value": shown.data}, "metadata": marked}


def artifact(shown: Artifact) -> JsonObject:
    """An artifact."""
    return _without_nothing(
        artifactId=shown.artifact_id,
        parts=[part(content) for content in shown.parts],
        name=shown.name or None,
        description=shown.description or None,
        metadata=shown.metadata,
        extensions=list(shown.extensions) or None,
    )


def status_update(shown: TaskStatusUpdateEvent, *, final: bool) -> JsonObject:
    """A status event. `final` says that the stream ends behind it, not that the task does."""
    return _without_nothing(
        kind="status-update",
        taskId=shown.task_id,
        contextId=shown.context_id,
        status=status(shown.status),
        final=final,
        metadata=shown.metadata,
    )


def artifact_update(shown: TaskArtifactUpdateEvent) -> JsonObject:
    """An artifact event. Both flags are written, though they be false: there are clients that ask for them."""
    return _without_nothing(
        kind="artifact-update",
        taskId=shown.task_id,
        contextId=shown.context_id,
        artifact=artifact(shown.artifact),
        append=shown.append,
        lastChunk=shown.last_chunk,
        metadata=shown.metadata,
    )


def push_config(shown: TaskPushNotificationConfig) -> JsonObject:
    """TaskPushNotificationConfig."""
    authentication = shown.authentication
    config = _without_nothing(
        id=shown.id,
        url=shown.url,
        token=shown.token or None,
        authentication=_without_nothing(schemes=[authentication.scheme], credentials=authentication.credentials or None)
        if authentication
        else None,
    )
    return {"taskId": shown.task_id, "pushNotificationConfig": config}


def _without_nothing(**members: Any) -> JsonObject:
    return {name: value for name, value in members.items() if value is not None}
