"""Step Functions: task tokens with one winner, deadlines that fire, and the errors AWS gives to latecomers.

Stock ministack lets two callers complete one token, accepts tokens of stopped executions, swallows the failure of
a Lambda that was to take the token along, and ignores heartbeats and dynamic timeouts. Tokens of activities are not
served any more: the kit has none.
"""

import json
import threading
import time
from dataclasses import dataclass, field
from typing import Any, Protocol

from a2a_serverless.local.patches.target import module, replace


class AbortedError(BaseException):
    """The execution was stopped: no Retry and no Catch may run."""


@dataclass(eq=False)
class Callback:
    """One task that waits for its token to come back."""

    execution: str
    machine: str
    done: threading.Event = field(default_factory=threading.Event)
    beat: float = field(default_factory=time.time)
    output: str | None = None
    error: dict[str, str] | None = None
    aborted: bool = False

    def finish(self, settled: "Settled") -> None:
        """The task has its result."""
        self.output, self.error = settled.output, settled.error
        self.done.set()

    def abort(self) -> None:
        """The execution was stopped."""
        self.aborted = True
        self.done.set()


@dataclass(frozen=True)
class Settled:
    """How a token ended: with an output, with an error, or (neither) without being used."""

    machine: str
    output: str | None = None
    error: dict[str, str] | None = None

    @property
    def was_sent(self) -> bool:
        """Whether somebody completed the task."""
        return self.output is not None or self.error is not None


class TokenJournal(Protocol):
    """Keeps settled tokens where a killed process cannot lose them."""

    def settle(self, token: str, settled: Settled) -> None:
        """Store how a token ended."""

    def settled(self) -> dict[str, Settled]:
        """Every token that is over."""


class TaskTokens:
    """The live tokens of all executions, and the memory of those that are over."""

    def __init__(self, journal: TokenJournal | None = None) -> None:
        self._lock = threading.Lock()
        self._live: dict[str, Callback] = {}
        self._journal = journal
        self._over = journal.settled() if journal else {}

    def issue(self, token: str, callback: Callback) -> None:
        """A token becomes live before its task is dispatched; one that was sent to an earlier process is done."""
        with self._lock:
            earlier = self._over.get(token)
            if earlier and earlier.was_sent:
                callback.finish(earlier)
            else:
                self._live[token] = callback

    def machine_of(self, token: str) -> str | None:
        """The ARN of the state machine that issued a token, live or over."""
        with self._lock:
            found = self._live.get(token) or self._over.get(token)
            return found.machine if found else None

    def complete(self, token: str, *, output: str | None = None, error: dict[str, str] | None = None) -> bool:
        """Hand the result to the waiting task; False when the token is not live (any more)."""
        with self._lock:
            callback = self._live.pop(token, None)
            if callback is None:
                return False
            settled = Settled(callback.machine, output=output, error=error)
            self._settle(token, settled)
            callback.finish(settled)
            return True

    def _settle(self, token: str, settled: Settled) -> None:
        self._over[token] = settled
        if self._journal:
            self._journal.settle(token, settled)

    def heartbeat(self, token: str) -> bool:
        """Note a sign of life; False when the token is not live."""
        with self._lock:
            callback = self._live.get(token)
            if callback is None:
                return False
            callback.beat = time.time()
            return True

    def retire(self, token: str) -> None:
        """The task ended without its token: a late one is refused."""
        with self._lock:
            if callback := self._live.pop(token, None):
                self._settle(token, Settled(callback.machine))

    def abort(self, execution: str) -> None:
        """End every waiting task of a stopped execution."""
        with self._lock:
            for token, callback in list(self._live.items()):
                if callback.execution == execution:
                    del self._live[token]
                    self._settle(token, Settled(callback.machine))
                    callback.abort()

    def was_issued(self, token: str) -> bool:
        """Whether a token is one of ours, live or over."""
        return self.machine_of(token) is not None


def patch(tokens: TaskTokens) -> None:
    """SendTaskSuccess, SendTaskFailure and SendTaskHeartbeat work on `tokens`."""
    states: Any = module("services.stepfunctions")
    ok = states.json_response

    def refuse(token: str) -> Any:
        if tokens.was_issued(token):
            return _error("TaskTimedOut", "Task Timed Out: 'Provided task does not exist anymore'")
        return _error("InvalidToken", "Invalid Token: 'Invalid token'")

    def _error(code: str, message: str) -> Any:
        return states.error_response_json(code, message, 400)

    def send_task_success(data: dict[str, Any]) -> Any:
        token, output = data.get("taskToken") or "", data.get("output") or ""
        try:
            json.loads(output)
        except ValueError:
            return _error("InvalidOutput", "Invalid Output: 'Invalid output'")
        return ok({}) if tokens.complete(token, output=output) else refuse(token)

    def send_task_failure(data: dict[str, Any]) -> Any:
        token = data.get("taskToken") or ""
        error = {"Error": data.get("error") or "States.TaskFailed", "Cause": data.get("cause") or ""}
        return ok({}) if tokens.complete(token, error=error) else refuse(token)

    def send_task_heartbeat(data: dict[str, Any]) -> Any:
        token = data.get("taskToken") or ""
        return ok({}) if tokens.heartbeat(token) else refuse(token)

    replace(states, "_send_task_success", send_task_success, signature="data")
    replace(states, "_send_task_failure", send_task_failure, signature="data")
    replace(states, "_send_task_heartbeat", send_task_heartbeat, signature="data")


def wait_for(callback: Callback, *, until: float | None, heartbeat_seconds: float | None, failed: Any) -> Any:
    """Block until the token comes back and return its output.

    `until` is a moment in epoch seconds, `heartbeat_seconds` the longest silence; `failed(name, cause)` makes the
    error that ends a task.

    Raises:
        AbortedError: the execution was stopped.
        The error of `failed`: States.Timeout, States.HeartbeatTimeout, or what SendTaskFailure said.
    """
    while not callback.done.is_set():
        now = time.time()
        silent_at = callback.beat + heartbeat_seconds if heartbeat_seconds else None
        if until is not None and now >= until:
            raise failed("States.Timeout", "")
        if silent_at is not None and now >= silent_at:
            raise failed("States.HeartbeatTimeout", "")
        due = min((moment for moment in (until, silent_at) if moment is not None), default=None)
        callback.done.wait(None if due is None else due - now)
    if callback.aborted:
        raise AbortedError
    if callback.error:
        raise failed(callback.error["Error"], callback.error["Cause"])
    return json.loads(callback.output or "null")
