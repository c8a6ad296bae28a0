"""Lambda: functions run in `PythonWorker`s, at most so many per function, and fail the way AWS says they failed.

Stock ministack reports every exception as `Runtime.HandlerError` without a stack, kills the environment with it,
waits 50 ms for log lines after each invocation and starts one interpreter per concurrent request.
"""

import logging
import os
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Self

from a2a_serverless.local.patches.loop import on_loop
from a2a_serverless.local.patches.roles import RoleGate
from a2a_serverless.local.patches.target import expect, module, replace
from a2a_serverless.local.worker import Failed, Host, Outcome, PythonWorker, Returned, hop_of

_log = logging.getLogger(__name__)

PAYLOAD_LIMIT = 6 * 1024 * 1024
"""AWS: 6 MB for the request and for the response of a synchronous invocation."""


MOST_WORKERS = 32
"""However busy a function is, it gets no more environments than this."""

_PATIENCE_SECONDS = 0.5
"""How long an invocation waits for one of the usual environments before it gets one more, and how far apart those are:
short work is done by a few, and work that sleeps for long does not hold up the rest."""


_STARTS = threading.BoundedSemaphore(os.cpu_count() or 1)
"""Environments that start at the same time, of all functions: a start is a second of work for one core, and a crowd of
them would only make each other late, up to the time that a start may take."""


class Gate:
    """Lets so many invocations of a function in at a time, and slowly more when they stay for long.

    While one of its environments starts there are no more: what waits then is late for that, not for want of one.
    """

    def __init__(self, usual: int) -> None:
        self._usual = usual
        self._running = 0
        self._starting = 0
        self._grown_at = 0.0
        self._changed = threading.Condition()

    def __enter__(self) -> Self:
        patient_until = time.monotonic() + _PATIENCE_SECONDS
        with self._changed:
            while self._running >= self._usual and not self._may_grow(patient_until):
                self._changed.wait(_PATIENCE_SECONDS / 5)
            if self._running >= self._usual:
                self._grown_at = time.monotonic()
            self._running += 1
        return self

    def __exit__(self, *_: object) -> None:
        with self._changed:
            self._running -= 1
            self._changed.notify()

    @contextmanager
    def starting(self) -> Iterator[None]:
        """A while in which an environment starts, once it is its turn."""
        with self._changed:
            self._starting += 1
        try:
            with _STARTS:
                yield
        finally:
            with self._changed:
                self._starting -= 1
                self._grown_at = time.monotonic()

    def _may_grow(self, patient_until: float) -> bool:
        now = time.monotonic()
        rested = now >= patient_until and now >= self._grown_at + _PATIENCE_SECONDS
        return rested and not self._starting and self._running < MOST_WORKERS


@dataclass(frozen=True)
class _Gates:
    """One gate per function."""

    usual: int
    gates: dict[str, Gate] = field(default_factory=dict)
    making: threading.Lock = field(default_factory=threading.Lock)

    def of(self, function_arn: str) -> Gate:
        with self.making:
            return self.gates.setdefault(function_arn, Gate(self.usual))


@dataclass(frozen=True)
class RunningWorker:
    """A process that runs a function."""

    function: str
    hop: str
    pid: int
    busy: bool
    """Whether it is in the middle of an invocation."""


class Workers:
    """The execution environments of all functions, which ministack pools."""

    def __init__(self) -> None:
        self._runtime: Any = module("core.lambda_runtime")
        self._service: Any = module("services.lambda_svc")

    def running(self) -> list[RunningWorker]:
        """The processes that live now."""
        pools = [worker for pool in list(self._runtime._workers.values()) for worker in list(pool)]
        return [
            RunningWorker(w.config["FunctionName"], hop_of(w.config), w.pid, busy=w.in_use)
            for w in pools
            if isinstance(w, PythonWorker) and w.pid is not None
        ]

    def warm_sources(self) -> None:
        """Start one environment of every function that is fed by a queue or a stream, one after the other."""
        for _, _, mapping in self._service._iter_all_esms():
            function, config = self._service._get_func_record_for_qualifier(mapping["FunctionName"], None)
            worker, _ = self._service.acquire_worker(config["FunctionName"], config, function["code_zip"])
            try:
                worker.warm()
            finally:
                self._service.release_worker(worker)

    def kill_all(self) -> None:
        """End all of them."""
        self._runtime.reset()


