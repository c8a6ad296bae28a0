"""The four official clients, each in a process of its own, behind one set of words.

A driver (`drivers/`, `js/`) uses its SDK as that SDK's documentation shows and tells what the SDK made of the answers;
what is compared here has therefore gone through the SDK's own parsing.
"""

import itertools
import json
import queue
import shutil
import subprocess
import sys
import threading
import uuid
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal

HERE: Final = Path(__file__).parent
ROOT: Final = HERE.parents[1]

Binding = Literal["JSONRPC", "HTTP+JSON"]
BINDINGS: Final[tuple[Binding, ...]] = ("JSONRPC", "HTTP+JSON")

_PATIENCE: Final = 60.0
"""Seconds for one answer or event: twice what a gateway would give."""


@dataclass(frozen=True)
class Sdk:
    """One official client library."""

    name: str
    version: str
    """The protocol version it speaks."""
    command: tuple[str, ...]

    @property
    def missing(self) -> str:
        """What it lacks to run, or nothing."""
        if self.command[0] != "node":
            return ""
        if shutil.which("node") is None:
            return "node is not installed"
        return "" if (HERE / "js" / "node_modules").is_dir() else "the JavaScript SDKs are not installed: make test"


SDKS: Final = (
    Sdk("python-1.x", "1.0", (sys.executable, str(HERE / "drivers" / "sdk10.py"))),
    Sdk("python-0.3", "0.3", (str(ROOT / ".venv-sdk03" / "bin" / "python"), str(HERE / "drivers" / "sdk03.py"))),
    Sdk("js-1.x", "1.0", ("node", str(HERE / "js" / "sdk10.mjs"))),
    Sdk("js-0.3", "0.3", ("node", str(HERE / "js" / "sdk03.mjs"))),
)


class ClientError(Exception):
    """What an SDK raised: the name of its class, its text, and the code or status if it told one."""

    def __init__(self, kind: str, message: str, code: int | None) -> None:
        super().__init__(f"{kind}: {message} ({code})")
        self.kind = kind
        self.message = message
        self.code = code


@dataclass(frozen=True)
class Artifact:
    """A result: its text parts in one, and its first data part."""

    name: str
    text: str = ""
    data: Any = None


@dataclass(frozen=True)
class Task:
    """A task as an SDK understood it; states are spelled as 0.3 spells them, `input-required`."""

    id: str
    context: str
    state: str
    says: str
    """The text of the status message."""
    artifacts: tuple[Artifact, ...]
    history: tuple[tuple[str, str], ...]
    """Role and text of each message."""


@dataclass(frozen=True)
class Reply:
    """A message that answered without a task."""

    text: str


@dataclass(frozen=True)
class Status:
    """A task's status changed."""

    task: str
    state: str
    says: str
    final: bool | None = None
    """Said in 0.3 only."""


@dataclass(frozen=True)
class ArtifactUpdate:
    """A piece of a result."""

    task: str
    append: bool
    last: bool
    artifact: Artifact


Event = Task | Reply | Status | ArtifactUpdate


@dataclass(frozen=True)
class PushConfig:
    """A webhook as the server tells of it."""

    id: str
    task: str
    url: str


@dataclass(frozen=True)
class Page:
    """One page of a list."""

    tasks: tuple[Task, ...]
    next: str
    total: int


