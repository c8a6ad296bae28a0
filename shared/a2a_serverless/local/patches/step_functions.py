"""Step Functions: executions that start once per name, time out, act in their role and outlive the process.

Stock ministack refuses a repeated StartExecution, ignores machine timeouts, sleeps 150 ms before each execution,
asks no role and, restarted, fails whatever was running.
"""

import contextvars
import json
import logging
import secrets
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from dataclasses import replace as changed
from datetime import UTC, datetime
from typing import Any, Protocol

from a2a_serverless.local.patches.roles import RoleGate
from a2a_serverless.local.patches.target import expect, module, replace
from a2a_serverless.local.patches.task_role import TaskRole
from a2a_serverless.local.patches.task_tokens import AbortedError, Callback, TaskTokens, wait_for

_log = logging.getLogger(__name__)

INPUT_LIMIT = 256 * 1024
"""AWS: the input of an execution, in bytes."""

Execution = dict[str, Any]
Json = Any


@dataclass(frozen=True)
class Checkpoint:
    """Where an execution stands: enough to go on from there in another process."""

    state: str
    data: Json
    """The input of the state."""
    entered_at: float
    variables: Mapping[str, Json] = field(default_factory=dict)
    token: str | None = None
    """The task token of a task that waits for it."""
    dispatched: bool = False
    """Whether the token was sent off."""
    times_out_at: float | None = None


class ExecutionJournal(Protocol):
    """Keeps executions where a killed process cannot lose them."""

    def keep(self, execution: Execution, checkpoint: Checkpoint | None) -> None:
        """Store an execution and where it stands; no checkpoint: it is over."""


@dataclass(eq=False)
class _Run:
    """One execution that walks through its states in a thread."""

    execution: Execution
    role: str
    machine: str
    checkpoint: Checkpoint
    resumed: bool = False
    context: dict[str, Any] = field(default_factory=dict)
    """The context object of the present task."""
    alone: bool = True
    """False inside a Parallel or Map state, whose branches are not checkpointed one by one."""
    stopped: threading.Event = field(default_factory=threading.Event)


_current: contextvars.ContextVar[_Run | None] = contextvars.ContextVar("run", default=None)
_waits_since: contextvars.ContextVar[float | None] = contextvars.ContextVar("waits_since", default=None)


