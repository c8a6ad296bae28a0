"""What a REST request may come with where there is nothing to say (SPEC 11.3)."""

import pytest

from .door import Door, events_of, json_of

JSON = {"content_type": "application/json"}


@pytest.mark.parametrize("body", [None, b"", b"{}", b"null", b" null\n"])
@pytest.mark.parametrize("base", ["/tasks", "/v1/tasks"])
def test_a_cancel_and_a_subscription_need_no_body(base: str, body: bytes | None) -> None:
    """Clients for Go sent `null`, others nothing or an empty object (a2a-go#381, a2a-java#759)."""
    door = Door()
    version = "1.0" if base == "/tasks" else None
    door.backstage.alive = False
    task = door.send("echo hi", configuration={"returnImmediately": True})["id"]

    subscribed = door.rest("POST", f"{base}/{task}:subscribe", body, version=version, **JSON if body else {})
    canceled = door.rest("POST", f"{base}/{task}:cancel", body, version=version, **JSON if body else {})

    assert events_of(subscribed)[0]["task"]["id"] == task
    assert json_of(canceled)["status"]["state"] in {"TASK_STATE_CANCELED", "TASK_STATE_CANCELLED"}


@pytest.mark.parametrize("body", [b"null", b"{}", b""])
def test_a_send_needs_one(body: bytes) -> None:
    refused = Door().rest("POST", "/message:send", body, **JSON)

    assert refused.status == 400
    assert "message" in json_of(refused)["error"]["message"]


@pytest.mark.parametrize("body", [b"[]", b'"x"', b"1", b"true"])
def test_what_is_no_object_is_refused(body: bytes) -> None:
    assert Door().rest("POST", "/tasks/x:cancel", body, **JSON).status == 400
