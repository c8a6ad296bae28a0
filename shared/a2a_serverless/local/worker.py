"""One execution environment of a Python function, seen from the host: a warm process and its pipes.

Stands in for `ministack.core.lambda_runtime.Worker`, whose pool, invalidation and reaping stay in use: the
attributes without a docstring of their own (`in_use`, `last_used`, `config`, `_proc`, `_lock`) are what that pool
reads. What differs is what a handler can observe: AWS's error types, no environment variable or source folder of
the laptop, one extraction per code version, and logs that are complete when the invocation ends.
"""

import hashlib
import json
import os
import queue
import select
import shutil
import subprocess
import sys
import threading
import time
import zipfile
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from io import BytesIO
from pathlib import Path
from typing import IO, Any

from a2a_serverless.local import lambda_process
from a2a_serverless.local.lambda_process import END_OF_LOG

Config = Mapping[str, Any]
"""A function's configuration, as GetFunctionConfiguration returns it."""

_LOG_BYTES_KEPT = 256 * 1024
"""How much of one invocation's log is handed on to the log group; the log file has all of it."""

_INIT_SECONDS = 30.0
"""AWS gives an init 10 seconds and then once more with the function's own time: one generous limit here."""

_PASSED_ON = ("PATH", "LANG", "LC_ALL", "SSL_CERT_FILE", "SSL_CERT_DIR", "SYSTEMROOT")
"""Variables of the laptop that a process cannot do without; nothing else of its environment is handed on."""


@dataclass(frozen=True)
class Host:
    """What all execution environments of a stack share."""

    endpoint: str
    """Address of the embedded AWS."""
    folder: Path
    """Where code is extracted, and the processes' temporary folder."""
    logs: Path
    credentials: Callable[[Config], Mapping[str, str]]
    """The keys of a function's execution role."""
    overlay: Mapping[str, str] = field(default_factory=dict)
    """Variables that win over those of the template, e.g. the public address that only a started stack knows."""
    hidden_paths: tuple[str, ...] = ()
    """Source folders of the clone, taken out of the import path of every function."""
    extracting: threading.Lock = field(default_factory=threading.Lock)

    def code_folder(self, code_zip: bytes) -> Path:
        """The extracted code of a function, shared by all environments that run the same bytes."""
        name = hashlib.sha256(code_zip).hexdigest()[:24]
        target = self.folder / "code" / name
        with self.extracting:
            if not target.is_dir():
                part = target.with_suffix(".part")
                shutil.rmtree(part, ignore_errors=True)
                with zipfile.ZipFile(BytesIO(code_zip)) as archive:
                    archive.extractall(part)
                part.rename(target)
        return target


@dataclass(frozen=True)
class Returned:
    """The handler returned."""

    value: Any
    log: str


@dataclass(frozen=True)
class Failed:
    """The invocation failed: `error` is the payload that AWS would give to the caller."""

    error: Mapping[str, Any]
    log: str


Outcome = Returned | Failed


class _DiedError(Exception):
    """The process ended before it answered."""


class _TimedOutError(Exception):
    """The process did not answer in time."""