class Executions:
    """Our StartExecution, StopExecution and walk, over ministack's interpreter of single states."""

    def __init__(self, tokens: TaskTokens, gate: RoleGate, journal: ExecutionJournal | None) -> None:
        self._states: Any = module("services.stepfunctions")
        self._tokens = tokens
        self._role = TaskRole(gate, self._states)
        self._journal = journal
        self._starting = threading.Lock()
        self._runs: dict[str, _Run] = {}
        self._resumable: dict[str, Checkpoint] = {}

    def patch(self) -> None:
        """Take the place of ministack's functions."""
        states = self._states
        self._start = replace(states, "_start_execution", self.start, signature="data")
        self._stop = replace(states, "_stop_execution", self.stop, signature="data")
        replace(states, "_run_execution", self.run, signature="exec_arn")
        replace(states, "_fail_execution", self.fail, signature="execution, error, cause")
        self._task = replace(states, "_execute_task", self.task, signature="state_def, raw_input, execution, ctx")
        self._resource = replace(states, "_invoke_resource", self.resource, signature="resource, input_data")
        replace(states, "_invoke_with_callback", self.callback, signature="resource, input_data, token, state_def")
        self._sleep = replace(states, "_scaled_sleep", self.sleep, signature="seconds")
        replace(states, "_sleep_until", self.sleep_until, signature="iso_ts")
        for name in ("_execute_pass", "_execute_choice", "_execute_wait"):
            expect(states, name, signature="state_def, raw_input, ctx")
        for name in ("_execute_parallel", "_execute_map"):
            expect(states, name, signature="state_def, raw_input, execution, ctx")

    # StartExecution and StopExecution

    def start(self, data: dict[str, Any]) -> Any:
        """A running execution of the same name and input is returned, not refused (aws.md, Step Functions)."""
        states = self._states
        if len((data.get("input") or "").encode()) > INPUT_LIMIT:
            return states.error_response_json("InvalidExecutionInput", "Input exceeds 256 KB", 400)
        if running := self._same_running(data):
            return states.json_response({"executionArn": running["executionArn"], "startDate": running["startDate"]})
        with self._starting:
            response = self._start(data)
            if response[0] == 200:
                self._keep_started(json.loads(response[2])["executionArn"])
        return response

    def _same_running(self, data: dict[str, Any]) -> Execution | None:
        machine = self._states._resolve_state_machine_arn(data.get("stateMachineArn", ""))
        if not machine or not data.get("name"):
            return None
        arn = f"{machine.replace(':stateMachine:', ':execution:')}:{data['name']}"
        found: Execution | None = self._states._executions.get(arn)
        same = found and found["status"] == "RUNNING" and found["input"] == data.get("input", "{}")
        return found if same else None

    def _keep_started(self, arn: str) -> None:
        execution = self._states._executions[arn]
        definition = json.loads(self._machine(execution)["definition"])
        self._keep(execution, _start_of(definition, execution))

    def stop(self, data: dict[str, Any]) -> Any:
        """Stop an execution and everything that waits in it."""
        response = self._stop(data)
        self._abort(data.get("executionArn") or "")
        return response

    def _abort(self, arn: str) -> None:
        self._tokens.abort(arn)
        if run := self._runs.get(arn):
            run.stopped.set()
            self._keep(run.execution, None)

    def fail(self, execution: Execution, error: str, cause: str) -> None:
        """End an execution as FAILED, once, and without output."""
        if execution["status"] != "RUNNING":
            return
        execution.update(status="FAILED", error=error, cause=cause, output=None, stopDate=self._states.now_iso())
        details = {"executionFailedEventDetails": {"error": error, "cause": cause}}
        self._states._add_event(execution, "ExecutionFailed", details)
        self._states._emit_execution_status_event(execution)

    # The walk

    def resume(self, execution: Execution, checkpoint: Checkpoint) -> None:
        """Go on with an execution that another process left at `checkpoint`."""
        self._resumable[execution["executionArn"]] = checkpoint
        context = contextvars.copy_context()
        threading.Thread(target=context.run, args=(self.run, execution["executionArn"]), daemon=True).start()

    def run(self, exec_arn: str) -> None:
        """Walk one execution to its end, in this thread."""
        with self._starting:
            execution = self._states._executions.get(exec_arn)
        if not execution:
            return
        machine = self._machine(execution)
        if not machine:
            self.fail(execution, "StateMachineDeleted", "State machine no longer exists")
            return
        definition = json.loads(machine["definition"])
        resumed = self._resumable.pop(exec_arn, None)
        checkpoint = resumed or _start_of(definition, execution)
        run = _Run(execution, machine["roleArn"], machine["stateMachineArn"], checkpoint, resumed=bool(resumed))
        _current.set(run)
        self._runs[exec_arn] = run
        timer = self._limit(run, definition.get("TimeoutSeconds"))
        try:
            self._walk(run, definition, machine["name"])
        except AbortedError:
            pass
        except self._states._ExecutionError as error:
            self.fail(execution, error.error, error.cause)
        except Exception as error:  # noqa: BLE001 (whatever breaks, the execution must not stay RUNNING)
            _log.exception("execution %s", exec_arn)
            self.fail(execution, "States.Runtime", str(error))
        finally:
            if timer:
                timer.cancel()
            self._runs.pop(exec_arn, None)
            self._keep(execution, None)

    def _walk(self, run: _Run, definition: dict[str, Any], machine_name: str) -> None:
        context = _context(run, definition, machine_name)
        name: str | None = run.checkpoint.state
        data = run.checkpoint.data
        while name and run.execution["status"] == "RUNNING":
            if not run.resumed:
                run.checkpoint = Checkpoint(name, data, time.time(), context["variables"])
                self._keep(run.execution, run.checkpoint)
            data, name = self._step(run, definition["States"], name, data, context)
            run.resumed = False
        if run.execution["status"] == "RUNNING":
            self._succeed(run.execution, json.dumps(data))

    def _step(
        self, run: _Run, states: dict[str, Any], name: str, data: Json, context: dict[str, Any]
    ) -> tuple[Json, str | None]:
        state = states.get(name)
        if state is None:
            raise self._states._ExecutionError("States.Runtime", f"State '{name}' not found in definition")
        entered = datetime.fromtimestamp(run.checkpoint.entered_at, UTC)
        context["State"] = {"Name": name, "EnteredTime": _iso(entered), "RetryCount": 0}
        kind = state["Type"]
        if not run.resumed:
            details = {"stateEnteredEventDetails": {"name": name, "input": json.dumps(data)}}
            self._states._add_event(run.execution, f"{kind}StateEntered", details)
        output, following = self._perform(kind, run, state, data, context)
        details = {"stateExitedEventDetails": {"name": name, "output": json.dumps(output)}}
        self._states._add_event(run.execution, f"{kind}StateExited", details)
        return output, following

    def _perform(
        self, kind: str, run: _Run, state: dict[str, Any], data: Json, context: dict[str, Any]
    ) -> tuple[Json, str | None]:
        states = self._states
        run.alone = kind == "Task"
        match kind:
            case "Succeed":
                selected = states._apply_input_path(state, data, context)
                return states._apply_output_path(state, selected, context), None
            case "Fail":
                raise states._ExecutionError(*states._fail_state_error(state, data, context))
            case "Wait":
                _waits_since.set(run.checkpoint.entered_at)
                try:
                    return states._execute_wait(state, data, context)  # type: ignore[no-any-return]
                finally:
                    _waits_since.set(None)
            case "Pass" | "Choice":
                return getattr(states, f"_execute_{kind.lower()}")(state, data, context)  # type: ignore[no-any-return]
            case "Task" | "Parallel" | "Map":
                perform = getattr(states, f"_execute_{kind.lower()}")
                return perform(state, data, run.execution, context)  # type: ignore[no-any-return]
            case _:
                raise states._ExecutionError("States.Runtime", f"Unknown state type: {kind}")

    def _succeed(self, execution: Execution, output: str) -> None:
        execution.update(status="SUCCEEDED", output=output, stopDate=self._states.now_iso())
        details = {"executionSucceededEventDetails": {"output": output}}
        self._states._add_event(execution, "ExecutionSucceeded", details)
        self._states._emit_execution_status_event(execution)

    def _limit(self, run: _Run, seconds: float | None) -> threading.Timer | None:
        """The machine's own TimeoutSeconds, counted from the start of the execution."""
        if not seconds:
            return None
        left = _epoch(run.execution["startDate"]) + seconds - time.time()
        context = contextvars.copy_context()
        timer = threading.Timer(max(0.0, left), context.run, (self._time_out, run))
        timer.daemon = True
        timer.start()
        return timer

    def _time_out(self, run: _Run) -> None:
        if run.execution["status"] != "RUNNING":
            return
        run.execution.update(status="TIMED_OUT", stopDate=self._states.now_iso(), error="States.Timeout")
        details = {"executionTimedOutEventDetails": {"error": "States.Timeout"}}
        self._states._add_event(run.execution, "ExecutionTimedOut", details)
        self._states._emit_execution_status_event(run.execution)
        self._abort(run.execution["executionArn"])

    # Tasks

    def task(self, state_def: dict[str, Any], raw_input: Json, execution: Execution, ctx: dict[str, Any]) -> Any:
        """A task whose timeouts may be paths or expressions."""
        if run := _current.get():
            run.context = ctx
        return self._task(self._with_fixed_times(state_def, raw_input, ctx), raw_input, execution, ctx)

    def _with_fixed_times(self, state: dict[str, Any], data: Json, context: dict[str, Any]) -> dict[str, Any]:
        states = self._states
        fixed = dict(state)
        jsonata = states._state_query_language(state, context) == "JSONata"
        for name in ("TimeoutSeconds", "HeartbeatSeconds"):
            if path := fixed.pop(f"{name}Path", None):
                fixed[name] = states._resolve_path(path, states._apply_input_path(state, data, context))
            elif jsonata and isinstance(fixed.get(name), str):
                fixed[name] = states._jsonata_state_field(state, name, "number", data, context)
            if name in fixed and not _is_positive(fixed[name]):
                message = f"{name} must be a positive number, got {fixed[name]!r}"
                raise states._ExecutionError("States.Runtime", message)
        return fixed

    def resource(self, resource: str, input_data: Json) -> Any:
        """A task without a token, if the role allows it."""
        if run := _current.get():  # none: the TestState call
            self._role.require(run.role, resource, input_data)
            self._note(run, "TaskStarted", resource)
        return self._resource(resource, input_data)

    def callback(self, resource: str, input_data: Json, token: str, state_def: dict[str, Any]) -> Any:
        """A task that waits for its token: sent off once, also when the process changes in between."""
        run = _current.get()
        assert run, "a task with a token is only performed by an execution"
        parked = self._parked(run, token, state_def)
        assert parked.token
        callback = Callback(run.execution["executionArn"], run.machine)
        self._tokens.issue(parked.token, callback)
        try:
            if not parked.dispatched:
                self._role.require(run.role, resource, input_data)
                self._note(run, "TaskStarted", resource)
                self._dispatch(resource, _with_token(input_data, token, parked.token))
                self._note(run, "TaskSubmitted", resource)
                self._park(run, changed(parked, dispatched=True))
            return wait_for(
                callback,
                until=parked.times_out_at,
                heartbeat_seconds=state_def.get("HeartbeatSeconds"),
                failed=self._states._ExecutionError,
            )
        finally:
            self._tokens.retire(parked.token)
            run.context["Task"] = {"Token": secrets.token_urlsafe(24)}  # a Retry gets a token of its own

    def _parked(self, run: _Run, token: str, state_def: dict[str, Any]) -> Checkpoint:
        """Where the execution waits: stored before the token is sent off, so that no killed process forgets it."""
        resumed = run.resumed
        run.resumed = False
        if resumed and run.alone and run.checkpoint.token:
            return run.checkpoint
        parked = changed(run.checkpoint, token=token, dispatched=False, times_out_at=_deadline(state_def))
        self._park(run, parked)
        return parked

    def _dispatch(self, resource: str, data: Json) -> None:
        """Send the token off; a call that fails fails the task at once, as on AWS."""
        self._resource(resource.replace(".waitForTaskToken", ""), data)

    def _park(self, run: _Run, checkpoint: Checkpoint) -> None:
        if run.alone:
            run.checkpoint = checkpoint
            self._keep(run.execution, checkpoint)

    def _note(self, run: _Run, event: str, resource: str) -> None:
        key = f"{event[0].lower()}{event[1:]}EventDetails"
        kind = "lambda" if "lambda" in resource else "states"
        self._states._add_event(run.execution, event, {key: {"resourceType": kind, "resource": resource}})

    # Sleeping

    def sleep(self, seconds: float) -> None:
        """Sleep in a Wait state from when it was entered, otherwise (before a retry) from now."""
        self._pause((_waits_since.get() or time.time()) + seconds)

    def sleep_until(self, iso_ts: str) -> None:
        """Sleep until a moment of the clock."""
        self._pause(_epoch(iso_ts))

    def _pause(self, until: float) -> None:
        run = _current.get()
        stopped = run.stopped if run else threading.Event()
        if stopped.wait(max(0.0, until - time.time())):
            raise AbortedError

    def _machine(self, execution: Execution) -> dict[str, Any]:
        found: dict[str, Any] = self._states._state_machines.get(execution["stateMachineArn"])
        return found

    def _keep(self, execution: Execution, checkpoint: Checkpoint | None) -> None:
        if self._journal:
            self._journal.keep(execution, checkpoint)


