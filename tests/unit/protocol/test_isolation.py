"""What is not the caller's is not there, byte for byte (SPEC 13.1; field bugs A01 to A05, I03, Q05)."""

from typing import Any

import pytest

from a2a_serverless.protocol.authentication import Identity, Security
from a2a_serverless.protocol.faults import Refusal
from a2a_serverless.protocol.http import Request

from .door import Door, json_of, message, old_message, proto_message


class ByHeader:
    """Believes a header: `subject` or `subject@tenant`."""

    def authenticate(self, request: Request) -> Identity | Refusal:
        subject, _, tenant = request.header("x-test-caller").partition("@")
        return Identity(subject=subject or "nobody", tenant=tenant)

    def security(self) -> Security:
        return Security()


def door_with_a_task(owner: str = "alice") -> tuple[Door, dict[str, Any]]:
    door = Door(authenticator=ByHeader(), headers={"x-test-caller": owner})
    hook = {"url": "https://hook.example", "id": "c1", "token": "s3cr3t"}
    params = {"message": message("ask"), "configuration": {"taskPushNotificationConfig": hook}}
    task = door.result("SendMessage", params)["task"]
    return door, task


UNKNOWN = "id-does-not-exist"

RPC_CALLS = [
    ("1.0", "GetTask", {"id": "{}"}),
    ("1.0", "CancelTask", {"id": "{}"}),
    ("1.0", "SubscribeToTask", {"id": "{}"}),
    ("1.0", "SendMessage", {"message": message("evil", taskId="{}")}),
    ("1.0", "SendStreamingMessage", {"message": message("evil", taskId="{}")}),
    ("1.0", "CreateTaskPushNotificationConfig", {"taskId": "{}", "url": "https://evil.example"}),
    ("1.0", "GetTaskPushNotificationConfig", {"taskId": "{}", "id": "c1"}),
    ("1.0", "ListTaskPushNotificationConfigs", {"taskId": "{}"}),
    ("1.0", "DeleteTaskPushNotificationConfig", {"taskId": "{}", "id": "c1"}),
    ("1.0", "deliveries/list", {"taskId": "{}", "id": "c1"}),
    ("1.0", "deliveries/redeliver", {"taskId": "{}", "id": "c1"}),
    ("1.0", "deliveries/ping", {"taskId": "{}", "id": "c1"}),
    ("0.3", "tasks/get", {"id": "{}"}),
    ("0.3", "tasks/cancel", {"id": "{}"}),
    ("0.3", "tasks/resubscribe", {"id": "{}"}),
    ("0.3", "message/send", {"message": old_message("evil", taskId="{}")}),
    ("0.3", "message/stream", {"message": old_message("evil", taskId="{}")}),
    (
        "0.3",
        "tasks/pushNotificationConfig/set",
        {"taskId": "{}", "pushNotificationConfig": {"url": "https://e.example"}},
    ),
    ("0.3", "tasks/pushNotificationConfig/get", {"id": "{}"}),
    ("0.3", "tasks/pushNotificationConfig/list", {"id": "{}"}),
    ("0.3", "tasks/pushNotificationConfig/delete", {"id": "{}", "pushNotificationConfigId": "c1"}),
]


def about(params: Any, task_id: str) -> Any:
    if isinstance(params, dict):
        return {name: about(value, task_id) for name, value in params.items()}
    return task_id if params == "{}" else params


@pytest.mark.parametrize(("version", "method", "params"), RPC_CALLS)
def test_a_foreign_task_answers_like_one_that_never_was(version: str, method: str, params: Any) -> None:
    door, task = door_with_a_task()
    before = door.backstage.stored

    def ask(task_id: str) -> bytes:
        body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": about(params, task_id)}
        response = door.post(body, version=version, x_test_caller="bob")
        return repr(response).encode()

    assert ask(task["id"]) == ask(UNKNOWN)
    assert b"-32001" in ask(task["id"])
    assert door.backstage.stored == before
    assert door.result("GetTask", {"id": task["id"]}) == task


