"""ListTasks over the wire: filters, order, pages (SPEC 3.1.4)."""

import base64
import json
from typing import Any

import pytest

from .door import Door, old_message


def filled(count: int, *, seconds: float = 1.0) -> Door:
    door = Door()
    for number in range(count):
        door.backstage.clock.advance(seconds)
        door.send(f"echo {number}", contextId=f"c-{number % 2}")
    return door


def pages(door: Door, **request: object) -> list[Any]:
    found: list[Any] = []
    token = ""
    while True:
        page = door.result("ListTasks", {**request, "pageToken": token})
        found.append(page)
        token = page["nextPageToken"]
        if not token:
            return found


def ids(found: list[Any]) -> list[str]:
    return [task["id"] for page in found for task in page["tasks"]]


def test_a_page_has_its_four_members_always() -> None:
    assert Door().result("ListTasks", {}) == {"tasks": [], "nextPageToken": "", "pageSize": 50, "totalSize": 0}


def test_the_newest_status_comes_first_and_pages_show_every_task_once() -> None:
    door = filled(7)

    found = pages(door, pageSize=3)

    assert [len(page["tasks"]) for page in found] == [3, 3, 1]
    assert {page["totalSize"] for page in found} == {7}
    times = [task["status"]["timestamp"] for page in found for task in page["tasks"]]
    assert times == sorted(times, reverse=True)
    assert len(set(ids(found))) == 7


def test_tasks_of_one_moment_are_all_found() -> None:
    door = Door()
    for number in range(9):
        door.result(
            "SendMessage",
            {
                "message": {"messageId": str(number), "role": "ROLE_USER", "parts": [{"text": "ask"}]},
                "configuration": {"returnImmediately": True},
            },
        )

    assert len(set(ids(pages(door, pageSize=2)))) == 9


@pytest.mark.parametrize(
    ("filters", "expected"),
    [
        ({"contextId": "c-0"}, 3),
        ({"context_id": "c-1"}, 2),
        ({"contextId": "nowhere"}, 0),
        ({"status": "TASK_STATE_COMPLETED"}, 5),
        ({"status": 3}, 5),
        ({"status": "TASK_STATE_WORKING"}, 0),
        ({"status": "TASK_STATE_UNSPECIFIED"}, 5),
        ({"status": 0}, 5),
        ({"statusTimestampAfter": "2026-11-30T12:00:03.000Z"}, 3),
        ({"statusTimestampAfter": "2026-11-30T14:00:03+02:00"}, 3),
        ({"statusTimestampAfter": "2026-11-30T12:00:03.123456789Z"}, 2),
        ({"statusTimestampAfter": "2026-12-01T00:00:00"}, 0),
    ],
)
def test_filters_count_before_pages_do(filters: dict[str, object], expected: int) -> None:
    page = filled(5).result("ListTasks", {**filters, "pageSize": 1})

    assert page["totalSize"] == expected


@pytest.mark.parametrize(
    "wrong",
    [
        {"pageSize": 0},
        {"pageSize": 101},
        {"pageSize": "10"},
        {"pageSize": True},
        {"status": "TASK_STATE_RUNNING"},
        {"status": "working"},
        {"status": []},
        {"status": {"a": 1}},
        {"status": 9},
        {"historyLength": -1},
        {"historyLength": "2"},
        {"includeArtifacts": "true"},
        {"statusTimestampAfter": "yesterday"},
        {"statusTimestampAfter": 1796040000},
        {"statusTimestampAfter": "0001-01-01T00:00:00+23:59"},
        {"pageToken": "x"},
        {"contextId": 7},
        {"contextId": "c" * 257},  # no context has such a name, and a filter of megabytes is an error of DynamoDB
    ],
)
def test_a_wrong_member_is_refused_by_name(wrong: dict[str, object]) -> None:
    error = Door().error("ListTasks", wrong)

    assert error["code"] == -32602
    assert error["data"][1]["fieldViolations"][0]["field"] == next(iter(wrong))


def test_artifacts_and_history_come_only_when_they_are_asked_for() -> None:
    door = Door()
    door.send("echo hi")
    door.send("ask")

    bare = door.result("ListTasks", {})["tasks"]
    full = door.result("ListTasks", {"includeArtifacts": True, "historyLength": 5})["tasks"]

    assert all("artifacts" not in task and "history" not in task for task in bare)
    assert [len(task["artifacts"]) for task in full] == [0, 1]
    assert all(task["history"] for task in full)


def test_a_token_is_for_the_same_filters_only() -> None:
    door = filled(3)
    token = door.result("ListTasks", {"pageSize": 1, "contextId": "c-0"})["nextPageToken"]

    assert door.error("ListTasks", {"pageSize": 1, "contextId": "c-1", "pageToken": token})["code"] == -32602
    assert door.error("ListTasks", {"pageSize": 1, "pageToken": token})["code"] == -32602
    assert door.result("ListTasks", {"pageSize": 2, "contextId": "c-0", "pageToken": token})["tasks"]


def test_a_token_of_another_agent_or_tenant_is_refused() -> None:
    door = filled(2)
    token = door.result("ListTasks", {"pageSize": 1})["nextPageToken"]

    assert door.error("ListTasks", {"pageSize": 1, "pageToken": token, "tenant": "acme"})["code"] == -32602
    door.agent_url = "/agents/other"
    assert door.error("ListTasks", {"pageSize": 1, "pageToken": token})["code"] == -32602


@pytest.mark.parametrize(
    "content",
    [
        "x",
        "[]",
        "[1,2,3,4,5]",
        '[2,0,"a",0,"x"]',
        '[1,"0","a",0,"x"]',
        "{}",
        "null",
        "[" * 2000,
        "\x00",
    ],
)
def test_a_token_that_is_none_is_refused(content: str) -> None:
    token = base64.urlsafe_b64encode(content.encode()).rstrip(b"=").decode()

    assert Door().error("ListTasks", {"pageToken": token})["code"] == -32602


def test_a_token_with_a_moment_that_no_calendar_has_is_refused() -> None:
    door = filled(2)
    token = door.result("ListTasks", {"pageSize": 1})["nextPageToken"]
    content = json.loads(base64.urlsafe_b64decode(token + "=" * (-len(token) % 4)))

    for ticks in (10**30, -(10**30)):
        forged = base64.urlsafe_b64encode(json.dumps([content[0], ticks, *content[2:]]).encode()).decode().rstrip("=")
        assert door.error("ListTasks", {"pageSize": 1, "pageToken": forged})["code"] == -32602


def test_a_page_that_would_not_fit_into_an_answer_is_cut_and_goes_on() -> None:
    door = Door()
    for number in range(4):
        door.send("big 2000000", messageId=str(number))

    found = pages(door, includeArtifacts=True)

    assert [len(page["tasks"]) for page in found] == [2, 2]
    assert len(set(ids(found))) == 4
    assert {page["totalSize"] for page in found} == {4}


def test_zero_three_lists_on_rest_in_its_own_spelling() -> None:
    door = Door()
    door.legacy("message/send", {"message": old_message("ask")})
    door.send("ask again")

    page = json.loads(door.rest("GET", "/v1/tasks", query="pageSize=1", version=None).body)

    assert page["totalSize"] == 2
    assert page["tasks"][0]["status"]["message"]["content"] == [{"text": "What is the answer?"}]
    canceled = door.rest("GET", "/v1/tasks", query="status=TASK_STATE_CANCELLED", version=None)
    assert json.loads(canceled.body)["totalSize"] == 0
