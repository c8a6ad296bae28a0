"""A stack for tests: the very process that `make serve` starts, as a context manager.

    with LocalStack(agents="functions.agents.scripted:agent") as stack:
        httpx.get(f"{stack.url}/.well-known/agent-card.json")
        stack.client("dynamodb").scan(TableName=stack.outputs["Table"])

Every stack has ports, a runtime folder and processes of its own, so that several run side by side. It runs in a child
process, so it can be killed hard (`kill`) and started again with its state kept (`state_dir`), and it ends with the
test run, however that ends.
"""

import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import urllib.request
from collections.abc import Callable, Iterable, Mapping
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Self

from a2a_serverless.local.agents import DEFAULT
from a2a_serverless.local.assembly import assembly, stack_name
from a2a_serverless.local.clone import edited_folder, repository_root
from a2a_serverless.local.control import DEPLOYED, WORKERS
from a2a_serverless.local.deploy import Deployed, Endpoint, deploy, embedded
from a2a_serverless.local.failure import StackFailedError
from a2a_serverless.local.serve import STOP_WITH_STDIN

Template = dict[str, Any]
TemplateEdit = Callable[[Template], None]
"""Changes the synthesized template in place before it is deployed."""

_READY_SECONDS = 180.0
"""A first synth on a slow machine is part of it."""

_STOP_SECONDS = 15.0


class LocalStack:
    """One running stack; every argument is what `serve` reads from the environment."""

    url: str
    """The public address, without a slash at the end."""
    aws_endpoint: str
    """The embedded AWS."""
    agent_names: list[str]

    def __init__(
        self,
        *,
        agents: str | Mapping[str, str] = DEFAULT,
        auth: str = "none",
        strict_iam: bool = False,
        template_edit: TemplateEdit | None = None,
        env: Mapping[str, str] | None = None,
        state_dir: Path | None = None,
        port: int = 0,
    ) -> None:
        """Describe a stack; it starts with `start` or as a context manager.

        `agents` is an import string, several as for AGENT, or a mapping of name to import string. `env` sets variables
        of every function. `template_edit` may change the synthesized template, e.g. take a permission away. `port` 0
        is any free one, and the same one again when the stack is started again.
        """
        self._agents = agents if isinstance(agents, str) else ",".join(f"{k}={v}" for k, v in agents.items())
        self._auth = auth
        self._strict_iam = strict_iam
        self._template_edit = template_edit
        self._functions_env = dict(env or {})
        self._state_dir = state_dir
        self._port = port
        self._process: subprocess.Popen[str] | None = None
        self._said: _Said | None = None
        self._edited: Path | None = None
        self._clients: dict[str, Any] = {}

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def start(self) -> None:
        """Start the stack and return once it answers.

        Raises:
            StackFailedError: it ended or said nothing in time; the message has what it wrote to stderr.
        """
        root = repository_root()
        if self._template_edit and not self._edited:
            self._edited = _edited_assembly(root, self._template_edit)
        self._process = subprocess.Popen(
            [sys.executable, "-m", "a2a_serverless.local.serve"],
            cwd=root,
            env=self._environment(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,  # Ctrl-C in a terminal is for the test run, which then stops the stack
        )
        self._said = _Said(self._process)
        try:
            ready = self._said.ready(_READY_SECONDS)
        except StackFailedError:
            self._end(signal.SIGKILL)
            raise
        self.url, self.aws_endpoint, self.agent_names = ready["url"], ready["aws_endpoint"], ready["agents"]
        self._port = int(self.url.rpartition(":")[2])
        self.__dict__.pop("outputs", None)

    def stop(self) -> None:
        """Stop the stack as Ctrl-C does, and wait until nothing of it is left."""
        self._end(signal.SIGTERM)
        if self._edited:
            shutil.rmtree(self._edited, ignore_errors=True)
            self._edited = None

    def redeploy(self, template_edit: TemplateEdit | None = None) -> Deployed:
        """Deploy the clone's sources of now over the running stack, as `cdk deploy` would.

        Raises:
            DeployError: the update failed.
        """
        root = repository_root()
        folder = _edited_assembly(root, template_edit or (lambda _: None))
        try:
            deployed = deploy(folder, self.endpoint)
        finally:
            shutil.rmtree(folder, ignore_errors=True)
        with urllib.request.urlopen(self.aws_endpoint + DEPLOYED):
            return deployed

    def kill(self) -> None:
        """Kill the stack hard, as a power cut does; `start` brings it back, with its state if it has a state_dir."""
        self._end(signal.SIGKILL)

    def _end(self, how: signal.Signals) -> None:
        while self._clients:
            self._clients.popitem()[1].close()
        process, self._process = self._process, None
        if process is None:
            return
        process.send_signal(how)  # does nothing to a process that is gone
        try:
            process.wait(_STOP_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        assert process.stdin
        process.stdin.close()

    @property
    def stderr(self) -> str:
        """What the stack has written to stderr so far."""
        return self._said.stderr if self._said else ""

    @property
    def endpoint(self) -> Endpoint:
        """The embedded AWS as a place to deploy to."""
        return embedded(self.aws_endpoint)

    def client(self, service: str) -> Any:
        """A boto3 client of the embedded AWS, as the account's root; it ends with the stack."""
        if service not in self._clients:
            self._clients[service] = self.endpoint.client(service)
        return self._clients[service]

    @cached_property
    def outputs(self) -> Mapping[str, str]:
        """The outputs of the deployed stack by their names in the template."""
        stacks = self.client("cloudformation").describe_stacks()["Stacks"]
        return {o["OutputKey"]: o["OutputValue"] for stack in stacks for o in stack.get("Outputs", [])}

    @property
    def logs(self) -> Path:
        """The folder of the functions' logs, one file per hop."""
        return repository_root() / ".local" / str(self._port) / "logs"

    def log_of(self, hop: str) -> str:
        """What a hop has logged so far."""
        file = self.logs / f"{hop}.log"
        return file.read_text(encoding="utf-8") if file.exists() else ""

    def workers(self, hop: str, *, busy: bool = False) -> list[int]:
        """The process ids of a hop's execution environments; `busy`: only those in the middle of an invocation."""
        with urllib.request.urlopen(self.aws_endpoint + WORKERS) as answer:
            found: Iterable[Mapping[str, Any]] = json.load(answer)
        return [w["pid"] for w in found if hop in (w["hop"], w["function"]) and (w["busy"] or not busy)]

    def kill_worker(self, hop: str) -> list[int]:
        """Kill the processes of a hop that are in the middle of an invocation; returns their ids."""
        killed = self.workers(hop, busy=True)
        for pid in killed:
            os.kill(pid, signal.SIGKILL)
        return killed

    def _environment(self) -> dict[str, str]:
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("AWS_", "A2A_ENV_"))}
        optional = {
            "STATE_DIR": str(self._state_dir) if self._state_dir else None,
            "LOCAL_ASSEMBLY": str(self._edited) if self._edited else None,
        }
        return {
            **kept,
            "PORT": str(self._port),
            "AWS_PORT": "0",
            "AGENT": self._agents,
            "AUTH": self._auth,
            "STRICT_IAM": "1" if self._strict_iam else "0",
            STOP_WITH_STDIN: "1",
            **{f"A2A_ENV_{name}": value for name, value in self._functions_env.items()},
            **{name: value for name, value in optional.items() if value},
        }


