"""The operations of A2A, in one table: names and routes of both versions, request types, use cases.

Routing, both bindings, the documentation of methods and the tests read it; there is no second list. Requests and use
cases are named, as `module.name` of this package: a process imports those of the operations it is asked for.
"""

import importlib
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, Final

from a2a_serverless.core.push import WireVersion

if TYPE_CHECKING:
    from a2a_serverless.protocol.requests import TenantedRequest
    from a2a_serverless.protocol.results import Result, Streamed
    from a2a_serverless.protocol.use_cases import Call
    from a2a_serverless.types import A2AModel

DELIVERIES_EXTENSION_URI: Final = "https://a2a-serverless.dev/ext/deliveries/v1"
"""The extension under which callers see and repeat the deliveries of their webhooks (SPEC 4.6)."""


@cache
def _named(name: str) -> Any:
    module, _, attribute = name.partition(".")
    return getattr(importlib.import_module(f"{__package__}.{module}"), attribute)


@dataclass(frozen=True, slots=True)
class Spelling:
    """How one version writes an operation: its JSON-RPC method (empty: none), its request, its REST routes.

    Routes are `VERB /path` below the agent's address; 1.0 takes each also with a tenant before it (SPEC 11.3).
    A variable of the path is the member of the request that it fills.
    """

    method: str
    reads: str
    """The name of its request."""
    routes: tuple[str, ...]

    @property
    def request(self) -> "type[A2AModel]":
        """Its request."""
        found: type[A2AModel] = _named(self.reads)
        return found


@dataclass(frozen=True, slots=True)
class Operation:
    """One operation. `run` takes the request of 1.0; a request of 0.3 is `upgraded()` to it."""

    does: str
    """The name of its use case."""
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

    def run(self, call: "Call", request: "TenantedRequest") -> "Result | Streamed":
        """Let its use case answer the request."""
        answer: Result | Streamed = _named(self.does)(call, request)
        return answer

    def spelt(self, version: WireVersion) -> Spelling:
        """How a version writes it."""
        return self.v1 if version is WireVersion.V1_0 else self.v03


_TASK: Final = "/tasks/{id}"
_CONFIGS: Final = "/tasks/{taskId}/pushNotificationConfigs"
_CONFIGS_03: Final = "/v1/tasks/{id}/pushNotificationConfigs"

OPERATIONS: Final[tuple[Operation, ...]] = (
    Operation(
        "use_cases.send_message",
        Spelling("SendMessage", "requests.SendMessageRequest", ("POST /message:send",)),
        Spelling("message/send", "legacy_requests.MessageSendParams", ("POST /v1/message:send",)),
        sends=True,
    ),
    Operation(
        "use_cases.send_streaming_message",
        Spelling("SendStreamingMessage", "requests.SendMessageRequest", ("POST /message:stream",)),
        Spelling("message/stream", "legacy_requests.MessageSendParams", ("POST /v1/message:stream",)),
        streams=True,
        sends=True,
    ),
    Operation(
        "task_calls.get_task",
        Spelling("GetTask", "task_requests.GetTaskRequest", (f"GET {_TASK}",)),
        Spelling("tasks/get", "legacy_requests.TaskQueryParams", (f"GET /v1{_TASK}",)),
    ),
    Operation(
        "task_calls.list_tasks",
        Spelling("ListTasks", "task_requests.ListTasksRequest", ("GET /tasks",)),
        Spelling("", "legacy_requests.ListTasksParams", ("GET /v1/tasks",)),
    ),
    Operation(
        "task_calls.cancel_task",
        Spelling("CancelTask", "task_requests.CancelTaskRequest", (f"POST {_TASK}:cancel",)),
        Spelling("tasks/cancel", "legacy_requests.TaskIdParams", (f"POST /v1{_TASK}:cancel",)),
    ),
    Operation(
        "task_calls.subscribe_to_task",
        # The text says POST, the proto GET, and clients of both kinds exist.
        Spelling(
            "SubscribeToTask",
            "task_requests.SubscribeToTaskRequest",
            (f"POST {_TASK}:subscribe", f"GET {_TASK}:subscribe"),
        ),
        Spelling(
            "tasks/resubscribe",
            "legacy_requests.TaskResubscriptionParams",
            (f"POST /v1{_TASK}:subscribe", f"GET /v1{_TASK}:subscribe"),
        ),
        streams=True,
    ),
    Operation(
        "push_calls.create_push_config",
        Spelling("CreateTaskPushNotificationConfig", "push_requests.CreatePushConfigRequest", (f"POST {_CONFIGS}",)),
        Spelling(
            "tasks/pushNotificationConfig/set",
            "legacy_requests.SetPushConfigParams",
            ("POST /v1/tasks/{taskId}/pushNotificationConfigs",),
        ),
    ),
    Operation(
        "push_calls.get_push_config",
        Spelling("GetTaskPushNotificationConfig", "push_requests.NamedPushConfigRequest", (f"GET {_CONFIGS}/{{id}}",)),
        Spelling(
            "tasks/pushNotificationConfig/get",
            "legacy_requests.GetPushConfigParams",
            (f"GET {_CONFIGS_03}/{{pushNotificationConfigId}}",),
        ),
    ),
    Operation(
        "push_calls.list_push_configs",
        Spelling("ListTaskPushNotificationConfigs", "push_requests.ListPushConfigsRequest", (f"GET {_CONFIGS}",)),
        Spelling("tasks/pushNotificationConfig/list", "legacy_requests.ListPushConfigsParams", (f"GET {_CONFIGS_03}",)),
    ),
    Operation(
        "push_calls.delete_push_config",
        Spelling(
            "DeleteTaskPushNotificationConfig", "push_requests.NamedPushConfigRequest", (f"DELETE {_CONFIGS}/{{id}}",)
        ),
        Spelling(
            "tasks/pushNotificationConfig/delete",
            "legacy_requests.DeletePushConfigParams",
            (f"DELETE {_CONFIGS_03}/{{pushNotificationConfigId}}",),
        ),
    ),
    Operation(
        "task_calls.get_extended_card",
        Spelling("GetExtendedAgentCard", "task_requests.ExtendedCardRequest", ("GET /extendedAgentCard",)),
        Spelling(
            "agent/getAuthenticatedExtendedCard",
            "legacy_requests.ExtendedCardParams",
            ("GET /v1/card", "GET /agent/authenticatedExtendedCard"),
        ),
    ),
    Operation(
        "delivery_calls.list_deliveries",
        Spelling("deliveries/list", "push_requests.ListDeliveriesRequest", (f"GET {_CONFIGS}/{{id}}/deliveries",)),
        Spelling("", "push_requests.ListDeliveriesRequest", ()),
        extension=DELIVERIES_EXTENSION_URI,
    ),
    Operation(
        "delivery_calls.redeliver",
        Spelling("deliveries/redeliver", "push_requests.RedeliverRequest", (f"POST {_CONFIGS}/{{id}}:redeliver",)),
        Spelling("", "push_requests.RedeliverRequest", ()),
        extension=DELIVERIES_EXTENSION_URI,
    ),
    Operation(
        "delivery_calls.ping",
        Spelling("deliveries/ping", "push_requests.PingRequest", (f"POST {_CONFIGS}/{{id}}:ping",)),
        Spelling("", "push_requests.PingRequest", ()),
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
