"""The demonstration behind `make demo`: an agent on an embedded AWS, a partner's backend, and real tasks through HTTP.

It starts what a user would start (`make serve` and the partner of examples/partner), plays a caller with the official
a2a-sdk client, and checks each step. What each hop did is read from the hops' own logs.
"""

import asyncio
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

import httpx
from a2a.client import A2ACardResolver, Client, ClientConfig, ClientFactory
from a2a.types import (
    Message,
    Part,
    Role,
    SendMessageConfiguration,
    SendMessageRequest,
    Task,
    TaskPushNotificationConfig,
    TaskState,
)

ROOT = Path(__file__).resolve().parent.parent
PATIENCE = 30.0
"""Seconds that a step may take before the demonstration says that it did not hold."""
HOPS = ("api", "run_turn", "relay", "notify", "expire", "sweep")


class StepFailed(Exception):
    """A step did not hold; the message says what was expected and what was seen."""


@dataclass
class Timeline:
    """What a person follows: who did what, to which state, after how many milliseconds."""

    began: float = field(default_factory=time.monotonic)
    last: float = field(default_factory=time.monotonic)

    def step(self, title: str) -> None:
        """Open a step."""
        print(f"\n{title}", flush=True)
        self.last = time.monotonic()

    def line(self, hop: str, what: str, state: str = "") -> None:
        """One event, with the time since the one before."""
        now = time.monotonic()
        print(f"  {hop:<10} {state:<15} {round((now - self.last) * 1000):>6} ms  {what}", flush=True)
        self.last = now

    def past(self, hop: str, what: str, milliseconds: float) -> None:
        """One event that was logged elsewhere, with the time since its step began."""
        print(f"    · {hop:<9} {'':<14} {round(milliseconds):>6} ms  {what}", flush=True)


@dataclass
class HopLog:
    """The log lines of the hops about one task, each read once."""

    folder: Path
    read: dict[str, int] = field(default_factory=dict)

    def new_lines(self, task_id: str) -> list[tuple[datetime, str, str]]:
        """Time, hop and text of the lines that came since, in order."""
        lines = [found for hop in HOPS for found in self._of(hop, task_id)]
        return sorted(lines)

    def _of(self, hop: str, task_id: str) -> Iterator[tuple[datetime, str, str]]:
        file = self.folder / f"{hop}.log"
        if not file.exists():
            return
        lines = file.read_text(encoding="utf-8").splitlines()
        for line in lines[self.read.get(hop, 0) :]:
            entry = _json(line)
            if entry.get("task_id") == task_id:
                stamp = datetime.strptime(entry["timestamp"], "%Y-%m-%d %H:%M:%S,%f%z")
                yield stamp, hop, _told(entry)
        self.read[hop] = len(lines)


def _json(line: str) -> dict[str, Any]:
    try:
        entry = json.loads(line[line.index("{") :])
    except ValueError:
        return {}
    return entry if isinstance(entry, dict) else {}


def _told(entry: dict[str, Any]) -> str:
    known = {
        name: entry[name] for name in ("effects", "state", "result", "status", "seq", "wait", "turn") if name in entry
    }
    detail = ", ".join(f"{name} {value}" for name, value in known.items() if value not in ("", None))
    return f"{entry['message']}{f' ({detail})' if detail else ''}"


@dataclass
class Partner:
    """The partner's backend, as its operator sees it."""

    url: str

    def held(self, task_id: str, holds: Callable[[dict[str, Any]], bool], expected: str) -> dict[str, Any]:
        """The partner's own copy of the task, once it is as expected."""
        until = time.monotonic() + PATIENCE
        seen: dict[str, Any] = {}
        while time.monotonic() < until:
            for entry in httpx.get(f"{self.url}/inbox").json():
                if entry["task_id"] == task_id:
                    seen = entry
            if seen and holds(seen):
                return seen
            time.sleep(0.02)
        raise StepFailed(f"the partner was to hold {expected}; it holds {json.dumps(seen)[:400] or 'nothing'}")


def say(text: str, **names: Any) -> Message:
    """A message of the caller."""
    return Message(message_id=str(uuid.uuid4()), role=Role.ROLE_USER, parts=[Part(text=text)], **names)


