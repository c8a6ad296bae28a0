"""The HTTP+JSON binding of 1.0: addresses, verbs, queries, media types, errors (SPEC 11)."""

import json

import pytest

from a2a_serverless.protocol.http import Response

from .door import Door, Silent, WithExtended, events_of, json_of, message

A2A_JSON = "application/a2a+json"
JSON = "application/json"


def reason(response: Response) -> str:
    error = json_of(response)["error"]
    assert error["code"] == response.status
    assert error["details"][0]["@type"] == "type.googleapis.com/google.rpc.ErrorInfo"
    assert error["details"][0]["domain"] == "a2a-protocol.org"
    found: str = error["details"][0]["reason"]
    return found


def asking(door: Door) -> str:
    found: str = door.send("ask")["id"]
    return found


def test_every_operation_is_reached_by_its_address() -> None:
    door = Door(WithExtended())
    task = asking(door)
    hook = {"url": "https://hook.example", "id": "c1"}
    configs = f"/tasks/{task}/pushNotificationConfigs"

    assert json_of(door.rest("POST", "/message:send", {"message": message("echo hi")}))["task"]["status"]
    assert events_of(door.rest("POST", "/message:stream", {"message": message("echo ho")}))[0]["task"]["id"]
    assert json_of(door.rest("GET", f"/tasks/{task}"))["id"] == task
    assert json_of(door.rest("GET", "/tasks"))["totalSize"] == 3
    assert json_of(door.rest("POST", configs, hook))["id"] == "c1"
    assert json_of(door.rest("GET", f"{configs}/c1"))["url"] == "https://hook.example"
    assert [config["id"] for config in json_of(door.rest("GET", configs))["configs"]] == ["c1"]
    assert json_of(door.rest("DELETE", f"{configs}/c1")) == {}
    assert json_of(door.rest("DELETE", f"{configs}/c1")) == {}
    assert events_of(door.rest("POST", f"/tasks/{task}:subscribe"))[0]["task"]["id"] == task
    assert events_of(door.rest("GET", f"/tasks/{task}:subscribe"))[0]["task"]["id"] == task
    assert json_of(door.rest("POST", f"/tasks/{task}:cancel"))["status"]["state"] == "TASK_STATE_CANCELED"
    assert "known callers" in json_of(door.rest("GET", "/extendedAgentCard"))["description"]


@pytest.mark.parametrize("base", ["", "/agents/tester", "/acme", "/agents/tester/acme", "/"])
def test_an_address_may_have_the_agent_and_then_a_tenant_before_it(base: str) -> None:
    door = Door()

    sent = door.rest("POST", f"{base}/message:send", {"message": message("echo hi")})
    read = door.rest("GET", f"{base}/tasks/{json_of(sent)['task']['id']}")
    listed = door.rest("GET", f"{base}/tasks/")

    assert read.status == 200
    assert json_of(listed)["totalSize"] == 1


def test_an_id_that_a_client_percent_encoded_is_the_same_id() -> None:
    door = Door()
    task = asking(door)

    assert door.rest("GET", f"/tasks/{task.replace('-', '%2D')}").status == 200
    assert door.rest("POST", f"/tasks/{task}%3Acancel").status == 200


def test_a_path_wins_over_the_body() -> None:
    door = Door()
    task = asking(door)

    created = door.rest(
        "POST",
        f"/tasks/{task}/pushNotificationConfigs",
        {"url": "https://hook.example", "taskId": "another", "id": "c"},
    )

    assert json_of(created)["taskId"] == task


def test_a_query_is_read_by_the_types_of_the_request() -> None:
    door = Door()
    task = door.send("echo hi", contextId="c 1")

    query = "contextId=c%201&pageSize=1&includeArtifacts=true&historyLength=1&status=TASK_STATE_COMPLETED"
    page = json_of(door.rest("GET", "/tasks", query=query))

    assert [found["id"] for found in page["tasks"]] == [task["id"]]
    assert len(page["tasks"][0]["history"]) == 1
    assert page["tasks"][0]["artifacts"]
    assert "history" not in json_of(door.rest("GET", f"/tasks/{task['id']}", query="historyLength=0"))


@pytest.mark.parametrize(
    "query",
    [
        "pageSize=x",
        "pageSize=0",
        "pageSize=101",
        "pageSize=1.5",
        "pageSize=1&pageSize=2",
        "includeArtifacts=yes",
        "historyLength=-1",
        "status=working",
        "statusTimestampAfter=yesterday",
        "pageToken=x",
    ],
)
def test_a_query_that_does_not_read_so_is_refused(query: str) -> None:
    response = Door().rest("GET", "/tasks", query=query)

    assert response.status == 400
    assert reason(response) == "INVALID_PARAMS"
    assert json_of(response)["error"]["details"][1]["fieldViolations"][0]["field"] == query.split("=", maxsplit=1)[0]


