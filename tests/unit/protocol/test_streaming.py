"""Streams as buffered windows (SPEC 3.1.2, 3.1.6, 9.4.2, 11.7; a2a-protocol 6)."""

import json
from typing import Any

import pytest

from a2a_serverless.protocol import event_stream
from a2a_serverless.protocol.answers import LARGEST_ANSWER
from a2a_serverless.types import Message, Part, Role, StreamEvent

from .door import Door, events_of, json_of, message, old_message, proto_message

RPC = {"jsonrpc": "2.0", "id": "s-1"}


def streamed(door: Door, text: str, **members: object) -> list[Any]:
    body = {**RPC, "method": "SendStreamingMessage", "params": {"message": message(text, **members)}}
    return events_of(door.post(body))


def kinds(events: list[Any]) -> list[str]:
    return [next(iter(event)) for event in events]


def test_a_task_comes_first_then_what_happens_and_the_stream_ends_with_it() -> None:
    events = streamed(Door(), "echo hi")

    assert all(event["jsonrpc"] == "2.0" and event["id"] == "s-1" for event in events)
    results = [event["result"] for event in events]
    assert kinds(results)[0] == "task"
    assert kinds(results)[-2:] == ["artifactUpdate", "statusUpdate"]
    assert "task" not in kinds(results)[1:]
    assert results[0]["task"]["status"]["state"] == "TASK_STATE_SUBMITTED"
    assert results[-1]["statusUpdate"]["status"]["state"] == "TASK_STATE_COMPLETED"
    assert "final" not in results[-1]["statusUpdate"]


def test_rest_streams_the_same_events_without_an_envelope() -> None:
    door = Door()

    rest = events_of(door.rest("POST", "/message:stream", {"message": message("steps 3")}))
    again = events_of(door.rest("POST", "/message:stream", {"message": message("steps 3")}))

    assert kinds(rest) == ["task", "statusUpdate", *["artifactUpdate"] * 3, "statusUpdate"]
    assert again == rest


def test_a_direct_answer_is_one_message() -> None:
    events = streamed(Door(), "reply hello")

    assert kinds([event["result"] for event in events]) == ["message"]
    assert events[0]["result"]["message"]["parts"] == [{"text": "hello"}]


def test_a_stream_ends_at_a_question_and_goes_on_with_the_answer() -> None:
    door = Door()

    first = streamed(door, "ask")
    task = first[0]["result"]["task"]["id"]
    second = streamed(door, "42", taskId=task)

    assert first[-1]["result"]["statusUpdate"]["status"]["state"] == "TASK_STATE_INPUT_REQUIRED"
    assert kinds([event["result"] for event in second])[0] == "task"
    assert second[-1]["result"]["statusUpdate"]["status"]["state"] == "TASK_STATE_COMPLETED"


def test_a_window_closes_while_the_task_works_and_the_caller_subscribes_again() -> None:
    door = Door()
    door.backstage.alive = False

    first = streamed(door, "echo hi")
    door.backstage.alive = True
    task = first[0]["result"]["task"]["id"]
    body = {**RPC, "method": "SubscribeToTask", "params": {"id": task}}
    second = events_of(door.post(body))

    assert kinds([event["result"] for event in first]) == ["task"]
    assert kinds([event["result"] for event in second])[0] == "task"
    assert second[-1]["result"]["statusUpdate"]["status"]["state"] == "TASK_STATE_COMPLETED"


@pytest.mark.parametrize("method", ["SendStreamingMessage", "SubscribeToTask"])
def test_errors_before_the_first_event_are_plain_json(method: str) -> None:
    error = Door().error(method, {"id": "nope", "message": message("x", taskId="nope")})

    assert error["code"] == -32001


def test_a_plain_error_is_a_piece_of_its_own_to_who_cuts_at_blank_lines() -> None:
    body = {**RPC, "method": "SubscribeToTask", "params": {"id": "nope"}}

    piece, rest = Door().post(body).body.split("\n\n")

    assert json.loads(piece)["error"]["code"] == -32001
    assert rest == ""


def test_nothing_is_cached_on_the_way() -> None:
    response = Door().rest("POST", "/message:stream", {"message": message("echo hi")})

    assert response.headers["cache-control"] == "no-store"
    assert "\r" not in response.body