async def send(client: Client, message: Message, webhook: str = "") -> Task:
    """Send a message; answers the task as it is when it asks, has ended, or the server's cap is reached."""
    configuration = SendMessageConfiguration()
    if webhook:
        configuration.task_push_notification_config.CopyFrom(TaskPushNotificationConfig(url=webhook))
    async for event in client.send_message(SendMessageRequest(message=message, configuration=configuration)):
        if event.HasField("task"):
            return event.task
    raise StepFailed("the send was answered without a task")


def check(held: bool, expected: str, seen: object) -> None:
    """Stop the demonstration when a step did not hold."""
    if not held:
        raise StepFailed(f"expected {expected}; saw {str(seen)[:600]}")


def state_of(task: Task) -> str:
    """The state without its prefix."""
    return TaskState.Name(task.status.state).removeprefix("TASK_STATE_")


@dataclass
class Demonstration:
    """The five steps, in order."""

    client: Client
    partner: Partner
    hops: HopLog
    timeline: Timeline

    async def run(self) -> None:
        """Play all steps.

        Raises:
            StepFailed: one of them did not hold.
        """
        task_id = await self.ask()
        self.partner_hears_the_question(task_id)
        await self.answer(task_id)
        await self.expire()
        self.forge(task_id)

    @property
    def webhook(self) -> str:
        """Where the partner takes nudges."""
        return f"{self.partner.url}/a2a/push"

    async def ask(self) -> str:
        """A task that needs a human answer is a task, not an error."""
        self.timeline.step("1. The caller sends a shipment and gets a question back")
        task = await send(self.client, say("Quote 3 pallets, Pune to Rotterdam, 400 kg"), self.webhook)
        question = task.status.message.parts[0].text if task.status.message.parts else ""
        check(task.status.state == TaskState.TASK_STATE_INPUT_REQUIRED, "a task in INPUT_REQUIRED", task)
        check("Sea or air?" in question, "the question 'Sea or air?'", question)
        self.timeline.line("caller", f'task {task.id}: "{question}"', state_of(task))
        return task.id

    def partner_hears_the_question(self, task_id: str) -> None:
        """A nudge, verified and acknowledged; then the partner fetches the task itself."""
        self.timeline.step("2. The partner is nudged, verifies the sender, and fetches the task")
        held = self.partner.held(task_id, lambda entry: "INPUT_REQUIRED" in entry["state"], "the question")
        text = held["task"]["status"]["message"]["parts"][0]["text"]
        check("Sea or air?" in text, "the question in the fetched task", held)
        self.timeline.line("partner", f"holds the task it fetched, seq {held['seq']}", "INPUT_REQUIRED")
        self.tell_hops(task_id)

    async def answer(self, task_id: str) -> None:
        """The answer goes to the same task, which completes; the partner holds the artifact."""
        self.timeline.step("3. Somebody answers; the same task completes with structured data")
        task = await send(self.client, say("sea", task_id=task_id))
        check(task.status.state == TaskState.TASK_STATE_COMPLETED, "COMPLETED", task)
        check([artifact.name for artifact in task.artifacts] == ["quote.json"], "one artifact quote.json", task)
        self.timeline.line("caller", "artifact quote.json", state_of(task))
        held = self.partner.held(task_id, lambda entry: "COMPLETED" in entry["state"], "the completed task")
        quote = held["task"]["artifacts"][0]["parts"][0]["data"]
        check(quote["mode"] == "sea" and quote["price"]["amount"] > 0, "the quote by sea", quote)
        self.timeline.line("partner", f"holds {json.dumps(quote)}", "COMPLETED")
        self.tell_hops(task_id)

    async def expire(self) -> None:
        """Nobody answers: the state machine ends the wait, and the partner learns of it."""
        self.timeline.step("4. A second task is left unanswered for 3 seconds and expires")
        task = await send(
            self.client, say("Quote 1 pallet, Oslo to Bergen, 90 kg, answer within 3 seconds"), self.webhook
        )
        check(task.status.state == TaskState.TASK_STATE_INPUT_REQUIRED, "a task in INPUT_REQUIRED", task)
        self.timeline.line("caller", f"task {task.id} waits", state_of(task))
        held = self.partner.held(task.id, lambda entry: "FAILED" in entry["state"], "the expired task")
        reason = held["task"]["status"]["message"]["parts"][0]["text"]
        check("no answer came" in reason, "a message that says what was waited for", reason)
        self.timeline.line("partner", f'"{reason}"', "FAILED")
        self.tell_hops(task.id)

    def forge(self, task_id: str) -> None:
        """Whoever cannot sign for the agent is not heard."""
        self.timeline.step("5. Somebody else sends the partner a nudge")
        body = {"statusUpdate": {"taskId": task_id, "contextId": "c", "status": {"state": "TASK_STATE_FAILED"}}}
        answer = httpx.post(
            self.webhook,
            json=body,
            headers={"Content-Type": "application/a2a+json", "A2A-Push-Signature": "e30.e30.AAAA"},
        )
        check(answer.status_code == 401, "401 for a forged nudge", answer.status_code)
        held = self.partner.held(task_id, lambda _entry: True, "the task as before")
        check("COMPLETED" in held["state"], "the task untouched by it", held)
        self.timeline.line("partner", f"refuses it with {answer.status_code} and keeps what it has", "COMPLETED")

    def tell_hops(self, task_id: str) -> None:
        """What the hops logged about the task, each with the milliseconds since the first."""
        lines = self.hops.new_lines(task_id)
        for at, hop, what in lines:
            self.timeline.past(hop, what, (at - lines[0][0]).total_seconds() * 1000)