class PythonWorker:
    """A process that serves one invocation after the other, started again when it is gone."""

    def __init__(self, host: Host, config: Config, code_zip: bytes) -> None:
        self.config = config
        self.in_use = False
        self.last_used = time.time()
        self._host = host
        self._code_zip = code_zip
        self._lock = threading.Lock()
        self._proc: subprocess.Popen[bytes] | None = None
        self._pipes: _Pipes | None = None

    @property
    def pid(self) -> int | None:
        """The process id while a process is there."""
        return self._proc.pid if self._proc and self._proc.poll() is None else None

    def invoke(self, event: object, request_id: str, *, trace_id: str | None = None) -> Outcome:
        """Run one invocation, starting the process when there is none; kill it when its time is up."""
        with self._lock:
            timeout = float(self.config.get("Timeout", 3))
            if self.pid is None or self._pipes is None:
                started = self._start(request_id)
                if isinstance(started, Failed):
                    return started
                self._pipes = started
            pipes = self._pipes  # ministack may drop `_proc` at any moment: the code of a function was changed
            deadline = time.time() + timeout
            invocation = {"event": event, "requestId": request_id, "deadline": deadline, "trace": trace_id}
            try:
                pipes.send({**invocation, "arn": self.config["FunctionArn"]})
                answer = pipes.receive(deadline)
            except _TimedOutError:
                return self._failed(pipes, _timed_out(request_id, timeout))
            except _DiedError:
                return self._failed(pipes, _exited(request_id, pipes.proc.wait()))
            return _outcome(answer, pipes.log())

    def warm(self) -> None:
        """Start the process when there is none, so that the next invocation finds it."""
        self.start("none")

    def start(self, request_id: str) -> Failed | None:
        """Start the process when there is none; what went wrong, if it did."""
        with self._lock:
            if self.pid is not None:
                return None
            started = self._start(request_id)
            if isinstance(started, Failed):
                return started
            self._pipes = started
            return None

    def kill(self) -> None:
        """End the process, as the end of an environment does."""
        proc, self._proc = self._proc, None
        if proc:
            proc.kill()
            proc.wait()

    def _discard_tmpdir(self) -> None:
        """Nothing of an environment is its own: the code is shared and the run's folder is removed at exit."""

    def _start(self, request_id: str) -> "_Pipes | Failed":
        code = self._host.code_folder(self._code_zip)
        self._proc = subprocess.Popen(
            # -P: the folder of the script must not be on the import path of the function.
            [sys.executable, "-P", lambda_process.__file__],
            cwd=code,
            env=self._environment(code),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        pipes = _Pipes(self._proc, self._log_file())
        try:
            answer = pipes.receive(time.time() + _INIT_SECONDS)
        except _TimedOutError:
            return self._failed(pipes, _timed_out(request_id, _INIT_SECONDS))
        except _DiedError:
            return self._failed(pipes, _exited(request_id, pipes.proc.wait()))
        if error := answer.get("initError"):
            return self._failed(pipes, error)
        pipes.log()  # what the import logged is in the file and belongs to no invocation
        return pipes

    def _environment(self, code: Path) -> dict[str, str]:
        name = self.config["FunctionName"]
        region = self.config["FunctionArn"].split(":")[3]
        passed_on = {name: os.environ[name] for name in _PASSED_ON if name in os.environ}
        return {
            **passed_on,
            "TZ": ":UTC",
            "TMPDIR": str(self._host.folder),
            **self.config.get("Environment", {}).get("Variables", {}),
            **self._host.overlay,
            **self._host.credentials(self.config),
            "AWS_REGION": region,
            "AWS_DEFAULT_REGION": region,
            "AWS_ENDPOINT_URL": self._host.endpoint,
            "AWS_EC2_METADATA_DISABLED": "true",
            "AWS_CONFIG_FILE": os.devnull,
            "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
            "AWS_EXECUTION_ENV": f"AWS_Lambda_{self.config.get('Runtime', 'python')}",
            "AWS_LAMBDA_FUNCTION_NAME": name,
            "AWS_LAMBDA_FUNCTION_VERSION": self.config.get("Version", "$LATEST"),
            "AWS_LAMBDA_FUNCTION_MEMORY_SIZE": str(self.config.get("MemorySize", 128)),
            "AWS_LAMBDA_INITIALIZATION_TYPE": "on-demand",
            "AWS_LAMBDA_LOG_GROUP_NAME": f"/aws/lambda/{name}",
            "AWS_LAMBDA_LOG_STREAM_NAME": os.urandom(16).hex(),
            "LAMBDA_TASK_ROOT": str(code),
            "_HANDLER": self.config["Handler"],
            "_LOCAL_HIDDEN_PATHS": os.pathsep.join(self._host.hidden_paths),
        }

    def _log_file(self) -> Path:
        return self._host.logs / f"{hop_of(self.config)}.log"

    def _failed(self, pipes: "_Pipes", error: Mapping[str, Any]) -> Failed:
        """The environment is lost, as on AWS: end what is left of it and say so in the hop's log."""
        pipes.proc.kill()
        pipes.proc.wait()
        if self._proc is pipes.proc:
            self._proc = None
        with self._log_file().open("a", encoding="utf-8") as file:
            file.write(f"[ERROR] {error['errorType']}: {error['errorMessage']}\n")
        pipes.close()
        return Failed(error, pipes.log())


class _Pipes:
    """The three pipes of one process: JSON lines in, JSON lines out, log lines."""

    def __init__(self, proc: "subprocess.Popen[bytes]", log_file: Path) -> None:
        assert proc.stdin
        assert proc.stdout
        assert proc.stderr
        self.proc = proc
        self._in, self._out = proc.stdin, proc.stdout
        self._logs: queue.Queue[str] = queue.Queue()
        self._unread = b""
        _LogReader(proc.stderr, self._logs, log_file).start()

    def send(self, message: Mapping[str, object]) -> None:
        try:
            self._in.write(json.dumps(message).encode() + b"\n")
            self._in.flush()
        except OSError as error:
            raise _DiedError from error

    def receive(self, deadline: float) -> dict[str, Any]:
        poll = select.poll()  # not select(): a busy stack has more than 1,024 descriptors
        poll.register(self._out.fileno(), select.POLLIN)
        pieces = [self._unread]
        while b"\n" not in pieces[-1]:
            if not poll.poll(max(0.0, deadline - time.time()) * 1000):
                raise _TimedOutError
            piece = os.read(self._out.fileno(), 1 << 20)
            if not piece:
                raise _DiedError
            pieces.append(piece)
        line, self._unread = b"".join(pieces).split(b"\n", 1)
        answer: dict[str, Any] = json.loads(line)
        return answer

    def close(self) -> None:
        """Let go of a process that is gone; its log is closed by who reads it."""
        with suppress(OSError):  # what it never read
            self._in.close()
        self._out.close()

    def log(self) -> str:
        """What one invocation logged: complete, because the reader saw the mark that follows it."""
        try:
            return self._logs.get(timeout=1)
        except queue.Empty:
            return ""


class _LogReader(threading.Thread):
    """Copies a process's standard error to the hop's log file and cuts it into one text per invocation."""

    def __init__(self, pipe: IO[bytes], logs: "queue.Queue[str]", file: Path) -> None:
        super().__init__(daemon=True, name=f"log-{file.stem}")
        self._pipe = pipe
        self._queue = logs
        self._path = file

    def run(self) -> None:
        lines: list[str] = []
        size = 0
        with self._pipe, self._path.open("a", encoding="utf-8", buffering=1) as file:
            for raw in self._pipe:
                line = raw.decode("utf-8", "replace")
                if line.rstrip("\n") == END_OF_LOG:
                    self._queue.put("".join(lines))
                    lines, size = [], 0
                    continue
                file.write(line)
                if (size := size + len(raw)) <= _LOG_BYTES_KEPT:
                    lines.append(line)
        self._queue.put("".join(lines))


def hop_of(config: Config) -> str:
    """The hop that a function runs, by its handler (`functions.api.handler.handler` is `api`), else its name."""
    match config["Handler"].split("."):
        case ["functions", hop, *_]:
            return str(hop)
        case _:
            return str(config["FunctionName"])


def _outcome(answer: Mapping[str, Any], log: str) -> Outcome:
    if error := answer.get("error"):
        return Failed(error, log)
    return Returned(json.loads(answer["result"]), log)


def _timed_out(request_id: str, seconds: float) -> dict[str, str]:
    message = f"RequestId: {request_id} Error: Task timed out after {seconds:.2f} seconds"
    return {"errorType": "Sandbox.Timedout", "errorMessage": message}


def _exited(request_id: str, status: int) -> dict[str, str]:
    how = f"exit status {status}" if status >= 0 else f"signal: {-status}"
    message = f"RequestId: {request_id} Error: Runtime exited with error: {how}"
    return {"errorType": "Runtime.ExitError", "errorMessage": message}