@pytest.mark.parametrize("line_break", ["\x85", "\u2028", "\u2029"])
@pytest.mark.parametrize("version", ["1.0", None])
def test_an_event_is_one_line_for_those_too_who_read_lines_as_unicode_has_them(
    line_break: str, version: str | None
) -> None:
    """As the official Python client does: its server met it when it ceased to escape (a2a-python#1080)."""
    method, spelt = ("SendStreamingMessage", message) if version else ("message/stream", old_message)
    body = {**RPC, "method": method, "params": {"message": spelt(f"echo one{line_break}two")}}

    response = Door().post(body, version=version)

    assert response.body.splitlines() == response.body.split("\n")[:-1]
    (artifact,) = [
        found
        for event in events_of(response)
        if (found := event["result"].get("artifactUpdate", event["result"]).get("artifact"))
    ]
    assert artifact["parts"][0]["text"] == f"one{line_break}two"


# 0.3


def test_zero_three_marks_the_last_status_and_wraps_nothing() -> None:
    body = {**RPC, "method": "message/stream", "params": {"message": old_message("echo hi")}}

    results = [event["result"] for event in events_of(Door().post(body, version=None))]

    assert results[0]["kind"] == "task"
    assert [result["kind"] for result in results[-2:]] == ["artifact-update", "status-update"]
    finals = [result["final"] for result in results if result["kind"] == "status-update"]
    assert finals[-1] is True
    assert not any(finals[:-1])


def test_zero_three_is_told_of_errors_within_the_stream() -> None:
    body = {**RPC, "method": "tasks/resubscribe", "params": {"id": "nope"}}

    events = events_of(Door().post(body, version=None))

    assert events == [{"jsonrpc": "2.0", "id": "s-1", "error": {"code": -32001, "message": "Task not found"}}]


@pytest.mark.parametrize("request_id", [7, "5f2c", None])
@pytest.mark.parametrize("accept", ["", "*/*", "text/event-stream", "text/event-stream, application/json"])
@pytest.mark.parametrize(
    ("method", "params", "version", "code"),
    [
        ("SubscribeToTask", {"id": "nope"}, "1.0", -32001),
        ("SendStreamingMessage", {}, "1.0", -32602),
        ("SubscribeToTask", {"id": "nope"}, "9.9", -32009),
    ],
)
def test_all_others_are_told_of_them_in_json(  # noqa: PLR0917 (one table)
    method: str, params: object, version: str, code: int, request_id: object, accept: str
) -> None:
    body = {"jsonrpc": "2.0", "id": request_id, "method": method, "params": params}

    assert json_of(Door().post(body, version=version, accept=accept))["error"]["code"] == code


def test_zero_three_on_rest_is_told_of_errors_by_the_status() -> None:
    response = Door().rest("GET", "/v1/tasks/nope:subscribe", version=None)

    assert response.status == 404
    assert json_of(response)["code"] == -32001


def test_zero_three_on_rest_has_final_only_where_it_is_true() -> None:
    response = Door().rest("POST", "/v1/message:stream", {"message": proto_message("echo hi")}, version=None)

    events = events_of(response)
    statuses = [event["statusUpdate"] for event in events if "statusUpdate" in event]
    assert statuses[-1]["final"] is True
    assert all("final" not in status for status in statuses[:-1])
    assert statuses[-1]["status"]["message"]["content"] == [{"text": "done"}]


def test_zero_three_shows_a_finished_task_once_more() -> None:
    door = Door()
    task = door.send("echo hi")["id"]
    body = {**RPC, "method": "tasks/resubscribe", "params": {"id": task}}

    events = events_of(door.post(body, version=None))

    assert [event["result"]["status"]["state"] for event in events] == ["completed"]


# The window itself


def said(text: str) -> StreamEvent:
    return Message(message_id="m", role=Role.AGENT, parts=(Part(text=text),))


def test_a_window_ends_before_an_event_that_would_not_fit() -> None:
    sizes: list[int] = []

    def encode(event: StreamEvent, last: bool) -> str:
        sizes.append(1)
        return f'"{"x" * 1_500_000}"'

    body = event_stream.window(iter([said("a")] * 10), encode)

    assert body.count("data: ") == 3
    assert len(body) < LARGEST_ANSWER
    assert body.endswith("\n\n")


def test_one_event_goes_out_whatever_its_size() -> None:
    body = event_stream.window(iter([said("a")]), lambda _event, _last: f'"{"x" * LARGEST_ANSWER}"')

    assert body.count("data: ") == 1


def test_a_failure_behind_the_first_event_ends_the_window(caplog: pytest.LogCaptureFixture) -> None:
    def failing() -> Any:
        yield said("a")
        raise RuntimeError("the store is gone")

    body = event_stream.window(failing(), lambda _event, last: f'"last: {last}"')

    assert body == 'data: "last: True"\n\n'
    assert "the window ends early" in caplog.text


def test_a_failure_before_the_first_event_is_raised() -> None:
    events = (said(str(1 // zero)) for zero in (0,))

    with pytest.raises(ZeroDivisionError):
        event_stream.window(events, lambda _event, _last: "")
