"""Who calls: without a token nothing, with a token one's own, and of another's task not even that it is there."""

import json
import uuid
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import httpx
import pytest

from a2a_serverless.local.stack import LocalStack

from .conftest import Connect, Token
from .wire import Object, RpcError, Wire, message, state

OLD = {"A2A-Version": "0.3"}


@pytest.mark.parametrize(
    ("verb", "path"),
    [
        ("POST", "/"),
        ("POST", "/message:send"),
        ("POST", "/message:stream"),
        ("GET", "/tasks"),
        ("GET", "/tasks/x"),
        ("POST", "/tasks/x:cancel"),
        ("POST", "/tasks/x:subscribe"),
        ("GET", "/tasks/x/pushNotificationConfigs"),
        ("POST", "/v1/message:send"),
        ("GET", "/v1/tasks/x"),
        ("GET", "/extendedAgentCard"),
        ("POST", "/agents/freight"),
    ],
)
def test_without_a_token_every_operation_is_401_and_says_which_scheme(
    stack: LocalStack, connect: Connect, verb: str, path: str
) -> None:
    answer = connect(stack.url).rest(verb, path, json={} if verb == "POST" else None)

    assert answer.status_code == 401
    assert answer.headers["www-authenticate"].startswith("Bearer")
    assert answer.headers["content-type"].startswith(("application/json", "application/a2a+json"))


@pytest.mark.parametrize("path", ["/.well-known/agent-card.json", "/.well-known/agent.json", "/.well-known/jwks.json"])
def test_what_a_stranger_must_read_first_needs_no_token(stack: LocalStack, connect: Connect, path: str) -> None:
    assert connect(stack.url).rest("GET", path).status_code == 200


def test_the_card_says_that_a_bearer_token_is_needed(stack: LocalStack, connect: Connect) -> None:
    card = connect(stack.url).rest("GET", "/agents/scripted/.well-known/agent-card.json").json()

    (scheme,) = card["securitySchemes"].values()
    assert scheme["httpAuthSecurityScheme"]["scheme"] == "Bearer"
    assert card["securityRequirements"]


def test_a_token_that_is_expired_forged_or_somebody_elses_is_401(
    stack: LocalStack, connect: Connect, token: Token, alice: str
) -> None:
    header, claims, signature = alice.split(".")
    expired = token("alice", lifetime=timedelta(hours=-1))
    for bad in (expired, "x", f"{header}.{claims}.{signature[::-1]}", token(""), token(" ")):
        answer = connect(stack.url, bad).post("ListTasks", {})

        assert answer.status_code == 401, bad
        assert 'error="invalid_token"' in answer.headers["www-authenticate"]


def test_a_chain_of_more_actors_than_allowed_is_403(stack: LocalStack, connect: Connect, token: Token) -> None:
    through_one = connect(stack.url, token("alice", actors=("agent",)))
    through_two = connect(stack.url, token("alice", actors=("agent", "agent behind it")))

    assert through_one.post("ListTasks", {}).status_code == 200
    refused = through_two.post("ListTasks", {})
    assert (refused.status_code, "insufficient_scope" in refused.headers["www-authenticate"]) == (403, True)


@pytest.fixture
def hers(wire: Wire) -> Object:
    """A task of alice's that waits, with a webhook of hers."""
    return wire.send("ask", push={"id": "hers", "url": "https://alice.example/hook", "token": "of-alice" * 4})


@pytest.fixture
def his(stack: LocalStack, bob: str, connect: Connect) -> Wire:
    """Bob, in front of the same agent."""
    return connect(stack.url, bob)


Ask = Callable[[Wire, str, str], httpx.Response]
"""Asks for a task by id, and for another thing by the second id."""


def rpc(method: str, params: Callable[[str], Object], headers: dict[str, str] | None = None) -> Ask:
    """A JSON-RPC call, with the same request id each time."""
    return lambda wire, task, _: wire.post(method, params(task), number=7, headers=headers)


def rest(
    verb: str, path: str, body: Callable[[str], Object] | None = None, headers: dict[str, str] | None = None
) -> Ask:
    """An HTTP+JSON call."""
    return lambda wire, task, _: wire.rest(
        verb, path.format(task), json=body(task) if body else None, headers=headers or {}
    )


def _old_message(task: str) -> Object:
    part = {"kind": "text", "text": "evil"}
    said = {"kind": "message", "messageId": "m", "role": "user", "parts": [part], "taskId": task}
    return {"message": said}


def _push(task: str) -> Object:
    return {"taskId": task, "id": "c", "url": "https://bob.example/hook"}


