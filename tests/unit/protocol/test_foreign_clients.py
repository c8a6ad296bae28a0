"""Requests as SDKs of other languages write them, and answers as strictly as they read them.

The SDK for Java prints every member of a request, unset ones with their default, and reads answers as ProtoJSON that
may hold nothing unknown; so does the one for Rust. What the proto of 1.0 says here is that of the official Python SDK.
"""

from typing import Any

import pytest
from a2a.types import a2a_pb2 as proto
from google.protobuf.json_format import ParseDict  # type: ignore[import-untyped] # it has none

from .door import Door, events_of, json_of

PRINTED_CONFIG = {"tenant": "", "id": "", "taskId": "", "url": "https://hook.example", "token": ""}


def printed(text: str, *, task: str = "", **configuration: object) -> dict[str, Any]:
    """A SendMessageRequest with every member that has no presence, unset or not."""
    return {
        "tenant": "",
        "message": {
            "messageId": text,
            "contextId": "",
            "taskId": task,
            "role": "ROLE_USER",
            "parts": [{"text": text, "filename": "", "mediaType": ""}],
            "extensions": [],
            "referenceTaskIds": [],
        },
        "configuration": {"acceptedOutputModes": [], "returnImmediately": False, **configuration},
    }


def read(kind: str, answer: object) -> None:
    """Read an answer as ProtoJSON; what is unknown or of another type is an error."""
    ParseDict(answer, getattr(proto, kind)())


def test_what_prints_every_member_is_served_and_reads_every_answer_strictly() -> None:
    door = Door()

    asked = door.result("SendMessage", printed("ask", taskPushNotificationConfig=PRINTED_CONFIG))
    read("SendMessageResponse", asked)
    task = asked["task"]["id"]
    listed = door.result(
        "ListTaskPushNotificationConfigs", {"tenant": "", "taskId": task, "pageSize": 0, "pageToken": ""}
    )
    read("ListTaskPushNotificationConfigsResponse", listed)
    made = door.result("CreateTaskPushNotificationConfig", {**PRINTED_CONFIG, "taskId": task, "id": "c2"})
    read("TaskPushNotificationConfig", made)
    named = {"tenant": "", "taskId": task, "id": "c2"}
    read("TaskPushNotificationConfig", door.result("GetTaskPushNotificationConfig", named))
    door.result("DeleteTaskPushNotificationConfig", named)
    read("SendMessageResponse", door.result("SendMessage", printed("42", task=task)))
    read("Task", door.result("GetTask", {"tenant": "", "id": task}))
    everything = {"tenant": "", "contextId": "", "status": "TASK_STATE_UNSPECIFIED", "pageToken": ""}
    page = door.result("ListTasks", {**everything, "includeArtifacts": True, "historyLength": 9})
    read("ListTasksResponse", page)
    open_task = door.result("SendMessage", printed("ask again"))["task"]["id"]
    read("Task", door.result("CancelTask", {"tenant": "", "id": open_task}))

    assert [found["id"] for found in page["tasks"]] == [task]
    assert len(listed["configs"]) == 1


@pytest.mark.parametrize("text", ["steps 3", "reply hello", "big 10", "ask"])
def test_streams_hold_nothing_unknown_to_who_reads_strictly(text: str) -> None:
    door = Door()
    body = {"jsonrpc": "2.0", "id": "s", "method": "SendStreamingMessage", "params": printed(text)}

    events = [event["result"] for event in events_of(door.post(body, accept="text/event-stream"))]
    rest = events_of(door.rest("POST", "/message:stream", printed(f"{text} "), accept="text/event-stream"))

    for event in (*events, *rest):
        read("StreamResponse", event)


def test_times_have_any_number_of_digits_that_a_language_gives_them() -> None:
    door = Door()
    door.send("echo hi")
    digits = ("2026-11-30T00:00:00.1234567+00:00", "2026-11-30T00:00:00.123456789Z", "2026-11-30T00:00:00Z")

    queries = ("2026-11-30T00%3A00%3A00.0000000%2B00%3A00", "2026-11-30T00:00:00Z")

    for since in digits:
        assert door.result("ListTasks", {"statusTimestampAfter": since})["totalSize"] == 1
    for since in queries:
        assert json_of(door.rest("GET", "/tasks", query=f"statusTimestampAfter={since}"))["totalSize"] == 1


def nulled(text: str) -> dict[str, Any]:
    """Parameters of 0.3 as the client of Flutter's genui writes them: what is unset is null, and ids count from 0."""
    part = {"kind": "text", "metadata": None, "text": text}
    unset = dict.fromkeys(("contextId", "taskId", "extensions", "referenceTaskIds", "metadata"))
    message = {"kind": "message", "messageId": text, "role": "user", "parts": [part], **unset}
    return {"configuration": None, "metadata": None, "message": message}


@pytest.mark.parametrize(
    ("text", "flags"), [("echo hi", [(False, False)]), ("steps 2", [(False, False), (True, True)])]
)
def test_an_artifact_event_of_zero_three_has_both_flags_for_who_must_read_them(
    text: str, flags: list[tuple[bool, bool]]
) -> None:
    body = {"jsonrpc": "2.0", "id": 0, "method": "message/stream", "params": nulled(text)}

    events = events_of(Door().post(body, version=None))

    assert {event["id"] for event in events} == {0}
    updates = [event["result"] for event in events if event["result"]["kind"] == "artifact-update"]
    assert [(update["append"], update["lastChunk"]) for update in updates] == flags
