"""What is too large, too deep or too long is told so, and nothing is stored (SPEC 13.4; field bug W09)."""

import json

import pytest

from a2a_serverless.errors import A2AError, InvalidRequest, UnsupportedOperation
from a2a_serverless.protocol import answers
from a2a_serverless.protocol.strict_json import LARGEST_BODY, parse
from a2a_serverless.types import Artifact, Message, Part, Role, Task, TaskState, TaskStatus

from .door import Door, json_of, message


def test_a_request_of_seven_megabytes_is_refused_by_both_bindings() -> None:
    door = Door()
    body = {"message": {**message("x"), "parts": [{"text": "x" * 7_000_000}]}}

    rest = door.rest("POST", "/message:send", body)
    rpc = door.error("SendMessage", body)

    assert rest.status == 413
    assert json_of(rest)["error"]["code"] == 413
    assert rpc["code"] == -32602
    assert str(LARGEST_BODY) in rpc["message"]
    assert door.backstage.stored == 0


def test_a_request_of_five_megabytes_is_taken() -> None:
    door = Door()
    parts = [{"text": "echo hi"}, {"text": "x" * 5_000_000}]

    task = door.result("SendMessage", {"message": {**message("x"), "parts": parts}})["task"]

    assert task["status"]["state"] == "TASK_STATE_COMPLETED"


@pytest.mark.parametrize("depth", [65, 100, 250, 5000, 100_000])
@pytest.mark.parametrize(("opening", "closing"), [("[", "]"), ('{"a":', "}")])
def test_what_is_nested_too_deep_is_refused(depth: int, opening: str, closing: str) -> None:
    nested = (opening * depth + "1" + closing * depth).encode()
    door = Door()
    body = b'{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":{"metadata":' + nested + b"}}"

    error = json_of(door.post(body))["error"]

    assert error["code"] == -32600
    assert "64 levels" in error["message"]
    assert door.rest("POST", "/message:send", nested).status == 400


def test_what_is_wide_but_not_deep_is_taken() -> None:
    wide = {**message("echo hi"), "metadata": {"list": [{"a": [number]} for number in range(500)]}}

    assert Door().result("SendMessage", {"message": wide})["task"]["history"][0]["metadata"] == wide["metadata"]


@pytest.mark.parametrize(
    "number",
    [
        "1e999",
        "-1e999",
        "1" * 400,
        "-" + "9" * 309,
        "1.0e+400",
        "1E0000000000309",
        "9" * 300 + "e99",
        "9" * 210 + ".5E99",
    ],
)
def test_numbers_that_no_double_holds_are_refused(number: str) -> None:
    with pytest.raises(InvalidRequest, match="IEEE 754"):
        parse(f'{{"a":[{{"b":{number}}}]}}'.encode())


@pytest.mark.parametrize(
    "number", ["1e308", "1e-999", "9007199254740993", "0.1", "-0", "1" + "0" * 308, "12e100", "1" * 209 + "e99"]
)
def test_numbers_that_a_double_holds_are_kept(number: str) -> None:
    assert parse(f'{{"a":{number}}}'.encode()) == json.loads(f'{{"a":{number}}}')


def test_text_that_looks_like_a_number_is_text() -> None:
    assert parse(b'{"a":"1e999","b":"1e999"}') == {"a": "1e999", "b": "1e999"}


@pytest.mark.parametrize("digits", [4301, 10_000])
def test_a_number_without_end_is_refused(digits: int) -> None:
    with pytest.raises(A2AError):
        parse(b"1" * digits)


@pytest.mark.parametrize(
    ("members", "told"),
    [
        ({"messageId": "x" * 257}, "messageId must have at most 256 characters"),
        ({"contextId": "x" * 257}, "contextId must have at most 256 characters"),
        ({"parts": [{"text": "x"}] * 1001}, "parts must have at most 1000 elements"),
        ({"extensions": ["urn:x"] * 101}, "extensions must have at most 100 elements"),
        ({"referenceTaskIds": ["x"] * 101}, "referenceTaskIds must have at most 100 elements"),
    ],
)
def test_ids_and_lists_have_an_end(members: dict[str, object], told: str) -> None:
    error = Door().error("SendMessage", {"message": {**message("x"), **members}})

    assert error["code"] == -32602
    assert told in error["message"]


# Answers


def said(text: str) -> Message:
    return Message(message_id="m", role=Role.AGENT, parts=(Part(text=text),))


def task(*, history: tuple[Message, ...] = (), artifact: str = "") -> Task:
    artifacts = (Artifact(artifact_id="a", parts=(Part(text=artifact),)),) if artifact else ()
    status = TaskStatus(state=TaskState.COMPLETED)
    return Task(id="t", context_id="c", status=status, history=history, artifacts=artifacts)


def test_a_task_that_fits_is_shown_whole() -> None:
    shown = task(history=(said("x"),) * 100, artifact="y" * 4_000_000)

    assert answers.task_text(shown) == shown.to_json()


def test_a_task_that_does_not_fit_is_shown_without_its_oldest_messages() -> None:
    shown = task(history=tuple(said(f"{number}" + "x" * 1_000_000) for number in range(9)))

    text = answers.task_text(shown)

    assert answers.cost(text) <= answers.LARGEST_ANSWER
    assert [message["parts"][0]["text"][0] for message in json.loads(text)["history"]] == ["4", "5", "6", "7", "8"]


def test_what_costs_more_than_its_length_is_counted_so() -> None:
    emoji, quotes = "🙂" * 1_000_000, '"' * 3_000_000

    assert answers.cost(emoji) > 12_000_000
    assert answers.cost(quotes) > 6_000_000
    with pytest.raises(UnsupportedOperation, match="url parts"):
        answers.task_text(task(artifact=emoji))


def test_artifacts_that_do_not_fit_are_an_error_and_no_failure() -> None:
    door = Door()
    made = door.send("big 7000000", configuration={"returnImmediately": True})
    door.backstage.settle()

    error = door.error("GetTask", {"id": made["id"]})

    assert error["code"] == -32004
    assert "6 MB" in error["message"]
    assert door.rest("GET", f"/v1/tasks/{made['id']}", version=None).status == 400
