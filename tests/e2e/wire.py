"""Plain HTTP, for what an SDK would not send or would not show: exact bytes, statuses and headers."""

import itertools
import json
import time
import uuid
from collections.abc import Callable, Mapping
from typing import Any, Final, TypeVar

import httpx
import pytest

JSON: Final = "application/json"
TERMINAL: Final = frozenset(f"TASK_STATE_{name}" for name in ("COMPLETED", "FAILED", "CANCELED", "REJECTED"))

Found = TypeVar("Found")
Object = dict[str, Any]


class RpcError(Exception):
    """The server answered with an error."""

    def __init__(self, error: Mapping[str, Any]) -> None:
        super().__init__(json.dumps(error))
        self.code: int = error["code"]
        self.message: str = error["message"]
        self.data: Any = error.get("data")


class Wire:
    """One agent, spoken to over plain HTTP as one caller; thread-safe."""

    def __init__(self, url: str, token: str = "") -> None:
        self.url = url
        self._numbers = itertools.count(1)
        authorization = {"Authorization": f"Bearer {token}"} if token else {}
        self.http = httpx.Client(headers={"A2A-Version": "1.0", **authorization}, timeout=60)

    def close(self) -> None:
        """Close the connections."""
        self.http.close()

    def post(self, method: str, params: Any, *, number: Any = None, headers: Mapping[str, str] | None = None) -> Any:
        """A JSON-RPC request; the whole HTTP response."""
        number = next(self._numbers) if number is None else number
        body = {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
        return self.http.post(self.url, json=body, headers=dict(headers or {}))

    def rpc(self, method: str, params: Any, **more: Any) -> Any:
        """A JSON-RPC request; its result.

        Raises:
            RpcError: it was refused.
        """
        answer = self.post(method, params, **more)
        assert answer.status_code == 200, (answer.status_code, answer.text)
        body = answer.json()
        if "error" in body:
            raise RpcError(body["error"])
        return body["result"]

    def rest(self, verb: str, path: str, **more: Any) -> httpx.Response:
        """An HTTP+JSON request."""
        return self.http.request(verb, self.url + path, **more)

    def send(self, text: str, **told: Any) -> Object:
        """SendMessage; the task."""
        task: Object = self.rpc("SendMessage", message(text, **told))["task"]
        return task

    def begin(self, text: str, **told: Any) -> Object:
        """SendMessage, without waiting for what comes of it."""
        return self.send(text, **{**told, "returnImmediately": True})

    def get(self, task_id: str, **more: Any) -> Object:
        """GetTask."""
        task: Object = self.rpc("GetTask", {"id": task_id, **more})
        return task

    def cancel(self, task_id: str) -> Object:
        """CancelTask."""
        task: Object = self.rpc("CancelTask", {"id": task_id})
        return task

    def events(self, method: str, params: Any) -> list[Object]:
        """A streaming call; the results of all its events."""
        answer = self.post(method, params)
        assert answer.headers["content-type"].startswith("text/event-stream"), answer.text
        lines = [line for line in answer.text.split("\n") if line.startswith("data:")]
        return [json.loads(line.removeprefix("data:"))["result"] for line in lines]

    def until(self, task_id: str, state: str | frozenset[str] = TERMINAL, seconds: float = 40) -> Object:
        """The task once it stands in a state (by default: has ended)."""
        wanted = {f"TASK_STATE_{state}"} if isinstance(state, str) else state

        def look() -> Object | None:
            task = self.get(task_id)
            return task if task["status"]["state"] in wanted else None

        return eventually(look, seconds)


def message(
    text: str,
    *,
    task: str = "",
    context: str = "",
    message_id: str = "",
    parts: list[Object] | None = None,
    metadata: Object | None = None,
    push: Object | None = None,
    **configuration: Any,
) -> Object:
    """The parameters of SendMessage; what else is given goes into the configuration, as the wire spells it."""
    said: Object = {
        "messageId": message_id or str(uuid.uuid4()),
        "role": "ROLE_USER",
        "parts": parts or [{"text": text}],
        **({"taskId": task} if task else {}),
        **({"contextId": context} if context else {}),
        **({"metadata": metadata} if metadata else {}),
    }
    if push:
        configuration["taskPushNotificationConfig"] = push
    return {"message": said, **({"configuration": configuration} if configuration else {})}


def state(task: Mapping[str, Any]) -> str:
    """`COMPLETED` and so on."""
    return str(task["status"]["state"]).removeprefix("TASK_STATE_")


def text_of(spoken: Mapping[str, Any] | None) -> str:
    """The text of a message or an artifact."""
    return "".join(part.get("text", "") for part in (spoken or {}).get("parts", []))


def eventually(look: Callable[[], Found | None], seconds: float = 30, *, every: float = 0.05) -> Found:
    """What `look` finds, asked again and again: for what nobody announces."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        if found := look():
            return found
        time.sleep(every)
    pytest.fail(f"not within {seconds} s")
