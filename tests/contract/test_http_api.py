"""HTTP APIs: what a function gets of a request, and what a client gets of a function that fails."""

import asyncio
import base64
import http.client
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pytest

from a2a_serverless.local.patches import http_api

from .conftest import ACCOUNT, REGION, Cloud

ECHOES = """
import base64, json, time
def handler(event, context):
    match event["rawPath"].rpartition("/")[2]:
        case "boom": raise RuntimeError("internal detail")
        case "slow": time.sleep(5)
        case "status": return {"statusCode": "nonsense"}
        case "bare": return {"hello": "world"}
        case "binary":
            return {"statusCode": 200, "isBase64Encoded": True, "body": base64.b64encode(bytes(range(256))).decode()}
        case "cookies": return {"statusCode": 201, "cookies": ["a=1", "b=2"], "headers": {"X-Y": 1}, "body": "hi"}
        case "large": return {"statusCode": 200, "body": "x" * (6 * 1024 * 1024)}
    return {"statusCode": 200, "headers": {"content-type": "application/json"}, "body": json.dumps(event)}
"""


@dataclass(frozen=True)
class Answer:
    """An HTTP answer."""

    status: int
    headers: list[tuple[str, str]]
    body: bytes

    @property
    def event(self) -> dict[str, Any]:
        """The event that an echoing function got."""
        event: dict[str, Any] = json.loads(self.body)
        return event


class Api:
    """An HTTP API in front of one function, called through the address that the front door uses too."""

    def __init__(self, cloud: Cloud, **function: Any) -> None:
        self._host = cloud.address.removeprefix("http://")
        gateway = cloud.client("apigatewayv2")
        made = cloud.function(ECHOES, **function)
        self.id = gateway.create_api(Name="api", ProtocolType="HTTP")["ApiId"]
        integration = gateway.create_integration(
            ApiId=self.id, IntegrationType="AWS_PROXY", IntegrationUri=made.arn, PayloadFormatVersion="2.0"
        )["IntegrationId"]
        for key in ("ANY /{proxy+}", "ANY /"):
            gateway.create_route(ApiId=self.id, RouteKey=key, Target=f"integrations/{integration}")
        cloud.functions.add_permission(
            FunctionName=made.name,
            StatementId="api",
            Action="lambda:InvokeFunction",
            Principal="apigateway.amazonaws.com",
            SourceArn=f"arn:aws:execute-api:{REGION}:{ACCOUNT}:{self.id}/*",
        )
        self.function = made.name
        gateway.create_stage(ApiId=self.id, StageName="$default", AutoDeploy=True)

    def call(
        self, method: str, path: str, body: bytes | None = None, headers: Mapping[str, str] | None = None
    ) -> Answer:
        """Send one request."""
        connection = http.client.HTTPConnection(self._host, timeout=40)
        connection.request(method, f"/_aws/execute-api/{self.id}/$default{path}", body, headers or {})
        answer = connection.getresponse()
        content = answer.read()
        connection.close()
        return Answer(answer.status, answer.getheaders(), content)


@pytest.fixture
def api(cloud: Cloud) -> Api:
    """An API whose function says what it got."""
    return Api(cloud)


def test_a_function_gets_the_request_in_payload_format_2(api: Api) -> None:
    answer = api.call(
        "POST",
        "/a/b%20c?x=1&x=2&y=%2F",
        '{"k":"é"}'.encode(),
        {"Content-Type": "application/json", "A2A-Version": "1.0", "Cookie": "c1=1; c2=2"},
    )

    event = answer.event
    context = event.pop("requestContext")
    headers = event.pop("headers")
    assert event == {
        "version": "2.0",
        "routeKey": "ANY /{proxy+}",
        "rawPath": "/a/b c",
        "rawQueryString": "x=1&x=2&y=%2F",
        "queryStringParameters": {"x": "1,2", "y": "/"},
        "cookies": ["c1=1", "c2=2"],
        "pathParameters": {"proxy": "a/b c"},
        "body": '{"k":"é"}',
        "isBase64Encoded": False,
    }
    assert (headers["content-type"], headers["a2a-version"]) == ("application/json", "1.0")
    assert "cookie" not in headers
    assert context["http"]["method"] == "POST"
    assert context["http"]["path"] == "/a/b c"
    assert context["domainName"] == f"{context['apiId']}.execute-api.{REGION}.amazonaws.com"
    assert (context["accountId"], context["stage"]) == (ACCOUNT, "$default")


