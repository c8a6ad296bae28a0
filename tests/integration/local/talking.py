"""A caller of a served stack, with the few words of A2A that these tests need."""

import time
import uuid
from collections.abc import Callable
from typing import Any

import httpx

Task = dict[str, Any]


class Caller:
    """Speaks JSON-RPC 1.0 to one agent."""

    def __init__(self, url: str, *, token: str = "") -> None:
        headers = {"A2A-Version": "1.0", **({"Authorization": f"Bearer {token}"} if token else {})}
        self._http = httpx.Client(base_url=url, headers=headers, timeout=40)

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def call(self, method: str, **params: Any) -> httpx.Response:
        """One call, as it is answered."""
        return self._http.post("/", json={"jsonrpc": "2.0", "id": 1, "method": method, "params": params})

    def send(self, text: str, *, task: str | None = None, wait: bool = True) -> Task:
        """Send a message and return the task; `wait`: until it asks or is over."""
        message = {"role": "ROLE_USER", "parts": [{"text": text}], "messageId": uuid.uuid4().hex}
        answer = self.call(
            "SendMessage",
            message={**message, **({"taskId": task} if task else {})},
            configuration={"returnImmediately": not wait},
        ).json()
        assert "result" in answer, answer
        found: Task = answer["result"]["task"]
        return found

    def task(self, identifier: str) -> Task:
        """A task as it is now."""
        answer = self.call("GetTask", id=identifier).json()
        assert "result" in answer, answer
        found: Task = answer["result"]
        return found

    def until(self, identifier: str, state: str, *, seconds: float = 60) -> Task:
        """A task once it is in a state."""

        def look() -> Task | None:
            found = self.task(identifier)
            return found if state_of(found) == state else None

        found: Task = eventually(look, seconds)
        return found


def state_of(task: Task) -> str:
    """The state of a task, without its prefix."""
    return str(task["status"]["state"]).removeprefix("TASK_STATE_")


def eventually(look: Callable[[], Any], seconds: float) -> Any:
    """What `look` finds, asked again and again."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        if found := look():
            return found
        time.sleep(0.05)
    raise AssertionError(f"not within {seconds} s")
