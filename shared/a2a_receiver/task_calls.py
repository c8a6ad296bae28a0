"""GetTask and ListTasks of A2A 1.0, over JSON-RPC or REST, as plain calls without retries."""

import itertools
import json
from collections.abc import Mapping, Sequence
from typing import Final, Literal
from urllib.parse import quote, urlencode

from .credentials import Credentials, CredentialsFailed
from .https import Exchange, HttpAnswer, HttpRequest
from .strict_json import NotStrictJson, loads
from .told import is_task_id
from .urls import configured_url

ANSWER_CAP: Final = 10 * 1024 * 1024
"""Bytes: the most that API Gateway lets an agent answer."""
TIMEOUT: Final = 10.0
PAGE_SIZE: Final = 100

_MAX_DEPTH: Final = 200
_TASK_NOT_FOUND: Final = -32001

Binding = Literal["JSONRPC", "HTTP+JSON"]
TaskObject = Mapping[str, object]


class FetchError(Exception):
    """The task could not be had."""


class TaskNotFound(FetchError):
    """The agent knows no such task of yours."""


class AccessDenied(FetchError):
    """The agent, or its authorization server, refuses the credentials."""


class AgentUnavailable(FetchError):
    """No answer, or none that can be used. Trying again may help."""


class AgentCalls:
    """One agent, spoken to in one binding."""

    def __init__(
        self,
        base_url: str,
        credentials: Credentials | None,
        *,
        binding: Binding,
        allow_loopback_http: bool,
        ask: Exchange,
    ) -> None:
        """See `TaskClient`."""
        configured_url(base_url, "base_url", allow_loopback_http=allow_loopback_http)
        self._base_url = base_url
        self._credentials = credentials
        self._binding = binding
        self._ask = ask
        self._ids = itertools.count(1)

    def get_task(self, task_id: str) -> TaskObject:
        """GetTask (A2A 1.0 section 3.1.3).

        Raises:
            FetchError: one of its kinds.
        """
        if not is_task_id(task_id):
            raise TaskNotFound("not a task id")
        if self._binding == "JSONRPC":
            task = self._call("GetTask", {"id": task_id})
        else:
            task = self._rest(f"/tasks/{quote(task_id, safe='')}", {})
        if task.get("id") != task_id:
            raise AgentUnavailable("agent answered with another task than the one asked for")
        return task

    def list_tasks(self, *, status_timestamp_after: str, page_token: str) -> tuple[Sequence[TaskObject], str]:
        """One page of ListTasks (section 3.1.4) and the token of the next, empty on the last.

        Raises:
            FetchError: one of its kinds.
        """
        asked: dict[str, object] = {
            "pageSize": PAGE_SIZE,
            "statusTimestampAfter": status_timestamp_after,
            "historyLength": 0,
        }
        if page_token:
            asked["pageToken"] = page_token
        page = self._call("ListTasks", asked) if self._binding == "JSONRPC" else self._rest("/tasks", asked)
        tasks, token = page.get("tasks"), page.get("nextPageToken", "")
        if not isinstance(tasks, list) or not isinstance(token, str):
            raise AgentUnavailable("agent answered ListTasks with something other than a page")
        return [task for task in tasks if isinstance(task, dict) and isinstance(task.get("id"), str)], token

    def _call(self, method: str, params: Mapping[str, object]) -> TaskObject:
        sent = {"jsonrpc": "2.0", "id": next(self._ids), "method": method, "params": params}
        answer = self._authorized("POST", self._base_url, json.dumps(sent, separators=(",", ":")).encode())
        members = _members(answer)
        error = members.get("error")
        if isinstance(error, dict):
            if error.get("code") == _TASK_NOT_FOUND:
                raise TaskNotFound("agent knows no such task")
            raise AgentUnavailable(f"agent answered {method} with error {error.get('code')}")
        if answer.status != 200 or members.get("id") != sent["id"]:
            raise AgentUnavailable(f"agent answered {method} with status {answer.status}")
        result = members.get("result")
        if not isinstance(result, dict):
            raise AgentUnavailable(f"agent answered {method} without a result")
        return result

    def _rest(self, path: str, query: Mapping[str, object]) -> TaskObject:
        url = self._base_url.rstrip("/") + path + (f"?{urlencode(query)}" if query else "")
        answer = self._authorized("GET", url, None)
        if answer.status == 404:
            raise TaskNotFound("agent knows no such task")
        if answer.status != 200:
            raise AgentUnavailable(f"agent answered with status {answer.status}")
        return _members(answer)

    def _authorized(self, method: str, url: str, body: bytes | None) -> HttpAnswer:
        """Ask with our credentials; once more with new ones when those turn out to be refused."""
        answer = self._send(method, url, body)
        if answer.status == 401 and self._credentials is not None:
            self._credentials.refused()
            answer = self._send(method, url, body)
        if answer.status in (401, 403):
            raise AccessDenied(f"agent answered {answer.status} to our credentials")
        return answer

    def _send(self, method: str, url: str, body: bytes | None) -> HttpAnswer:
        headers = {"A2A-Version": "1.0", "Accept": "application/json, application/a2a+json"}
        if body is not None:
            headers["Content-Type"] = "application/json"
        try:
            if self._credentials is not None:
                headers["Authorization"] = self._credentials.authorization()
            return self._ask(HttpRequest(method, url, headers, body, TIMEOUT, ANSWER_CAP))
        except CredentialsFailed as error:
            raise AccessDenied(str(error)) from error
        except OSError as error:
            raise AgentUnavailable(str(error)) from error


def _members(answer: HttpAnswer) -> Mapping[str, object]:
    try:
        value = loads(answer.body, max_depth=_MAX_DEPTH)
    except NotStrictJson as error:
        raise AgentUnavailable(f"agent answered {answer.status} with something other than JSON") from error
    if not isinstance(value, dict):
        raise AgentUnavailable(f"agent answered {answer.status} with something other than an object")
    return value
