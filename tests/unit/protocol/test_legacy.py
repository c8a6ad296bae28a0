"""Version 0.3 on both bindings, with its own SDK's types and its proto as judges (a2a-protocol 1.6, 1.7)."""

import base64
import json
from pathlib import Path
from typing import Any

import jsonschema  # type: ignore[import-untyped] # it has none
import pytest
from a2a.compat.v0_3 import a2a_v0_3_pb2, types
from google.protobuf.json_format import Parse, ParseDict  # type: ignore[import-untyped] # it has none
from pydantic import BaseModel

from a2a_serverless.protocol.legacy_rest import once_encoded

from .door import Door, WithExtended, events_of, json_of, old_message, proto_message

HOOK = {"url": "https://hook.example"}
SCHEMA = json.loads((Path(__file__).parents[2] / "data" / "a2a" / "a2a-v0.3.0.schema.json").read_text())


def fits_schema(name: str, value: object) -> None:
    jsonschema.validate(value, {**SCHEMA, "$ref": f"#/definitions/{name}"})


def sent(door: Door, text: str, *, configuration: object = None, **members: object) -> Any:
    params = {"message": old_message(text, **members), **({"configuration": configuration} if configuration else {})}
    return door.legacy("message/send", params)


# JSON-RPC


def test_a_task_is_bare_and_what_the_schema_and_the_sdk_expect() -> None:
    task = sent(Door(), "parts")

    fits_schema("Task", task)
    read: Any = types.Task.model_validate(task)
    assert read.status.state is types.TaskState.completed
    assert [part.root.kind for part in read.artifacts[0].parts] == ["text", "file", "file", "data", "data"]
    assert base64.b64decode(read.artifacts[0].parts[1].root.file.bytes) == b"\x00\xffab"


def test_data_that_is_no_object_is_marked_and_understood_when_it_comes_back() -> None:
    door = Door()
    part = sent(door, "parts")["artifacts"][0]["parts"][4]
    assert part == {"kind": "data", "data": {"value": [1, 2]}, "metadata": {"data_part_compat": True}}

    task = sent(door, "m", parts=[{"kind": "text", "text": "ask"}, part])

    read = door.result("GetTask", {"id": task["id"]})
    assert read["history"][0]["parts"][1] == {"data": [1, 2]}


@pytest.mark.parametrize(
    ("part", "upgraded"),
    [
        ({"kind": "text", "text": ""}, {"text": ""}),
        (
            {"kind": "file", "file": {"bytes": "AP9hYg==", "name": "b", "mimeType": "text/plain"}},
            {"raw": "AP9hYg==", "filename": "b", "mediaType": "text/plain"},
        ),
        ({"kind": "file", "file": {"uri": "https://f.example/x"}}, {"url": "https://f.example/x"}),
        ({"kind": "data", "data": {"a": [1]}, "metadata": {"m": 1}}, {"data": {"a": [1]}, "metadata": {"m": 1}}),
    ],
)
def test_each_kind_of_part_has_its_place_in_one_zero(part: object, upgraded: object) -> None:
    door = Door()

    task = sent(door, "m", parts=[{"kind": "text", "text": "ask"}, part])

    assert door.result("GetTask", {"id": task["id"]})["history"][0]["parts"][1] == upgraded


def test_a_message_answer_is_bare() -> None:
    message = sent(Door(), "reply hello")

    fits_schema("Message", message)
    assert message["kind"] == "message"
    assert message["parts"] == [{"kind": "text", "text": "hello"}]


@pytest.mark.parametrize(
    "wrong",
    [
        {},
        {"message": None},
        {"message": {**old_message("x"), "parts": []}},
        {"message": {**old_message("x"), "parts": "x"}},
        {"message": {**old_message("x"), "parts": [{"kind": "video"}]}},
        {"message": {**old_message("x"), "parts": [{"type": "text", "text": "x"}]}},
        {"message": {**old_message("x"), "parts": [{"kind": "text", "file": {"uri": "x"}}]}},
        {"message": {**old_message("x"), "parts": [{"kind": "file", "file": {}}]}},
        {"message": {**old_message("x"), "parts": [{"kind": "file", "file": {"uri": "x", "bytes": ""}}]}},
        {"message": {**old_message("x"), "parts": [{"kind": "data", "data": [1]}]}},
        {"message": {**old_message("x"), "role": "ROLE_USER"}},
        {"message": {**old_message("x"), "role": "agent"}},
        {"message": {"role": "user", "parts": [{"kind": "text", "text": "x"}]}},
        {"message": old_message("x" * 300)},
        {"message": old_message("x"), "configuration": {"historyLength": -1}},
        {"message": old_message("x"), "configuration": {"blocking": "no"}},
        {"message": old_message("x"), "configuration": {"pushNotificationConfig": {}}},
        {"message": old_message("x"), "configuration": {"pushNotificationConfig": {"url": "ftp://x"}}},
        {
            "message": old_message("x"),
            "configuration": {
                "pushNotificationConfig": {**HOOK, "authentication": {"credentials": "c", "schemes": []}}
            },
        },
    ],
)
def test_wrong_parameters_are_wrong_parameters(wrong: object) -> None:
    door = Door()

    error = door.legacy("message/send", wrong)

    assert error["code"] == -32602
    assert set(error) == {"code", "message"}
    assert door.backstage.stored == 0


