"""Large messages and results through the served stack: inline while they fit, else at an address that works."""

import base64
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from a2a_serverless.local.stack import LocalStack

from .conftest import AGENTS, Connect
from .wire import Object, Wire, message, state, text_of

LARGE_PART = "https://a2a-serverless.dev/ext/large-part/v1"
INVALID_PARAMS = -32602
PATTERN = "0123456789abcdef"


@pytest.fixture(scope="module")
def strict_stack() -> Iterator[LocalStack]:
    """The scripted agent under the roles of the template and nothing more."""
    with LocalStack(agents={"scripted": AGENTS["scripted"]}, auth="dev", strict_iam=True) as running:
        yield running


@pytest.fixture
def wire(strict_stack: LocalStack, alice: str, connect: Connect) -> Wire:
    return connect(strict_stack.url, alice)


def big(size: int) -> str:
    """What the command `big` produces."""
    return (PATTERN * (size // len(PATTERN) + 1))[:size]


def fetched(part: Object) -> bytes:
    """What is at the address of a part, read as anybody would."""
    answer = httpx.get(part["url"])
    assert answer.status_code == 200, answer.text
    return answer.content


def test_a_large_artifact_comes_inline_in_the_answer_and_ever_after(wire: Wire) -> None:
    task = wire.send("big 900000")

    assert state(task) == "COMPLETED"
    assert text_of(task["artifacts"][0]) == big(900_000)
    assert wire.get(task["id"])["artifacts"] == task["artifacts"]


@pytest.mark.parametrize("size", [6_000_000, 7_000_000])
def test_an_artifact_that_no_answer_can_hold_comes_as_an_address_that_works(wire: Wire, size: int) -> None:
    answered = wire.post("SendMessage", message(f"big {size}"))
    assert answered.status_code == 200
    task = answered.json()["result"]["task"]

    (part,) = task["artifacts"][0]["parts"]

    assert state(task) == "COMPLETED"
    assert part["metadata"][LARGE_PART]["content"] == "text"
    assert part["metadata"][LARGE_PART]["bytes"] == size
    assert part["metadata"][LARGE_PART]["until"] > task["status"]["timestamp"]
    assert part["mediaType"].startswith("text/plain")
    assert fetched(part).decode() == big(size)
    (again,) = wire.get(task["id"])["artifacts"][0]["parts"]
    assert fetched(again).decode() == big(size)


def test_a_large_artifact_is_streamed_and_listed(wire: Wire) -> None:
    events = wire.events("SendStreamingMessage", message("big 7000000"))
    artifact = next(event["artifactUpdate"]["artifact"] for event in events if "artifactUpdate" in event)
    small = wire.send("big 900000")

    page = wire.rpc("ListTasks", {"includeArtifacts": True})

    assert fetched(artifact["parts"][0]).decode() == big(7_000_000)
    assert page["totalSize"] == 2
    parts = {task["id"]: task["artifacts"][0]["parts"][0] for task in page["tasks"]}
    assert parts.pop(small["id"])["text"] == big(900_000)
    assert fetched(parts.popitem()[1]).decode() == big(7_000_000)


def test_a_list_of_many_large_artifacts_is_one_page_of_which_some_are_addresses(wire: Wire) -> None:
    made = [wire.send("big 900000")["id"] for _ in range(8)]

    page = wire.rpc("ListTasks", {"includeArtifacts": True})

    assert {task["id"] for task in page["tasks"]} == set(made)
    parts = [task["artifacts"][0]["parts"][0] for task in page["tasks"]]
    assert [("text" in part) for part in parts] == [True] * 5 + [False] * 3
    assert all(part.get("text") == big(900_000) or fetched(part).decode() == big(900_000) for part in parts)


@pytest.mark.parametrize("size", [300_000, 1_000_000, 5_000_000])
def test_a_large_message_is_taken_and_reaches_the_agent_whole(wire: Wire, size: int) -> None:
    """The answer shows the result and the message; where both do not fit, the message is an address."""
    text = "echo " + big(size)

    task = wire.send(text)

    assert state(task) == "COMPLETED"
    said, echoed = task["history"][0]["parts"][0], task["artifacts"][0]["parts"][0]
    for part, wanted in ((said, text), (echoed, big(size))):
        assert part.get("text") == wanted or fetched(part).decode() == wanted
    assert "text" in echoed or size == 5_000_000


@pytest.mark.parametrize("binding", ["rpc", "rest"])
def test_a_large_file_is_taken_and_comes_back_as_it_was(wire: Wire, binding: str) -> None:
    content = bytes(range(256)) * 2_000
    raw = {"raw": base64.b64encode(content).decode(), "filename": "scan.png", "mediaType": "image/png"}
    told = message("", parts=[{"text": "echo it"}, raw])

    task = (
        wire.rpc("SendMessage", told)["task"]
        if binding == "rpc"
        else wire.rest("POST", "/message:send", json=told).json()["task"]
    )

    assert task["history"][0]["parts"][1] == raw


def test_a_stream_repeated_with_a_large_message_begins_where_the_first_one_did(wire: Wire) -> None:
    told = message("echo " + big(300_000))

    first = wire.events("SendStreamingMessage", told)
    again = wire.events("SendStreamingMessage", told)

    assert [next(iter(event)) for event in first] == [next(iter(event)) for event in again]
    assert len(again) >= 3


def test_a_task_with_a_large_answer_goes_on_and_stays_readable(wire: Wire) -> None:
    asked = wire.send("ask")

    task = wire.send(big(4_000_000), task=asked["id"])

    assert state(task) == "COMPLETED"
    assert text_of(task["artifacts"][0]) == big(4_000_000)
    assert fetched(task["history"][-1]["parts"][0]).decode() == big(4_000_000)
    assert [said["role"] for said in wire.get(asked["id"], historyLength=2)["history"]] == ["ROLE_AGENT", "ROLE_USER"]


@pytest.mark.parametrize(
    ("size", "path", "status", "says"),
    [
        (6_100_000, "", 200, "larger than 6000000 bytes"),
        (6_100_000, "/message:send", 413, "larger than 6000000 bytes"),
        (7_000_000, "", 413, "Request Entity Too Large"),  # the gateway's own: Lambda takes no more
        (7_000_000, "/message:send", 413, "Request Entity Too Large"),
    ],
)
def test_a_request_above_six_megabytes_is_refused_before_there_is_a_task(
    wire: Wire, size: int, path: str, status: int, says: str
) -> None:
    told = message("echo " + big(size))

    answer = wire.rest("POST", path, json=told) if path else wire.post("SendMessage", told)

    assert answer.status_code == status
    assert says in answer.text
    assert status == 413 or answer.json()["error"]["code"] == INVALID_PARAMS
    assert wire.rpc("ListTasks", {})["totalSize"] == 0


def test_an_artifact_above_what_can_be_kept_is_the_agents_fault(strict_stack: LocalStack, wire: Wire) -> None:
    task = wire.send("big 68000000")

    assert state(task) == "FAILED"
    assert text_of(task["status"]["message"]) == "the agent failed; its operator finds the reason under this task's id"
    assert "artifacts" not in task
    assert "too large to keep: at most 67108864" in strict_stack.log_of("run_turn")


def test_a_result_of_many_small_chunks_stays_readable(wire: Wire) -> None:
    """No part of it is large; together they are more than an answer."""
    task = wire.send("chunks 1500 5000")

    (part,) = wire.get(task["id"])["artifacts"][0]["parts"]

    assert part["metadata"][LARGE_PART]["content"] == "parts"
    parts: Any = httpx.get(part["url"]).json()
    assert "".join(each["text"] for each in parts) == big(5_000) * 1_500


def test_an_address_opens_one_object_and_nothing_else(strict_stack: LocalStack, wire: Wire) -> None:
    (part,) = wire.send("big 6000000")["artifacts"][0]["parts"]
    address = httpx.URL(part["url"])
    objects = strict_stack.client("s3").list_objects_v2(Bucket=strict_stack.outputs["Bucket"])["Contents"]
    other = next(found["Key"] for found in objects if not address.path.endswith(found["Key"]))

    stolen = httpx.get(address.copy_with(path=f"/{strict_stack.outputs['Bucket']}/{other}"))

    assert stolen.status_code == 403
