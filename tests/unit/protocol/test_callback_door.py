"""Callback addresses: looking changes nothing, posting resumes once, and nobody learns why not."""

import json
from typing import Any

import pytest

from .door import PUBLIC_URL, Door, json_of


def parked() -> tuple[Door, str, str]:
    door = Door()
    task = door.send("callback")
    address = task["status"]["message"]["parts"][0]["text"]
    assert address.startswith(f"{PUBLIC_URL}/callbacks/")
    return door, task["id"], address.removeprefix(PUBLIC_URL)


def state(door: Door, task: str) -> str:
    door.backstage.settle()
    found: str = door.result("GetTask", {"id": task})["status"]["state"]
    return found


@pytest.mark.parametrize("verb", ["GET", "HEAD"])
@pytest.mark.parametrize("accept", ["*/*", "text/html,*/*"])
def test_opening_the_address_changes_nothing(verb: str, accept: str) -> None:
    door, task, path = parked()

    response = door.request(verb, path, accept=accept)

    assert response.status == 200
    assert state(door, task) == "TASK_STATE_AUTH_REQUIRED"


def test_a_person_gets_a_page_with_one_button_that_loads_nothing() -> None:
    door, _, path = parked()

    page = door.request("GET", path, accept="text/html")

    assert page.headers["content-type"].startswith("text/html")
    assert page.headers["referrer-policy"] == "no-referrer"
    assert "default-src 'none'" in page.headers["content-security-policy"]
    assert page.body.count("<button>") == 1


@pytest.mark.parametrize(
    ("body", "content_type"),
    [
        (b'{"approved": true}', "application/json"),
        (b"approved=yes", "application/x-www-form-urlencoded"),
        (b"", ""),
    ],
)
def test_a_post_resumes_the_task(body: bytes, content_type: str) -> None:
    door, task, path = parked()

    response = door.request("POST", path, body, content_type=content_type)

    assert (response.status, json_of(response)) == (200, {"status": "resumed"})
    assert state(door, task) == "TASK_STATE_COMPLETED"


def test_it_opens_once() -> None:
    door, _, path = parked()
    door.request("POST", path, b"{}")

    again, look = door.request("POST", path, b"{}"), door.request("GET", path)

    assert again.status == look.status == 404
    assert again.body == look.body == door.request("POST", "/callbacks/never.made", b"{}").body


@pytest.mark.parametrize("body", [b"{", b"[]", b'"x"', b"\xff", b"[" * 500])
def test_what_is_no_object_is_refused_and_the_address_still_opens(body: bytes) -> None:
    door, task, path = parked()

    refused = door.request("POST", path, body)
    large = door.request("POST", path, b"x" * 70_000)
    taken = door.request("POST", path, b"{}")

    assert (refused.status, large.status, taken.status) == (400, 413, 200)
    assert state(door, task) == "TASK_STATE_COMPLETED"


def test_a_person_who_comes_late_is_told_so() -> None:
    page = Door().request("GET", "/callbacks/x.y", accept="text/html")

    assert page.status == 404
    assert "no longer valid" in page.body


@pytest.mark.parametrize("verb", ["PUT", "DELETE"])
def test_it_takes_no_other_verb(verb: str) -> None:
    door, _, path = parked()

    assert door.request(verb, path).status == 405


def test_the_answer_of_the_caller_makes_the_address_void() -> None:
    door, task, path = parked()
    sent: Any = {"messageId": "m", "role": "ROLE_USER", "parts": [{"text": "done"}], "taskId": task}
    door.result("SendMessage", {"message": sent})

    assert door.request("POST", path, json.dumps({}).encode()).status == 404