def test_it_waits_unless_it_says_that_it_does_not_want_to() -> None:
    assert sent(Door(), "echo hi")["status"]["state"] == "completed"
    assert sent(Door(), "echo hi", configuration={"historyLength": 1})["status"]["state"] == "completed"
    assert sent(Door(), "echo hi", configuration={"blocking": False})["status"]["state"] == "submitted"


def test_a_conversation_goes_on_in_its_task() -> None:
    door = Door()
    asked = sent(door, "ask")

    answered = sent(door, "42", taskId=asked["id"])

    assert asked["status"]["state"] == "input-required"
    assert answered["status"]["state"] == "completed"
    assert [message["role"] for message in answered["history"]][:3] == ["user", "agent", "user"]


def test_tasks_are_read_and_cancelled() -> None:
    door = Door()
    task = sent(door, "ask")

    read = door.legacy("tasks/get", {"id": task["id"], "historyLength": 1})
    cancelled = door.legacy("tasks/cancel", {"id": task["id"]})
    again = door.legacy("tasks/cancel", {"id": task["id"]})

    assert len(read["history"]) == 1
    fits_schema("Task", cancelled)
    assert cancelled["status"]["state"] == "canceled"
    assert again["code"] == -32002


def test_a_config_is_set_and_found_as_old_clients_do() -> None:
    door = Door()
    task = sent(door, "ask")["id"]
    config = {**HOOK, "token": "t", "authentication": {"schemes": ["Digest", "Bearer", "Basic"], "credentials": "s"}}

    made = door.legacy("tasks/pushNotificationConfig/set", {"taskId": task, "pushNotificationConfig": config})

    shown = {"id": task, "url": "https://hook.example", "authentication": {"schemes": ["Bearer"]}}
    assert made == {"taskId": task, "pushNotificationConfig": shown}
    fits_schema("TaskPushNotificationConfig", made)
    for asked in (
        {"id": task},
        {"id": task, "pushNotificationConfigId": task},
        {"id": task, "pushNotificationConfigId": "default"},
    ):
        assert door.legacy("tasks/pushNotificationConfig/get", asked) == made
    assert door.legacy("tasks/pushNotificationConfig/list", {"id": task}) == [made]


def test_setting_a_config_again_overwrites_it_and_a_named_one_stands_beside_it() -> None:
    door = Door()
    task = sent(door, "ask")["id"]
    for config in (HOOK, {"url": "https://other.example"}, {**HOOK, "id": "named"}):
        door.legacy("tasks/pushNotificationConfig/set", {"taskId": task, "pushNotificationConfig": config})

    listed = door.legacy("tasks/pushNotificationConfig/list", {"id": task})

    urls = {entry["pushNotificationConfig"]["id"]: entry["pushNotificationConfig"]["url"] for entry in listed}
    assert urls == {task: "https://other.example", "named": "https://hook.example"}


def test_an_inline_config_is_named_like_its_task() -> None:
    door = Door()

    task = sent(door, "ask", configuration={"pushNotificationConfig": HOOK})["id"]

    assert door.legacy("tasks/pushNotificationConfig/get", {"id": task})["pushNotificationConfig"]["id"] == task


def test_deleting_a_config_answers_null_with_the_member_there() -> None:
    door = Door()
    task = sent(door, "ask", configuration={"pushNotificationConfig": HOOK})["id"]
    params = {"id": task, "pushNotificationConfigId": task}

    first = door.rpc("tasks/pushNotificationConfig/delete", params, version=None)
    again = door.rpc("tasks/pushNotificationConfig/delete", params, version=None)

    assert first == again == {"jsonrpc": "2.0", "id": 1, "result": None}
    assert door.legacy("tasks/pushNotificationConfig/get", {"id": task})["code"] == -32001


