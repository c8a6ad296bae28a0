"""The JSON-RPC binding: framing, ids, errors (SPEC 9, JSON-RPC 2.0)."""

import json
from typing import Any

import pytest

from .door import Door, json_of, message


def code(door: Door, body: object, **headers: str) -> int:
    answer = json_of(door.post(body, **headers))
    assert set(answer) == {"jsonrpc", "id", "error"}
    found: int = answer["error"]["code"]
    return found


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (b"", -32700),
        (b"{", -32700),
        (b"\xff\xfe", -32700),
        (b'\xef\xbb\xbf{"jsonrpc":"2.0"}', -32700),
        (b'{"jsonrpc":"2.0","id":1,"method":"GetTask","params":{"id":"\\ud800"}}', -32700),
        (b'{"jsonrpc":"2.0","id":1,"method":"GetTask","params":{"id":NaN}}', -32700),
        (b"[]", -32600),
        (b'"x"', -32600),
        (b"null", -32600),
        ([{"jsonrpc": "2.0", "id": 1, "method": "GetTask", "params": {"id": "x"}}], -32600),
        ({"jsonrpc": "1.0", "id": 1, "method": "GetTask"}, -32600),
        ({"id": 1, "method": "GetTask"}, -32600),
        ({"jsonrpc": "2.0", "id": 1}, -32600),
        ({"jsonrpc": "2.0", "id": 1, "method": ""}, -32600),
        ({"jsonrpc": "2.0", "id": 1, "method": {"a": 1}}, -32600),
        ({"jsonrpc": "2.0", "id": {"a": 1}, "method": "GetTask"}, -32600),
        ({"jsonrpc": "2.0", "id": True, "method": "GetTask"}, -32600),
        ({"jsonrpc": "2.0", "id": 1, "method": "Foo"}, -32601),
        ({"jsonrpc": "2.0", "id": 1, "method": "gettask", "params": {"id": "x"}}, -32601),
        ({"jsonrpc": "2.0", "id": 1, "method": "GetTask", "params": ["x"]}, -32602),
        ({"jsonrpc": "2.0", "id": 1, "method": "GetTask", "params": "x"}, -32602),
        ({"jsonrpc": "2.0", "id": 1, "method": "GetTask", "params": {}}, -32602),
        ({"jsonrpc": "2.0", "id": 1, "method": "GetTask"}, -32602),
        ({"jsonrpc": "2.0", "id": 1, "method": "GetTask", "params": {"id": "nope"}}, -32001),
    ],
)
def test_each_malformed_request_has_its_code_and_status_200(body: object, expected: int) -> None:
    assert code(Door(), body) == expected


@pytest.mark.parametrize("request_id", ["a", "", 0, 7, -1, 2**60, 1.5, None, "żółć"])
def test_an_id_comes_back_as_it_was_sent(request_id: object) -> None:
    answer = json_of(Door().post({"jsonrpc": "2.0", "id": request_id, "method": "GetTask", "params": {"id": "nope"}}))

    assert answer["id"] == request_id
    assert type(answer["id"]) is type(request_id)


def test_a_request_without_an_id_is_answered_with_a_null_id() -> None:
    answer = json_of(Door().post({"jsonrpc": "2.0", "method": "GetTask", "params": {"id": "nope"}}))

    assert answer["id"] is None


def test_the_id_of_a_malformed_request_comes_back_where_it_can_be_read() -> None:
    answer = json_of(Door().post({"jsonrpc": "1.0", "id": "seven", "method": "GetTask"}))

    assert answer["id"] == "seven"


@pytest.mark.parametrize("path", ["", "/", "//"])
def test_the_address_is_served_with_and_without_a_slash(path: str) -> None:
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "ListTasks"}).encode()

    response = Door().request("POST", path, body, content_type="application/json", a2a_version="1.0")

    assert json_of(response)["result"]["tasks"] == []


@pytest.mark.parametrize("path", ["/agents/tester", "/agents/tester/"])
def test_each_agent_has_an_address_of_its_own(path: str) -> None:
    door = Door()
    made = door.send("echo hi")
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "GetTask", "params": {"id": made["id"]}}).encode()

    here = door.request("POST", path, body, content_type="application/json", a2a_version="1.0")
    elsewhere = door.request("POST", "/agents/other", body, content_type="application/json", a2a_version="1.0")

    assert json_of(here)["result"]["id"] == made["id"]
    assert json_of(elsewhere)["error"]["code"] == -32001


def test_an_agent_that_is_not_there_has_no_address() -> None:
    response = Door().request("POST", "/agents/nobody", b"{}", content_type="application/json")

    assert response.status == 404
    assert json_of(response)["error"]["status"] == "NOT_FOUND"


@pytest.mark.parametrize("verb", ["PUT", "DELETE", "PATCH", "OPTIONS"])
def test_other_verbs_at_the_address_are_told_which_ones_it_takes(verb: str) -> None:
    response = Door().request(verb, "/")

    assert response.status == 405
    assert response.headers["allow"] == "GET, HEAD, POST"
    assert json_of(response)["error"]["code"] == 405


