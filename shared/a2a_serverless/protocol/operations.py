"""The operations of A2A, in one table: names and routes of both versions, request types, use cases.

Routing, both bindings, the documentation of methods and the tests read it; there is no second list.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, Generic, TypeVar

from a2a_serverless.app.deliveries import DELIVERIES_EXTENSION_URI
from a2a_serverless.core.push import WireVersion
from a2a_serverless.protocol import delivery_calls, use_cases
from a2a_serverless.protocol import legacy_requests as v03
from a2a_serverless.protocol import requests as v1
from a2a_serverless.protocol.results import Result, Streamed
from a2a_serverless.protocol.use_cases import Call
from a2a_serverless.types import A2AModel

Request = TypeVar("Request", bound=A2AModel)


@dataclass(frozen=True, slots=True)
class Spelling:
    """How one version writes an operation: its JSON-RPC method (empty: none), its request, its REST routes.

    Routes are `VERB /path` below the agent's address; 1.0 takes each also with a tenant before it (SPEC 11.3).
    A variable of the path is the member of the request that it fills.
    """

    method: str
    request: type[A2AModel]
    routes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Operation(Generic[Request]):
    """One operation. `run` takes the request of 1.0; a request of 0.3 is `upgraded()` to it."""

    run: Callable[[Call, Request], Result | Streamed]
    v1: Spelling
    v03: Spelling
    streams: bool = False
    """Whether it answers with `Streamed`."""
    sends: bool = False
    """Whether it brings a message, so that extensions the agent insists on must be active (SPEC 3.3.4)."""
    extension: str = ""
    """The URI of the extension that it belongs to; empty for those of the specification (topics/extensions)."""

    @property
    def name(self) -> str:
        """The name that the specification calls it by."""
        return self.v1.method

    def spelt(self, version: WireVersion) -> Spelling:
        """How a version writes it."""
        return self.v1 if version is WireVersion.V1_0 else self.v03


_TASK: Final = "/tasks/{id}"
_CONFIGS: Final = "/tasks/{taskId}/pushNotificationConfigs"
_CONFIGS_03: Final = "/v1/tasks/{id}/pushNotificationConfigs"

OPERATIONS: Final[tuple[Operation[Any], ...]] = (
    Operation(
        use_cases.send_message,
        Spelling("SendMessage", v1.SendMessageRequest, ("POST /message:send",)),
        Spelling("message/send", v03.MessageSendParams, ("POST /v1/message:send",)),
        sends=True,
    ),
    Operation(
        use_cases.send_streaming_message,
        Spelling("SendStreamingMessage", v1.SendMessageRequest, ("POST /message:stream",)),
        Spelling("message/stream", v03.MessageSendParams, ("POST /v1/message:stream",)),
        streams=True,
        sends=True,
    ),
    Operation(
        use_cases.get_task,
        Spelling("GetTask", v1.GetTaskRequest, (f"GET {_TASK}",)),
        Spelling("tasks/get", v03.TaskQueryParams, (f"GET /v1{_TASK}",)),
    ),
    Operation(
        use_cases.list_tasks,
        Spelling("ListTasks", v1.ListTasksRequest, ("GET /tasks",)),
        Spelling("", v03.ListTasksParams, ("GET /v1/tasks",)),
    ),
    Operation(
        use_cases.cancel_task,
        Spelling("CancelTask", v1.CancelTaskRequest, (f"POST {_TASK}:cancel",)),
        Spelling("tasks/cancel", v03.TaskIdParams, (f"POST /v1{_TASK}:cancel",)),
    ),
    Operation(
        use_cases.subscribe_to_task,
        # The text says POST, the proto GET, and clients of both kinds exist.
        Spelling("SubscribeToTask", v1.SubscribeToTaskRequest, (f"POST {_TASK}:subscribe", f"GET {_TASK}:subscribe")),
        Spelling(
            "tasks/resubscribe",
            v03.TaskResubscriptionParams,
            (f"POST /v1{_TASK}:subscribe", f"GET /v1{_TASK}:subscribe"),
        ),
        streams=True,
    ),
    Operation(
        use_cases.create_push_config,
        Spelling("CreateTaskPushNotificationConfig", v1.CreatePushConfigRequest, (f"POST {_CONFIGS}",)),
        Spelling(
            "tasks/pushNotificationConfig/set",
            v03.SetPushConfigParams,
            ("POST /v1/tasks/{taskId}/pushNotificationConfigs",),
        ),
    ),
    Operation(
        use_cases.get_push_config,
        Spelling("GetTaskPushNotificationConfig", v1.NamedPushConfigRequest, (f"GET {_CONFIGS}/{{id}}",)),
        Spelling(
            "tasks/pushNotificationConfig/get",
            v03.GetPushConfigParams,
            (f"GET {_CONFIGS_03}/{{pushNotificationConfigId}}",),
        ),
    ),
    Operation(
        use_cases.list_push_configs,
        Spelling("ListTaskPushNotificationConfigs", v1.ListPushConfigsRequest, (f"GET {_CONFIGS}",)),
        Spelling("tasks/pushNotificationConfig/list", v03.ListPushConfigsParams, (f"GET {_CONFIGS_03}",)),
    ),
    Operation(
        use_cases.delete_push_config,
        Spelling("DeleteTaskPushNotificationConfig", v1.NamedPushConfigRequest, (f"DELETE {_CONFIGS}/{{id}}",)),
        Spelling(
            "tasks/pushNotificationConfig/delete",
            v03.DeletePushConfigParams,
            (f"DELETE {_CONFIGS_03}/{{pushNotificationConfigId}}",),
        ),
    ),
    Operation(
        use_cases.get_extended_card,
        Spelling("GetExtendedAgentCard", v1.ExtendedCardRequest, ("GET /extendedAgentCard",)),
        Spelling(
            "agent/getAuthenticatedExtendedCard",
            v03.ExtendedCardParams,
            ("GET /v1/card", "GET /agent/authenticatedExtendedCard"),
        ),
    ),
    Operation(
        delivery_calls.list_deliveries,
        Spelling("deliveries/list", v1.ListDeliveriesRequest, (f"GET {_CONFIGS}/{{id}}/deliveries",)),
        Spelling("", v1.ListDeliveriesRequest, ()),
        extension=DELIVERIES_EXTENSION_URI,
    ),
    Operation(
        delivery_calls.redeliver,
        Spelling("deliveries/redeliver", v1.RedeliverRequest, (f"POST {_CONFIGS}/{{id}}:redeliver",)),
        Spelling("", v1.RedeliverRequest, ()),
        extension=DELIVERIES_EXTENSION_URI,
    ),
    Operation(
        delivery_calls.ping,
        Spelling("deliveries/ping", v1.PingRequest, (f"POST {_CONFIGS}/{{id}}:ping",)),
        Spelling("", v1.PingRequest, ()),
        extension=DELIVERIES_EXTENSION_URI,
    ),
)

METHODS: Final = {
    spelling.method: (operation, version)
    for operation in OPERATIONS
    for version in WireVersion
    if (spelling := operation.spelt(version)).method
}
"""By JSON-RPC method; the names of the two versions are disjoint."""
