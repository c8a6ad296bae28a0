"""The agent of these tests: what it does is in its first message, and how often it did it is in a ledger."""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Final

from a2a_serverless import Agent, AgentCard, AgentSkill, Turn
from a2a_serverless.core.head import TurnTrigger
from a2a_serverless.types import Task

from .plan import WorkerDied

LONG: Final = "x" * 2_500
"""Two of these are more than travels with a head."""


@dataclass
class Ledger:
    """What the agent of the run that is on did, and what happens meanwhile."""

    began: list[tuple[str, str, int]] = field(default_factory=list)
    """Each start of a turn: the task, what the turn answers, the attempt."""
    cleaned: list[str] = field(default_factory=list)
    """Tasks that the agent was told were canceled."""
    addresses: list[str] = field(default_factory=list)
    """Callback addresses that were given out."""
    work: Callable[[float], None] = lambda _seconds: None
    """Works for so many seconds of the world's time, under its pulse."""
    is_known: Callable[[str], bool] = lambda _task: True
    """Whether the partner knows of the task: before that he can do nothing to it."""
    at_work: list[Callable[[str], None]] = field(default_factory=list)
    """What happens, once each, while the agent works."""


ledger = Ledger()


def begin_anew() -> Ledger:
    """A ledger for the next run."""
    global ledger  # noqa: PLW0603 (an agent is found by its import string, so there is one)
    ledger = Ledger()
    return ledger


class Tester(Agent):
    """Does what the first word of the task's first message says."""

    card = AgentCard(
        name="Tester",
        description="Does what a test says.",
        version="1.0.0",
        skills=(AgentSkill(id="any", name="Any", description="Anything at all.", tags=("test",)),),
        default_input_modes=("text/plain", "application/json"),
    )

    def run(self, turn: Turn) -> None:
        answered = f"{turn.trigger.value}:{','.join(message.message_id for message in turn.messages)}"
        ledger.began.append((turn.task.id, answered, turn.attempt))
        WORDS[turn.history[0].text.split()[0]](turn)

    def on_cancel(self, task: Task) -> None:
        ledger.cleaned.append(task.id)


class Forgiving(Tester):
    """Has an idea what to do when nobody answers."""

    def on_expire(self, turn: Turn) -> None:
        ledger.began.append((turn.task.id, turn.trigger.value, turn.attempt))
        turn.artifact("answer", text="nobody answered")
        turn.complete()


def _work(seconds: float, turn: Turn) -> None:
    """Work in the middle of which something may happen, once."""
    ledger.work(seconds / 2)
    if ledger.at_work and ledger.is_known(turn.task.id):
        ledger.at_work.pop(0)(turn.task.id)
    ledger.work(seconds / 2)


def quote(turn: Turn) -> None:
    """Asks; then produces the answer in two chunks, too long for the head, and remembers its context."""
    if "asked" not in turn.state:
        turn.state["asked"] = True
        turn.working("asking three carriers")
        turn.artifact("draft", text="a first idea")
        ledger.work(12.0)
        turn.ask("Sea or air?", within=timedelta(days=2), remind=[timedelta(hours=4)])
        return
    turn.artifact("answer", text=LONG + turn.message.text)
    _work(25.0, turn)
    turn.artifact("answer", text=LONG, append=True, last_chunk=True)
    turn.context_state["quotes"] = int(turn.context_state.get("quotes", 0)) + 1
    turn.complete()


def work(turn: Turn) -> None:
    """Works for most of a minute, and stops when it is told to."""
    turn.working("on it")
    for _ in range(5):
        _work(8.0, turn)
        if turn.cancelled:
            return
    turn.artifact("answer", text=" ".join(message.text for message in turn.messages))
    turn.complete()


def toil(turn: Turn) -> None:
    """Works for thirteen minutes; a function has fifteen."""
    turn.working("this takes its time")
    for _ in range(13):
        _work(60.0, turn)
    turn.artifact("answer", text=turn.message.text)
    turn.complete()


def ask(turn: Turn) -> None:
    """Asks once, and gives the answer back."""
    if "asked" not in turn.state:
        turn.state["asked"] = True
        turn.ask("What is the answer?", within=timedelta(days=2), remind=[timedelta(hours=4)])
        return
    turn.artifact("answer", text=turn.message.text)
    turn.complete()


def remind(turn: Turn) -> None:
    """Asks, and has the caller reminded every hour, as often as it is told; gives the answer back."""
    if "asked" not in turn.state:
        turn.state["asked"] = True
        times = int(turn.message.text.split()[1])
        hours = [timedelta(hours=hour) for hour in range(1, times + 1)]
        turn.ask("Still there?", within=timedelta(days=9), remind=hours)
        return
    turn.artifact("answer", text=turn.message.text)
    turn.complete()


def auth(turn: Turn) -> None:
    """Waits for somebody outside A2A."""
    if turn.trigger is TurnTrigger.CALLBACK:
        turn.artifact("answer", data=turn.message.parts[0].data)
        turn.complete()
        return
    ledger.addresses.append(turn.callback_url())
    turn.require_auth(f"Approve at {ledger.addresses[-1]}", within=timedelta(days=2))


def echo(turn: Turn) -> None:
    """Is done at once."""
    turn.artifact("answer", text=turn.message.text)
    turn.complete()


def slow_ask(turn: Turn) -> None:
    """Works, then asks; what came meanwhile is the answer."""
    if "asked" not in turn.state and len(turn.messages) == 1:  # an attempt after another is given what came meanwhile
        turn.state["asked"] = True
        _work(16.0, turn)
        turn.ask("Anything else?", within=timedelta(days=2))
        return
    turn.artifact("answer", text=turn.message.text)
    turn.complete()


def large(turn: Turn) -> None:
    """Produces more than an item may hold."""
    turn.artifact("answer", raw=b"large" * 60_000)
    turn.complete()


def die(_turn: Turn) -> None:
    """Kills its worker, each time."""
    raise WorkerDied("the agent")


WORDS: Final = {
    "quote": quote,
    "work": work,
    "toil": toil,
    "ask": ask,
    "remind": remind,
    "auth": auth,
    "echo": echo,
    "slow-ask": slow_ask,
    "large": large,
    "die": die,
}

agent: Final = Tester()
forgiving: Final = Forgiving()
