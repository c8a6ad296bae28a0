"""HTTP APIs: the event, the limits and the failures of API Gateway for a Lambda proxy integration.

Stock ministack answers a failed handler with 502 and the error's text, never gives up waiting, has no size limits,
puts cookies among the headers and answers every OPTIONS request itself.
"""

import asyncio
import base64
import json
import logging
import os
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from a2a_serverless.local.patches.lambda_ import PAYLOAD_LIMIT
from a2a_serverless.local.patches.roles import RoleGate
from a2a_serverless.local.patches.target import expect, module, replace

_log = logging.getLogger(__name__)

TIMEOUT_SECONDS = 30.0
"""AWS: the longest time an HTTP API waits for an integration."""

REQUEST_LIMIT = 10 * 1024 * 1024
"""AWS: the largest request body of an HTTP API, in bytes."""

Response = tuple[int, dict[str, Any], bytes]


@dataclass(frozen=True)
class Asked:
    """One request to an HTTP API, as ministack hands it on."""

    region: str
    account: str
    api_id: str
    stage: str
    route_key: str
    method: str
    path: str
    path_params: Mapping[str, str]
    raw_query: str
    query: Mapping[str, list[str]] | None
    headers: Mapping[str, str]
    body: bytes

    @property
    def source(self) -> str:
        """The ARN by which a function's policy knows the route."""
        where = f"{self.region}:{self.account}:{self.api_id}"
        return f"arn:aws:execute-api:{where}/{self.stage}/{self.route_key.replace(' ', '')}"


def patch(gate: RoleGate) -> None:
    """Invoke functions with our event, if their policy lets the API, and shape what comes back as API Gateway does."""
    gateway = module("services.apigateway")
    functions = module("services.lambda_svc")
    expect(functions, "_execute_function_with_config_scope", signature="func, event")
    expect(functions, "_get_func_record_for_ref_in_scope", signature="function_ref, account_id, region")
    expect(gateway, "_extract_lambda_ref_from_integration_uri", signature="uri")

    async def invoke(  # noqa: PLR0917 (the shape of ministack's function)
        integration: Mapping[str, Any],
        api_id: str,
        stage: str,
        path: str,
        method: str,
        headers: Mapping[str, str],
        body: bytes,
        query_params: Mapping[str, list[str]] | None,
        route_key: str = "$default",
        path_params: Mapping[str, str] | None = None,
        *,
        owner_account_id: str,
        owner_region: str,
        raw_query_string: str | None = None,
        **authorizers: Any,
    ) -> Response:
        if any(value for value in authorizers.values()):
            return _message(500, "authorizers are not served locally: the kit authenticates in its api function")
        asked = Asked(
            region=owner_region,
            account=owner_account_id,
            api_id=api_id,
            stage=stage,
            route_key=route_key,
            method=method.upper(),
            path=path,
            path_params=path_params or {},
            raw_query=raw_query_string or "",
            query=query_params,
            headers=headers,
            body=body,
        )
        reference = gateway._extract_lambda_ref_from_integration_uri(integration.get("integrationUri", ""))
        return await _answered(asked, reference, gate)

    replace(gateway, "_invoke_lambda_proxy", invoke, signature=_INVOKE)
    _let_routes_answer_options(gateway)


async def _answered(asked: Asked, reference: Any, gate: RoleGate) -> Response:
    """What the function behind a route answers, if its policy lets the API ask it."""
    functions = module("services.lambda_svc")
    function, config, _ = functions._get_func_record_for_ref_in_scope(
        reference, account_id=asked.account, region=asked.region
    )
    if function is None or config is None:
        return _message(500, "Internal Server Error")
    arn, policy = config["FunctionArn"], function.get("policy")
    if not gate.admits("apigateway.amazonaws.com", policy, "lambda:InvokeFunction", arn, source=asked.source):
        _log.error("%s has no permission that lets %s invoke it", arn, asked.source)
        return _message(500, "Internal Server Error")
    event = _event(asked)
    if len(asked.body) > REQUEST_LIMIT or len(json.dumps(event)) > PAYLOAD_LIMIT:
        return _message(413, "Request Entity Too Large")
    record = functions._execution_record_for_config(function, config)
    run = module("core.concurrency").run_reentrant
    return await within_limit(run(functions._execute_function_with_config_scope, record, event, thread_name="http-api"))


def _event(asked: Asked) -> dict[str, Any]:
    """Payload format 2.0."""
    return {
        "version": "2.0",
        "routeKey": asked.route_key,
        "rawPath": asked.path,
        "rawQueryString": asked.raw_query,
        **_headers_and_cookies(asked.headers),
        **_query(asked.query),
        "requestContext": {
            "accountId": asked.account,
            "apiId": asked.api_id,
            "domainName": f"{asked.api_id}.execute-api.{asked.region}.amazonaws.com",
            "domainPrefix": asked.api_id,
            **_request_context(asked.headers, method=asked.method, path=asked.path),
            "routeKey": asked.route_key,
            "stage": asked.stage,
        },
        **({"pathParameters": dict(asked.path_params)} if asked.path_params else {}),
        **_body(asked.body, asked.headers.get("content-type")),
    }


