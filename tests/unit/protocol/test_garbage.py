"""Generated garbage of every shape to both bindings: never a 5xx, never HTML, the right family of error, and nothing
changed (issue: the whole protocol, last promise)."""

import json
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from a2a_serverless.protocol.http import Request, Response
from a2a_serverless.protocol.operations import METHODS, OPERATIONS
from a2a_serverless.protocol.service import handle

from .door import Door, message, old_message, proto_message

DOOR = Door()
TASK = DOOR.send("ask")["id"]
HOOK = {"url": "https://hook.example", "id": "c1"}

leaves = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=8)
    | st.sampled_from(["", "\x00", "1e999", TASK, "TASK_STATE_WORKING", "ROLE_AGENT", "x" * 300, "https://x", "💥"])
)
names = st.text(max_size=6) | st.sampled_from(["message", "id", "parts", "text", "data"])
values = st.recursive(
    leaves,
    lambda children: (
        st.lists(children, max_size=3)
        | st.dictionaries(
            st.text(max_size=6) | st.sampled_from(["message", "id", "parts", "text", "data"]), children, max_size=3
        )
    ),
    max_leaves=12,
)

CONFIGURATION = {"historyLength": 1, "returnImmediately": True, "taskPushNotificationConfig": HOOK}
GOOD: list[tuple[str, Any]] = [
    ("SendMessage", {"message": message("m", taskId=TASK), "configuration": CONFIGURATION, "metadata": {}}),
    ("SendStreamingMessage", {"message": message("m", contextId="c"), "configuration": CONFIGURATION}),
    ("GetTask", {"id": TASK, "historyLength": 1, "tenant": ""}),
    (
        "ListTasks",
        {"contextId": "c", "status": "TASK_STATE_WORKING", "pageSize": 2, "pageToken": "", "includeArtifacts": True},
    ),
    ("ListTasks", {"statusTimestampAfter": "2026-11-30T12:00:00Z", "historyLength": 2}),
    (
        "CreateTaskPushNotificationConfig",
        {**HOOK, "taskId": TASK, "authentication": {"scheme": "Bearer", "credentials": "c"}},
    ),
    ("GetTaskPushNotificationConfig", {"taskId": TASK, "id": "c1"}),
    ("ListTaskPushNotificationConfigs", {"taskId": TASK, "pageSize": 1}),
    ("DeleteTaskPushNotificationConfig", {"taskId": TASK, "id": "c1"}),
    ("GetExtendedAgentCard", {"tenant": "x"}),
    (
        "message/send",
        {"message": old_message("m"), "configuration": {"blocking": False, "pushNotificationConfig": HOOK}},
    ),
    ("message/stream", {"message": old_message("m", parts=[{"kind": "file", "file": {"bytes": "AA==", "name": "n"}}])}),
    ("tasks/get", {"id": TASK, "historyLength": 1}),
    ("tasks/pushNotificationConfig/set", {"taskId": TASK, "pushNotificationConfig": HOOK}),
    ("tasks/pushNotificationConfig/get", {"id": TASK, "pushNotificationConfigId": "c1"}),
]


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Every place in a value where something else could stand."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(found for key, child in inner for found in places(child, (*path, key)))]


def replaced(value: Any, path: tuple[Any, ...], by: Any) -> Any:
    if not path:
        return by
    copy = value.copy()
    copy[path[0]] = replaced(value[path[0]], path[1:], by)
    return copy


@st.composite
def spoilt_calls(draw: st.DrawFn) -> dict[str, Any]:
    """A good call with one thing in it replaced by garbage."""
    method, params = draw(st.sampled_from(GOOD))
    call = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    return dict(replaced(call, draw(st.sampled_from(places(call)[1:])), draw(values)))


headers = st.dictionaries(
    st.sampled_from(["a2a-version", "content-type", "accept", "a2a-extensions", "x-a2a-extensions", "if-none-match",
                     "if-modified-since", "authorization", "host", "content-length"]),
    st.text(max_size=20) | st.sampled_from(["1.0", "0.3", "application/json", "text/html", "*/*", ",,,", "W/", "*"]),
    max_size=5,
)  # fmt: skip

calm = settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])


def sent(verb: str, path: str, body: bytes, query: str = "", **given_headers: str) -> Response:
    response = handle(DOOR.service, Request(verb, path, query, dict(given_headers), body))
    judge(response)
    return response


