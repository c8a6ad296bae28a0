"""Released SDKs of 1.0 that still write names of its drafts (docs/decisions/0017), byte for byte as they do."""

from typing import Any

import pytest

from .door import Door, json_of, message
from .test_list_tasks import filled

HOOK = {"url": "https://hook.example", "id": "c1", "token": "t", "authentication": {"scheme": "Bearer"}}
SHOWN = {"url": "https://hook.example", "id": "c1", "authentication": {"scheme": "Bearer"}}


def configs(door: Door, task: str) -> Any:
    return door.result("ListTaskPushNotificationConfigs", {"taskId": task})["configs"]


def test_the_webhook_of_a_send_is_registered_under_the_name_it_had() -> None:
    door = Door()

    task = door.send("ask", configuration={"pushNotificationConfig": HOOK, "returnImmediately": False})["id"]

    assert configs(door, task) == [{**SHOWN, "taskId": task}]


def test_the_name_of_one_zero_wins() -> None:
    door = Door()
    both = {"pushNotificationConfig": HOOK, "taskPushNotificationConfig": {**HOOK, "id": "c2"}}

    task = door.send("ask", configuration=both)["id"]

    assert [config["id"] for config in configs(door, task)] == ["c2"]


def test_a_webhook_under_its_former_name_is_checked_like_any() -> None:
    door = Door()
    configuration = {"pushNotificationConfig": {"url": "ftp://hook.example"}}

    error = door.error("SendMessage", {"message": message("ask"), "configuration": configuration})

    assert error["code"] == -32602
    assert door.backstage.stored == 0


@pytest.mark.parametrize(
    "beside",
    [
        {},  # Rust
        {"configId": "c2"},  # .NET, where the config may have no id of its own
        {"tenant": ""},
    ],
)
def test_a_webhook_within_a_config_is_created(beside: dict[str, str]) -> None:
    door = Door()
    task = door.send("ask")["id"]
    hook = {name: value for name, value in HOOK.items() if name != "id" or "configId" not in beside}

    made = door.result("CreateTaskPushNotificationConfig", {"taskId": task, "config": hook, **beside})

    assert made == {**SHOWN, "id": beside.get("configId", "c1"), "taskId": task}
    assert configs(door, task) == [made]


@pytest.mark.parametrize(
    ("wrong", "field"),
    [
        ({"config": {}}, "url"),
        ({"config": {"url": ""}}, "url"),
        ({"config": {"url": "ftp://hook.example"}}, "url"),
        ({"config": "https://hook.example"}, "url"),
        ({"config": [HOOK]}, "url"),
        ({"config": HOOK, "configId": 1}, ""),
        ({"config": {**HOOK, "id": None}, "configId": 1}, "id"),
    ],
)
def test_a_config_that_is_wrong_is_refused_or_passed_over(wrong: dict[str, object], field: str) -> None:
    door = Door()
    task = door.send("ask")["id"]

    answer = door.rpc("CreateTaskPushNotificationConfig", {"taskId": task, **wrong})

    if field:
        assert answer["error"]["code"] == -32602
        assert field in answer["error"]["message"]
    assert len(configs(door, task)) == (0 if field else 1)


def test_the_task_of_the_address_is_the_task_whatever_the_config_says() -> None:
    door = Door()
    task, other = door.send("ask")["id"], door.send("ask", messageId="2")["id"]
    body = {"config": {**HOOK, "taskId": other}}

    made = json_of(door.rest("POST", f"/tasks/{task}/pushNotificationConfigs", body))

    assert made["taskId"] == task
    assert configs(door, other) == []


def test_rest_lists_are_filtered_by_the_former_name_of_the_time() -> None:
    door = filled(5)
    times = ("lastUpdatedAfter=2026-11-30T12:00:03Z", "statusTimestampAfter=2026-11-30T12:00:03Z")

    assert [json_of(door.rest("GET", "/tasks", query=query))["totalSize"] for query in ("", *times)] == [5, 3, 3]
    wrong = json_of(door.rest("GET", "/tasks", query="lastUpdatedAfter=yesterday"))
    assert wrong["error"]["details"][1]["fieldViolations"][0]["description"].startswith("must be an ISO 8601 timestamp")