class _Said:
    """What the process wrote, read by threads so that it never blocks on a full pipe."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        self._out: list[str] = []
        self._err: list[str] = []
        self._spoke = threading.Event()
        assert process.stdout
        assert process.stderr
        for pipe, lines in ((process.stdout, self._out), (process.stderr, self._err)):
            threading.Thread(target=self._read, args=(pipe, lines), daemon=True).start()

    @property
    def stderr(self) -> str:
        return "".join(self._err)

    def _read(self, pipe: IO[str], lines: list[str]) -> None:
        with pipe:
            for line in pipe:
                lines.append(line)
                if line.startswith("READY "):
                    self._spoke.set()
        self._spoke.set()  # the end of the pipe: the process is gone

    def ready(self, seconds: float) -> dict[str, Any]:
        self._spoke.wait(seconds)
        for line in self._out:
            if line.startswith("READY "):
                ready: dict[str, Any] = json.loads(line.removeprefix("READY "))
                return ready
        raise StackFailedError(f"the stack did not get ready: {self.stderr.strip() or 'it said nothing'}")


def _edited_assembly(root: Path, edit: TemplateEdit) -> Path:
    folder = edited_folder(root)
    assembly(root, folder, progress=lambda line: print(line, file=sys.stderr))
    path = folder / f"{stack_name(folder)}.template.json"
    template: Template = json.loads(path.read_text(encoding="utf-8"))
    edit(template)
    path.write_text(json.dumps(template), encoding="utf-8")
    return folder
