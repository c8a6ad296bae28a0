"""The requests of version 0.3 as its JSON-RPC binding spells them (a2a-protocol 1.6), and what they are in 1.0.

Its REST binding speaks another dialect, which `legacy_rest` turns into this one.
"""

from typing import Annotated, Literal

from pydantic import Field, StrictBool, StrictStr, model_validator

from a2a_serverless.core.registration import SCHEMES
from a2a_serverless.protocol import push_requests as push
from a2a_serverless.protocol import requests as v1
from a2a_serverless.protocol import task_requests
from a2a_serverless.protocol.requests import HistoryLength, Required
from a2a_serverless.types import (
    A2AModel,
    AuthenticationInfo,
    JsonObject,
    Message,
    Part,
    Role,
    TaskPushNotificationConfig,
)
from a2a_serverless.types.task import Base64

DATA_PART_COMPAT = "data_part_compat"
"""Metadata of a data part whose content is no object: both SDKs mark `{"value": x}` so."""


class LegacyFile(A2AModel):
    """A file by its bytes (base64) or by its address."""

    content: Annotated[Base64 | None, Field(alias="bytes")] = None
    uri: StrictStr | None = None
    name: StrictStr = ""
    mime_type: StrictStr = ""

    @model_validator(mode="after")
    def _one_source(self) -> "LegacyFile":
        if (self.content is None) == (self.uri is None):
            raise ValueError("a file has either bytes or uri")
        return self


class LegacyPart(A2AModel):
    """A part, told apart by `kind`."""

    kind: Literal["text", "file", "data"]
    text: StrictStr | None = None
    file: LegacyFile | None = None
    data: JsonObject | None = None
    metadata: JsonObject | None = None

    @model_validator(mode="after")
    def _has_content(self) -> "LegacyPart":
        if getattr(self, self.kind) is None:
            raise ValueError(f"a part of kind {self.kind} must have the member {self.kind}")
        return self

    def upgraded(self) -> Part:
        """The part in 1.0."""
        match self.kind:
            case "text":
                return Part(text=self.text, metadata=self.metadata)
            case "file" if self.file:
                return Part(
                    raw=self.file.content,
                    url=self.file.uri,
                    filename=self.file.name,
                    media_type=self.file.mime_type,
                    metadata=self.metadata,
                )
            case _:
                return self._data_part()

    def _data_part(self) -> Part:
        data, metadata = self.data or {}, dict(self.metadata or {})
        if metadata.get(DATA_PART_COMPAT) is True and set(data) == {"value"}:
            del metadata[DATA_PART_COMPAT]
            return Part(data=data["value"], metadata=metadata or None)
        return Part(data=data, metadata=self.metadata)


class LegacyMessage(A2AModel):
    """A message of 0.3. `kind` is not asked for: its own examples leave it out."""

    message_id: Required
    role: Literal["user", "agent"]
    parts: Annotated[tuple[LegacyPart, ...], Field(min_length=1)]
    context_id: StrictStr = ""
    task_id: StrictStr = ""
    metadata: JsonObject | None = None
    extensions: tuple[StrictStr, ...] = ()
    reference_task_ids: tuple[StrictStr, ...] = ()

    def upgraded(self) -> Message:
        """The message in 1.0."""
        return Message(
            message_id=self.message_id,
            role=Role.USER if self.role == "user" else Role.AGENT,
            parts=tuple(part.upgraded() for part in self.parts),
            context_id=self.context_id,
            task_id=self.task_id,
            metadata=self.metadata,
            extensions=self.extensions,
            reference_task_ids=self.reference_task_ids,
        )


class LegacyAuthentication(A2AModel):
    """What the receiver of a webhook expects. 1.0 knows one scheme, so the first that we can send counts."""

    schemes: tuple[StrictStr, ...] = ()
    credentials: StrictStr | None = None

    @model_validator(mode="after")
    def _a_scheme_for_credentials(self) -> "LegacyAuthentication":
        if self.credentials and not self.schemes:
            raise ValueError("credentials need a scheme: name it in schemes")
        return self

    def upgraded(self) -> AuthenticationInfo | None:
        """The authentication in 1.0; none without a scheme."""
        if not self.schemes:
            return None
        sendable = [scheme for scheme in self.schemes if scheme.lower() in SCHEMES]
        return AuthenticationInfo(scheme=[*sendable, *self.schemes][0], credentials=self.credentials)


class LegacyPushConfig(A2AModel):
    """PushNotificationConfig."""

    url: Required
    id: StrictStr = ""
    token: StrictStr = ""
    authentication: LegacyAuthentication | None = None

    def upgraded(self) -> TaskPushNotificationConfig:
        """The config in 1.0, not yet bound to a task."""
        return TaskPushNotificationConfig(
            url=self.url,
            id=self.id,
            token=self.token,
            authentication=self.authentication.upgraded() if self.authentication else None,
        )