class Driver:
    """A running SDK: any number of calls at the same time."""

    def __init__(self, sdk: Sdk) -> None:
        self.sdk = sdk
        self._process = subprocess.Popen(
            sdk.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        self._numbers = itertools.count(1)
        self._writing = threading.Lock()
        self._waiting: dict[int, queue.Queue[Mapping[str, Any]]] = {}
        self._complaints: list[str] = []
        self._readers = [threading.Thread(target=target) for target in (self._read_answers, self._read_complaints)]
        for reader in self._readers:
            reader.start()

    def call(self, to: Mapping[str, str], operation: str, told: Mapping[str, Any]) -> "Pending":
        """Begin a call."""
        answers: queue.Queue[Mapping[str, Any]] = queue.Queue()
        assert self._process.stdin
        with self._writing:
            number = next(self._numbers)
            self._waiting[number] = answers
            line = json.dumps({"call": number, "to": to, "do": operation, "with": told})
            self._process.stdin.write(line + "\n")
            self._process.stdin.flush()
        return Pending(answers, self._complaints)

    def close(self) -> None:
        """End the process."""
        assert self._process.stdin
        self._process.stdin.close()
        try:
            self._process.wait(5)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        for reader in self._readers:
            reader.join()

    def _read_answers(self) -> None:
        assert self._process.stdout
        with self._process.stdout as lines:
            for line in lines:
                answer = json.loads(line)
                self._waiting[answer["call"]].put(answer)
        gone = {"error": {"type": "DriverEnded", "message": "the driver's process ended", "code": None}}
        for answers in list(self._waiting.values()):
            answers.put(gone)

    def _read_complaints(self) -> None:
        assert self._process.stderr
        with self._process.stderr as lines:
            self._complaints.extend(lines)


class Pending:
    """A call under way."""

    def __init__(self, answers: "queue.Queue[Mapping[str, Any]]", complaints: list[str]) -> None:
        self._answers = answers
        self._complaints = complaints

    def __iter__(self) -> Iterator[Any]:
        """What the call brings before it ends, as it comes."""
        while "event" in (answer := self._next()):
            yield answer["event"]

    def result(self) -> Any:
        """What the call answers at its end.

        Raises:
            ClientError: the SDK raised.
        """
        while "event" in (answer := self._next()):
            pass
        return answer["result"]

    def _next(self) -> Mapping[str, Any]:
        try:
            answer = self._answers.get(timeout=_PATIENCE)
        except queue.Empty:
            raise ClientError("NoAnswer", "".join(self._complaints[-20:]), None) from None
        if error := answer.get("error"):
            raise ClientError(error["type"], error["message"], error["code"])
        return answer


@dataclass(frozen=True)
class Client:
    """One SDK, one agent, one binding, one caller."""

    driver: Driver
    url: str
    binding: Binding
    token: str = ""

    @property
    def version(self) -> str:
        """The protocol version that is spoken."""
        return self.driver.sdk.version

    def discover(self) -> Mapping[str, Any]:
        """The card: name, skills, streaming, push, interfaces as pairs of binding and version."""
        found: Mapping[str, Any] = self._call("discover").result()
        return found

    def send(self, text: str, **told: Any) -> Task:
        """Send and wait; `task`, `context`, `push`, `immediately` and `message_id` as the drivers take them."""
        answered = self.answer(text, **told)
        assert isinstance(answered, Task), answered
        return answered

    def answer(self, text: str, **told: Any) -> Event:
        """Send a message that may be answered without a task."""
        return read_event(self._call("send", **_message(text, told)).result())

    def stream(self, text: str, **told: Any) -> Iterator[Event]:
        """Send a message; its events as they come."""
        return map(read_event, self._call("stream", **_message(text, told)))

    def subscribe(self, task: str) -> Iterator[Event]:
        """Subscribe; the request has left when this returns."""
        return map(read_event, self._call("subscribe", task=task))

    def get(self, task: str, *, history: int | None = None) -> Task:
        """The task as it is."""
        return _task(self._call("get", task=task, history=history).result())

    def cancel(self, task: str) -> Task:
        """Cancel; the task after that."""
        return _task(self._call("cancel", task=task).result())

    def list(self, *, context: str, page_size: int = 50, page_token: str = "") -> Page:
        """A page of the tasks of a context (1.0 only)."""
        page = self._call("list", context=context, page_size=page_size, page_token=page_token).result()
        return Page(tuple(map(_task, page["tasks"])), page["next"], page["total"])

    def create_push(self, task: str, *, url: str, **more: str) -> PushConfig:
        """Register a webhook; `id`, `token` and `credentials` are optional."""
        return PushConfig(**self._call("create-push", task=task, push={"url": url, **more}).result())

    def get_push(self, task: str, config: str) -> PushConfig:
        """One webhook."""
        return PushConfig(**self._call("get-push", task=task, config=config).result())

    def list_push(self, task: str) -> tuple[PushConfig, ...]:
        """All webhooks of a task."""
        return tuple(PushConfig(**config) for config in self._call("list-push", task=task).result())

    def delete_push(self, task: str, config: str) -> None:
        """Remove a webhook."""
        self._call("delete-push", task=task, config=config).result()

    def _call(self, operation: str, **told: Any) -> Pending:
        to = {"url": self.url, "binding": self.binding, "token": self.token}
        return self.driver.call(to, operation, told)


def _message(text: str, told: Mapping[str, Any]) -> dict[str, Any]:
    return {"text": text, "message_id": str(uuid.uuid4()), **told}


def read_event(event: Mapping[str, Any]) -> Event:
    """What a driver said, as one of the types above."""
    match event["kind"]:
        case "task":
            return _task(event)
        case "message":
            return Reply(event["text"])
        case "status":
            return Status(event["task"], event["state"], event["says"], event.get("final"))
        case _:
            return ArtifactUpdate(event["task"], event["append"], event["last"], _artifact(event))


def _task(task: Mapping[str, Any]) -> Task:
    return Task(
        id=task["id"],
        context=task["context"],
        state=task["state"],
        says=task["says"],
        artifacts=tuple(map(_artifact, task["artifacts"])),
        history=tuple((role, text) for role, text in task["history"]),
    )


def _artifact(artifact: Mapping[str, Any]) -> Artifact:
    return Artifact(artifact["name"], artifact["text"], artifact["data"])
