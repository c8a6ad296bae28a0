"""The requests about messages, tasks and cards, as version 1.0 has them (SPEC 3.1, 9.4). 0.3 is turned into these.

Those about webhooks are in `push_requests`, which most processes never load.
"""

from datetime import UTC, datetime
from typing import Annotated, Final

from pydantic import AfterValidator, AliasChoices, BeforeValidator, Field, StrictBool, StrictInt, StrictStr

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


class TenantedRequest(A2AModel):
    """Any request may name a tenant (SPEC 9, multi-tenancy), and most name a task."""

    tenant: StrictStr = ""

    @property
    def named_task(self) -> str:
        """The id of the task that the request is about; empty without one."""
        return ""

    @property
    def named_tenants(self) -> frozenset[str]:
        """The tenants it names, wherever in it that is possible."""
        return frozenset({self.tenant} - {""})


class SendMessageConfiguration(A2AModel):
    """How a send wants to be answered (SPEC 3.2.2). The webhook goes by its name of the drafts as well
    (docs/decisions/0017)."""

    accepted_output_modes: tuple[StrictStr, ...] = ()
    task_push_notification_config: Annotated[
        TaskPushNotificationConfig | None,
        Field(
            validation_alias=AliasChoices(
                "taskPushNotificationConfig", "task_push_notification_config", "pushNotificationConfig"
            )
        ),
    ] = None
    history_length: HistoryLength | None = None
    return_immediately: StrictBool = False


class SendMessageRequest(TenantedRequest):
    """SendMessage and SendStreamingMessage (SPEC 3.1.1, 3.1.2)."""

    message: InboundMessage
    configuration: SendMessageConfiguration = SendMessageConfiguration.unset()
    metadata: JsonObject | None = None

    @property
    def named_task(self) -> str:
        """The task that the message continues."""
        return self.message.task_id

    @property
    def named_tenants(self) -> frozenset[str]:
        """Its own, and that of the webhook it brings."""
        push = self.configuration.task_push_notification_config
        return super().named_tenants | ({push.tenant} - {""} if push is not None else frozenset())


class TaskRequest(TenantedRequest):
    """A request about one task."""

    id: Required

    @property
    def named_task(self) -> str:
        """The task it is about."""
        return self.id


class GetTaskRequest(TaskRequest):
    """GetTask (SPEC 3.1.3)."""

    history_length: HistoryLength | None = None


class ListTasksRequest(TenantedRequest):
    """ListTasks (SPEC 3.1.4). The time goes by its name of the drafts as well (docs/decisions/0017)."""

    context_id: StrictStr = ""
    status: StateFilter = None
    page_size: PageSize | None = None
    page_token: StrictStr = ""
    history_length: HistoryLength | None = None
    status_timestamp_after: Annotated[
        Annotated[datetime, BeforeValidator(moment)] | None,
        Field(validation_alias=AliasChoices("statusTimestampAfter", "status_timestamp_after", "lastUpdatedAfter")),
    ] = None
    include_artifacts: StrictBool = False


class CancelTaskRequest(TaskRequest):
    """CancelTask (SPEC 3.1.5)."""

    metadata: JsonObject | None = None


class SubscribeToTaskRequest(TaskRequest):
    """SubscribeToTask (SPEC 3.1.6)."""


class ExtendedCardRequest(TenantedRequest):
    """GetExtendedAgentCard (SPEC 3.1.11)."""