def patch(host: Host, gate: RoleGate, *, workers_per_function: int) -> Workers:
    """Run Python functions in our workers; `workers_per_function` at a time, and slowly more (see `Gate`)."""
    runtime = module("core.lambda_runtime")
    service = module("services.lambda_svc")
    gates = _Gates(workers_per_function)

    def worker_class(config: Mapping[str, Any]) -> Any:
        if str(config.get("Runtime", "")).startswith("python"):
            return lambda _name, config, code_zip: PythonWorker(host, config, code_zip)
        return other_class(config)

    other_class = replace(runtime, "_worker_class_for", worker_class, signature="config")
    expect(service, "acquire_worker", signature="func_name, config, code_zip, qualifier, max_concurrency")
    expect(service, "release_worker", signature="worker")

    def execute(func: dict[str, Any], event: object, request_id: str) -> dict[str, Any]:
        config = func.get("config") or func
        if not str(config.get("Runtime", "")).startswith("python"):
            return execute_other(func, event, request_id)  # type: ignore[no-any-return]
        with gates.of(config["FunctionArn"]) as gate_of_function:
            worker, _ = service.acquire_worker(
                config["FunctionName"], config, func["code_zip"], qualifier=config.get("Version", "$LATEST")
            )
            try:
                if worker.pid is None:
                    with gate_of_function.starting():
                        failed = worker.start(request_id)
                    if failed:
                        return _as_ministack(failed)
                trace = service._xray_trace_id_for_invocation(config)
                return _as_ministack(worker.invoke(event, request_id, trace_id=trace))
            finally:
                service.release_worker(worker)

    execute_other = replace(service, "_execute_function_warm", execute, signature="func, event, request_id")
    _log_in_role(service, gate)
    _fail_in_role(service, gate)
    return Workers()


def _log_in_role(service: Any, gate: RoleGate) -> None:
    """A function whose role may not write its log group has no log there; its log file has it all the same."""

    def emit(func: dict[str, Any], request_id: str, log_text: str, *rest: Any, **more: Any) -> None:
        config = func.get("config") or func
        _, _, _, region, account, *_ = config["FunctionArn"].split(":")
        group = (config.get("LoggingConfig") or {}).get("LogGroup") or f"/aws/lambda/{config['FunctionName']}"
        stream = f"arn:aws:logs:{region}:{account}:log-group:{group}:log-stream:any"
        if not gate.first_denied(func, ("logs:CreateLogStream", "logs:PutLogEvents"), stream):
            old(func, request_id, log_text, *rest, **more)

    signature = "func, request_id, log_text, error, duration_ms, log_source"
    old = replace(service, "_emit_lambda_logs", emit, signature=signature)


def _fail_in_role(service: Any, gate: RoleGate) -> None:
    """An asynchronous invocation that failed for good reaches its dead letters in the function's role."""

    def route(target_arn: str, func_name: str, event: object, result: object) -> None:
        record, config = service._get_func_record_for_qualifier(func_name, None)
        action = "sns:Publish" if ":sns:" in target_arn else "sqs:SendMessage"
        denied = record and gate.ask(config["Role"], action, target_arn, session=func_name)
        if denied:
            _log.error("%s", denied.message)
        else:
            on_loop(lambda: old(target_arn, func_name, event, result))

    old = replace(service, "_route_async_failure", route, signature="target_arn, func_name, event, result")


def _as_ministack(outcome: Outcome) -> dict[str, Any]:
    match outcome:
        case Returned(value, log):
            return {"body": value, "log": log}
        case Failed(error, log):
            return {"body": dict(error), "error": True, "log": log}
