"""The table of operations: complete, without contradictions, and the only one there is."""

import json
import re
from pathlib import Path

import pytest

from a2a_serverless.core.push import WireVersion
from a2a_serverless.protocol import operations, push_requests, requests, routing, task_requests
from a2a_serverless.protocol.operations import METHODS, OPERATIONS, Operation
from a2a_serverless.types import (
    A2AModel,
    AgentCard,
    Artifact,
    Message,
    Part,
    Task,
    TaskArtifactUpdateEvent,
    TaskPushNotificationConfig,
    TaskStatus,
    TaskStatusUpdateEvent,
)
from a2a_serverless.types.card import AgentCapabilities, AgentExtension, AgentInterface, AgentSkill

ROOT = Path(__file__).parents[3]
FIELDS = json.loads((ROOT / "tests" / "data" / "a2a" / "a2a-v1-field-table.json").read_text())
PROTOCOL = ROOT / "shared" / "a2a_serverless" / "protocol"


def test_it_has_the_eleven_operations_of_one_zero() -> None:
    assert [operation.name for operation in OPERATIONS if not operation.extension] == [
        "SendMessage",
        "SendStreamingMessage",
        "GetTask",
        "ListTasks",
        "CancelTask",
        "SubscribeToTask",
        "CreateTaskPushNotificationConfig",
        "GetTaskPushNotificationConfig",
        "ListTaskPushNotificationConfigs",
        "DeleteTaskPushNotificationConfig",
        "GetExtendedAgentCard",
    ]


def test_what_it_has_beside_them_belongs_to_an_extension_of_one_zero() -> None:
    beside = [operation for operation in OPERATIONS if operation.extension]

    assert {operation.extension for operation in beside} == {"https://a2a-serverless.dev/ext/deliveries/v1"}
    assert [operation.name for operation in beside] == ["deliveries/list", "deliveries/redeliver", "deliveries/ping"]
    assert all(not operation.v03.method and not operation.v03.routes for operation in beside)


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda operation: operation.name)
def test_every_name_in_it_leads_somewhere(operation: Operation) -> None:
    """Names are looked up when the operation is first asked for, which must not be the first time anybody looks."""
    assert callable(operations._named(operation.does))
    assert issubclass(operation.v1.request, requests.TenantedRequest)
    assert issubclass(operation.v03.request, A2AModel)


def test_it_has_the_ten_methods_of_zero_three() -> None:
    legacy = {method for method, (_, version) in METHODS.items() if version is WireVersion.V0_3}

    schema = json.loads((ROOT / "tests" / "data" / "a2a" / "a2a-v0.3.0.schema.json").read_text())
    published = {
        definition["properties"]["method"]["const"]
        for definition in schema["definitions"].values()
        if "const" in definition.get("properties", {}).get("method", {})
    }
    assert legacy == published


def test_no_method_is_named_outside_the_table() -> None:
    for module in PROTOCOL.glob("*.py"):
        if module.name == "operations.py":
            continue
        code = re.sub(r'""".*?"""|#.*', "", module.read_text(), flags=re.DOTALL)
        named = [method for method in METHODS if f'"{method}"' in code]
        assert not named, (module.name, named)


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda operation: operation.name)
@pytest.mark.parametrize("version", WireVersion)
def test_every_route_leads_to_its_operation(operation: Operation, version: WireVersion) -> None:
    for route in operation.spelt(version).routes:
        verb, _, path = route.partition(" ")
        segments = tuple(re.sub(r"\{\w+\}", "x-1", segment) for segment in path.split("/")[1:])
        matched = routing.match(verb, segments)
        assert isinstance(matched, routing.Matched)
        assert (matched.operation, matched.version) == (operation, version)
        if version is WireVersion.V1_0:
            in_tenant = routing.match(verb, ("acme", *segments))
            assert isinstance(in_tenant, routing.Matched)
            assert in_tenant.operation is operation
            assert in_tenant.members["tenant"] == "acme"


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda operation: operation.name)
@pytest.mark.parametrize("version", WireVersion)
def test_what_a_path_fills_in_is_a_member_of_the_request(operation: Operation, version: WireVersion) -> None:
    spelling = operation.spelt(version)
    members = {field.alias for field in spelling.request.model_fields.values()}

    variables = {name for route in spelling.routes for name in re.findall(r"\{(\w+)\}", route)}

    assert variables <= members


@pytest.mark.parametrize("reserved", sorted(routing.RESERVED_TENANTS))
def test_reserved_names_are_no_tenants(reserved: str) -> None:
    matched = routing.match("GET", (reserved, "extendedAgentCard"))

    assert matched is None


MODELS: dict[str, type[A2AModel]] = {
    "Task": Task,
    "TaskStatus": TaskStatus,
    "Message": Message,
    "Part": Part,
    "Artifact": Artifact,
    "TaskStatusUpdateEvent": TaskStatusUpdateEvent,
    "TaskArtifactUpdateEvent": TaskArtifactUpdateEvent,
    "TaskPushNotificationConfig": TaskPushNotificationConfig,
    "AgentCard": AgentCard,
    "AgentCapabilities": AgentCapabilities,
    "AgentExtension": AgentExtension,
    "AgentInterface": AgentInterface,
    "AgentSkill": AgentSkill,
    "SendMessageRequest": requests.SendMessageRequest,
    "SendMessageConfiguration": requests.SendMessageConfiguration,
    "GetTaskRequest": task_requests.GetTaskRequest,
    "ListTasksRequest": task_requests.ListTasksRequest,
    "CancelTaskRequest": task_requests.CancelTaskRequest,
    "SubscribeToTaskRequest": task_requests.SubscribeToTaskRequest,
    "GetTaskPushNotificationConfigRequest": push_requests.NamedPushConfigRequest,
    "DeleteTaskPushNotificationConfigRequest": push_requests.NamedPushConfigRequest,
    "ListTaskPushNotificationConfigsRequest": push_requests.ListPushConfigsRequest,
    "GetExtendedAgentCardRequest": task_requests.ExtendedCardRequest,
}


@pytest.mark.parametrize("name", MODELS)
def test_each_object_has_the_members_of_the_proto_and_no_others(name: str) -> None:
    ours = {field.alias for field in MODELS[name].model_fields.values() if not field.exclude}

    assert ours == set(FIELDS[f"lf.a2a.v1.{name}"])
