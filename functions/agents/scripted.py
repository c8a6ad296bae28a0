"""An agent that does what the first word of a message says: for tests, and for trying things by hand.

Every behaviour a test needs to steer from outside is here, so that no test needs a door of its own into the kit.
"""

import json
import os
import time
import urllib.request
from collections.abc import Callable
from datetime import timedelta
from typing import Final

from a2a_serverless import Agent, AgentCard, AgentProvider, AgentSkill, InboundMessage, Turn

_SLICE: Final = 0.05


class Scripted(Agent):
    """See `COMMANDS` for what it understands."""

    card = AgentCard(
        name="Scripted",
        description="Does what the first word of the message says. For tests; it has no other use and no secrets.",
        version="1.0.0",
        provider=AgentProvider(organization="a2a-serverless", url="https://a2a-serverless.dev"),
        default_input_modes=("*/*",),
        default_output_modes=("text/plain", "application/json"),
        skills=(
            AgentSkill(
                id="script",
                name="Run a command",
                description=(
                    "Give a command as the first word: echo X, wait N, ask, ask-twice, auth, expire N, fail, crash,"
                    " big N, chunks N SIZE, steps N, tick N URL, remember X, recall, reply X."
                    " Refuses any other word."
                ),
                tags=("test",),
                examples=("echo hello", "chunks 3 1000", "ask-twice"),
            ),
        ),
    )

    def run(self, turn: Turn) -> None:
        """Run the command that began the task, or go on with it."""
        command, argument = _command(turn.history[0].text)
        COMMANDS.get(command, unknown)(turn, argument)

    def reply(self, inbound: InboundMessage) -> str | None:
        """`reply X` is answered at once and without a task."""
        command, argument = _command(inbound.message.text)
        return argument if command == "reply" else None


def _command(text: str) -> tuple[str, str]:
    command, _, argument = text.lstrip().partition(" ")
    return command.rstrip().lower(), argument


def echo(turn: Turn, argument: str) -> None:
    """`echo X`: completes with an artifact X."""
    turn.artifact("echo", text=argument or turn.message.text)
    turn.complete()


def wait(turn: Turn, argument: str) -> None:
    """`wait N`: works for N seconds, then completes."""
    turn.working(f"waiting {argument} s")
    if _worked(turn, float(argument)):
        turn.complete("waited")


def ask(turn: Turn, _argument: str) -> None:
    """`ask`: asks once; the answer comes back as an artifact."""
    if "asked" not in turn.state:
        turn.state["asked"] = True
        return turn.ask("What is the answer?")
    turn.artifact("answer", text=turn.message.text)
    return turn.complete()


def ask_twice(turn: Turn, _argument: str) -> None:
    """`ask-twice`: asks two questions, then completes with both answers."""
    answers = turn.state.setdefault("answers", None)
    if answers is None:
        turn.state["answers"] = []
        return turn.ask("What is the first answer?")
    answers.append(turn.message.text)
    if len(answers) == 1:
        return turn.ask("What is the second answer?")
    turn.artifact("answers", data=answers)
    return turn.complete("thank you for both")


def auth(turn: Turn, _argument: str) -> None:
    """`auth`: AUTH_REQUIRED; the next message, or a post to the callback address, completes it."""
    if "asked" not in turn.state:
        turn.state["asked"] = True
        return turn.require_auth(f"Authorise this at {turn.callback_url()}")
    turn.artifact("authorized", text=turn.trigger.value)
    return turn.complete()


def expire(turn: Turn, argument: str) -> None:
    """`expire N`: asks, and waits N seconds for the answer."""
    if "asked" not in turn.state:
        turn.state["asked"] = True
        return turn.ask("Will anybody answer?", within=timedelta(seconds=float(argument)))
    turn.artifact("answer", text=turn.message.text)
    return turn.complete()


def fail(_turn: Turn, _argument: str) -> None:
    """`fail`: raises, with a secret in the message that must not get out."""
    raise RuntimeError("the password is hunter2")


