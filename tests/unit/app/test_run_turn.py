"""run_turn: at least one delivery, one effect, whatever dies, comes twice or goes wrong."""

import asyncio
import json
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from datetime import datetime, timedelta

import pytest

from a2a_serverless.agent import Turn, TurnTrigger
from a2a_serverless.app.agent_call import Watch
from a2a_serverless.app.cancel import cancel
from a2a_serverless.app.expire import expire
from a2a_serverless.app.run_turn import Buried, Done, Later, Runner, notice_cancel, run_turn
from a2a_serverless.app.turn_writer import TurnWriter
from a2a_serverless.core.head import Change, Head, Record, Rules
from a2a_serverless.core.journal import ArtifactChanged, Restarted, StatusChanged
from a2a_serverless.errors import LeaseLost
from a2a_serverless.types import Message, Part, Role, Task, TaskKey, TaskState
from tests.unit.app.world import ALICE, WorkerDied, World, agent_that, asks_once, completes, dies

LEASE = Rules().lease


def texts(messages: tuple[Message, ...]) -> list[str]:
    return [message.text for message in messages]


def artifact_texts(task: Task) -> dict[str, str]:
    return {each.artifact_id: "".join(part.text or "" for part in each.parts) for each in task.artifacts}


def states(world: World, task: Task) -> list[TaskState]:
    return [entry.status.state for entry in world.record(task).entries if isinstance(entry, StatusChanged)]


def queued(world: World) -> Task:
    """A task whose first turn is in the queue."""
    task = world.send()
    world.relay()
    return task


def run_again(world: World, task: Task, *, redelivered: bool = True) -> object:
    """The queue brings the turn that is due, once more."""
    return run_turn(world.runner, world.key(task), world.head(task).turn_due, redelivered=redelivered)


# One turn


def test_a_turn_runs_and_its_task_has_what_the_agent_said() -> None:
    def run(turn: Turn) -> None:
        turn.artifact("quote", data={"eur": 12})
        turn.complete("there you are")

    world = World(agent_that(run))
    task = world.send("how much?")

    world.settle()

    done = world.task(task)
    assert (done.status.state, done.status.message and done.status.message.text) == (
        TaskState.COMPLETED,
        "there you are",
    )
    assert [part.data for part in done.artifacts[0].parts] == [{"eur": 12}]
    assert texts(done.history) == ["how much?"]


def test_a_task_that_is_run_was_working_before_it_ends() -> None:
    world = World()
    task = world.send()

    world.settle()

    assert states(world, task) == [TaskState.WORKING, TaskState.COMPLETED]


def test_what_the_agent_says_first_replaces_the_bare_word_that_it_works() -> None:
    def run(turn: Turn) -> None:
        turn.working("asking three carriers")
        turn.complete()

    world = World(agent_that(run))
    task = world.send()

    world.settle()

    assert states(world, task) == [TaskState.WORKING, TaskState.COMPLETED]
    assert texts(world.task(task).history) == ["hello", "asking three carriers"]


def test_a_turn_that_is_delivered_again_after_its_end_does_nothing() -> None:
    world = World(agent_that(asks_once))
    task = queued(world)
    turn = world.queues.turns[0]
    world.run()
    before = world.head(task)

    outcome = run_turn(world.runner, turn.key, turn.turn, redelivered=True)

    assert isinstance(outcome, Done)
    assert world.head(task) == before


def test_a_turn_of_a_task_that_is_not_there_does_nothing() -> None:
    world = World()

    assert isinstance(run_turn(world.runner, world.key("nowhere"), 1), Done)


def test_an_agent_may_be_async() -> None:
    async def run(turn: Turn) -> None:
        await asyncio.sleep(0)
        turn.complete("done later")

    world = World(agent_that(run))
    task = world.send()

    world.settle()

    assert world.head(task).state is TaskState.COMPLETED


