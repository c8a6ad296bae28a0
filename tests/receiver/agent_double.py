"""An agent as the receiver sees it from outside: GetTask and ListTasks over both bindings, scripted per call."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

from a2a_receiver import NUDGE_EXTENSION
from a2a_receiver.https import HttpAnswer, HttpRequest

BASE = "https://agent.example.com/agents/freight"
NOT_FOUND = {"code": -32001, "message": "Task not found"}


def task(task_id: str = "t", *, seq: int | None = 7, at: str = "") -> dict[str, Any]:
    metadata = {} if seq is None else {"metadata": {NUDGE_EXTENSION: {"seq": str(seq)}}}
    status = {"state": "TASK_STATE_COMPLETED"} | ({"timestamp": at} if at else {})
    return {"id": task_id, "contextId": "c", "status": status, **metadata}


def ok(value: object, *, status: int = 200) -> HttpAnswer:
    return HttpAnswer(status, {}, json.dumps(value).encode())


@dataclass
class Agent:
    """Answers each call with the next of `script`, then with its last; `pages` are what ListTasks shows."""

    script: list[Callable[[], HttpAnswer] | dict[str, Any] | None] = field(default_factory=list)
    pages: Sequence[Sequence[dict[str, Any]]] = ((),)
    seen: list[HttpRequest] = field(default_factory=list)

    def __call__(self, request: HttpRequest) -> HttpAnswer:
        self.seen.append(request)
        if request.method == "POST":
            return self._json_rpc(json.loads(request.body or b""))
        return self._rest(request.url)

    def _json_rpc(self, call: dict[str, Any]) -> HttpAnswer:
        answer = {"jsonrpc": "2.0", "id": call["id"]}
        if call["method"] == "ListTasks":
            return ok(answer | {"result": self._page(call["params"].get("pageToken", ""))})
        match self._next():
            case None:
                return ok(answer | {"error": NOT_FOUND})
            case dict() as found:
                return ok(answer | {"result": found})
            case special:
                return special()

    def _rest(self, url: str) -> HttpAnswer:
        parts = urlsplit(url)
        if parts.path.endswith("/tasks"):
            return ok(self._page(parse_qs(parts.query).get("pageToken", [""])[0]))
        assert unquote(parts.path.rpartition("/")[2])
        match self._next():
            case None:
                return ok({"error": {"code": 404, "status": "NOT_FOUND"}}, status=404)
            case dict() as found:
                return ok(found)
            case special:
                return special()

    def _next(self) -> Callable[[], HttpAnswer] | dict[str, Any] | None:
        return self.script.pop(0) if len(self.script) > 1 else self.script[0]

    def _page(self, token: str) -> dict[str, Any]:
        number = int(token or 0)
        is_last = number + 1 >= len(self.pages)
        return {
            "tasks": self.pages[number],
            "nextPageToken": "" if is_last else str(number + 1),
            "pageSize": 100,
            "totalSize": 0,
        }
