"""Step Functions on the world's clock: runs `cdk/await_input.asl.json` as it is, state by state.

Only what that machine uses: Task with a token, a timeout, retries and catchers; Choice; Succeed.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import cache
from pathlib import Path
from typing import Any, Final

from botocore.exceptions import BotoCoreError, ClientError
from jsonata import Jsonata  # type: ignore[import-untyped]  # ships no types

from .plan import Faults, WorkerDied
from .services import Clock, refusal

Object = dict[str, Any]

MACHINE: Final[Any] = json.loads((Path(__file__).parents[2] / "cdk" / "await_input.asl.json").read_text())
_WITH_TOKEN: Final = ".waitForTaskToken"


class TaskFailed(Exception):
    """A task failed under this error name."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.name = name


@dataclass
class Execution:
    """One execution, between two of its steps."""

    name: str
    given: Object
    value: Object
    state: str
    next_at: datetime
    """When it goes on by itself."""
    token: str = ""
    """What it waits for, if it does."""
    tries: dict[int, int] = field(default_factory=dict)
    """How often each retrier of the state was used."""
    path: list[str] = field(default_factory=list)
    """The states that were entered after the first."""
    retries: int = 0
    busy: bool = False

    @property
    def transitions(self) -> int:
        """What is billed: each state that was entered, and each retry of one."""
        return 1 + len(self.path) + self.retries


@dataclass
class Machine:
    """A botocore client of Step Functions, and the service behind it."""

    faults: Faults
    clock: Clock
    update_item: Callable[..., Object]
    expire: Callable[[Object], Object]
    """Calls the function `expire`.

    Raises:
        TaskFailed: it raised, or died.
    """
    running: dict[str, Execution] = field(default_factory=dict)
    ended: dict[str, Execution] = field(default_factory=dict)
    failed: list[str] = field(default_factory=list)
    tokens: int = 0

    # The client

    def start_execution(self, **request: Any) -> Object:
        return self.faults.call("stepfunctions.start_execution", lambda: self._start(**request))

    def _start(self, *, name: str, input: str, **_: Any) -> Object:  # noqa: A002 (AWS calls it that)
        known = self.running.get(name)
        if name in self.ended or (known is not None and known.given != json.loads(input)):
            raise refusal("ExecutionAlreadyExists", name)
        if known is None:
            given = json.loads(input)
            self.running[name] = Execution(name, given, given, MACHINE["StartAt"], self.clock())
        return {}

    def send_task_success(self, **request: Any) -> Object:
        return self.faults.call("stepfunctions.send_task_success", lambda: self._succeed(request["taskToken"]))

    def _succeed(self, token: str) -> Object:
        execution = next((one for one in self.running.values() if one.token == token), None)
        if execution is None:
            raise refusal("TaskTimedOut", token)
        self._go_on(execution, {}, MACHINE["States"][execution.state])
        return {}

    # The service

    def next_at(self) -> datetime | None:
        """When an execution goes on next."""
        return min((one.next_at for one in self.running.values() if not one.busy), default=None)

    def step(self) -> None:
        """Let the execution go on whose time has come."""
        now = self.clock()
        execution = next(one for one in self.running.values() if one.next_at <= now and not one.busy)
        execution.busy = True
        try:
            self._step(execution, MACHINE["States"][execution.state])
        finally:
            execution.busy = False

    def _step(self, execution: Execution, state: Any) -> None:
        match state["Type"]:
            case "Succeed":
                self._go_on(execution, execution.value, {"End": True})
            case "Choice":
                chosen = (c["Next"] for c in state["Choices"] if self._said(c["Condition"], execution) is True)
                self._enter(execution, next(chosen, state["Default"]), execution.value)
            case _ if execution.token:
                execution.token = ""
                self._failed(execution, state, "States.Timeout")
            case _:
                self._task(execution, state)

    def _task(self, execution: Execution, state: Any) -> None:
        waits = state["Resource"].endswith(_WITH_TOKEN)
        self.tokens += waits
        token = f"token-{self.tokens}" if waits else ""
        seconds = self._said(state["TimeoutSeconds"], execution)
        entered = self.clock()
        execution.token = token  # good from the start: who reads it in the task may send it before the call is over
        try:
            result = self._call(state["Resource"], self._said(state["Arguments"], execution, token))
        except TaskFailed as failed:
            self._failed(execution, state, failed.name)
            return
        if waits and execution.token == token and execution.name in self.running:
            execution.next_at = max(entered + timedelta(seconds=seconds), self.clock())
        elif not waits:
            self._go_on(execution, result, state)

    def _call(self, resource: str, arguments: Object) -> Object:
        if resource.endswith("lambda:invoke"):
            return self.expire(arguments["Payload"])
        self.faults.hops.append("await_input")
        try:
            return self.update_item(**arguments)
        except ClientError as error:
            raise TaskFailed(f"DynamoDb.{error.response['Error']['Code']}") from error
        except (BotoCoreError, WorkerDied) as error:  # a service does not die: it tells of a failure
            raise TaskFailed("DynamoDb.InternalServerErrorException") from error
        finally:
            self.faults.hops.pop()

    def _failed(self, execution: Execution, state: Any, error: str) -> None:
        if execution.name not in self.running:
            return  # its token came back while the call was on its way
        execution.token = ""
        for index, retrier in enumerate(state.get("Retry", ())):
            if not _knows(retrier, error):
                continue
            used = execution.tries.get(index, 0)
            if used < retrier["MaxAttempts"]:
                execution.tries[index] = used + 1
                execution.retries += 1
                pause = min(retrier["IntervalSeconds"] * retrier["BackoffRate"] ** used, retrier["MaxDelaySeconds"])
                execution.next_at = self.clock() + timedelta(seconds=pause)
                return
            break
        catcher = next((one for one in state.get("Catch", ()) if _knows(one, error)), None)
        if catcher is None:
            self.failed.append(f"{execution.name}: {error}")
            self._end(execution)
            return
        output = catcher.get("Output", {"Error": error})
        self._enter(execution, catcher["Next"], self._said(output, execution))

    def _go_on(self, execution: Execution, result: Object, state: Any) -> None:
        output = self._said(state["Output"], execution) if "Output" in state else result
        if state.get("End"):
            self._end(execution)
        else:
            self._enter(execution, state["Next"], output)

    def _enter(self, execution: Execution, name: str, value: Object) -> None:
        execution.path.append(name)
        execution.state, execution.value, execution.next_at = name, value, self.clock()
        execution.token, execution.tries = "", {}

    def _end(self, execution: Execution) -> None:
        execution.token = ""
        self.ended[execution.name] = self.running.pop(execution.name)

    def _said(self, template: Any, execution: Execution, token: str = "") -> Any:
        match template:
            case str() if template.startswith("{%"):
                context = {"Task": {"Token": token}, "Execution": {"Input": execution.given}}
                states = {"input": execution.value, "context": context}
                return json.loads(json.dumps(_compiled(template).evaluate(None, {"states": states})))
            case dict():
                return {name: self._said(inner, execution, token) for name, inner in template.items()}
            case list():
                return [self._said(inner, execution, token) for inner in template]
            case _:
                return template


@cache
def _compiled(template: str) -> Any:
    return Jsonata(template.removeprefix("{%").removesuffix("%}"))


def _knows(rule: Any, error: str) -> bool:
    names = rule["ErrorEquals"]
    return "States.ALL" in names or error in names or ("States.TaskFailed" in names and error != "States.Timeout")