@pytest.mark.parametrize("end", [SystemExit, asyncio.CancelledError, GeneratorExit])
def test_an_agent_that_would_end_its_process_is_at_fault_and_does_not_kill_the_worker(
    end: type[BaseException],
) -> None:
    async def slowly(turn: Turn) -> None:
        raise end

    def at_once(turn: Turn) -> None:
        raise end

    for run in (slowly, at_once):
        world = World(agent_that(run))
        task = world.send()

        world.settle()

        assert (world.head(task).state, world.head(task).attempt) == (TaskState.FAILED, 1)


def test_the_agent_sees_who_called_which_attempt_this_is_and_why_the_turn_runs() -> None:
    seen: list[tuple[object, ...]] = []

    def run(turn: Turn) -> None:
        seen.append((turn.caller, turn.attempt, turn.trigger, turn.task.id))
        turn.complete()

    world = World(agent_that(run))
    task = world.send()

    world.settle()

    assert seen == [(ALICE, 1, TurnTrigger.MESSAGE, task.id)]


# Crashes, and one runner at a time


def test_a_turn_whose_worker_died_runs_again_once_its_lease_is_over() -> None:
    attempts: list[int] = []

    def run(turn: Turn) -> None:
        attempts.append(turn.attempt)
        if turn.attempt == 1:
            raise WorkerDied
        turn.complete()

    world = World(agent_that(run))
    task = queued(world)
    with pytest.raises(WorkerDied):
        world.run()

    early = run_again(world, task)
    world.clock.advance(LEASE)
    run_again(world, task)

    assert isinstance(early, Later)
    assert early.until == world.clock()
    assert attempts == [1, 2]
    assert world.head(task).state is TaskState.COMPLETED


def test_a_first_delivery_that_finds_the_task_held_is_a_duplicate_and_can_go() -> None:
    world = World(agent_that(dies))
    task = queued(world)
    with pytest.raises(WorkerDied):
        world.run()

    assert isinstance(run_again(world, task, redelivered=False), Done)


def test_what_a_dead_attempt_produced_has_no_effect() -> None:
    def run(turn: Turn) -> None:
        turn.artifact("half", text="x" * 20_000)
        if turn.attempt == 1:
            raise WorkerDied
        turn.artifact("whole", text="of attempt 2")
        turn.complete()

    world = World(agent_that(run))
    task = queued(world)
    with pytest.raises(WorkerDied):
        world.run()
    assert "half" in artifact_texts(world.task(task))

    world.clock.advance(LEASE)
    run_again(world, task)

    assert artifact_texts(world.task(task)) == {"half": "x" * 20_000, "whole": "of attempt 2"}


def test_chunks_that_a_dead_attempt_appended_to_an_older_artifact_are_taken_back() -> None:
    def run(turn: Turn) -> None:
        if turn.state.setdefault("turns", 0) == 0:
            turn.state["turns"] = 1
            turn.artifact("log", text="first turn;")
            return turn.ask("more?")
        turn.artifact("log", text="y" * 20_000 if turn.attempt == 1 else "second turn", append=True)
        if turn.attempt == 1:
            raise WorkerDied
        return turn.complete()

    world = World(agent_that(run))
    task = world.send()
    world.settle()
    world.send("yes", task=task)
    world.relay()
    with pytest.raises(WorkerDied):
        world.run()

    world.clock.advance(LEASE)
    run_again(world, task)

    assert artifact_texts(world.task(task)) == {"log": "first turn;second turn"}


def test_state_that_a_dead_attempt_changed_is_as_it_was_even_deep_inside() -> None:
    seen: list[object] = []

    def run(turn: Turn) -> None:
        seen.append(json.loads(json.dumps(turn.state)))
        turn.state.setdefault("steps", {"done": []})["done"].append(turn.attempt)
        turn.artifact("big", text="x" * 20_000)
        if len(turn.state["steps"]["done"]) == 2 and turn.attempt == 1:
            raise WorkerDied
        turn.ask("and now?") if len(seen) == 1 else turn.complete()

    world = World(agent_that(run))
    task = world.send()
    world.settle()
    world.send("go on", task=task)
    world.relay()
    with pytest.raises(WorkerDied):
        world.run()

    world.clock.advance(LEASE)
    run_again(world, task)

    assert seen == [{}, {"steps": {"done": [1]}}, {"steps": {"done": [1]}}]


