"""ListTaskPushNotificationConfigs in pages (SPEC 3.1.9), which others forgot or broke (a2a-js#700, a2a-java#555)."""

from datetime import timedelta

import pytest

from .door import Door, json_of


@pytest.fixture
def door() -> Door:
    return Door()


@pytest.fixture
def task(door: Door) -> str:
    """A task with webhooks c5 to c1, registered in this order, the last two at once."""
    asked: str = door.send("ask")["id"]
    for number in (5, 4, 3, 2, 1):
        config = {"taskId": asked, "id": f"c{number}", "url": f"https://hook.example/{number}"}
        door.result("CreateTaskPushNotificationConfig", config)
        if number > 2:
            door.backstage.clock.advance(timedelta(seconds=1))
    return asked


def pages(door: Door, task: str, size: int) -> list[list[str]]:
    found: list[list[str]] = []
    asked: dict[str, object] = {"taskId": task, "pageSize": size}
    while True:
        page = door.result("ListTaskPushNotificationConfigs", asked)
        found.append([config["id"] for config in page["configs"]])
        if not page["nextPageToken"]:
            return found
        asked["pageToken"] = page["nextPageToken"]


def test_a_page_has_as_many_as_asked_for_and_says_where_it_goes_on(door: Door, task: str) -> None:
    assert pages(door, task, 2) == [["c5", "c4"], ["c3", "c1"], ["c2"]]
    assert pages(door, task, 4) == [["c5", "c4", "c3", "c1"], ["c2"]]
    assert pages(door, task, 5) == pages(door, task, 99) == pages(door, task, 0) == [["c5", "c4", "c3", "c1", "c2"]]


def test_without_a_size_all_are_there(door: Door, task: str) -> None:
    page = door.result("ListTaskPushNotificationConfigs", {"taskId": task})

    assert len(page["configs"]) == 5
    assert page["nextPageToken"] == ""


def test_a_page_goes_on_behind_a_webhook_that_is_gone(door: Door, task: str) -> None:
    first = door.result("ListTaskPushNotificationConfigs", {"taskId": task, "pageSize": 3})
    door.result("DeleteTaskPushNotificationConfig", {"taskId": task, "id": "c3"})

    asked = {"taskId": task, "pageToken": first["nextPageToken"]}
    rest = door.result("ListTaskPushNotificationConfigs", asked)

    assert [config["id"] for config in rest["configs"]] == ["c1", "c2"]


def test_rest_and_rpc_page_alike(door: Door, task: str) -> None:
    first = json_of(door.rest("GET", f"/tasks/{task}/pushNotificationConfigs?pageSize=2"))
    asked = f"pageSize=2&pageToken={first['nextPageToken']}"
    second = json_of(door.rest("GET", f"/tasks/{task}/pushNotificationConfigs?{asked}"))

    assert [config["id"] for page in (first, second) for config in page["configs"]] == ["c5", "c4", "c3", "c1"]


@pytest.mark.parametrize("token", ["x", "-c1", "1-", "1-c1/c2", "1" * 18 + "-c1", "1-" + "c" * 129, "\x00"])
def test_what_is_no_token_is_refused(door: Door, task: str, token: str) -> None:
    assert door.error("ListTaskPushNotificationConfigs", {"taskId": task, "pageToken": token})["code"] == -32602


def test_zero_three_knows_no_pages(door: Door, task: str) -> None:
    assert len(door.legacy("tasks/pushNotificationConfig/list", {"id": task})) == 5
