"""Callback addresses: looking changes nothing, posting resumes once, and nobody learns why not."""

import json
from typing import Any

import pytest

from a2a_serverless.app.evidence import Exchange, Record

from .door import PUBLIC_URL, Door, json_of


def parked(record: Record | None = None) -> tuple[Door, str, str]:
    door = Door(record=record)
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
        (b"approved=yes", "Application/X-WWW-Form-URLEncoded; charset=UTF-8"),
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
    assert again.body == look.body == door.request("POST", "/callbacks/never?key=made", b"{}").body


@pytest.mark.parametrize("body", [b"{", b"[]", b'"x"', b"\xff", b"[" * 500])
def test_what_is_no_object_is_refused_and_the_address_still_opens(body: bytes) -> None:
    door, task, path = parked()

    refused = door.request("POST", path, body)
    large = door.request("POST", path, b"x" * 70_000)
    taken = door.request("POST", path, b"{}")

    assert (refused.status, large.status, taken.status) == (400, 413, 200)
    assert state(door, task) == "TASK_STATE_COMPLETED"


def test_a_person_who_comes_late_is_told_so() -> None:
    page = Door().request("GET", "/callbacks/x?key=y", accept="text/html")

    assert page.status == 404
    assert "no longer valid" in page.body


def test_a_person_who_continues_is_told_what_happened_and_the_second_time_too() -> None:
    door, task, path = parked()
    form = {"accept": "text/html", "content_type": "application/x-www-form-urlencoded"}

    first, second = door.request("POST", path, b"", **form), door.request("POST", path, b"", **form)

    assert (first.status, second.status) == (200, 404)
    assert "It goes on." in first.body
    assert "no longer valid" in second.body
    assert state(door, task) == "TASK_STATE_COMPLETED"
    for page in (first, second):
        assert page.headers["content-type"].startswith("text/html")
        assert "default-src 'none'" in page.headers["content-security-policy"]


@pytest.mark.parametrize("verb", ["PUT", "DELETE"])
def test_it_takes_no_other_verb(verb: str) -> None:
    door, _, path = parked()

    assert door.request(verb, path).status == 405


def test_the_answer_of_the_caller_makes_the_address_void() -> None:
    door, task, path = parked()
    sent: Any = {"messageId": "m", "role": "ROLE_USER", "parts": [{"text": "done"}], "taskId": task}
    door.result("SendMessage", {"message": sent})

    assert door.request("POST", path, json.dumps({}).encode()).status == 404


def posts_in(kept: list[Exchange]) -> list[tuple[object, object]]:
    """The status of each post that was written down, with what was posted."""
    return [(seen.answer["status"], seen.request["body"]) for seen in kept if seen.kind == "callback"]


def test_a_post_is_written_down_with_both_its_sides_and_without_what_opened_the_address() -> None:
    kept: list[Exchange] = []
    door, task, path = parked(kept.append)
    grant_id, _, secret = path.rpartition("/")[2].partition("?key=")

    door.request("POST", path, json.dumps({"by": "me", "at": f"https://x{path}"}).encode(), cookie="c")

    post = kept[-1]
    assert (post.kind, post.operation, post.task_id) == ("callback", "callback", task)
    assert (post.who, post.about) == ({"callback": grant_id}, {"agent": "tester"})
    assert post.request["url"] == f"/callbacks/{grant_id}?key=(not kept)"
    assert json.loads(str(post.request["body"]))["by"] == "me"
    assert (post.answer["status"], post.answer["body"]) == (200, '{"status":"resumed"}')
    assert secret not in repr(post)
    assert "cookie" not in repr(post)


def test_whatever_comes_of_a_post_is_written_down_and_a_look_is_not() -> None:
    kept: list[Exchange] = []
    door, _, path = parked(kept.append)

    for body in (b"[]", b"x" * 70_000, b"a=b", b"{}", b"{}"):
        door.request("POST", path, body)
    door.request("GET", path)
    door.request("HEAD", path)

    assert posts_in(kept) == [(400, "[]"), (413, ""), (400, "a=b"), (200, "{}"), (404, "{}")]


def test_who_has_no_address_leaves_nothing_in_the_record_of_a_task() -> None:
    kept: list[Exchange] = []
    door, _, path = parked(kept.append)

    door.request("POST", f"{path}x", b"{}")
    door.request("POST", "/callbacks/never?key=made", b"{}")

    assert posts_in(kept) == []


def test_a_record_that_fails_costs_the_post_nothing() -> None:
    def fails(_: Exchange) -> None:
        raise RuntimeError("the table is away")

    door, task, path = parked(fails)

    assert door.request("POST", path, b"{}").status == 200
    assert state(door, task) == "TASK_STATE_COMPLETED"