OF_ONE_TASK: dict[str, Ask] = {
    "GetTask": rpc("GetTask", lambda task: {"id": task}),
    "CancelTask": rpc("CancelTask", lambda task: {"id": task}),
    "SendMessage": rpc("SendMessage", lambda task: message("evil", task=task, message_id="m")),
    "SendStreamingMessage": rpc("SendStreamingMessage", lambda task: message("evil", task=task, message_id="m")),
    "SubscribeToTask": rpc("SubscribeToTask", lambda task: {"id": task}),
    "CreateTaskPushNotificationConfig": rpc("CreateTaskPushNotificationConfig", _push),
    "GetTaskPushNotificationConfig": rpc("GetTaskPushNotificationConfig", lambda task: {"taskId": task, "id": "hers"}),
    "ListTaskPushNotificationConfigs": rpc("ListTaskPushNotificationConfigs", lambda task: {"taskId": task}),
    "DeleteTaskPushNotificationConfig": rpc(
        "DeleteTaskPushNotificationConfig", lambda task: {"taskId": task, "id": "hers"}
    ),
    "tasks/get": rpc("tasks/get", lambda task: {"id": task}, OLD),
    "tasks/cancel": rpc("tasks/cancel", lambda task: {"id": task}, OLD),
    "tasks/resubscribe": rpc("tasks/resubscribe", lambda task: {"id": task}, OLD),
    "message/send": rpc("message/send", _old_message, OLD),
    "tasks/pushNotificationConfig/get": rpc("tasks/pushNotificationConfig/get", lambda task: {"id": task}, OLD),
    "tasks/pushNotificationConfig/list": rpc("tasks/pushNotificationConfig/list", lambda task: {"id": task}, OLD),
    "GET task": rest("GET", "/tasks/{}"),
    "POST cancel": rest("POST", "/tasks/{}:cancel"),
    "POST send": rest("POST", "/message:send", lambda task: message("evil", task=task, message_id="m")),
    "POST subscribe": rest("POST", "/tasks/{}:subscribe"),
    "GET subscribe": rest("GET", "/tasks/{}:subscribe"),
    "POST webhook": rest("POST", "/tasks/{}/pushNotificationConfigs", _push),
    "GET webhook": rest("GET", "/tasks/{}/pushNotificationConfigs/hers"),
    "GET webhooks": rest("GET", "/tasks/{}/pushNotificationConfigs"),
    "DELETE webhook": rest("DELETE", "/tasks/{}/pushNotificationConfigs/hers"),
    "GET v1 task": rest("GET", "/v1/tasks/{}", headers=OLD),
    "POST v1 cancel": rest("POST", "/v1/tasks/{}:cancel", headers=OLD),
}


@pytest.mark.parametrize("operation", OF_ONE_TASK)
def test_a_task_of_alice_is_not_there_for_bob(wire: Wire, his: Wire, hers: Object, operation: str) -> None:
    unknown, before = str(uuid.uuid4()), wire.get(hers["id"])
    of_hers = OF_ONE_TASK[operation](his, hers["id"], "hers")
    of_none = OF_ONE_TASK[operation](his, unknown, "none")

    assert of_hers.content.replace(hers["id"].encode(), b"ID") == of_none.content.replace(unknown.encode(), b"ID")
    assert of_hers.status_code == of_none.status_code
    assert _shown_headers(of_hers) == _shown_headers(of_none)
    assert b"-32001" in of_hers.content or of_hers.status_code == 404
    assert wire.get(hers["id"]) == before
    assert b"alice" not in of_hers.content


def _shown_headers(answer: httpx.Response) -> dict[str, str]:
    """Without those that tell requests apart."""
    return {name: value for name, value in answer.headers.items() if name not in ("date", "apigw-requestid")}


def test_a_list_holds_ones_own_tasks_only(wire: Wire, his: Wire, hers: Object) -> None:
    ours = his.send("echo mine")

    everything = his.rpc("ListTasks", {})
    of_her_context = his.rpc("ListTasks", {"contextId": hers["contextId"]})

    assert ([task["id"] for task in everything["tasks"]], everything["totalSize"]) == ([ours["id"]], 1)
    assert (of_her_context["tasks"], of_her_context["totalSize"]) == ([], 0)


def test_a_page_token_of_somebody_else_is_refused(wire: Wire, his: Wire) -> None:
    """Q05: a token must not lead into another's list."""
    for number in range(3):
        wire.send(f"echo {number}")
    page = wire.rpc("ListTasks", {"pageSize": 1})

    with pytest.raises(RpcError) as refused:
        his.rpc("ListTasks", {"pageSize": 1, "pageToken": page["nextPageToken"]})
    assert refused.value.code == -32602


def test_the_same_message_of_two_people_makes_two_tasks(wire: Wire, his: Wire) -> None:
    """I03: whoever guesses a message id gets a task of his own."""
    told: dict[str, Any] = {"message_id": str(uuid.uuid4()), "context": str(uuid.uuid4())}
    first, second = wire.send("echo secret", **told), his.send("echo secret", **told)

    assert first["id"] != second["id"]


def test_a_webhook_shows_no_secret_to_its_own_owner_either(wire: Wire, hers: Object) -> None:
    listed = wire.rpc("ListTaskPushNotificationConfigs", {"taskId": hers["id"]})

    assert [config["id"] for config in listed["configs"]] == ["hers"]
    assert "of-alice" not in json.dumps(listed)


def test_two_tenants_of_one_subject_share_nothing(stack: LocalStack, connect: Connect, token: Token) -> None:
    subject = f"carol-{uuid.uuid4()}"
    first = connect(stack.url, token(subject, tenant="t1"))
    second = connect(stack.url, token(subject, tenant="t2"))
    asked = first.send("ask")

    with pytest.raises(RpcError) as refused:
        second.get(asked["id"])
    assert refused.value.code == -32001
    assert second.rpc("ListTasks", {})["totalSize"] == 0
    assert state(first.get(asked["id"])) == "INPUT_REQUIRED"


def test_a_tenant_is_named_in_the_path_or_in_the_request_and_must_be_ones_own(
    stack: LocalStack, connect: Connect, token: Token
) -> None:
    """A05: what a message or a path says never gives more than the token does."""
    carol = connect(stack.url, token(f"carol-{uuid.uuid4()}", tenant="t1"))
    asked = carol.send("ask")

    assert carol.rest("GET", f"/t1/tasks/{asked['id']}").status_code == 200
    assert carol.rest("GET", f"/t2/tasks/{asked['id']}").status_code == 404
    assert carol.rpc("GetTask", {"id": asked["id"], "tenant": "t1"})["id"] == asked["id"]
    with pytest.raises(RpcError) as refused:
        carol.rpc("GetTask", {"id": asked["id"], "tenant": "t2"})
    assert refused.value.code == -32001
