"""What a skill asks of the person its result is for: enforced by the token, never by what a message says."""

from typing import ClassVar

from a2a_serverless.agent import Agent, ScopesMissing, Turn
from a2a_serverless.types import AgentCard, AgentSkill, Caller, Owner, Task, TaskState
from tests.unit.app.world import World

CARD = AgentCard(
    name="Freight",
    description="Quotes and books.",
    version="1.0.0",
    skills=(
        AgentSkill(id="quote", name="Quote", description="A price.", tags=("freight",)),
        AgentSkill(
            id="book", name="Book", description="A booking.", tags=("freight",), required_scopes=("pay", "freight:book")
        ),
    ),
)


class Freight(Agent):
    """Uses the skill that the message names."""

    card: ClassVar[AgentCard] = CARD

    def run(self, turn: Turn) -> None:
        turn.use(turn.message.text)
        turn.artifact("receipt", text="booked")
        turn.complete("done")


def ended(text: str, *scopes: str) -> Task:
    world = World(Freight())
    task = world.send(text, caller=Caller(Owner("alice"), scopes=frozenset(scopes)))
    world.settle()
    return world.task(task)


def said(task: Task) -> str:
    assert task.status.message is not None
    return task.status.message.text


def test_a_caller_with_the_scopes_of_a_skill_has_it_used() -> None:
    assert ended("book", "pay", "freight:book", "more").status.state is TaskState.COMPLETED


def test_a_skill_that_asks_for_nothing_is_everybodys() -> None:
    assert ended("quote").status.state is TaskState.COMPLETED


def test_a_caller_without_them_is_told_which_and_nothing_is_done() -> None:
    task = ended("book", "freight:book")

    assert task.status.state is TaskState.REJECTED
    assert said(task) == "the skill 'book' takes a token with the scope pay"
    assert task.artifacts == ()


def test_a_skill_that_is_not_on_the_card_is_the_agents_fault() -> None:
    task = ended("fly")

    assert task.status.state is TaskState.FAILED
    assert "fly" not in said(task)


def test_an_agent_may_ask_for_a_better_token_instead() -> None:
    """The authority is that of the newest message: an answer with more scopes goes on."""

    class Patient(Freight):
        def run(self, turn: Turn) -> None:
            try:
                turn.use("book")
            except ScopesMissing as missing:
                return turn.require_auth(f"{missing}: answer with one")
            return turn.complete()

    world = World(Patient())
    asked = world.send("please")
    world.settle()
    world.send("now", task=asked.id, caller=Caller(Owner("alice"), scopes=frozenset({"pay", "freight:book"})))
    world.settle()

    assert world.task(asked).status.state is TaskState.COMPLETED