def crash(_turn: Turn, _argument: str) -> None:
    """`crash`: kills its worker, each time."""
    os._exit(3)


def crash_once(turn: Turn, _argument: str) -> None:
    """`crash-once`: leaves half a result and kills its worker, then does it right."""
    if turn.attempt == 1:
        turn.artifact("half", text="of a dead attempt")
        turn.working("about to crash")
        _worked(turn, 1.0)
        os._exit(3)
    turn.artifact("whole", text=f"attempt {turn.attempt}")
    turn.complete()


def big(turn: Turn, argument: str) -> None:
    """`big N`: one artifact of N bytes."""
    pattern = "0123456789abcdef"
    size = int(argument)
    turn.artifact("big", text=(pattern * (size // len(pattern) + 1))[:size])
    turn.complete()


def chunks(turn: Turn, argument: str) -> None:
    """`chunks N SIZE`: N chunks of SIZE bytes each, appended to one artifact."""
    count, _, size = argument.partition(" ")
    chunk = ("0123456789abcdef" * (int(size) // 16 + 1))[: int(size)]
    for number in range(int(count)):
        turn.artifact("chunks", text=chunk, append=True, last_chunk=number + 1 == int(count))
    turn.complete()


def steps(turn: Turn, argument: str) -> None:
    """`steps N`: N chunks appended to one artifact, each with a rising number."""
    count = int(argument)
    for number in range(1, count + 1):
        turn.artifact("steps", text=f"step {number} of {count}\n", append=True, last_chunk=number == count)
    turn.complete()


def tick(turn: Turn, argument: str) -> None:
    """`tick N URL`: posts to URL once a second for N seconds; a side effect that must cease when it is canceled."""
    count, _, url = argument.partition(" ")
    url = url or _tick_url(turn)
    turn.working(f"ticking for {count} s")
    for number in range(1, int(count) + 1):
        _post(url, {"task": turn.task.id, "tick": number, "attempt": turn.attempt})
        time.sleep(1)
    turn.complete(f"ticked {count} times")


def remember(turn: Turn, argument: str) -> None:
    """`remember X`: keeps X for the later tasks of the context."""
    turn.artifact("remembered", text=argument)
    turn.context_state["remembered"] = argument
    turn.complete()


def recall(turn: Turn, _argument: str) -> None:
    """`recall`: what was remembered in this context."""
    turn.artifact("recalled", text=str(turn.context_state.get("remembered", "nothing")))
    turn.complete()


def unknown(turn: Turn, _argument: str) -> None:
    """Anything else is refused, with what would be right."""
    turn.reject(f"unknown command; say one of: {', '.join(sorted(COMMANDS))}, reply")


COMMANDS: Final[dict[str, Callable[[Turn, str], None]]] = {
    "echo": echo,
    "wait": wait,
    "ask": ask,
    "ask-twice": ask_twice,
    "auth": auth,
    "expire": expire,
    "fail": fail,
    "crash": crash,
    "crash-once": crash_once,
    "big": big,
    "chunks": chunks,
    "steps": steps,
    "tick": tick,
    "remember": remember,
    "recall": recall,
}


def _worked(turn: Turn, seconds: float) -> bool:
    """Work for that long; False when the caller canceled meanwhile."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        if turn.cancelled:
            return False
        time.sleep(_SLICE)
    return True


def _tick_url(turn: Turn) -> str:
    """The address as a second text part, or in the message's metadata."""
    texts = [part.text for part in turn.history[0].parts if part.text is not None]
    return texts[1] if len(texts) > 1 else str((turn.history[0].metadata or {}).get("tickUrl", ""))


def _post(url: str, body: dict[str, object]) -> None:
    request = urllib.request.Request(  # noqa: S310 (a test names its own counter)
        url, data=json.dumps(body).encode(), headers={"Content-Type": "application/json"}, method="POST"
    )
    with urllib.request.urlopen(request, timeout=5) as answer:  # noqa: S310 (as above)
        answer.read()


agent = Scripted()
