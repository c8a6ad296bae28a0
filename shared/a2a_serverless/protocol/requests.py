"""The requests of the eleven operations, as version 1.0 has them (SPEC 3.1, 9.4). 0.3 is turned into these."""

from datetime import UTC, datetime
from typing import Annotated, Final

from pydantic import AfterValidator, BeforeValidator, Field, StrictBool, StrictInt, StrictStr

from a2a_serverless.types import A2AModel, JsonObject, Message, TaskPushNotificationConfig, TaskState

LONGEST_NAME: Final = 256
"""Characters of an id that a caller chooses."""

Required = Annotated[StrictStr, Field(min_length=1)]
HistoryLength = Annotated[StrictInt, Field(ge=0, le=2**31 - 1)]
PageSize = Annotated[StrictInt, Field(ge=1, le=100)]


def _limited(message: Message) -> Message:
    """Ids become keys and attributes of the store; what must not grow without bound has one (SPEC 13.4)."""
    for name, length, most in (
        ("messageId", len(message.message_id), LONGEST_NAME),
        ("contextId", len(message.context_id), LONGEST_NAME),
    ):
        if length > most:
            raise ValueError(f"{name} must have at most {most} characters")
    for name, count, most in (
        ("parts", len(message.parts), 1000),
        ("extensions", len(message.extensions), 100),
        ("referenceTaskIds", len(message.reference_task_ids), 100),
    ):
        if count > most:
            raise ValueError(f"{name} must have at most {most} elements")
    return message


InboundMessage = Annotated[Message, AfterValidator(_limited)]


def _state(value: object) -> object:
    """ProtoJSON takes an enum by its number too (the order of the proto is that of `TaskState`); 0 is no filter."""
    if isinstance(value, str):
        return None if value in {"TASK_STATE_UNSPECIFIED", ""} else value
    if type(value) is not int or not 0 <= value <= len(TaskState):
        return value
    return (None, *TaskState)[value]


StateFilter = Annotated[TaskState | None, BeforeValidator(_state)]


def moment(value: object) -> datetime:
    """A timestamp as ISO 8601 text; without a zone it means UTC, as old clients have it.

    Raises:
        ValueError: it is none.
    """
    if not isinstance(value, str):
        raise ValueError("must be a timestamp as text, such as 2026-11-30T12:00:00.000Z")  # noqa: TRY004 (pydantic's)
    try:
        read = datetime.fromisoformat(value.upper())
        return read.replace(tzinfo=UTC) if read.tzinfo is None else read.astimezone(UTC)
    except (ValueError, OverflowError) as error:
        raise ValueError("must be an ISO 8601 timestamp, such as 2026-11-30T12:00:00.000Z") from error


class SendMessageConfiguration(A2AModel):
    """How a send wants to be answered (SPEC 3.2.2)."""

    accepted_output_modes: tuple[StrictStr, ...] = ()
    task_push_notification_config: TaskPushNotificationConfig | None = None
    history_length: HistoryLength | None = None
    return_immediately: StrictBool = False


class SendMessageRequest(A2AModel):
    """SendMessage and SendStreamingMessage (SPEC 3.1.1, 3.1.2)."""

    tenant: StrictStr = ""
    message: InboundMessage
    configuration: SendMessageConfiguration = SendMessageConfiguration()
    metadata: JsonObject | None = None


class GetTaskRequest(A2AModel):
    """GetTask (SPEC 3.1.3)."""

    tenant: StrictStr = ""
    id: Required
    history_length: HistoryLength | None = None


class ListTasksRequest(A2AModel):
    """ListTasks (SPEC 3.1.4)."""

    tenant: StrictStr = ""
    context_id: StrictStr = ""
    status: StateFilter = None
    page_size: PageSize | None = None
    page_token: StrictStr = ""
    history_length: HistoryLength | None = None
    status_timestamp_after: Annotated[datetime, BeforeValidator(moment)] | None = None
    include_artifacts: StrictBool = False


class CancelTaskRequest(A2AModel):
    """CancelTask (SPEC 3.1.5)."""

    tenant: StrictStr = ""
    id: Required
    metadata: JsonObject | None = None


class SubscribeToTaskRequest(A2AModel):
    """SubscribeToTask (SPEC 3.1.6)."""

    tenant: StrictStr = ""
    id: Required


class CreatePushConfigRequest(TaskPushNotificationConfig):
    """CreateTaskPushNotificationConfig (SPEC 3.1.7): the config itself, and the task it is for."""

    task_id: Required
    url: Required


class PushConfigRequest(A2AModel):
    """One config of a task; only 0.3 may leave `id` out."""

    tenant: StrictStr = ""
    task_id: Required
    id: StrictStr = ""


class NamedPushConfigRequest(PushConfigRequest):
    """GetTaskPushNotificationConfig and DeleteTaskPushNotificationConfig (SPEC 3.1.8, 3.1.10)."""

    id: Required


class ListPushConfigsRequest(A2AModel):
    """ListTaskPushNotificationConfigs (SPEC 3.1.9). A task has so few that there is one page."""

    tenant: StrictStr = ""
    task_id: Required
    page_size: Annotated[StrictInt, Field(ge=0)] | None = None
    page_token: StrictStr = ""


class ExtendedCardRequest(A2AModel):
    """GetExtendedAgentCard (SPEC 3.1.11)."""

    tenant: StrictStr = ""


class ListDeliveriesRequest(NamedPushConfigRequest):
    """What became of the nudges of a config (extension `deliveries`)."""

    page_size: PageSize | None = None
    page_token: StrictStr = ""


class RedeliverRequest(NamedPushConfigRequest):
    """Send a nudge again: the one of this id, or the newest (extension `deliveries`)."""

    message_id: StrictStr = ""


class PingRequest(NamedPushConfigRequest):
    """Send a test (extension `deliveries`)."""


Tenanted = (
    SendMessageRequest
    | GetTaskRequest
    | ListTasksRequest
    | CancelTaskRequest
    | SubscribeToTaskRequest
    | CreatePushConfigRequest
    | PushConfigRequest
    | ListPushConfigsRequest
    | ExtendedCardRequest
    | ListDeliveriesRequest
    | RedeliverRequest
    | PingRequest
)
"""Any request; each may name a tenant (SPEC 9, multi-tenancy)."""
