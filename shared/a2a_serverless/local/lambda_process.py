"""The inside of one execution environment: imports a Python handler once and serves invocations one at a time.

Run as a script by `worker.py`; it imports nothing but the standard library, so that a function finds in its
process what it finds on AWS: its own modules, its packages, and the environment that it was given.
Requests come as JSON lines on the first standard input, answers leave as JSON lines on the first standard output;
both are moved out of the way before the handler is imported, and whatever it prints goes to the log.
"""

import importlib
import json
import os
import select
import sys
import threading
import time
import traceback
from collections.abc import Callable
from decimal import Decimal
from typing import IO, Any

END_OF_LOG = "\x1eend-of-invocation"
"""The line that follows the last log line of an invocation, so that the host need not guess when it has all."""

Handler = Callable[[Any, "Context"], Any]


class Context:
    """The context object of the Python runtime, with the attributes that AWS gives it."""

    identity = None
    client_context = None
    tenant_id = None

    def __init__(self, invocation: dict[str, Any]) -> None:
        self.function_name = os.environ["AWS_LAMBDA_FUNCTION_NAME"]
        self.function_version = os.environ["AWS_LAMBDA_FUNCTION_VERSION"]
        self.memory_limit_in_mb = os.environ["AWS_LAMBDA_FUNCTION_MEMORY_SIZE"]
        self.log_group_name = os.environ["AWS_LAMBDA_LOG_GROUP_NAME"]
        self.log_stream_name = os.environ["AWS_LAMBDA_LOG_STREAM_NAME"]
        self.invoked_function_arn = invocation["arn"]
        self.aws_request_id = invocation["requestId"]
        self._deadline = invocation["deadline"]

    def get_remaining_time_in_millis(self) -> int:
        """Milliseconds until the host kills this process."""
        return max(0, int((self._deadline - time.time()) * 1000))


def main() -> None:
    """Take over the pipes, import the handler, serve until the host closes the pipe."""
    requests, answers = _take_over_pipes()
    threading.Thread(target=_die_with_host, args=(requests.fileno(),), daemon=True).start()
    try:
        handler = _import_handler(os.environ["_HANDLER"])
    except Exception as error:  # noqa: BLE001 (whatever the import raises is the function's, and is reported)
        _log_exception(error)
        _answer(answers, {"initError": _init_error(error)})
        return
    _answer(answers, {"ready": True})
    for line in requests:
        _answer(answers, _serve(handler, json.loads(line)))


def _take_over_pipes() -> tuple[IO[str], IO[str]]:
    requests = os.fdopen(os.dup(0), encoding="utf-8")
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)  # prints, also those of C code, are log lines
    sys.stdout.reconfigure(line_buffering=True)  # type: ignore[union-attr]
    return requests, answers


def _die_with_host(pipe: int) -> None:
    """Exit as soon as the host is gone, in the middle of a handler too: a killed stack leaves no process."""
    poll = select.poll()
    poll.register(pipe, 0)
    while not any(flags & (select.POLLHUP | select.POLLERR) for _, flags in poll.poll()):
        pass
    os._exit(1)


def _import_handler(name: str) -> Handler:
    hidden = _hidden_paths()
    sys.path[:] = [os.environ["LAMBDA_TASK_ROOT"], *(path for path in sys.path if path not in hidden)]
    module_name, _, attribute = name.replace("/", ".").rpartition(".")
    handler: Handler = getattr(importlib.import_module(module_name), attribute)
    return handler


def _hidden_paths() -> frozenset[str]:
    """Source folders of the clone: a module that the asset lacks must be missing here as well."""
    return frozenset(os.environ.pop("_LOCAL_HIDDEN_PATHS", "").split(os.pathsep))


def _init_error(error: Exception) -> dict[str, str]:
    name = os.environ["_HANDLER"].rpartition(".")[0]
    match error:
        case ImportError():
            return {
                "errorType": "Runtime.ImportModuleError",
                "errorMessage": f"Unable to import module '{name}': {error}",
            }
        case AttributeError():
            return {"errorType": "Runtime.HandlerNotFound", "errorMessage": str(error)}
        case _:
            return {"errorType": type(error).__name__, "errorMessage": str(error)}


def _serve(handler: Handler, invocation: dict[str, Any]) -> dict[str, Any]:
    if trace := invocation.get("trace"):
        os.environ["_X_AMZN_TRACE_ID"] = trace
    try:
        result = handler(invocation["event"], Context(invocation))
    except Exception as error:  # noqa: BLE001 (whatever the handler raises is the caller's to see)
        _log_exception(error)
        return {"error": _handler_error(error, invocation["requestId"])}
    try:
        return {"result": json.dumps(result, ensure_ascii=False, default=_as_number)}
    except (TypeError, ValueError) as error:
        return {
            "error": {
                "errorType": "Runtime.MarshalError",
                "errorMessage": f"Unable to marshal response: {error}",
                "requestId": invocation["requestId"],
                "stackTrace": [],
            }
        }


def _as_number(value: object) -> float:
    if isinstance(value, Decimal):
        return float(value)
    raise TypeError(f"Object of type {type(value).__name__} is not JSON serializable")


def _handler_error(error: Exception, request_id: str) -> dict[str, Any]:
    own = error.__traceback__.tb_next if error.__traceback__ else None  # without the frame of `_serve`
    return {
        "errorType": type(error).__name__,
        "errorMessage": str(error),
        "requestId": request_id,
        "stackTrace": traceback.format_tb(own),
    }


def _log_exception(error: Exception) -> None:
    lines = "".join(traceback.format_exception(error))
    print(f"[ERROR] {type(error).__name__}: {error}\n{lines}", end="", file=sys.stderr)


def _answer(answers: IO[str], answer: dict[str, Any]) -> None:
    sys.stdout.flush()
    print(END_OF_LOG, file=sys.stderr, flush=True)
    answers.write(json.dumps(answer) + "\n")
    answers.flush()


if __name__ == "__main__":
    main()