def test_the_extended_card_is_one_that_old_clients_read() -> None:
    card = Door(WithExtended()).legacy("agent/getAuthenticatedExtendedCard")

    fits_schema("AgentCard", card)
    types.AgentCard.model_validate(card)


@pytest.mark.parametrize(
    ("method", "model"),
    [("message/stream", types.SendStreamingMessageResponse), ("message/send", types.SendMessageResponse)],
)
def test_the_sdk_reads_every_answer(method: str, model: type[BaseModel]) -> None:
    door = Door()
    body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": {"message": old_message("parts")}}

    response = door.post(body, version=None)

    answers = events_of(response) if method == "message/stream" else [json_of(response)]
    for answer in answers:
        model.model_validate(answer)


# REST, as its SDKs really speak it


def rest(door: Door, verb: str, path: str, body: object = None, **how: str) -> Any:
    return json_of(door.rest(verb, path, body, version=None, **how))


@pytest.mark.parametrize("member", ["message", "request"])
def test_a_message_is_taken_under_both_its_names(member: str) -> None:
    answer = rest(Door(), "POST", "/v1/message:send", {member: proto_message("parts")})

    read = ParseDict(answer, a2a_v0_3_pb2.SendMessageResponse())
    assert read.task.status.state == a2a_v0_3_pb2.TASK_STATE_COMPLETED
    assert read.task.artifacts[0].parts[1].file.file_with_bytes == b"\x00\xffab"
    assert read.task.artifacts[0].parts[2].file.file_with_uri == "https://files.example/x.pdf"


def test_snake_case_is_understood_as_the_kit_and_the_compat_client_send_it() -> None:
    door = Door()
    body = {
        "request": {
            "message_id": "m",
            "role": "ROLE_USER",
            "context_id": "c",
            "content": [
                {"text": "ask"},
                {"file": {"mime_type": "application/json", "file_with_uri": "https://f.example"}},
                {"data": {"data": {"a": 1}}},
            ],
        },
        "configuration": {
            "accepted_output_modes": ["text/plain"],
            "blocking": True,
            "push_notification": {"url": "https://hook.example", "authentication": {}},
        },
    }

    task = rest(door, "POST", "/v1/message:send", body)["task"]

    read = door.result("GetTask", {"id": task["id"]})
    assert read["contextId"] == "c"
    assert read["history"][0]["parts"] == [
        {"text": "ask"},
        {"url": "https://f.example", "mediaType": "application/json"},
        {"data": {"a": 1}},
    ]
    assert len(rest(door, "GET", f"/v1/tasks/{task['id']}/pushNotificationConfigs")["configs"]) == 1


def test_the_json_of_the_text_is_understood_too() -> None:
    assert rest(Door(), "POST", "/v1/message:send", {"message": old_message("echo hi")})["task"]["id"]


def test_a_configuration_that_does_not_say_blocking_says_no() -> None:
    def state(configuration: object) -> str:
        body = {"message": proto_message("echo hi"), **({"configuration": configuration} if configuration else {})}
        found: str = rest(Door(), "POST", "/v1/message:send", body)["task"]["status"]["state"]
        return found

    assert state(None) == "TASK_STATE_COMPLETED"
    assert state({"blocking": True}) == "TASK_STATE_COMPLETED"
    assert state({"acceptedOutputModes": []}) == "TASK_STATE_SUBMITTED"


def test_every_event_is_read_by_the_strict_parser_of_the_proto() -> None:
    response = Door().rest("POST", "/v1/message:stream", {"message": proto_message("parts")}, version=None)

    for event in events_of(response):
        Parse(json.dumps(event), a2a_v0_3_pb2.StreamResponse())


def test_a_message_answer_is_read_by_the_strict_parser_of_the_proto() -> None:
    answer = rest(Door(), "POST", "/v1/message:send", {"message": proto_message("reply hi")})

    assert ParseDict(answer, a2a_v0_3_pb2.SendMessageResponse()).msg.content[0].text == "hi"


def test_what_the_proto_does_not_know_is_left_out() -> None:
    door = Door()
    task = sent(door, "ask", referenceTaskIds=["x"])

    read = rest(door, "GET", f"/v1/tasks/{task['id']}")

    assert task["history"][0]["referenceTaskIds"] == ["x"]
    ParseDict(read, a2a_v0_3_pb2.Task())