def test_a_request_without_body_query_and_cookies_has_no_such_keys(api: Api) -> None:
    event = api.call("GET", "/x").event

    assert {"body", "queryStringParameters", "cookies"} & set(event) == set()
    assert event["isBase64Encoded"] is False


@pytest.mark.parametrize("kind", ["application/octet-stream", "application/a2a+json", ""])
def test_a_body_that_is_no_known_text_comes_as_base64(api: Api, kind: str) -> None:
    event = api.call("POST", "/x", b'{"a":1}', {"content-type": kind} if kind else {}).event

    assert event["isBase64Encoded"] is True
    assert base64.b64decode(event["body"]) == b'{"a":1}'


def test_a_text_body_that_is_no_utf_8_comes_as_base64(api: Api) -> None:
    event = api.call("POST", "/x", b"\xff\xfe", {"content-type": "application/json"}).event

    assert (event["isBase64Encoded"], base64.b64decode(event["body"])) == (True, b"\xff\xfe")


def test_a_failing_function_is_500_and_tells_nothing(api: Api) -> None:
    answer = api.call("GET", "/boom")

    assert (answer.status, answer.body) == (500, b'{"message":"Internal Server Error"}')


def test_a_function_that_takes_too_long_is_500_and_tells_nothing(cloud: Cloud) -> None:
    answer = Api(cloud, timeout=1).call("GET", "/slow")

    assert (answer.status, answer.body) == (500, b'{"message":"Internal Server Error"}')


def test_a_function_that_runs_past_the_gateway_s_limit_is_503(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_api, "TIMEOUT_SECONDS", 0.05)

    async def runs_on() -> Mapping[str, Any]:
        await asyncio.sleep(1)
        return {"body": {"statusCode": 200}}

    assert asyncio.run(http_api.within_limit(runs_on())) == (
        503,
        {"content-type": "application/json"},
        b'{"message":"Service Unavailable"}',
    )


def test_an_answer_that_is_no_http_answer_is_500(api: Api) -> None:
    assert api.call("GET", "/status").status == 500


def test_a_response_above_six_megabytes_is_500(api: Api) -> None:
    assert api.call("GET", "/large").status == 500


def test_a_request_whose_event_is_above_six_megabytes_is_413(api: Api) -> None:
    answer = api.call("POST", "/x", b"x" * (7 * 1024 * 1024), {"content-type": "text/plain"})

    assert (answer.status, answer.body) == (413, b'{"message":"Request Entity Too Large"}')


def test_anything_without_a_status_code_is_the_body_of_a_200(api: Api) -> None:
    answer = api.call("GET", "/bare")

    assert (answer.status, json.loads(answer.body)) == (200, {"hello": "world"})


def test_binary_answers_and_cookies_reach_the_client(api: Api) -> None:
    binary, cookies = api.call("GET", "/binary"), api.call("GET", "/cookies")

    assert binary.body == bytes(range(256))
    assert cookies.status == 201
    assert [value for name, value in cookies.headers if name.lower() == "set-cookie"] == ["a=1", "b=2"]
    assert ("x-y", "1") in cookies.headers


def test_a_function_that_does_not_let_the_api_invoke_it_is_500(cloud: Cloud, api: Api) -> None:
    cloud.functions.remove_permission(FunctionName=api.function, StatementId="api")

    assert api.call("GET", "/x").status == 500


def test_options_goes_to_the_function_when_the_api_has_no_cors(api: Api) -> None:
    event = api.call("OPTIONS", "/x").event

    assert event["requestContext"]["http"]["method"] == "OPTIONS"


def test_a_path_without_a_route_is_404(cloud: Cloud) -> None:
    gateway = cloud.client("apigatewayv2")
    api = Api(cloud)
    for route in gateway.get_routes(ApiId=api.id)["Items"]:
        gateway.delete_route(ApiId=api.id, RouteId=route["RouteId"])

    answer = api.call("GET", "/x")

    assert (answer.status, answer.body) == (404, b'{"message":"Not Found"}')
