"""Step Functions: executions that start once per name, time out and outlive the process.

Stock ministack refuses a repeated StartExecution, ignores machine timeouts, sleeps 150 ms before each execution and,
restarted, fails whatever was running.
"""

import contextvars
import json
import logging
import threading
import time
from datetime import UTC, datetime
from typing import Any

from a2a_serverless.local.patches.run import (
    Checkpoint,
    Execution,
    ExecutionJournal,
    Json,
    Run,
    current,
    epoch,
    waits_since,
)
from a2a_serverless.local.patches.target import expect, module, replace
from a2a_serverless.local.patches.task_tokens import AbortedError, TaskTokens

_log = logging.getLogger(__name__)

INPUT_LIMIT = 256 * 1024
"""AWS: the input of an execution, in bytes."""


class Executions:
    """Our StartExecution, StopExecution and walk, over ministack's interpreter of single states."""

    def __init__(self, tokens: TaskTokens, journal: ExecutionJournal | None) -> None:
        self._states: Any = module("services.stepfunctions")
        self._tokens = tokens
        self._journal = journal
        self._starting = threading.Lock()
        self._runs: dict[str, Run] = {}
        self._resumable: dict[str, Checkpoint] = {}

    def patch(self) -> None:
        """Take the place of ministack's functions."""
        states = self._states
        self._start = replace(states, "_start_execution", self.start, signature="data")
        self._stop = replace(states, "_stop_execution", self.stop, signature="data")
        replace(states, "_run_execution", self.run, signature="exec_arn")
        replace(states, "_fail_execution", self.fail, signature="execution, error, cause")
        for name in ("_execute_pass", "_execute_choice", "_execute_wait"):
            expect(states, name, signature="state_def, raw_input, ctx")
        for name in ("_execute_parallel", "_execute_map"):
            expect(states, name, signature="state_def, raw_input, execution, ctx")

    # StartExecution and StopExecution

    def start(self, data: dict[str, Any]) -> Any:
        """A running execution of the same name and input is returned, not refused (StartExecution, API reference)."""
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
        run = Run(execution, machine["roleArn"], machine["stateMachineArn"], checkpoint, resumed=bool(resumed))
        current.set(run)
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

    def _walk(self, run: Run, definition: dict[str, Any], machine_name: str) -> None:
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
        self, run: Run, states: dict[str, Any], name: str, data: Json, context: dict[str, Any]
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
        self, kind: str, run: Run, state: dict[str, Any], data: Json, context: dict[str, Any]
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
                waits_since.set(run.checkpoint.entered_at)
                try:
                    return states._execute_wait(state, data, context)  # type: ignore[no-any-return]
                finally:
                    waits_since.set(None)
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

    def _limit(self, run: Run, seconds: float | None) -> threading.Timer | None:
        """The machine's own TimeoutSeconds, counted from the start of the execution."""
        if not seconds:
            return None
        left = epoch(run.execution["startDate"]) + seconds - time.time()
        context = contextvars.copy_context()
        timer = threading.Timer(max(0.0, left), context.run, (self._time_out, run))
        timer.daemon = True
        timer.start()
        return timer

    def _time_out(self, run: Run) -> None:
        if run.execution["status"] != "RUNNING":
            return
        run.execution.update(status="TIMED_OUT", stopDate=self._states.now_iso(), error="States.Timeout")
        details = {"executionTimedOutEventDetails": {"error": "States.Timeout"}}
        self._states._add_event(run.execution, "ExecutionTimedOut", details)
        self._states._emit_execution_status_event(run.execution)
        self._abort(run.execution["executionArn"])

    def _machine(self, execution: Execution) -> dict[str, Any]:
        found: dict[str, Any] = self._states._state_machines.get(execution["stateMachineArn"])
        return found

    def _keep(self, execution: Execution, checkpoint: Checkpoint | None) -> None:
        if self._journal:
            self._journal.keep(execution, checkpoint)


def _start_of(definition: dict[str, Any], execution: Execution) -> Checkpoint:
    return Checkpoint(definition["StartAt"], json.loads(execution["input"]), time.time())


def _context(run: Run, definition: dict[str, Any], machine_name: str) -> dict[str, Any]:
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


def _iso(moment: datetime) -> str:
    return moment.strftime("%Y-%m-%dT%H:%M:%S.%f")[:-3] + "Z"
