"""The requests about webhooks (SPEC 3.1.7 to 3.1.10), and about their deliveries (our extension `deliveries`)."""

from typing import Annotated, Final

from pydantic import Field, StrictInt, StrictStr, model_validator

from a2a_serverless.protocol.requests import PageSize, Required, TenantedRequest
from a2a_serverless.types import TaskPushNotificationConfig

_BESIDE_THE_CONFIG: Final = ("tenant", "taskId", "task_id")


class AboutWebhooks(TenantedRequest):
    """A request about the webhooks of a task."""

    task_id: Required

    @property
    def named_task(self) -> str:
        """The task it is about."""
        return self.task_id


class CreatePushConfigRequest(TaskPushNotificationConfig, AboutWebhooks):
    """CreateTaskPushNotificationConfig (SPEC 3.1.7): the config itself, and the task it is for.

    The drafts had the config in a member `config`, its id beside it, and so do SDKs still (docs/decisions/0017).
    """

    task_id: Required
    url: Required

    @model_validator(mode="before")
    @classmethod
    def _as_in_the_drafts(cls, value: object) -> object:
        """The draft's form as that of 1.0. What has a `url` is of 1.0, whatever else is in it."""
        if not isinstance(value, dict) or "url" in value or not isinstance(value.get("config"), dict):
            return value
        config = {name: member for name, member in value["config"].items() if member is not None}
        beside = {name: value[name] for name in _BESIDE_THE_CONFIG if name in value}
        return {"id": value.get("configId"), **config, **beside}


class PushConfigRequest(AboutWebhooks):
    """One config of a task; only 0.3 may leave `id` out."""

    id: StrictStr = ""


class NamedPushConfigRequest(PushConfigRequest):
    """GetTaskPushNotificationConfig and DeleteTaskPushNotificationConfig (SPEC 3.1.8, 3.1.10)."""

    id: Required


class ListPushConfigsRequest(AboutWebhooks):
    """ListTaskPushNotificationConfigs (SPEC 3.1.9). A page size of 0 is that of ProtoJSON: not said."""

    page_size: Annotated[StrictInt, Field(ge=0)] | None = None
    page_token: StrictStr = ""


class ListDeliveriesRequest(NamedPushConfigRequest):
    """What became of the nudges of a config (extension `deliveries`)."""

    page_size: PageSize | None = None
    page_token: StrictStr = ""


class RedeliverRequest(NamedPushConfigRequest):
    """Send a nudge again: the one of this id, or the newest (extension `deliveries`)."""

    message_id: StrictStr = ""


class PingRequest(NamedPushConfigRequest):
    """Send a test (extension `deliveries`)."""