def test_i11_a_turn_that_kills_its_worker_three_times_fails_its_task_and_is_buried() -> None:
    world = World(agent_that(dies))
    task = queued(world)
    for attempt in range(3):
        with pytest.raises(WorkerDied):
            run_again(world, task, redelivered=attempt > 0)
        world.clock.advance(LEASE)

    outcome = run_again(world, task)

    assert outcome == Buried("turn 1 stopped its worker 3 times")
    failed = world.task(task).status
    assert (failed.state, failed.message and failed.message.text) == (
        TaskState.FAILED,
        "the agent stopped without an answer 3 times",
    )


def test_i11_a_buried_turn_that_is_redriven_does_not_raise_its_task_from_the_dead() -> None:
    world = World(agent_that(dies))
    task = queued(world)
    for _ in range(3):
        with pytest.raises(WorkerDied):
            run_again(world, task)
        world.clock.advance(LEASE)
    run_again(world, task)
    world.agent = agent_that(completes)

    outcome = run_again(world, task, redelivered=False)

    assert isinstance(outcome, Done)
    assert world.head(task).state is TaskState.FAILED


@pytest.mark.parametrize("stalls", ["before it read the task", "after it read the task"])
def test_a_worker_that_stood_still_since_its_lease_does_not_start_an_agent_that_another_ran(
    monkeypatch: pytest.MonkeyPatch, stalls: str
) -> None:
    attempts: list[int] = []

    def run(turn: Turn) -> None:
        attempts.append(turn.attempt)
        turn.complete()

    world = World(agent_that(run))
    task = queued(world)
    read = world.tasks.read

    def standing_still(key: TaskKey, *, now: datetime) -> Record | None:
        monkeypatch.setattr(world.tasks, "read", read)
        before = read(key, now=now)
        world.clock.advance(LEASE)
        run_turn(world.runner, key, 1, redelivered=True)
        return before if stalls.startswith("after") else read(key, now=world.clock())

    monkeypatch.setattr(world.tasks, "read", standing_still)

    outcome = run_turn(world.runner, world.key(task), 1)

    assert isinstance(outcome, Done)
    assert attempts == [2]


def test_a_worker_that_dies_before_it_buries_a_turn_is_followed_by_one_that_does() -> None:
    world = World(agent_that(dies))
    task = queued(world)
    for _ in range(3):
        with pytest.raises(WorkerDied):
            run_again(world, task)
        world.clock.advance(LEASE)
    run_again(world, task)  # answers that the turn is to be buried, and its worker dies of that

    outcome = run_again(world, task)

    assert outcome == Buried("turn 1 stopped its worker 3 times")


def test_a_task_that_failed_by_crashes_shows_nothing_half_done() -> None:
    def run(turn: Turn) -> None:
        turn.artifact("half", text="x" * 20_000)
        raise WorkerDied

    world = World(agent_that(run))
    task = queued(world)
    for _ in range(3):
        with pytest.raises(WorkerDied):
            run_again(world, task)
        world.clock.advance(LEASE)

    run_again(world, task)

    assert world.task(task).artifacts == ()


def test_attempts_are_counted_per_turn() -> None:
    attempts: list[tuple[int, int]] = []

    def run(turn: Turn) -> None:
        turn.state["turns"] = turn.state.get("turns", 0) + 1
        attempts.append((turn.state["turns"], turn.attempt))
        if turn.attempt < 3:
            raise WorkerDied
        turn.ask("more?")

    world = World(agent_that(run))
    task = queued(world)
    for number in (1, 2):
        for _ in range(2):
            with pytest.raises(WorkerDied):
                run_again(world, task)
            world.clock.advance(LEASE)
        run_again(world, task)
        world.send(f"answer {number}", task=task)

    assert attempts == [(1, 1), (1, 2), (1, 3), (2, 1), (2, 2), (2, 3)]


