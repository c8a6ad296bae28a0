"""Step Functions: tasks that ask their role, time out, and hand out each token once; and sleeps that can be ended."""

import json
import secrets
import threading
import time
from dataclasses import replace as changed
from typing import Any

from a2a_serverless.local.patches.roles import RoleGate
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
from a2a_serverless.local.patches.target import module, replace
from a2a_serverless.local.patches.task_role import TaskRole
from a2a_serverless.local.patches.task_tokens import AbortedError, Callback, TaskTokens, wait_for


class Tasks:
    """Our side of a Task and a Wait state, over ministack's interpreter of single states."""

    def __init__(self, tokens: TaskTokens, gate: RoleGate, journal: ExecutionJournal | None) -> None:
        self._states: Any = module("services.stepfunctions")
        self._tokens = tokens
        self._role = TaskRole(gate, self._states)
        self._journal = journal

    def patch(self) -> None:
        """Take the place of ministack's functions."""
        states = self._states
        callback = "resource, input_data, token, state_def"
        self._task = replace(states, "_execute_task", self.task, signature="state_def, raw_input, execution, ctx")
        self._resource = replace(states, "_invoke_resource", self.resource, signature="resource, input_data")
        replace(states, "_invoke_with_callback", self.callback, signature=callback)
        replace(states, "_scaled_sleep", self.sleep, signature="seconds")
        replace(states, "_sleep_until", self.sleep_until, signature="iso_ts")

    def task(self, state_def: dict[str, Any], raw_input: Json, execution: Execution, ctx: dict[str, Any]) -> Any:
        """A task whose timeouts may be paths or expressions."""
        if run := current.get():
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
        if run := current.get():  # none: the TestState call
            self._role.require(run.role, resource, input_data)
            self._note(run, "TaskStarted", resource)
        return self._resource(resource, input_data)

    def callback(self, resource: str, input_data: Json, token: str, state_def: dict[str, Any]) -> Any:
        """A task that waits for its token: sent off once, also when the process changes in between."""
        run = current.get()
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

    def _parked(self, run: Run, token: str, state_def: dict[str, Any]) -> Checkpoint:
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

    def _park(self, run: Run, checkpoint: Checkpoint) -> None:
        if run.alone:
            run.checkpoint = checkpoint
            if self._journal:
                self._journal.keep(run.execution, checkpoint)

    def _note(self, run: Run, event: str, resource: str) -> None:
        key = f"{event[0].lower()}{event[1:]}EventDetails"
        kind = "lambda" if "lambda" in resource else "states"
        self._states._add_event(run.execution, event, {key: {"resourceType": kind, "resource": resource}})

    def sleep(self, seconds: float) -> None:
        """Sleep in a Wait state from when it was entered, otherwise (before a retry) from now."""
        self._pause((waits_since.get() or time.time()) + seconds)

    def sleep_until(self, iso_ts: str) -> None:
        """Sleep until a moment of the clock."""
        self._pause(epoch(iso_ts))

    def _pause(self, until: float) -> None:
        run = current.get()
        stopped = run.stopped if run else threading.Event()
        if stopped.wait(max(0.0, until - time.time())):
            raise AbortedError


def _with_token(data: Json, new: str, kept: str) -> Json:
    """The data of a task that is sent off again after a restart: with the token that was promised before."""
    return data if new == kept else json.loads(json.dumps(data).replace(new, kept))


def _deadline(state: dict[str, Any]) -> float | None:
    seconds = state.get("TimeoutSeconds")
    return None if seconds is None else time.time() + float(seconds)


def _is_positive(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and value > 0
