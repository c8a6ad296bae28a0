"""What goes wrong in a turn: the agent's fault ends its task, ours brings the turn back."""

from collections.abc import Callable
from datetime import timedelta

import pytest

from a2a_serverless.agent import Turn
from a2a_serverless.core.head import Change, Head, Rules
from a2a_serverless.core.journal import ArtifactChanged
from a2a_serverless.types import TaskState
from tests.unit.app.turns import LEASE, artifact_texts, queued, run_again
from tests.unit.app.world import World, agent_that


# Faults of agents
def test_l15_an_exception_fails_the_task_and_gives_nothing_away(caplog: pytest.LogCaptureFixture) -> None:
    def run(_turn: Turn) -> None:
        raise RuntimeError("the password is hunter2")

    world = World(agent_that(run))
    task = world.send()

    world.settle()

    failed = world.task(task)
    assert failed.status.state is TaskState.FAILED
    assert "hunter2" not in failed.to_json()
    assert "RuntimeError" not in failed.to_json()
    assert "hunter2" in caplog.text


def test_what_was_said_before_an_exception_stands() -> None:
    def run(turn: Turn) -> None:
        turn.artifact("partial", text="as far as it went")
        raise RuntimeError

    world = World(agent_that(run))
    task = world.send()

    world.settle()

    assert artifact_texts(world.task(task)) == {"partial": "as far as it went"}


@pytest.mark.parametrize(
    ("end", "state"),
    [
        (lambda turn: turn.complete("bought"), TaskState.COMPLETED),
        (lambda turn: turn.fail("the card was declined"), TaskState.FAILED),
        (lambda turn: turn.reject("not sold here"), TaskState.REJECTED),
    ],
)
def test_an_exception_after_the_end_takes_nothing_back(
    end: Callable[[Turn], None], state: TaskState, caplog: pytest.LogCaptureFixture
) -> None:
    """A late error passed for the end elsewhere (a2a-java#1045): what was bought looked as if it was not."""

    def run(turn: Turn) -> None:
        turn.artifact("receipt", text="42")
        turn.context_state["bought"] = True
        end(turn)
        raise RuntimeError("the connection would not close")

    world = World(agent_that(run))
    task = world.send(context_id="context-1")

    world.settle()

    ended = world.task(task)
    assert ended.status.state is state
    assert ended.status.message is not None
    assert ended.status.message.text in {"bought", "the card was declined", "not sold here"}
    assert artifact_texts(ended) == {"receipt": "42"}
    assert world.contexts.context(world.key(task).scope, "context-1").value == {"bought": True}
    assert "would not close" in caplog.text


def test_an_exception_after_a_question_fails_the_task_since_its_state_may_be_half() -> None:
    def run(turn: Turn) -> None:
        turn.ask("which?")
        raise RuntimeError("in the middle")

    world = World(agent_that(run))
    task = world.send()

    world.settle()

    assert world.head(task).state is TaskState.FAILED


def test_a_result_that_comes_after_the_end_fails_the_task_rather_than_be_lost() -> None:
    def run(turn: Turn) -> None:
        turn.complete()
        turn.artifact("late", text="42")

    world = World(agent_that(run))
    task = world.send()

    world.settle()

    assert world.head(task).state is TaskState.FAILED


def test_an_agent_that_forgets_to_end_its_turn_fails_its_task(caplog: pytest.LogCaptureFixture) -> None:
    world = World(agent_that(lambda turn: None))
    task = world.send()

    world.settle()

    assert world.head(task).state is TaskState.FAILED
    assert "without ending its turn" in caplog.text


@pytest.mark.parametrize(
    "state",
    [
        {"x": "y" * 16_400},
        {"x": object()},
        {"x": float("nan")},
        {"x": "\ud800"},
        {"x": 10**5000},
        ["no", "object"],
        None,
    ],
    ids=["too large", "no JSON", "not a number", "no text", "no end", "a list", "nothing"],
)
def test_state_that_cannot_be_kept_fails_the_task_and_is_not_written(
    state: object, caplog: pytest.LogCaptureFixture
) -> None:
    def run(turn: Turn) -> None:
        turn.state = state  # type: ignore[assignment]  # what an author may do all the same
        turn.ask("what now?")

    world = World(agent_that(run))
    task = world.send()

    world.settle()

    head = world.head(task)
    assert (head.state, head.memory) == (TaskState.FAILED, {})
    assert "turn.state" in caplog.text


def test_a_failed_turn_keeps_nothing_that_the_agent_wrote_into_its_state_or_its_context() -> None:
    def run(turn: Turn) -> None:
        turn.state["half"] = object()
        turn.context_state["half"] = object()
        raise RuntimeError("in the middle")

    world = World(agent_that(run))
    task = world.send(context_id="context-1")

    world.settle()

    head = world.head(task)
    assert (head.state, head.memory) == (TaskState.FAILED, {})
    assert world.contexts.context(world.key(task).scope, "context-1").value == {}