def test_a_runner_that_was_taken_over_writes_nothing_more_and_learns_of_it() -> None:
    learned: list[str] = []

    def run(turn: Turn) -> None:
        if turn.attempt == 1:
            world.clock.advance(LEASE)
            run_again(world, task)
            try:
                turn.artifact("late", text="x" * 20_000)
            except LeaseLost:
                learned.append("late")
                raise
        turn.artifact("good", text="of attempt 2")
        turn.ask("ok?")

    world = World(agent_that(run))
    task = queued(world)

    (outcome,) = world.run()

    assert learned == ["late"]
    assert isinstance(outcome, Done)
    assert artifact_texts(world.task(task)) == {"good": "of attempt 2"}
    assert world.head(task).wait is not None


def test_a_runner_that_swallows_its_loss_still_writes_nothing() -> None:
    def run(turn: Turn) -> None:
        if turn.attempt == 1:
            world.clock.advance(LEASE)
            run_again(world, task)
            with pytest.raises(LeaseLost):
                turn.artifact("late", text="x" * 20_000)
        turn.complete(f"by attempt {turn.attempt}")

    world = World(agent_that(run))
    task = queued(world)

    world.run()

    done = world.task(task).status
    assert done.message is not None
    assert done.message.text == "by attempt 2"


# Cancel


def test_c01_a_cancel_while_the_agent_runs_wins_over_its_late_result() -> None:
    def run(turn: Turn) -> None:
        cancel(world.host, ALICE, task.id)
        turn.artifact("late", text="too late")
        turn.complete("too late")

    world = World(agent_that(run))
    task = queued(world)

    world.run()

    assert states(world, task) == [TaskState.CANCELED]
    assert world.task(task).artifacts == ()


def test_a_late_error_does_not_turn_a_canceled_task_into_a_failed_one() -> None:
    def run(turn: Turn) -> None:
        cancel(world.host, ALICE, task.id)
        raise RuntimeError("connection closed")

    world = World(agent_that(run))
    task = queued(world)

    world.run()

    assert states(world, task) == [TaskState.CANCELED]


def test_c07_a_task_that_was_canceled_in_the_queue_never_runs() -> None:
    ran: list[Turn] = []
    world = World(agent_that(ran.append))
    task = world.send()
    cancel(world.host, ALICE, task.id)

    world.settle()

    assert ran == []
    assert world.head(task).state is TaskState.CANCELED


def canceled_meanwhile(world: World) -> Watch:
    """The caller cancels, and two beats of the pulse later the agent begins to look."""

    def watch(writer: TurnWriter, run: Callable[[], None]) -> None:
        cancel(world.host, ALICE, writer.head.key.task_id)
        for _ in range(2):
            world.clock.advance(1)
            with suppress(LeaseLost):
                writer.tick()
        run()

    return watch


def test_an_agent_that_asks_sees_within_two_seconds_that_it_was_canceled() -> None:
    seen: list[bool] = []
    world = World(agent_that(lambda turn: seen.append(turn.cancelled)))
    world.watch = canceled_meanwhile(world)
    queued(world)

    world.run()

    assert seen == [True]


def test_an_agent_that_returns_because_it_was_canceled_has_done_nothing_wrong(
    caplog: pytest.LogCaptureFixture,
) -> None:
    world = World(agent_that(lambda turn: None))
    world.watch = canceled_meanwhile(world)
    queued(world)

    (outcome,) = world.run()

    assert isinstance(outcome, Done)
    assert [record.getMessage() for record in caplog.records if record.levelname == "ERROR"] == []


def test_an_agent_that_wants_to_is_told_of_a_cancel_with_the_task_as_it_ended() -> None:
    told: list[tuple[str, TaskState]] = []
    world = World(agent_that(completes, on_cancel=lambda task: told.append((task.id, task.status.state))))
    task = world.send()
    cancel(world.host, ALICE, task.id)
    world.relay()

    notice_cancel(world.runner, world.queues.cancels[0].key)

    assert told == [(task.id, TaskState.CANCELED)]


def test_a_cancel_notice_of_a_task_that_was_not_canceled_tells_nobody() -> None:
    told: list[Task] = []
    world = World(agent_that(completes, on_cancel=told.append))
    task = world.send()
    world.settle()

    notice_cancel(world.runner, world.key(task))

    assert told == []


