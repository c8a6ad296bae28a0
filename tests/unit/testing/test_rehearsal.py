"""An agent's author plays a conversation without AWS, and what happens is what would happen in a deployment."""

import re
import sys
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from types import ModuleType

import pytest

from a2a_serverless import Agent, AgentCard, AgentSkill, Caller, InboundMessage, Owner, Part, Task, TaskState, Turn
from a2a_serverless.errors import InvalidParams, TaskNotFound, UnsupportedOperation
from a2a_serverless.testing import Rehearsal
from a2a_serverless.types import TaskArtifactUpdateEvent, TaskStatusUpdateEvent
from functions.agents.freight import agent as freight

ROOT = Path(__file__).resolve().parents[3]
DAY = timedelta(days=1)
CARD = AgentCard(
    name="Tester",
    description="Does what a test says.",
    version="1.0.0",
    skills=(AgentSkill(id="any", name="Any", description="Anything.", tags=("test",), required_scopes=("work",)),),
)


class Made(Agent):
    """An agent made of a function."""

    card = CARD

    def __init__(self, run: Callable[[Turn], None]) -> None:
        self._run = run

    def run(self, turn: Turn) -> None:
        return self._run(turn)


def asks(turn: Turn) -> None:
    if "asked" in turn.state:
        return turn.complete(turn.message.text)
    turn.state["asked"] = True
    return turn.ask("Which?", within=2 * DAY, remind=[DAY])


def said(task: Task) -> str:
    return task.status.message.text if task.status.message is not None else ""


def test_a_conversation_goes_from_a_question_to_a_result() -> None:
    rehearsal = Rehearsal(freight)

    asked = rehearsal.send("3 pallets, Pune to Rotterdam, 400 kg")
    done = rehearsal.send("sea", task=asked)

    assert (asked.status.state, done.status.state) == (TaskState.INPUT_REQUIRED, TaskState.COMPLETED)
    (quote,) = done.artifacts
    assert quote.parts[0].data["price"] == {"amount": 360.0, "currency": "EUR"}
    assert [message.text for message in done.history][-1] == "asking 3 carriers"
    kinds = [type(event) for event in rehearsal.events(done)]
    assert (kinds.count(TaskArtifactUpdateEvent), kinds[-1]) == (1, TaskStatusUpdateEvent)


def test_what_the_readme_shows_of_it_is_so(monkeypatch: pytest.MonkeyPatch) -> None:
    shown = (ROOT / "README.md").read_text(encoding="utf-8")
    agent, test = (re.findall(r"```python\n(.*?)```", shown, re.DOTALL)[place] for place in (0, 1))
    greeter, program = ModuleType("greeter"), dict[str, object]()
    monkeypatch.setitem(sys.modules, "greeter", greeter)

    exec(agent, greeter.__dict__)
    exec(test, program)

    tests = [body for name, body in program.items() if name.startswith("test_") and callable(body)]
    assert tests
    for body in tests:
        body()


def test_a_deadline_passes_when_time_does() -> None:
    rehearsal = Rehearsal(Made(asks))
    asked = rehearsal.send("x")

    rehearsal.pass_time(2 * DAY - timedelta(seconds=1))
    still = rehearsal.task(asked)
    rehearsal.pass_time(timedelta(seconds=1))

    assert still.status.state is TaskState.INPUT_REQUIRED
    assert still.metadata != asked.metadata, "a reminder is a new version of the same state"
    assert rehearsal.task(asked).status.state is TaskState.FAILED
    assert rehearsal.now - rehearsal.task(asked).status.timestamp == timedelta(0)  # type: ignore[operator]


def test_an_answer_before_the_deadline_leaves_nothing_of_it() -> None:
    rehearsal = Rehearsal(Made(asks))
    done = rehearsal.send("this", task=rehearsal.send("x"))

    rehearsal.pass_time(10 * DAY)

    assert (rehearsal.task(done).status.state, said(done)) == (TaskState.COMPLETED, "this")


def test_a_question_asked_at_a_deadline_has_one_of_its_own_in_the_same_while() -> None:
    class Insists(Agent):
        card = CARD

        def run(self, turn: Turn) -> None:
            turn.ask("Which?", within=DAY)

        def on_expire(self, turn: Turn) -> None:
            turn.state["asked"] = turn.state.get("asked", 0) + 1
            if turn.state["asked"] == 3:
                return turn.complete("nobody is there")
            return turn.ask("Still there?", within=DAY)

    rehearsal = Rehearsal(Insists())
    asked = rehearsal.send("x")

    rehearsal.pass_time(30 * DAY)

    done = rehearsal.task(asked)
    assert said(done) == "nobody is there"
    assert [message.text for message in done.history] == ["x", "Which?", "Still there?", "Still there?"]


