"""What both sides are asked: requests as API Gateway hands them on (payload format 2.0), and the tasks they find.

Standard library alone, and no import of a neighbour: each side reads this in an environment of its own.
"""

import json
from collections.abc import Mapping
from typing import Any

Object = dict[str, Any]

LARGE_TASK = "large"
CONTEXT = "shelf"
SHORT_TASKS = 60
PAGE = 50
_SINCE = "2026-11-30T08:00:{:02d}.000Z"


def request(method: str, path: str, body: object = None) -> Object:
    """An event of an HTTP API."""
    headers = {
        "accept": "application/json",
        "a2a-version": "1.0",
        "content-type": "application/json",
        "host": "agents.example.com",
        "user-agent": "partner/1.0",
        "x-amzn-trace-id": "Root=1-65000000-000000000000000000000001",
        "x-forwarded-for": "192.0.2.7",
        "x-forwarded-proto": "https",
    }
    event: Object = {
        "version": "2.0",
        "routeKey": "$default",
        "rawPath": path,
        "rawQueryString": "",
        "headers": headers,
        "requestContext": {
            "domainName": "agents.example.com",
            "requestId": "bench",
            "stage": "$default",
            "http": {"method": method, "path": path, "protocol": "HTTP/1.1", "sourceIp": "192.0.2.7"},
        },
        "isBase64Encoded": False,
    }
    return event if body is None else {**event, "body": json.dumps(body)}


def call(method: str, **params: Any) -> Object:
    """A JSON-RPC request at the agent's address."""
    return request("POST", "/", {"jsonrpc": "2.0", "id": 1, "method": method, "params": params})


def send(text: str, number: int = 0, **configuration: Any) -> Object:
    """SendMessage; each number is a message of its own, since the same one again is a retry."""
    message = {"messageId": f"m-{number}", "role": "ROLE_USER", "parts": [{"text": text}]}
    return call("SendMessage", message=message, **({"configuration": configuration} if configuration else {}))


def task(name: str, *, context: str, messages: int, artifacts: int, artifact_bytes: int, second: int = 0) -> Object:
    """A completed task on the wire of 1.0."""
    spoken = [
        {
            "messageId": f"{name}-{at}",
            "contextId": context,
            "taskId": name,
            "role": ("ROLE_USER", "ROLE_AGENT")[at % 2],
            "parts": [{"text": "three pallets, four hundred kilograms " * 5}],
        }
        for at in range(messages)
    ]
    line = "Pune to Rotterdam by sea, 34 days, EUR 2140; "
    content = (line * (artifact_bytes // len(line) + 1))[:artifact_bytes]
    made = [
        {"artifactId": f"{name}-a{at}", "name": f"quote {at}", "parts": [{"text": content}]} for at in range(artifacts)
    ]
    status = {"state": "TASK_STATE_COMPLETED", "timestamp": _SINCE.format(second)}
    return {"id": name, "contextId": context, "status": status, "artifacts": made, "history": spoken}


def seeds() -> list[Object]:
    """One task of 36 KB, and sixty short ones of one context."""
    short = [
        task(f"short-{at:02d}", context=CONTEXT, messages=4, artifacts=1, artifact_bytes=1_000, second=at % 60)
        for at in range(SHORT_TASKS)
    ]
    return [task(LARGE_TASK, context="large", messages=20, artifacts=3, artifact_bytes=10_000), *short]


READS: Mapping[str, Object] = {
    "card": request("GET", "/.well-known/agent-card.json"),
    "get": call("GetTask", id=LARGE_TASK),
    "get_without_history": call("GetTask", id=LARGE_TASK, historyLength=0),
    "list": call("ListTasks", contextId=CONTEXT, pageSize=PAGE),
}
"""Requests that change nothing, so that one event may be asked again and again."""