def _start_of(definition: dict[str, Any], execution: Execution) -> Checkpoint:
    return Checkpoint(definition["StartAt"], json.loads(execution["input"]), time.time())


def _context(run: _Run, definition: dict[str, Any], machine_name: str) -> dict[str, Any]:
    """The context object (`$$`), in the form that ministack's interpreter of states takes."""
    execution = run.execution
    return {
        "QueryLanguage": definition.get("QueryLanguage", "JSONPath"),
        "Execution": {
            "Id": execution["executionArn"],
            "Input": json.loads(execution["input"]),
            "Name": execution["name"],
            "StartTime": execution["startDate"],
            "RoleArn": run.role,
        },
        "StateMachine": {"Id": run.machine, "Name": machine_name},
        "variables": dict(run.checkpoint.variables),
    }


def _with_token(data: Json, new: str, kept: str) -> Json:
    """The data of a task that is sent off again after a restart: with the token that was promised before."""
    return data if new == kept else json.loads(json.dumps(data).replace(new, kept))


def _deadline(state: dict[str, Any]) -> float | None:
    seconds = state.get("TimeoutSeconds")
    return None if seconds is None else time.time() + float(seconds)


def _is_positive(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and value > 0


def _epoch(iso: str) -> float:
    return datetime.fromisoformat(iso).timestamp()


def _iso(moment: datetime) -> str:
    return moment.strftime("%Y-%m-%dT%H:%M:%S.%f")[:-3] + "Z"
