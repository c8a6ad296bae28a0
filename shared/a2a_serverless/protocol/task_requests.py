"""The requests about tasks that are there, and about cards, as version 1.0 has them (SPEC 3.1, 9.4)."""

from datetime import UTC, datetime
from typing import Annotated, ClassVar

from pydantic import AliasChoices, BeforeValidator, Field, StrictBool, StrictStr

from a2a_serverless.protocol.requests import LONGEST_NAME, HistoryLength, PageSize, Required, TenantedRequest
from a2a_serverless.types import JsonObject, TaskState


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

    seeks_a_task: ClassVar[bool] = False

    context_id: Annotated[StrictStr, Field(max_length=LONGEST_NAME)] = ""
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