def test_the_cancelled_state_has_two_ls() -> None:
    door = Door()
    task = sent(door, "ask")["id"]

    cancelled = rest(door, "POST", f"/v1/tasks/{task}:cancel")

    assert cancelled["status"]["state"] == "TASK_STATE_CANCELLED"
    ParseDict(cancelled, a2a_v0_3_pb2.Task())


def test_no_history_length_and_zero_are_the_same() -> None:
    door = Door()
    task = sent(door, "ask")["id"]

    assert rest(door, "GET", f"/v1/tasks/{task}", query="historyLength=0")["history"]
    assert len(rest(door, "GET", f"/v1/tasks/{task}", query="historyLength=1")["history"]) == 1


@pytest.mark.parametrize(
    "body",
    [
        {"parent": "tasks/T", "configId": "c1", "config": {"name": "x", "pushNotificationConfig": HOOK}},
        {"parent": "tasks/T", "config_id": "c1", "config": {"name": "x", "push_notification_config": HOOK}},
        {"name": "tasks/T/pushNotificationConfigs/c1", "pushNotificationConfig": HOOK},
        {"name": "tasks/T/pushNotificationConfigs/x", "pushNotificationConfig": {**HOOK, "id": "c1"}},
        {**HOOK, "id": "c1"},
    ],
)
def test_each_form_of_a_new_config_is_understood(body: dict[str, object]) -> None:
    door = Door()
    task = sent(door, "ask")["id"]

    made = rest(door, "POST", f"/v1/tasks/{task}/pushNotificationConfigs", body)

    name = f"tasks/{task}/pushNotificationConfigs/c1"
    assert made == {"name": name, "pushNotificationConfig": {"id": "c1", "url": "https://hook.example"}}
    ParseDict(made, a2a_v0_3_pb2.TaskPushNotificationConfig())
    assert rest(door, "GET", f"/v1/{name}") == made
    assert rest(door, "GET", f"/v1/tasks/{task}/pushNotificationConfigs") == {"configs": [made], "nextPageToken": ""}
    assert rest(door, "DELETE", f"/v1/{name}") == {}


@pytest.mark.parametrize("nothing", ["None", "null", "undefined"])
def test_a_config_without_an_id_is_named_like_its_task_whatever_a_client_makes_of_that(nothing: str) -> None:
    door = Door()
    task = sent(door, "ask")["id"]
    name = f"tasks/{task}/pushNotificationConfigs/{nothing}"
    body = {"parent": f"tasks/{task}", "configId": nothing, "config": {"name": name, "pushNotificationConfig": HOOK}}

    made = rest(door, "POST", f"/v1/tasks/{task}/pushNotificationConfigs", body)

    assert made["pushNotificationConfig"]["id"] == task


@pytest.mark.parametrize("path", ["/v1/card", "/agent/authenticatedExtendedCard"])
def test_the_extended_card_is_where_old_clients_look(path: str) -> None:
    assert "known callers" in rest(Door(WithExtended()), "GET", path)["description"]


@pytest.mark.parametrize("body", [{}, {"message": "x"}, {"message": {"content": {}}}, {"configuration": []}])
def test_a_wrong_body_is_told_as_old_clients_read_it(body: object) -> None:
    response = Door().rest("POST", "/v1/message:send", body, version=None)

    assert response.status == 400
    assert json_of(response)["code"] == -32602


@pytest.mark.parametrize(
    ("content", "media_type"),
    [
        (b"\x00\xffab", "application/octet-stream"),
        (b"hello", "text/plain"),
        (b"abc", "text/plain"),
        (b'{"a": 1}', "application/json"),
        (bytes(range(256)), None),
        (b"", None),
    ],
)
def test_bytes_are_the_same_however_often_they_were_encoded(content: bytes, media_type: str | None) -> None:
    once = base64.b64encode(content).decode()
    twice = base64.b64encode(once.encode()).decode()

    assert once_encoded(once, media_type) == once
    assert once_encoded(twice, media_type) == once


@pytest.mark.parametrize("word", ["test", "data", "1234", "abcd1234"])
def test_a_short_text_that_reads_like_base64_is_left_alone(word: str) -> None:
    once = base64.b64encode(word.encode()).decode()

    assert once_encoded(once, "text/plain") == once
    assert once_encoded(once, None) == once
