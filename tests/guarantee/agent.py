"""The agent of the guarantee: tasks that change several times, at work for seconds and waiting for days."""

from datetime import timedelta
from typing import Final

from a2a_serverless import Agent, AgentCard, AgentSkill, Turn
from a2a_serverless.core.head import TurnTrigger
from a2a_serverless.types import Task
from tests.faults import agent as play

PATIENT: Final = timedelta(days=5)
"""A question is open for longer than any receiver is down."""
IMPATIENT: Final = timedelta(hours=2)


class Busy(Agent):
    """Does what the first word of the task's first message says; the second says how often."""

    card = AgentCard(
        name="Busy",
        description="Changes its tasks as often as a test wants.",
        version="1.0.0",
        skills=(AgentSkill(id="any", name="Any", description="Anything at all.", tags=("test",)),),
        default_input_modes=("text/plain", "application/json"),
    )

    def run(self, turn: Turn) -> None:
        word, often, *_ = (*turn.history[0].text.split(), "1", "1")
        _WORDS[word](turn, int(often))

    def on_cancel(self, task: Task) -> None:
        play.ledger.cleaned.append(task.id)


def _ask(turn: Turn, often: int) -> None:
    """Asks so many times, with news in between, and gives the last answer back."""
    asked = int(turn.state.get("asked", 0))
    turn.working(f"thinking about answer {asked}")
    play.ledger.work(3.0)
    if asked < often:
        turn.state["asked"] = asked + 1
        turn.ask(f"Question {asked + 1}?", within=PATIENT, remind=[timedelta(hours=4), timedelta(hours=30)])
        return
    turn.artifact("answer", text=turn.message.text)
    turn.complete()


def _expire(turn: Turn, _: int) -> None:
    """Asks, and does not wait for long."""
    turn.ask("Still there?", within=IMPATIENT, remind=[timedelta(hours=1)])


def _echo(turn: Turn, _: int) -> None:
    """Is done at once."""
    turn.artifact("answer", text=turn.message.text)
    turn.complete()


def _toil(turn: Turn, often: int) -> None:
    """Works for long and says so, until it is done or told to stop."""
    for step in range(often):
        turn.working(f"step {step}")
        play.ledger.work(4.0)
        if turn.cancelled:
            return
    turn.artifact("answer", text="done")
    turn.complete()


def _auth(turn: Turn, _: int) -> None:
    """Waits for somebody outside A2A."""
    if turn.trigger is TurnTrigger.CALLBACK:
        turn.complete()
        return
    turn.require_auth(f"Approve at {turn.callback_url()}", within=PATIENT)


def _fail(turn: Turn, _: int) -> None:
    """Has a bug."""
    turn.working("on it")
    play.ledger.work(1.0)
    raise RuntimeError("a bug in the agent")


_WORDS: Final = {"ask": _ask, "expire": _expire, "echo": _echo, "toil": _toil, "auth": _auth, "fail": _fail}

agent: Final = Busy()