def test_state_is_kept_as_the_json_it_will_come_back_as() -> None:
    def run(turn: Turn) -> None:
        turn.state["carriers"] = {1: ("a", "b")}
        turn.ask("which?")

    world = World(agent_that(run))
    task = world.send()

    world.settle()

    assert world.head(task).memory == {"carriers": {"1": ["a", "b"]}}


def test_an_agent_cannot_change_what_was_stored_by_what_it_holds_on_to() -> None:
    held: list[dict[str, object]] = []

    def run(turn: Turn) -> None:
        turn.state["list"] = {"of": "things"}
        held.append(turn.state["list"])
        turn.ask("which?")

    world = World(agent_that(run))
    task = world.send()
    world.settle()

    held[0]["of"] = "something else"

    assert world.head(task).memory == {"list": {"of": "things"}}


@pytest.mark.parametrize("within", [timedelta(0), timedelta(days=365), timedelta(days=-1)])
def test_a_question_whose_deadline_cannot_be_kept_fails_the_task(within: timedelta) -> None:
    world = World(agent_that(lambda turn: turn.ask("well?", within=within)))
    task = world.send()

    world.settle()

    assert world.head(task).state is TaskState.FAILED


def test_a_question_without_a_deadline_fits_a_deployment_that_waits_for_less_than_a_week() -> None:
    world = World(agent_that(lambda turn: turn.ask("well?")), rules=Rules(longest_wait=timedelta(days=2)))
    task = world.send()

    world.settle()

    wait = world.head(task).wait
    assert wait is not None
    assert wait.until == world.clock() + timedelta(days=2)


# Faults of ours
def failing(times: int, error: Exception, *, carried_out: bool, world: World) -> Callable[[Change], Head]:
    """A commit that fails so many times, before or after it was carried out, when an agent's words are written."""
    real, left = world.tasks.commit, [times]

    def commit(change: Change) -> Head:
        if not left[0] or not any(isinstance(entry, ArtifactChanged) for entry in change.entries):
            return real(change)
        left[0] -= 1
        if carried_out:
            real(change)
        raise error

    return commit


def says_much(turn: Turn) -> None:
    """Five chunks that are each written at once."""
    for number in range(5):
        turn.artifact("log", text=f"{number}" * 20_000, append=True)
    turn.complete()


@pytest.mark.parametrize("carried_out", [False, True], ids=["before the write", "after the write"])
def test_a_store_that_fails_for_a_moment_costs_no_word_says_none_twice_and_is_not_the_agents_fault(
    carried_out: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = World(agent_that(says_much))
    task = queued(world)
    monkeypatch.setattr(world.tasks, "commit", failing(2, OSError("throttled"), carried_out=carried_out, world=world))

    world.run()

    done = world.task(task)
    assert done.status.state is TaskState.COMPLETED
    assert artifact_texts(done) == {"log": "".join(f"{number}" * 20_000 for number in range(5))}


def test_a_store_that_keeps_failing_is_ours_and_the_turn_comes_again(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World(agent_that(says_much))
    task = queued(world)
    commit = failing(99, OSError("no network"), carried_out=False, world=world)
    with monkeypatch.context() as broken:
        broken.setattr(world.tasks, "commit", commit)
        with pytest.raises(OSError, match="no network"):
            world.run()

    world.clock.advance(LEASE)
    run_again(world, task)

    assert world.head(task).state is TaskState.COMPLETED
    assert len(artifact_texts(world.task(task))["log"]) == 100_000


def test_a_context_that_cannot_be_read_is_ours_and_the_turn_comes_again(monkeypatch: pytest.MonkeyPatch) -> None:
    def run(turn: Turn) -> None:
        turn.complete(str(turn.context_state.get("name", "nobody")))

    def broken(*_: object) -> None:
        raise OSError("no network")

    world = World(agent_that(run))
    task = queued(world)
    with monkeypatch.context() as patched:
        patched.setattr(world.contexts, "context", broken)
        with pytest.raises(OSError, match="no network"):
            world.run()

    world.clock.advance(LEASE)
    run_again(world, task)

    assert world.head(task).state is TaskState.COMPLETED


def test_a_callback_address_that_cannot_be_made_is_ours_and_the_turn_comes_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def broken(*_: object) -> None:
        raise OSError("no network")

    world = World(agent_that(lambda turn: turn.require_auth(f"go to {turn.callback_url()}")))
    task = queued(world)
    with monkeypatch.context() as patched:
        patched.setattr(world.grants, "put_grant", broken)
        with pytest.raises(OSError, match="no network"):
            world.run()

    world.clock.advance(LEASE)
    run_again(world, task)

    assert world.head(task).state is TaskState.AUTH_REQUIRED