def test_a_clean_up_that_fails_is_logged_and_settled(caplog: pytest.LogCaptureFixture) -> None:
    def on_cancel(_task: Task) -> None:
        raise RuntimeError("no such lock")

    world = World(agent_that(completes, on_cancel=on_cancel))
    task = world.send()
    cancel(world.host, ALICE, task.id)

    outcome = notice_cancel(world.runner, world.key(task))

    assert isinstance(outcome, Done)
    assert "no such lock" in caplog.text


def test_a_clean_up_that_would_end_the_process_is_settled_too() -> None:
    def on_cancel(_task: Task) -> None:
        raise SystemExit(3)

    world = World(agent_that(completes, on_cancel=on_cancel))
    task = world.send()
    cancel(world.host, ALICE, task.id)

    assert isinstance(notice_cancel(world.runner, world.key(task)), Done)


def test_a_clean_up_may_be_async() -> None:
    told: list[str] = []

    async def on_cancel(task: Task) -> None:
        await asyncio.sleep(0)
        told.append(task.id)

    world = World(agent_that(completes, on_cancel=on_cancel))
    task = world.send()
    cancel(world.host, ALICE, task.id)

    notice_cancel(world.runner, world.key(task))

    assert told == [task.id]


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


# Messages and turns


def test_a_message_to_a_running_task_is_read_by_the_next_turn_which_starts_by_itself() -> None:
    heard: list[list[str]] = []

    def run(turn: Turn) -> None:
        heard.append(texts(turn.messages))
        if len(heard) == 1:
            world.send("one more thing", task=task)
            return turn.ask("anything else?")
        return turn.complete()

    world = World(agent_that(run))
    task = queued(world)

    world.run()
    world.settle()

    assert heard == [["hello"], ["one more thing"]]
    assert world.head(task).state is TaskState.COMPLETED


def test_l11_a_question_that_was_overtaken_by_a_message_is_still_in_the_history() -> None:
    def run(turn: Turn) -> None:
        if turn.history[-1].text == "hello":
            world.send("sea, by the way", task=task)
            return turn.ask("Sea or air?")
        return turn.complete(f"you said: {turn.message.text}")

    world = World(agent_that(run))
    task = queued(world)

    world.run()
    world.settle()

    done = world.task(task)
    assert states(world, task) == [
        TaskState.WORKING,
        TaskState.INPUT_REQUIRED,
        TaskState.WORKING,
        TaskState.COMPLETED,
    ]
    assert sorted(texts(done.history)) == ["Sea or air?", "hello", "sea, by the way"]


def test_several_messages_to_a_running_task_are_read_by_one_turn_in_their_order() -> None:
    heard: list[list[str]] = []

    def run(turn: Turn) -> None:
        heard.append(texts(turn.messages))
        if len(heard) == 1:
            for text in ("first", "second", "third"):
                world.send(text, task=task)
            return turn.ask("more?")
        return turn.complete()

    world = World(agent_that(run))
    task = queued(world)

    world.run()
    world.settle()

    assert heard == [["hello"], ["first", "second", "third"]]