def test_an_empty_query_field_is_one_that_is_not_there() -> None:
    assert Door().rest("GET", "/tasks", query="contextId=&pageToken=&status=&pageSize=&nonsense=1").status == 200


@pytest.mark.parametrize(
    ("content_type", "accept", "expected", "of_failure"),
    [
        (JSON, "", JSON, JSON),
        (JSON, A2A_JSON, JSON, JSON),
        (A2A_JSON, "", A2A_JSON, A2A_JSON),
        (A2A_JSON, "text/event-stream", A2A_JSON, A2A_JSON),
        ("application/json; charset=utf-8", "*/*", JSON, JSON),
        ("", "", A2A_JSON, JSON),
        ("", A2A_JSON, A2A_JSON, A2A_JSON),
        ("", f"{JSON}, {A2A_JSON};q=0.9", A2A_JSON, A2A_JSON),
        ("", JSON, JSON, JSON),
        ("", "*/*", JSON, JSON),
        ("", "text/event-stream", A2A_JSON, JSON),
    ],
)
def test_an_answer_goes_out_as_the_request_came_and_an_error_as_json_where_it_named_no_type(
    content_type: str, accept: str, expected: str, of_failure: str
) -> None:
    door = Door()
    headers = {"content_type": content_type, "accept": accept, "a2a_version": "1.0"}

    body = json.dumps({"message": message("echo hi")}).encode()
    good = door.request("POST", "/message:send", body, **headers)
    bad = door.request("POST", "/message:send", b"{}", **headers)

    assert (good.status, good.headers["content-type"]) == (200, expected)
    assert (bad.status, bad.headers["content-type"]) == (400, of_failure)


@pytest.mark.parametrize(
    ("verb", "path", "body", "status", "expected"),
    [
        ("POST", "/message:send", b"{", 400, "PARSE_ERROR"),
        ("POST", "/message:send", b"[]", 400, "INVALID_REQUEST"),
        ("POST", "/message:send", {}, 400, "INVALID_PARAMS"),
        ("POST", "/message:stream", {}, 400, "INVALID_PARAMS"),
        ("POST", "/message:send", {"message": message("x", taskId="nope")}, 404, "TASK_NOT_FOUND"),
        ("GET", "/tasks/nope", None, 404, "TASK_NOT_FOUND"),
        ("GET", f"/tasks/{'x' * 5000}", None, 404, "TASK_NOT_FOUND"),
        ("GET", "/tasks/%00%ff%2F..%2F", None, 404, "TASK_NOT_FOUND"),
        ("POST", "/tasks/nope:cancel", None, 404, "TASK_NOT_FOUND"),
        ("POST", "/tasks/nope:subscribe", None, 404, "TASK_NOT_FOUND"),
        ("GET", "/tasks/nope/pushNotificationConfigs", None, 404, "TASK_NOT_FOUND"),
        ("GET", "/nothing", None, 404, "METHOD_NOT_FOUND"),
        ("POST", "/a/b/c/d/e/f", b"", 404, "METHOD_NOT_FOUND"),
        ("GET", "/extendedAgentCard", None, 400, "UNSUPPORTED_OPERATION"),
    ],
)
def test_each_error_has_its_status_and_reason(verb: str, path: str, body: object, status: int, expected: str) -> None:
    response = Door().rest(verb, path, body)

    assert response.status == status
    assert reason(response) == expected


def test_an_ended_task_is_refused_as_it_should_be() -> None:
    door = Door()
    task = door.send("echo hi")["id"]

    cancel = door.rest("POST", f"/tasks/{task}:cancel")
    subscribe = door.rest("POST", f"/tasks/{task}:subscribe")
    send = door.rest("POST", "/message:send", {"message": message("more", taskId=task)})

    assert (cancel.status, reason(cancel)) == (400, "TASK_NOT_CANCELABLE")
    assert (subscribe.status, reason(subscribe)) == (400, "UNSUPPORTED_OPERATION")
    assert (send.status, reason(send)) == (400, "UNSUPPORTED_OPERATION")


def test_another_media_type_is_refused_with_the_status_that_http_has_for_it() -> None:
    response = Door().rest("POST", "/message:send", b"hello", content_type="text/plain")

    assert response.status == 415
    assert reason(response) == "CONTENT_TYPE_NOT_SUPPORTED"