_INVOKE = (
    "integration, api_id, stage, path, method, headers, body, query_params, route_key, path_params, "
    "authorizer_claims, authorizer_scopes, authorizer_lambda_context, authorizer_iam, owner_account_id, "
    "owner_region, raw_query_string"
)


async def within_limit(call: Any) -> Response:
    """503 once the limit is reached; the function runs on, as it does on AWS."""
    task = asyncio.ensure_future(call)
    done, _ = await asyncio.wait({task}, timeout=TIMEOUT_SECONDS)
    if not done:
        return _message(503, "Service Unavailable")
    return _response(task.result())


def _let_routes_answer_options(gateway: Any) -> None:
    """Without a CORS configuration an OPTIONS request goes to the routes (HTTP API guide, "Configuring CORS")."""
    signature = (
        "api_id, stage, path, method, headers, body, query_params, owner_account_id, owner_region, raw_query_string"
    )

    async def handle(api_id: str, stage: str, path: str, method: str, *rest: Any) -> Any:
        api = gateway._apis.get(api_id) or {}
        if method == "OPTIONS" and not api.get("corsConfiguration"):
            method = "options"  # not the literal that ministack answers itself; `invoke` restores it
        return await old(api_id, stage, path, method, *rest)

    old = replace(gateway, "_handle_execute_in_scope", handle, signature=signature)


def _headers_and_cookies(headers: Mapping[str, str]) -> dict[str, Any]:
    """Payload format 2.0: names in lower case, cookies apart from them."""
    cookies = [cookie.strip() for cookie in headers.get("cookie", "").split(";") if cookie.strip()]
    own = {name.lower(): value for name, value in headers.items() if name.lower() != "cookie"}
    return {"headers": own, **({"cookies": cookies} if cookies else {})}


def _query(parameters: Mapping[str, list[str]] | None) -> dict[str, Any]:
    """Repeated parameters are joined by commas; without a query string there is no such key."""
    if not parameters:
        return {}
    return {"queryStringParameters": {name: ",".join(values) for name, values in parameters.items()}}


def _request_context(headers: Mapping[str, str], *, method: str, path: str) -> dict[str, Any]:
    now = time.time()
    return {
        "http": {
            "method": method,
            "path": path,
            "protocol": "HTTP/1.1",
            "sourceIp": headers.get("x-forwarded-for", "127.0.0.1").rpartition(",")[2].strip(),
            "userAgent": headers.get("user-agent", ""),
        },
        "requestId": base64.b64encode(os.urandom(11)).decode(),
        "time": time.strftime("%d/%b/%Y:%H:%M:%S +0000", time.gmtime(now)),
        "timeEpoch": int(now * 1000),
    }


def _body(body: bytes, content_type: str | None) -> dict[str, Any]:
    """Text types travel as text, all others as base64; no body, no key."""
    if not body:
        return {"isBase64Encoded": False}
    if _is_text(content_type):
        try:
            return {"body": body.decode(), "isBase64Encoded": False}
        except UnicodeDecodeError:
            pass
    return {"body": base64.b64encode(body).decode(), "isBase64Encoded": True}


def _is_text(content_type: str | None) -> bool:
    kind = (content_type or "").partition(";")[0].strip().lower()
    return kind.startswith("text/") or kind in ("application/json", "application/xml", "application/javascript")


def _response(result: Mapping[str, Any]) -> Response:
    """What the client gets for an invocation: nothing of a failure but that there was one."""
    if result.get("throttle"):
        return _message(503, "Service Unavailable")
    if result.get("error"):
        return _message(500, "Internal Server Error")
    returned = result.get("body")
    if len(json.dumps(returned)) > PAYLOAD_LIMIT:
        return _message(500, "Internal Server Error")
    if not isinstance(returned, dict) or "statusCode" not in returned:
        # Payload format 2.0: anything without a statusCode is the body of a 200 answer.
        text = returned if isinstance(returned, str) else json.dumps(returned)
        return 200, {"content-type": "application/json"}, text.encode()
    return _shaped(returned)


def _shaped(returned: Mapping[str, Any]) -> Response:
    try:
        status = int(returned["statusCode"])
        headers: dict[str, Any] = {
            str(name).lower(): _header_value(value) for name, value in (returned.get("headers") or {}).items()
        }
        body = returned.get("body")
        text = body if isinstance(body, str) else "" if body is None else json.dumps(body)
        content = base64.b64decode(text) if returned.get("isBase64Encoded") else text.encode()
    except (TypeError, ValueError, AttributeError):
        return _message(500, "Internal Server Error")
    headers.setdefault("content-type", "text/plain; charset=utf-8")
    if cookies := returned.get("cookies"):
        earlier = [headers["set-cookie"]] if "set-cookie" in headers else []
        headers["set-cookie"] = [*cookies, *earlier]
    return status, headers, content


def _header_value(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)


def _message(status: int, text: str) -> Response:
    return status, {"content-type": "application/json"}, json.dumps({"message": text}, separators=(",", ":")).encode()