def test_a_worker_that_dies_runs_its_turn_again_and_is_told_so() -> None:
    attempts: list[int] = []

    def counts(turn: Turn) -> None:
        attempts.append(turn.attempt)
        turn.artifact("result", text=f"attempt {turn.attempt}")
        turn.complete()

    rehearsal = Rehearsal(Made(counts))
    with rehearsal.dying():
        done = rehearsal.send("x")

    assert attempts == [1, 2]
    assert [part.text for artifact in done.artifacts for part in artifact.parts] == ["attempt 2"]


def test_a_turn_that_kills_three_workers_fails_its_task() -> None:
    with (rehearsal := Rehearsal(Made(asks))).dying(times=9):
        task = rehearsal.send("x")

    assert task.status.state is TaskState.FAILED
    assert rehearsal.send("y").status.state is TaskState.INPUT_REQUIRED


def test_a_callback_address_resumes_its_task_once() -> None:
    def authorizes(turn: Turn) -> None:
        if "asked" in turn.state:
            return turn.complete(f"by {turn.trigger.value}: {turn.message.parts[0].data}")
        turn.state["asked"] = True
        return turn.require_auth(turn.callback_url())

    rehearsal = Rehearsal(Made(authorizes))
    asked = rehearsal.send("x")
    url = said(asked)

    used = [rehearsal.call_back(address, {"by": "ops"}) for address in (url + "x", url, url)]

    assert used == [False, True, False]
    assert said(rehearsal.task(asked)) == "by callback: {'by': 'ops'}"


def test_a_cancel_ends_the_task_and_tells_the_agent() -> None:
    told: list[str] = []

    class Cleans(Made):
        def on_cancel(self, task: Task) -> None:
            told.append(task.id)

    rehearsal = Rehearsal(Cleans(asks))
    asked = rehearsal.send("x", caller=Caller(Owner("alice")))

    canceled = rehearsal.cancel(asked)

    assert canceled.status.state is TaskState.CANCELED
    assert told == [asked.id]
    with pytest.raises(UnsupportedOperation, match="has ended"):
        rehearsal.send("y", task=asked, caller=Caller(Owner("alice")))


def test_callers_are_kept_apart_and_scopes_count() -> None:
    def works(turn: Turn) -> None:
        turn.use("any")
        turn.ask(f"and then, {turn.caller.owner.subject}?")

    rehearsal = Rehearsal(Made(works), caller=Caller(Owner("alice"), scopes=frozenset({"work"})))
    of_alice = rehearsal.send("x")

    assert said(of_alice) == "and then, alice?"
    assert rehearsal.send("x", caller=Caller(Owner("bob"))).status.state is TaskState.REJECTED
    with pytest.raises(TaskNotFound):
        rehearsal.send("y", task=of_alice, caller=Caller(Owner("bob")))


def test_what_a_send_carries_is_the_agent_s_to_read_and_contexts_are_remembered() -> None:
    def remembers(turn: Turn) -> None:
        turn.context_state.setdefault("seen", []).append(turn.metadata.get("n"))
        read = (turn.message.parts[-1].data, turn.accepted_output_modes, turn.extensions)
        turn.complete(f"{turn.context_state['seen']} {read}")

    rehearsal = Rehearsal(Made(remembers))
    how = {"accepted_output_modes": ("text/csv",), "extensions": ("urn:x",)}
    first = rehearsal.send("x", metadata={"n": 1}, parts=(Part(data=7),), **how)  # type: ignore[arg-type]

    second = rehearsal.send("x", metadata={"n": 2}, parts=(Part(data=8),), context_id=first.context_id)

    assert (said(first), said(second)) == ("[1] (7, ('text/csv',), ('urn:x',))", "[1, 2] (8, (), ())")


def test_an_agent_that_replies_begins_no_task() -> None:
    class Replies(Made):
        def reply(self, inbound: InboundMessage) -> str | None:
            return "pong" if inbound.message.text == "ping" else None

    rehearsal = Rehearsal(Replies(asks))

    assert rehearsal.reply("ping").text == "pong"
    with pytest.raises(TypeError, match="replied 'pong' and began no task"):
        rehearsal.send("ping")
    with pytest.raises(TypeError, match="so a task began"):
        rehearsal.reply("work")


def test_what_a_caller_would_be_refused_is_refused() -> None:
    rehearsal = Rehearsal(Made(asks))
    asked = rehearsal.send("x")

    with pytest.raises(InvalidParams, match="another context"):
        rehearsal.send("y", task=asked, context_id="other")
    with pytest.raises(LookupError, match="no task 'unknown'"):
        rehearsal.task("unknown")


def test_an_exception_fails_the_task_and_is_in_the_log(caplog: pytest.LogCaptureFixture) -> None:
    def raises(_turn: Turn) -> None:
        raise ZeroDivisionError("in the agent")

    task = Rehearsal(Made(raises)).send("x")

    assert task.status.state is TaskState.FAILED
    assert "in the agent" not in said(task)
    assert "ZeroDivisionError: in the agent" in caplog.text