REST_CALLS = [
    ("1.0", "GET", "/tasks/{}", None),
    ("1.0", "POST", "/tasks/{}:cancel", None),
    ("1.0", "POST", "/tasks/{}:subscribe", None),
    ("1.0", "POST", "/message:send", {"message": message("evil", taskId="{}")}),
    ("1.0", "POST", "/tasks/{}/pushNotificationConfigs", {"url": "https://evil.example"}),
    ("1.0", "GET", "/tasks/{}/pushNotificationConfigs", None),
    ("1.0", "GET", "/tasks/{}/pushNotificationConfigs/c1", None),
    ("1.0", "DELETE", "/tasks/{}/pushNotificationConfigs/c1", None),
    ("0.3", "GET", "/v1/tasks/{}", None),
    ("0.3", "POST", "/v1/tasks/{}:cancel", None),
    ("0.3", "POST", "/v1/message:send", {"message": proto_message("evil", taskId="{}")}),
    ("0.3", "GET", "/v1/tasks/{}/pushNotificationConfigs/c1", None),
]


@pytest.mark.parametrize(("version", "verb", "path", "body"), REST_CALLS)
def test_a_foreign_task_answers_like_one_that_never_was_on_rest(version: str, verb: str, path: str, body: Any) -> None:
    door, task = door_with_a_task()

    def ask(task_id: str) -> object:
        sent = about(body, task_id) if body else None
        return door.rest(verb, path.format(task_id), sent, version=version, x_test_caller="bob")

    assert repr(ask(task["id"])) == repr(ask(UNKNOWN))
    assert door.result("GetTask", {"id": task["id"]}) == task


def test_a_list_holds_and_counts_the_callers_own() -> None:
    door, task = door_with_a_task()

    everything = door.result("ListTasks", {}, x_test_caller="bob")
    by_context = door.result("ListTasks", {"contextId": task["contextId"]}, x_test_caller="bob")

    assert everything["totalSize"] == by_context["totalSize"] == 0


def test_the_page_token_of_another_owner_is_refused() -> None:
    door, _ = door_with_a_task()
    door.send("ask again")
    token = door.result("ListTasks", {"pageSize": 1})["nextPageToken"]

    assert door.error("ListTasks", {"pageSize": 1, "pageToken": token}, x_test_caller="bob")["code"] == -32602


def test_the_same_message_of_two_callers_makes_two_tasks() -> None:
    door, task = door_with_a_task()

    other = door.result("SendMessage", {"message": message("ask")}, x_test_caller="bob")["task"]

    assert other["id"] != task["id"]


@pytest.mark.parametrize("tenant", ["t2", "t1 ", "T1", "x" * 300])
def test_a_tenant_that_is_not_the_callers_is_not_there(tenant: str) -> None:
    door, task = door_with_a_task("alice@t1")

    mine = door.result("GetTask", {"id": task["id"], "tenant": "t1"})
    foreign = door.error("GetTask", {"id": task["id"], "tenant": tenant})
    unknown = door.error("GetTask", {"id": UNKNOWN})

    assert mine == task
    assert foreign == unknown
    assert door.error("ListTasks", {"tenant": tenant})["code"] == -32001
    assert door.error("SendMessage", {"tenant": tenant, "message": message("echo x")})["code"] == -32001
    assert door.rest("GET", f"/{tenant}/tasks").status == 404
    hook = {"taskId": task["id"], "url": "https://hook.example", "tenant": tenant}
    assert door.error("CreateTaskPushNotificationConfig", hook)["code"] == -32001
    inline = {"taskPushNotificationConfig": {"url": "https://hook.example", "tenant": tenant}}
    assert door.error("SendMessage", {"message": message("echo y"), "configuration": inline})["code"] == -32001


def test_equal_names_in_two_tenants_are_two_owners() -> None:
    door, task = door_with_a_task("alice@t1")

    assert door.error("GetTask", {"id": task["id"]}, x_test_caller="alice@t2")["code"] == -32001
    assert door.error("GetTask", {"id": task["id"]}, x_test_caller="alice")["code"] == -32001


@pytest.mark.parametrize("tenant", ["x" * 256, "ż" * 128, "a\nb", "\x00"])
def test_without_authentication_a_tenant_still_has_to_fit_into_a_key(tenant: str) -> None:
    assert Door().error("ListTasks", {"tenant": tenant})["code"] == -32001


def test_without_authentication_a_tenant_is_a_room_of_its_own() -> None:
    door = Door()
    task = json_of(door.rest("POST", "/acme/message:send", {"message": message("ask")}))["task"]["id"]

    assert door.result("GetTask", {"id": task, "tenant": "acme"})["id"] == task
    assert door.error("GetTask", {"id": task})["code"] == -32001
    assert door.rest("GET", f"/other/tasks/{task}").status == 404