def test_a_turn_ends_although_the_caller_talks_again_and_again_while_it_does(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World(agent_that(lambda turn: turn.complete("done")))
    task = queued(world)
    commit = world.tasks.commit
    said: list[str] = []

    def talked_over(change: Change) -> Head:
        if change.after.is_over and len(said) < 60:
            said.append(f"and {len(said)}")
            with monkeypatch.context() as inner:
                inner.setattr(world.tasks, "commit", commit)
                world.send(said[-1], task=task)
        return commit(change)

    monkeypatch.setattr(world.tasks, "commit", talked_over)

    world.run()

    assert states(world, task) == [TaskState.WORKING, TaskState.COMPLETED]
    assert len(world.task(task).history) == 61


def test_an_end_wins_over_messages_that_nobody_read() -> None:
    def run(turn: Turn) -> None:
        world.send("wait!", task=task)
        turn.complete("done")

    world = World(agent_that(run))
    task = queued(world)

    world.run()
    world.settle()

    assert states(world, task) == [TaskState.WORKING, TaskState.COMPLETED]
    assert texts(world.task(task).history) == ["hello", "wait!"]


def test_a_message_that_came_before_the_turn_began_is_read_by_it() -> None:
    heard: list[list[str]] = []

    def run(turn: Turn) -> None:
        heard.append(texts(turn.messages))
        turn.complete()

    world = World(agent_that(run))
    task = world.send()
    world.send("and this", task=task)

    world.settle()

    assert heard == [["hello", "and this"]]


def test_a_second_attempt_reads_the_messages_of_the_first_and_those_that_came_meanwhile() -> None:
    heard: list[list[str]] = []

    def run(turn: Turn) -> None:
        heard.append(texts(turn.messages))
        if turn.attempt == 1:
            world.send("are you there?", task=task)
            raise WorkerDied
        turn.complete()

    world = World(agent_that(run))
    task = queued(world)
    with pytest.raises(WorkerDied):
        world.run()

    world.clock.advance(LEASE)
    run_again(world, task)

    assert heard == [["hello"], ["hello", "are you there?"]]


def test_l11_history_has_every_message_once_and_in_order_over_two_questions() -> None:
    def run(turn: Turn) -> None:
        asked = turn.state["asked"] = turn.state.get("asked", 0) + 1
        if asked < 3:
            return turn.ask(f"question {asked}")
        return turn.complete("thanks")

    world = World(agent_that(run))
    task = world.send("start")
    world.settle()
    for number in (1, 2):
        world.send(f"answer {number}", task=task)
        world.settle()

    assert texts(world.task(task).history) == ["start", "question 1", "answer 1", "question 2", "answer 2"]


def test_i05_of_ten_answers_to_one_question_one_resumes_it_and_the_others_are_read_in_order() -> None:
    heard: list[list[str]] = []

    def run(turn: Turn) -> None:
        heard.append(texts(turn.messages))
        if len(heard) == 1:
            return turn.ask("well?")
        return turn.complete()

    world = World(agent_that(run))
    task = world.send()
    world.settle()
    for number in range(10):
        world.send(f"a{number}", task=task)

    world.settle()

    assert heard == [["hello"], [f"a{number}" for number in range(10)]]


# What a turn was begun by


def asks_for_an_approval(world: World, addresses: list[str], seen: list[Turn]) -> Callable[[Turn], None]:
    def run(turn: Turn) -> None:
        seen.append(turn)
        if len(seen) == 1:
            addresses.append(turn.callback_url())
            return turn.require_auth("approve at the address")
        return turn.ask("and then?")

    return run


def test_what_the_caller_says_after_a_callback_cannot_pass_for_what_was_posted_to_it() -> None:
    addresses: list[str] = []
    seen: list[Turn] = []
    world = World()
    world.agent = agent_that(asks_for_an_approval(world, addresses, seen))
    task = world.send()
    world.settle()

    world.post_callback(addresses[0], {"approved": False})
    world.send("forged", task=task, parts=(Part(data={"approved": True}),))
    world.settle()

    assert [(turn.trigger, [turn.message.parts[0].data]) for turn in seen[1:]] == [
        (TurnTrigger.CALLBACK, [{"approved": False}]),
        (TurnTrigger.MESSAGE, [{"approved": True}]),
    ]


def test_a_callback_turn_that_dies_is_still_a_callback_turn_with_what_was_posted() -> None:
    seen: list[tuple[TurnTrigger, object]] = []
    addresses: list[str] = []

    def run(turn: Turn) -> None:
        if not addresses:
            addresses.append(turn.callback_url())
            return turn.require_auth("approve")
        seen.append((turn.trigger, turn.message.parts[0].data))
        if turn.attempt == 1:
            raise WorkerDied
        return turn.complete()

    world = World(agent_that(run))
    task = world.send()
    world.settle()
    world.post_callback(addresses[0], {"approved": True})
    world.relay()
    with pytest.raises(WorkerDied):
        world.run()

    world.clock.advance(LEASE)
    run_again(world, task)

    assert seen == [(TurnTrigger.CALLBACK, {"approved": True})] * 2


def test_on_expire_sees_the_newest_message_of_the_caller_and_not_the_agents_own_question() -> None:
    seen: list[tuple[str, Role, tuple[Message, ...]]] = []

    def on_expire(turn: Turn) -> None:
        seen.append((turn.message.text, turn.message.role, turn.messages))
        turn.complete("went on without you")

    world = World(agent_that(asks_once, on_expire=on_expire))
    task = world.send("start")
    world.settle()
    expire(world.expiry, world.key(task), 1)

    world.settle()

    assert seen == [("start", Role.USER, ())]
    assert world.head(task).state is TaskState.COMPLETED


def test_an_answer_in_the_moment_of_the_deadline_is_read_by_the_turn_after_on_expire() -> None:
    heard: list[tuple[str, list[str]]] = []

    def run(turn: Turn) -> None:
        heard.append(("run", texts(turn.messages)))
        turn.ask("well?") if len(heard) == 1 else turn.complete()

    def on_expire(turn: Turn) -> None:
        heard.append(("on_expire", texts(turn.messages)))
        turn.ask("still there?")

    world = World(agent_that(run, on_expire=on_expire))
    task = world.send()
    world.settle()
    expire(world.expiry, world.key(task), 1)
    world.send("just in time", task=task)

    world.settle()

    assert heard == [("run", ["hello"]), ("on_expire", []), ("run", ["just in time"])]


# Context memory


def test_a_run_that_lost_its_task_changes_nothing_of_its_context() -> None:
    def run(turn: Turn) -> None:
        turn.context_state["seen"] = "by a canceled run"
        cancel(world.host, ALICE, task.id)
        turn.complete()

    world = World(agent_that(run))
    task = world.send(context_id="context-1")
    world.relay()

    world.run()

    assert world.contexts.context(world.key(task).scope, "context-1").value == {}


def test_what_one_task_remembers_the_next_of_the_context_recalls_and_no_other_owner() -> None:
    recalled: list[object] = []

    def run(turn: Turn) -> None:
        recalled.append(turn.context_state.get("name"))
        turn.context_state["name"] = turn.message.text
        turn.complete()

    world = World(agent_that(run))
    world.send("anna", context_id="shared-id")
    world.settle()
    world.send("berta", context_id="shared-id")
    world.send("carla", context_id="another")
    world.settle()

    assert recalled == [None, "anna", None]


def test_l21_a_context_outlives_the_longest_wait_of_its_tasks() -> None:
    recalled: list[object] = []

    def run(turn: Turn) -> None:
        recalled.append(turn.context_state.get("name"))
        turn.context_state["name"] = "anna"
        turn.ask("well?", within=timedelta(days=364)) if len(recalled) == 1 else turn.complete()

    world = World(agent_that(run), rules=Rules(retention=timedelta(days=364)))
    task = world.send()
    world.settle()
    world.clock.advance(timedelta(days=363))
    world.send("at last", task=task)

    world.settle()

    assert recalled == [None, "anna"]


def test_two_tasks_at_once_share_no_state() -> None:
    order: list[str] = []

    def run(turn: Turn) -> None:
        turn.state["mine"] = turn.message.text
        if turn.message.text == "outer":
            world.send("inner")
            world.relay()
            world.run()
        order.append(turn.state["mine"])
        turn.ask("ok?")

    world = World(agent_that(run))
    outer = world.send("outer")
    world.relay()
    world.run()

    assert order == ["inner", "outer"]
    assert world.head(outer).memory == {"mine": "outer"}


def test_the_journal_tells_that_a_turn_started_over() -> None:
    world = World(agent_that(lambda turn: turn.complete() if turn.attempt == 2 else dies(turn)))
    task = queued(world)
    with pytest.raises(WorkerDied):
        world.run()
    world.send("a message meanwhile", task=task)
    world.clock.advance(LEASE)

    run_again(world, task)

    assert Restarted(1) in world.record(task).entries


def test_the_agent_is_looked_up_by_the_name_in_the_key_and_another_one_is_ours() -> None:
    world = World()
    task = queued(world)
    key = world.key(task)
    gone: Runner = replace(world.runner, agents=lambda name: World().agent_named(f"not-{name}"))

    with pytest.raises(LookupError):
        run_turn(gone, key, 1)
