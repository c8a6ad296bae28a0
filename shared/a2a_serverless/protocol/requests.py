"""The requests that bring a message, as version 1.0 has them (SPEC 3.1, 9.4), and what all requests have in common.

Those of 0.3 are turned into these. Those about tasks that are there are in `task_requests`, those about webhooks in
`push_requests`: a process loads what it is asked for.
"""

from typing import Annotated, ClassVar, Final

from pydantic import AfterValidator, AliasChoices, Field, StrictBool, StrictInt, StrictStr

from a2a_serverless.types import A2AModel, JsonObject, Message, TaskPushNotificationConfig

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


class TenantedRequest(A2AModel):
    """Any request may name a tenant (SPEC 9, multi-tenancy), and most name a task."""

    seeks_a_task: ClassVar[bool] = True
    """Whether a task is what is not there in a tenant that is not the caller's; else the tenant is."""

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

    seeks_a_task: ClassVar[bool] = False

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