class MessageSendConfiguration(A2AModel):
    """MessageSendConfiguration. Blocking unless it says no, as all SDKs of the 0.3 line have it."""

    accepted_output_modes: tuple[StrictStr, ...] = ()
    history_length: HistoryLength | None = None
    push_notification_config: LegacyPushConfig | None = None
    blocking: StrictBool = True

    def upgraded(self) -> v1.SendMessageConfiguration:
        """The configuration in 1.0."""
        push = self.push_notification_config
        return v1.SendMessageConfiguration(
            accepted_output_modes=self.accepted_output_modes,
            task_push_notification_config=push.upgraded() if push else None,
            history_length=self.history_length,
            return_immediately=not self.blocking,
        )


class MessageSendParams(A2AModel):
    """`message/send` and `message/stream`."""

    message: LegacyMessage
    configuration: MessageSendConfiguration = MessageSendConfiguration.unset()
    metadata: JsonObject | None = None

    def upgraded(self) -> v1.SendMessageRequest:
        """The request in 1.0, which checks the limits of a message."""
        return v1.SendMessageRequest(
            message=self.message.upgraded(), configuration=self.configuration.upgraded(), metadata=self.metadata
        )


class TaskQueryParams(A2AModel):
    """`tasks/get`."""

    id: Required
    history_length: HistoryLength | None = None

    def upgraded(self) -> task_requests.GetTaskRequest:
        """The request in 1.0."""
        return task_requests.GetTaskRequest(id=self.id, history_length=self.history_length)


class ListTasksParams(task_requests.ListTasksRequest):
    """`GET /v1/tasks`, which the text of 0.3 lists and never describes: as 1.0 has it."""

    def upgraded(self) -> task_requests.ListTasksRequest:
        """The request in 1.0: itself."""
        return self


class TaskIdParams(A2AModel):
    """`tasks/cancel`."""

    id: Required
    metadata: JsonObject | None = None

    def upgraded(self) -> task_requests.CancelTaskRequest:
        """The request in 1.0."""
        return task_requests.CancelTaskRequest(id=self.id, metadata=self.metadata)


class TaskResubscriptionParams(A2AModel):
    """`tasks/resubscribe`."""

    id: Required

    def upgraded(self) -> task_requests.SubscribeToTaskRequest:
        """The request in 1.0."""
        return task_requests.SubscribeToTaskRequest(id=self.id)


class SetPushConfigParams(A2AModel):
    """`tasks/pushNotificationConfig/set`: creates or overwrites; the id is the task's unless it says another."""

    task_id: Required
    push_notification_config: LegacyPushConfig

    def upgraded(self) -> push.CreatePushConfigRequest:
        """The request in 1.0."""
        config = self.push_notification_config.upgraded()
        return push.CreatePushConfigRequest(
            task_id=self.task_id,
            id=config.id,
            url=config.url,
            token=config.token,
            authentication=config.authentication,
        )


class GetPushConfigParams(A2AModel):
    """`tasks/pushNotificationConfig/get`."""

    id: Required
    push_notification_config_id: StrictStr = ""

    def upgraded(self) -> push.PushConfigRequest:
        """The request in 1.0."""
        return push.PushConfigRequest(task_id=self.id, id=self.push_notification_config_id)


class ListPushConfigsParams(A2AModel):
    """`tasks/pushNotificationConfig/list`."""

    id: Required

    def upgraded(self) -> push.ListPushConfigsRequest:
        """The request in 1.0."""
        return push.ListPushConfigsRequest(task_id=self.id)


class DeletePushConfigParams(A2AModel):
    """`tasks/pushNotificationConfig/delete`."""

    id: Required
    push_notification_config_id: Required

    def upgraded(self) -> push.PushConfigRequest:
        """The request in 1.0."""
        return push.PushConfigRequest(task_id=self.id, id=self.push_notification_config_id)


class ExtendedCardParams(A2AModel):
    """`agent/getAuthenticatedExtendedCard`, which has none."""

    def upgraded(self) -> task_requests.ExtendedCardRequest:
        """The request in 1.0."""
        return task_requests.ExtendedCardRequest()


LegacyRequest = (
    MessageSendParams
    | TaskQueryParams
    | ListTasksParams
    | TaskIdParams
    | TaskResubscriptionParams
    | SetPushConfigParams
    | GetPushConfigParams
    | ListPushConfigsParams
    | DeletePushConfigParams
    | ExtendedCardParams
)
"""Any request of 0.3."""