def judge(response: Response) -> None:
    """What holds for every response: no failure of ours, no HTML, and a body that reads as what it says it is."""
    assert response.status < 500, response
    content_type = response.headers.get("content-type", "")
    assert "html" not in content_type
    if content_type == "text/event-stream":
        for block in response.body.split("\n\n")[:-1]:
            json.loads(block.removeprefix("data: "))
    elif response.body:
        assert content_type in {"application/json", "application/a2a+json"}
        json.loads(response.body)


def next_good_request_is_answered() -> None:
    assert DOOR.result("GetTask", {"id": TASK})["id"] == TASK


def unharmed(before: int, response: Response) -> None:
    """A refused request changed nothing."""
    if response.status >= 400 or '"error":' in response.body[:80]:
        assert DOOR.backstage.stored == before
    next_good_request_is_answered()


@calm
@given(st.binary(max_size=200), headers)
def test_any_bytes_are_answered_by_json_rpc(body: bytes, told: dict[str, str]) -> None:
    before = DOOR.backstage.stored

    response = sent("POST", "/", body, **told)

    assert response.status == 200
    assert json.loads(response.body)["error"]["code"] in {-32700, -32600, -32602, -32005}
    unharmed(before, response)


@calm
@given(values)
def test_any_json_is_answered_by_json_rpc(value: Any) -> None:
    before = DOOR.backstage.stored

    response = sent("POST", "/", json.dumps(value).encode(), **{"a2a-version": "1.0"})

    assert json.loads(response.body)["error"]["code"] in {-32700, -32600, -32601}
    unharmed(before, response)


@calm
@given(spoilt_calls())
def test_a_call_with_one_wrong_thing_in_it_is_answered(call: dict[str, Any]) -> None:
    before = DOOR.backstage.stored
    named = METHODS.get(call["method"]) if isinstance(call.get("method"), str) else None
    version = named[1].value if named else "1.0"

    response = sent("POST", "/", json.dumps(call).encode(), **{"a2a-version": version})

    assert response.status == 200
    if '"error":' in response.body[:80]:
        body = response.body.removeprefix("data: ")
        assert json.loads(body)["error"]["code"] in {
            -32700, -32600, -32601, -32602, -32001, -32002, -32004, -32005, -32009,
        }  # fmt: skip
    unharmed(before, response)


STEPS = (
    f"tasks {TASK} {TASK}:cancelled {TASK}:subscribe message:send message:stream v1 agents tester c1 card .. %2e%2e"
    " pushNotificationConfigs extendedAgentCard .well-known callbacks jwks.json %00 %ff a%20b"
).split()
rest_paths = st.lists(st.sampled_from(STEPS) | st.text(max_size=6), max_size=5).map(lambda steps: "/" + "/".join(steps))


@calm
@given(
    st.sampled_from(["GET", "POST", "PUT", "DELETE", "PATCH", "HEAD", "OPTIONS", "TRACE", "", "GET\r\n"]),
    rest_paths,
    st.text(max_size=40),
    st.binary(max_size=60) | values.map(lambda value: json.dumps(value).encode()),
    headers,
)
def test_any_address_is_answered(verb: str, path: str, query: str, body: bytes, told: dict[str, str]) -> None:
    before = DOOR.backstage.stored

    response = sent(verb, path, body, query, **told)

    unharmed(before, response)


ROUTES = [
    (route.partition(" ")[0], route.partition(" ")[2], version)
    for operation in OPERATIONS
    for version in ("1.0", "0.3")
    for route in (operation.v1 if version == "1.0" else operation.v03).routes
    if not route.endswith(":cancel")
]
BODIES: list[Any] = [
    {"message": message("m"), "configuration": CONFIGURATION},
    {"request": proto_message("m", content=[{"file": {"fileWithBytes": "AA==", "mimeType": "text/plain"}}])},
    {"parent": "tasks/x", "configId": "c1", "config": {"name": "n", "pushNotificationConfig": HOOK}},
    HOOK,
]


@calm
@given(st.sampled_from(ROUTES), st.sampled_from(BODIES), st.data(), st.text(max_size=30))
def test_every_route_takes_any_body_and_query(
    route: tuple[str, str, str], good: Any, data: st.DataObject, query: str
) -> None:
    before = DOOR.backstage.stored
    verb, path, version = route
    body = replaced(good, data.draw(st.sampled_from(places(good))), data.draw(values))
    for variable in ("{id}", "{taskId}"):
        path = path.replace(variable, TASK)
    path = path.replace("{pushNotificationConfigId}", "c1")

    response = sent(verb, path, json.dumps(body).encode(), query, **{"a2a-version": version})

    unharmed(before, response)