@contextmanager
def program(name: str, command: list[str], environment: dict[str, str], ready: Callable[[str], bool]) -> Iterator[str]:
    """A program of its own, from the line that says it is ready until the end of the block."""
    process = subprocess.Popen(
        command,
        cwd=ROOT,
        env={**os.environ, **environment},
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    stdout = process.stdout
    if stdout is None:
        raise RuntimeError("a program without a standard output")
    try:
        line = next((line for line in stdout if ready(line)), "")
        if not line:
            raise StepFailed(f"{name} did not get ready; it ended with status {process.wait()}")
        threading.Thread(target=stdout.read, daemon=True).start()
        yield line
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(15)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def free_port() -> int:
    """A port that nobody listens on at the moment."""
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return int(sock.getsockname()[1])


def start_agent(closing: ExitStack) -> dict[str, Any]:
    """`make serve`, on a free port; answers what it says when it is ready."""
    command = [sys.executable, "-m", "a2a_serverless.local.serve"]
    environment = {"PORT": "0", "AGENT": "functions.agents.freight:agent", "AUTH": "none"}
    line = closing.enter_context(program("the agent", command, environment, lambda line: line.startswith("READY ")))
    ready: dict[str, Any] = json.loads(line.removeprefix("READY "))
    return ready


def start_partner(closing: ExitStack, agent_url: str) -> str:
    """The partner's backend, in an environment of its own; answers its address."""
    port = free_port()
    command = [str(ROOT / ".venv-partner" / "bin" / "python"), str(ROOT / "examples" / "partner" / "app.py")]
    environment = {"PARTNER_PORT": str(port), "AGENT_URL": agent_url}
    closing.enter_context(program("the partner", command, environment, lambda line: line.startswith("READY")))
    return f"http://127.0.0.1:{port}"


async def demonstrate() -> None:
    """Start both sides and play the steps."""
    timeline = Timeline()
    with ExitStack() as closing:
        timeline.step("The agent's host: the synthesized template, deployed into an embedded AWS on loopback")
        ready = start_agent(closing)
        timeline.line("serve", f"{ready['url']} (AWS at {ready['aws_endpoint']})", "READY")
        partner = start_partner(closing, ready["url"])
        timeline.line("partner", f"{partner}, with the receiver library and nothing else of the kit", "READY")
        hops = HopLog(ROOT / ".local" / ready["url"].rpartition(":")[2] / "logs")
        async with httpx.AsyncClient(timeout=40) as http:
            config = ClientConfig(streaming=False, httpx_client=http)
            card = await A2ACardResolver(http, ready["url"]).get_agent_card()
            client = ClientFactory(config).create(card)
            timeline.line("caller", f"discovers '{card.name}' with {len(card.skills)} skill", "CARD")
            await Demonstration(client, Partner(partner), hops, timeline).run()
    print(f"\nEvery step held, in {time.monotonic() - timeline.began:.1f} s.", flush=True)


def main() -> int:
    """Exit status 0 when every step held, 1 with the reason when one did not."""
    try:
        asyncio.run(demonstrate())
    except StepFailed as failure:
        print(f"\nA step did not hold: {failure}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
