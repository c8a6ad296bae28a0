"""What holds for every operation alike: elsewhere it held for some (a2a-java#1035, a2a-go#351, a2a-js#685)."""

import json
from typing import Any

import pytest

from a2a_serverless.protocol.http import Response

from .door import Door, json_of, message, old_message, proto_message
from .test_isolation import REST_CALLS, RPC_CALLS, about

SENDS = [
    ("1.0", "SendMessage", {"message": message("hi")}),
    ("1.0", "SendStreamingMessage", {"message": message("hi")}),
    ("1.0", "ListTasks", {}),
    ("1.0", "GetExtendedAgentCard", {}),
    ("0.3", "message/send", {"message": old_message("hi")}),
    ("0.3", "message/stream", {"message": old_message("hi")}),
    ("0.3", "agent/getAuthenticatedExtendedCard", {}),
]
REST_SENDS = [
    ("1.0", "POST", "/message:send", {"message": message("hi")}),
    ("1.0", "POST", "/message:stream", {"message": message("hi")}),
    ("1.0", "GET", "/tasks", None),
    ("1.0", "GET", "/extendedAgentCard", None),
    ("0.3", "POST", "/v1/message:send", {"message": proto_message("hi")}),
    ("0.3", "GET", "/v1/card", None),
]


NAMING = [call for call in RPC_CALLS if "message" not in str(call[1]) and "Message" not in str(call[1])]
"""The calls that are about a task and bring no message, which may begin one."""


def code_of(response: Response) -> int:
    """The code of an error, as a response or as the one event of a stream."""
    assert response.status == 200
    code: int = json.loads(response.body.removeprefix("data: "))["error"]["code"]
    return code


@pytest.mark.parametrize(("_version", "method", "params"), [*RPC_CALLS, *SENDS])
def test_a_version_that_nobody_speaks_is_refused(_version: str, method: str, params: Any) -> None:
    door = Door()
    body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": about(params, "t-1")}

    assert code_of(door.post(body, version="99.0")) == -32009
    assert door.backstage.stored == 0


@pytest.mark.parametrize(("_version", "verb", "path", "body"), [*REST_CALLS, *REST_SENDS])
def test_a_version_that_nobody_speaks_is_refused_on_rest(_version: str, verb: str, path: str, body: Any) -> None:
    door = Door()

    response = door.rest(verb, path.format("t-1"), about(body, "t-1") if body else None, version="99.0")

    assert response.status == 400
    assert json_of(response)["error"]["details"][0]["reason"] == "VERSION_NOT_SUPPORTED"
    assert door.backstage.stored == 0


@pytest.mark.parametrize("task_id", ["x" * 129, "x" * 3000, "a/b", "x#y", "%2e", "\x00", "🙂", " ", "a b", "é"])
@pytest.mark.parametrize(("version", "method", "params"), RPC_CALLS)
def test_an_id_that_cannot_be_ours_is_one_that_is_not_there(
    version: str, method: str, params: Any, task_id: str
) -> None:
    """It never reaches the store, whose keys have a length and an alphabet."""
    door = Door()
    door.backstage.tasks.head = door.backstage.tasks.read = lambda *_, **__: 1 / 0  # type: ignore[assignment,method-assign] # not to be asked
    body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": about(params, task_id)}

    assert code_of(door.post(body, version=version)) == -32001


@pytest.mark.parametrize(("version", "method", "params"), RPC_CALLS)
def test_a_task_is_not_there_at_the_address_of_another_agent(version: str, method: str, params: Any) -> None:
    door = Door()
    task = door.send("ask")["id"]
    before = door.backstage.stored
    door.agent_url = "/agents/other"
    body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": about(params, task)}

    assert code_of(door.post(body, version=version)) == -32001
    assert door.backstage.stored == before


@pytest.mark.parametrize("task_id", ["", None])
@pytest.mark.parametrize(("version", "method", "params"), NAMING)
def test_a_task_must_be_named(version: str, method: str, params: Any, task_id: str | None) -> None:
    """A webhook of no task was one of every task elsewhere (ggcode#715)."""
    body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": about(params, task_id)}  # type: ignore[arg-type] # null is what is wrong

    assert code_of(Door().post(body, version=version)) == -32602


@pytest.mark.parametrize("name", ["taskId", "task_id"])
def test_the_task_in_a_path_wins_however_the_body_spells_it(name: str) -> None:
    door = Door()
    mine, other = door.send("ask")["id"], door.send("ask", messageId="other")["id"]

    created = door.rest("POST", f"/tasks/{mine}/pushNotificationConfigs", {"url": "https://h.example", name: other})

    assert json_of(created)["taskId"] == mine
    assert door.result("ListTaskPushNotificationConfigs", {"taskId": other})["configs"] == []


@pytest.mark.parametrize("data", [None, 0, False, "", [], {}, [None], {"": None}, 2**53 + 1, 1.0, -0.0])
def test_data_is_what_was_sent_however_little_it_is(data: Any) -> None:
    """Where what is false counts as nothing, it is lost (a2a-python#713, a2a-js#685)."""
    door = Door()

    task = door.send("echo hi", parts=[{"text": "echo hi"}, {"data": data, "metadata": {"data": data}}])

    read = door.result("GetTask", {"id": task["id"]})
    assert json.dumps(read["history"][0]["parts"][1]) == json.dumps({"data": data, "metadata": {"data": data}})