@pytest.mark.parametrize("content_type", ["text/plain", "application/xml", "application/json; charset=latin-1", "x"])
def test_another_media_type_is_refused_before_the_body_is_read(content_type: str) -> None:
    assert code(Door(), b"{'a': 1}", content_type=content_type) == -32005


@pytest.mark.parametrize(
    "content_type", ["", "application/json; charset=utf-8", "application/a2a+json", "Application/Json"]
)
def test_json_is_taken_under_each_of_its_names(content_type: str) -> None:
    assert "result" in Door().rpc("ListTasks", {}, content_type=content_type)


def test_an_error_has_code_message_and_typed_details_and_nothing_else() -> None:
    error = Door().error("GetTask", {"id": "nope"})

    assert error == {
        "code": -32001,
        "message": "Task not found",
        "data": [
            {
                "@type": "type.googleapis.com/google.rpc.ErrorInfo",
                "reason": "TASK_NOT_FOUND",
                "domain": "a2a-protocol.org",
            }
        ],
    }


def violations(error: Any) -> dict[str, str]:
    assert error["code"] == -32602
    found = [detail for detail in error["data"] if detail["@type"] == "type.googleapis.com/google.rpc.BadRequest"]
    return {wrong["field"]: wrong["description"] for wrong in found[0]["fieldViolations"]}


def test_wrong_members_are_named_as_they_are_on_the_wire_with_what_would_be_right() -> None:
    error = Door().error(
        "SendMessage",
        {
            "message": {"message_id": 7, "role": "ROLE_KING", "parts": [], "contextId": ["x"]},
            "configuration": {"history_length": "2", "returnImmediately": "yes"},
            "metadata": [],
        },
    )

    assert violations(error) == {
        "message.messageId": "must be a string",
        "message.role": "must be 'ROLE_USER' or 'ROLE_AGENT'",
        "message.parts": "must have at least 1 element",
        "message.contextId": "must be a string",
        "configuration.historyLength": "must be an integer",
        "configuration.returnImmediately": "must be true or false",
        "metadata": "must be an object",
    }
    assert "message.parts: must have at least 1 element" in error["message"]


def test_a_part_that_is_wrong_does_not_make_the_list_of_parts_too_short() -> None:
    spoken = {"messageId": "1", "role": "ROLE_USER", "parts": [{"text": "a", "data": 1}]}

    error = Door().error("SendMessage", {"message": spoken})

    assert violations(error) == {"message.parts[0]": "a part holds exactly one of text, raw, url and data"}


@pytest.mark.parametrize(
    "part",
    [
        {},
        {"text": "a", "url": "https://x.example"},
        {"text": "a", "data": 1},
        {"text": 1},
        {"raw": "***"},
        {"text": None},
        "text",
        None,
    ],
)
def test_a_part_that_does_not_hold_exactly_one_content_is_refused(part: object) -> None:
    door = Door()

    error = door.error("SendMessage", {"message": {**message("x"), "parts": [part]}})

    assert error["code"] == -32602
    assert door.backstage.stored == 0


def test_names_are_taken_in_snake_case_too_and_unknown_ones_are_passed_over() -> None:
    door = Door()
    sent = {
        "message": {"message_id": "m", "role": "ROLE_USER", "parts": [{"text": "ask"}], "context_id": "c", "zz": 1},
        "configuration": {"history_length": 0, "nonsense": {}},
        "nonsense": [],
    }

    task = door.result("SendMessage", sent)["task"]

    assert task["contextId"] == "c"
    assert "history" not in task


def test_an_unset_member_may_be_null() -> None:
    sent = {**message("ask"), "contextId": None, "metadata": None, "taskId": None}

    assert "task" in Door().result("SendMessage", {"message": sent, "configuration": None, "metadata": None})


def test_nothing_of_an_internal_failure_is_told(caplog: pytest.LogCaptureFixture) -> None:
    door = Door()
    door.backstage.tasks.read = lambda *_, **__: 1 / 0  # type: ignore[assignment,method-assign] # a broken store

    error = door.error("GetTask", {"id": "x"})

    assert error["code"] == -32603
    assert error["message"] == "Internal error"
    assert "division by zero" in caplog.text


@pytest.mark.parametrize(
    "text", ["zażółć 日本語 🙂", "a\u0001b\ufffe", 'cr\r\nlf "quotes" \\ </script> \u2028', "🙂" * 75_000]
)
def test_text_comes_back_as_it_was_sent(text: str) -> None:
    door = Door()

    task = door.result("SendMessage", {"message": {**message("m"), "parts": [{"text": f"echo {text}"}]}})["task"]

    assert task["artifacts"][0]["parts"] == [{"text": text}]
    read = door.result("GetTask", {"id": task["id"]})
    assert read["history"][0]["parts"] == [{"text": f"echo {text}"}]
