"""API Gateway's payload 2.0 to a request and a response back to it."""

import base64
import json
from typing import Any

import pytest

from a2a_serverless.protocol.apigateway import answer, to_request, to_result
from a2a_serverless.protocol.http import Response

from .door import Door, message


def event(body: Any = None, *, verb: str = "POST", path: str = "/", query: str = "", **headers: str) -> dict[str, Any]:
    return {
        "version": "2.0",
        "routeKey": "$default",
        "rawPath": path,
        "rawQueryString": query,
        "headers": {name.replace("_", "-"): value for name, value in headers.items()},
        "requestContext": {"http": {"method": verb, "path": path}, "stage": "$default"},
        "isBase64Encoded": False,
        **({} if body is None else {"body": body}),
    }


def test_a_request_is_read_from_an_event() -> None:
    request = to_request(event("{}", path="/tasks/a:cancel", query="a=1&b=%20", a2a_version="1.0,1.0"))

    assert (request.method, request.path, request.body) == ("POST", "/tasks/a:cancel", b"{}")
    assert request.query_fields() == {"a": "1", "b": " "}
    assert request.header("a2a-version") == "1.0,1.0"


def test_binary_media_types_come_as_base64() -> None:
    told = event(base64.b64encode("zażółć".encode()).decode()) | {"isBase64Encoded": True}

    assert to_request(told).body == "zażółć".encode()


@pytest.mark.parametrize("body", ["***", "\ud800", "ż"])
def test_base64_that_is_none_is_no_json_either(body: str) -> None:
    told = event(body, content_type="application/json") | {"isBase64Encoded": True}

    result = answer(Door().service, told)

    assert result["statusCode"] == 200
    assert json.loads(result["body"])["error"]["code"] == -32700


def test_lone_surrogates_are_refused() -> None:
    body = '{"jsonrpc":"2.0","id":1,"method":"GetTask","params":{"id":"\ud800"}}'

    result = answer(Door().service, event(body, content_type="application/json", a2a_version="1.0"))

    assert json.loads(result["body"])["error"]["code"] == -32700


@pytest.mark.parametrize("told", [{}, {"headers": None, "requestContext": {}}, {"rawPath": None, "body": None}])
def test_an_event_with_nothing_in_it_is_a_look_at_the_card(told: dict[str, Any]) -> None:
    assert answer(Door().service, told)["statusCode"] == 200


@pytest.mark.parametrize("media_type", ["application/a2a+json", "text/event-stream", "application/json"])
def test_text_stays_text(media_type: str) -> None:
    result = to_result(Response(200, {"content-type": media_type}, '{"a":"ż"}'))

    assert result == {
        "statusCode": 200,
        "headers": {"content-type": media_type},
        "body": '{"a":"ż"}',
        "isBase64Encoded": False,
    }


def test_a_whole_exchange_survives_the_gateway() -> None:
    door = Door()
    body = {"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": {"message": message("echo zażółć 🙂")}}

    result = answer(
        door.service, event(json.dumps(body), content_type="application/json", a2a_version="1.0", cookie="a=b")
    )

    assert result["headers"]["content-type"] == "application/json"
    assert json.loads(result["body"])["result"]["task"]["artifacts"][0]["parts"] == [{"text": "zażółć 🙂"}]
    json.dumps(result)
