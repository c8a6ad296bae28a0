"""Lambda: functions run in `PythonWorker`s, at most so many per function, and fail the way AWS says they failed.

Stock ministack reports every exception as `Runtime.HandlerError` without a stack, kills the environment with it,
waits 50 ms for log lines after each invocation and starts one interpreter per concurrent request.
"""

import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from a2a_serverless.local.patches.target import expect, module, replace
from a2a_serverless.local.worker import Failed, Host, Outcome, PythonWorker, Returned, hop_of

PAYLOAD_LIMIT = 6 * 1024 * 1024
"""AWS: 6 MB for the request and for the response of a synchronous invocation."""


@dataclass(frozen=True)
class _Gates:
    """One gate per function: so many invocations at a time, the others wait in line."""

    width: int
    gates: dict[str, threading.BoundedSemaphore] = field(default_factory=dict)
    making: threading.Lock = field(default_factory=threading.Lock)

    def of(self, function_arn: str) -> threading.BoundedSemaphore:
        with self.making:
            return self.gates.setdefault(function_arn, threading.BoundedSemaphore(self.width))


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


def patch(host: Host, *, workers_per_function: int) -> Workers:
    """Run Python functions in our workers; `workers_per_function` concurrent invocations, then they queue."""
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
        with gates.of(config["FunctionArn"]):
            worker, _ = service.acquire_worker(
                config["FunctionName"], config, func["code_zip"], qualifier=config.get("Version", "$LATEST")
            )
            try:
                trace = service._xray_trace_id_for_invocation(config)
                return _as_ministack(worker.invoke(event, request_id, trace_id=trace))
            finally:
                service.release_worker(worker)

    execute_other = replace(service, "_execute_function_warm", execute, signature="func, event, request_id")
    return Workers()


def _as_ministack(outcome: Outcome) -> dict[str, Any]:
    match outcome:
        case Returned(value, log):
            return {"body": value, "log": log}
        case Failed(error, log):
            return {"body": dict(error), "error": True, "log": log}