def test_a_media_type_that_the_agent_does_not_take_is_refused_before_anything_is_stored() -> None:
    door = Door()
    body = {"message": {**message("x"), "parts": [{"url": "https://x.example", "mediaType": "video/mp4"}]}}

    response = door.rest("POST", "/message:send", body)

    assert (response.status, reason(response)) == (400, "CONTENT_TYPE_NOT_SUPPORTED")
    assert door.backstage.stored == 0


@pytest.mark.parametrize(
    ("verb", "path", "allow"), [("PUT", "/tasks/x", "GET, HEAD"), ("GET", "/message:send", "POST")]
)
def test_a_wrong_verb_is_told_the_right_ones(verb: str, path: str, allow: str) -> None:
    response = Door().rest(verb, path)

    assert response.status == 405
    assert response.headers["allow"] == allow
    assert json_of(response)["error"]["status"] == "UNIMPLEMENTED"


def test_head_is_answered_like_get_without_a_body() -> None:
    door = Door()

    assert door.rest("HEAD", f"/tasks/{asking(door)}").body == ""
    assert door.rest("HEAD", "/tasks/nope").status == 404


def test_an_agent_that_does_not_stream_says_so_before_anything_is_stored() -> None:
    door = Door(Silent())

    assert reason(door.rest("POST", "/message:stream", {"message": message("echo x")})) == "UNSUPPORTED_OPERATION"
    assert reason(door.rest("POST", "/tasks/x:subscribe")) == "UNSUPPORTED_OPERATION"
    assert door.error("SendStreamingMessage", {"message": message("echo x")})["code"] == -32004
    assert door.backstage.stored == 0


def test_a_deployment_that_sends_no_webhooks_says_so_everywhere() -> None:
    door = Door(push_supported=False)
    hook = {"url": "https://hook.example"}
    configs = "/tasks/x/pushNotificationConfigs"

    refusals = [
        door.rest("POST", configs, hook),
        door.rest("GET", configs),
        door.rest("GET", f"{configs}/c"),
        door.rest("DELETE", f"{configs}/c"),
        door.rest(
            "POST",
            "/message:send",
            {"message": message("echo x"), "configuration": {"taskPushNotificationConfig": hook}},
        ),
    ]

    assert {(refused.status, reason(refused)) for refused in refusals} == {(400, "PUSH_NOTIFICATION_NOT_SUPPORTED")}
    assert door.backstage.stored == 0


def test_the_same_message_with_a_webhook_is_no_retry_and_its_webhook_is_kept() -> None:
    door = Door()
    plain = door.send("ask")
    hook = {"url": "https://hook.example", "id": "c1"}

    hooked, again, other = (
        door.send("ask", configuration={"taskPushNotificationConfig": config})
        for config in (hook, hook, {**hook, "url": "https://other.example"})
    )

    assert hooked["id"] not in {plain["id"], other["id"]}
    assert again["id"] == hooked["id"]
    assert door.result("ListTaskPushNotificationConfigs", {"taskId": hooked["id"]})["configs"] == [
        {**hook, "taskId": hooked["id"]}
    ]


def test_secrets_of_a_webhook_never_come_back() -> None:
    door = Door()
    task = asking(door)
    secret = {"scheme": "Bearer", "credentials": "s3cr3t"}

    created = door.rest(
        "POST",
        f"/tasks/{task}/pushNotificationConfigs",
        {"url": "https://hook.example", "token": "t0k3n", "authentication": secret},
    )
    listed = door.rest("GET", f"/tasks/{task}/pushNotificationConfigs")

    for response in (created, listed):
        assert "s3cr3t" not in response.body
        assert "t0k3n" not in response.body
    assert json_of(created)["authentication"] == {"scheme": "Bearer"}


def test_a_promised_extended_card_that_nobody_wrote_is_said_to_be_missing() -> None:
    response = Door(Silent()).rest("GET", "/extendedAgentCard")

    assert reason(response) == "EXTENDED_AGENT_CARD_NOT_CONFIGURED"


def test_the_extended_card_is_kept_by_its_reader_alone() -> None:
    door = Door(WithExtended())

    first = door.rest("GET", "/extendedAgentCard")
    again = door.rest("GET", "/extendedAgentCard", if_none_match=first.headers["etag"])

    assert first.headers["cache-control"] == "private, max-age=300"
    assert again.status == 304


def test_a_store_that_others_keep_changing_is_a_passing_failure() -> None:
    from a2a_serverless.errors import Conflict

    door = Door()
    task = asking(door)

    def lost(*_: object) -> None:
        raise Conflict("another came first")

    door.backstage.tasks.commit = lost  # type: ignore[assignment,method-assign] # a store under siege
    response = door.rest("POST", f"/tasks/{task}:cancel")

    assert response.status == 503
    assert response.headers["retry-after"] == "1"
    assert "another came first" not in response.body
