"""sweep: finds what does not go on by itself, puts it back, and leaves alone what does."""

from datetime import timedelta

import pytest

from a2a_serverless.agent import Agent, Turn
from a2a_serverless.app import push_configs
from a2a_serverless.app.cancel import cancel
from a2a_serverless.app.notify import notify
from a2a_serverless.app.run_turn import notice_cancel
from a2a_serverless.app.sweep import LOOK_AGAIN, SCHEDULES_ARE_LATE, Stuck, Swept, stuck, sweep
from a2a_serverless.core.delivery_outcome import Answer, Fault, NoAnswer
from a2a_serverless.core.head import Head
from a2a_serverless.core.push import WireVersion
from a2a_serverless.types import Task, TaskKey, TaskState
from tests.fakes import QueuedNudge
from tests.unit.app.world import ALICE, WorkerDied, World, agent_that, asks_once, completes, dies, webhook

HOOK_ID = "mine"


def whys(swept: Swept) -> list[str]:
    return [why for _, why in swept.repaired]


def later(world: World, by: timedelta = LOOK_AGAIN + timedelta(seconds=1)) -> Swept:
    """Sweep when a minute has passed."""
    world.clock.advance(by)
    return sweep(world.sweeper)


def dropped_by_the_stream(world: World) -> None:
    """Whatever was committed since the last time is relayed by nobody."""
    world.relayed = len(world.tasks.changes)


def parked(agent: Agent | None = None, *, token: bool = True) -> tuple[World, Task]:
    world = World(agent or agent_that(asks_once))
    task = world.send()
    world.settle()
    if token:
        world.tasks.store_token(world.key(task), 1, "token-1")
    return world, task


# What is stuck


def test_a_turn_that_nobody_took_is_queued_again() -> None:
    world = World()
    task = world.send()
    dropped_by_the_stream(world)

    swept = later(world)
    world.run()

    assert swept == Swept(1, ((task.id, "turn not taken"),))
    assert world.head(task).state is TaskState.COMPLETED


def test_an_answer_whose_turn_nobody_took_is_queued_again() -> None:
    world, task = parked()
    world.send("42", task=task)
    dropped_by_the_stream(world)

    later(world)
    world.run()

    assert world.head(task).state is TaskState.COMPLETED


def test_a_turn_that_nobody_took_after_a_question_was_overtaken_is_queued_again() -> None:
    def run(turn: Turn) -> None:
        if turn.messages[0].text != "hello":
            return turn.complete()
        world.clock.advance(timedelta(seconds=29))
        world.send("more", task=turn.task)
        return turn.ask("well?")

    world = World(agent_that(run))
    task = world.send()
    world.relay()
    world.run()
    dropped_by_the_stream(world)

    early = later(world, timedelta(seconds=32))
    late = later(world)
    world.run()

    assert (whys(early), whys(late)) == ([], ["turn not taken"])
    assert world.head(task).state is TaskState.COMPLETED


def test_a_turn_whose_runner_died_and_whose_message_is_lost_runs_again() -> None:
    world = World(agent_that(dies))
    task = world.send()
    world.relay()
    with pytest.raises(WorkerDied):
        world.run()
    world.agent = agent_that(completes)

    swept = later(world)
    world.run()

    assert whys(swept) == ["runner died"]
    assert world.head(task).state is TaskState.COMPLETED


def test_i11_a_turn_that_kills_every_worker_and_loses_every_message_fails_by_sweeps_alone() -> None:
    world = World(agent_that(dies))
    task = world.send()
    dropped_by_the_stream(world)
    for _ in range(3):
        later(world)
        with pytest.raises(WorkerDied):
            world.run()

    later(world)
    world.run()

    assert world.head(task).state is TaskState.FAILED


def test_a_wait_that_no_execution_holds_is_held_again() -> None:
    world, task = parked(token=False)
    world.waits.held.clear()

    swept = later(world)

    assert whys(swept) == ["wait not held"]
    assert list(world.waits.held) == [(world.key(task), 1)]


def test_a_deadline_that_nobody_kept_is_kept_by_the_sweep() -> None:
    world, task = parked()
    later(world)

    swept = later(world, timedelta(days=2) + LOOK_AGAIN)

    assert whys(swept) == ["wait overdue"]
    assert world.head(task).state is TaskState.FAILED


def test_a_deadline_that_nobody_kept_lets_the_agent_decide() -> None:
    world, task = parked(agent_that(asks_once, on_expire=lambda turn: turn.complete("without you")))

    later(world, timedelta(days=2) + LOOK_AGAIN * 2)
    world.settle()

    assert world.head(task).state is TaskState.COMPLETED


def test_an_agent_that_never_heard_of_a_cancel_is_told_by_the_sweep() -> None:
    told: list[str] = []
    world = World(agent_that(completes, on_cancel=lambda task: told.append(task.id)))
    task = world.send()
    cancel(world.host, ALICE, task.id)
    dropped_by_the_stream(world)

    assert whys(later(world)) == ["cancel not noticed"]
    (notice,) = world.queues.cancels
    notice_cancel(world.runner, notice.key)
    notice_cancel(world.runner, notice.key)

    assert told == [task.id]
    assert world.tasks.due_at(world.key(task)) is None


def test_a_clean_up_that_kills_its_worker_is_tried_ever_less_often() -> None:
    world = World(agent_that(completes, on_cancel=lambda _task: None))
    task = world.send()
    cancel(world.host, ALICE, task.id)
    dropped_by_the_stream(world)

    for _ in range(60 * 24):
        later(world, LOOK_AGAIN)

    assert 5 < len(world.queues.cancels) < 15


def test_i09_a_nudge_that_never_left_is_sent_on_its_way() -> None:
    world = World(agent_that(asks_once))
    task = world.send(hook=webhook(id=HOOK_ID))
    world.settle()
    world.tasks.store_token(world.key(task), 1, "token-1")
    world.queues.nudges.clear()

    swept = later(world)

    assert whys(swept) == [f"nudge lost: {HOOK_ID}"]
    assert world.queues.nudges == [QueuedNudge(world.key(task), HOOK_ID, world.head(task).nudge_seq)]


def test_i09_an_end_that_was_told_to_nobody_is_told_although_the_task_is_over() -> None:
    world = World()
    task = world.send(hook=webhook(id=HOOK_ID))
    world.relay()
    world.run()
    dropped_by_the_stream(world)

    later(world)
    world.notify()

    assert [nudge.head.state for nudge in world.post.came] == [TaskState.COMPLETED]
    assert world.tasks.due_at(world.key(task)) is not None
    later(world)
    assert world.tasks.due_at(world.key(task)) is None


def test_a_webhook_that_was_added_to_an_ended_task_and_told_by_nobody_is_told() -> None:
    world = World()
    task = world.send()
    world.settle()
    push_configs.create(world.host, ALICE, task.id, webhook(id=HOOK_ID), WireVersion.V1_0)
    dropped_by_the_stream(world)

    later(world)

    assert world.notify() == ["delivered"]


def test_a_webhook_of_an_ended_task_that_was_replaced_and_told_by_nobody_is_told() -> None:
    world = World()
    task = world.send(hook=webhook(id=HOOK_ID))
    world.settle()
    world.notify()
    later(world)
    push_configs.create(world.host, ALICE, task.id, webhook(id=HOOK_ID), WireVersion.V1_0)
    dropped_by_the_stream(world)

    later(world)

    assert world.notify() == ["delivered"]


def test_a_retry_that_got_lost_is_sent_on_its_way() -> None:
    world = World(agent_that(completes))
    world.send(hook=webhook(id=HOOK_ID))
    world.settle()
    world.post.answers = [Answer(status=500)]
    world.notify()
    world.queues.nudges.clear()

    for _ in range(2):
        later(world)

    assert world.notify() == ["delivered"]


def test_a_nudge_whose_schedule_fires_late_is_not_taken_for_lost() -> None:
    world = World(agent_that(completes))
    world.send(hook=webhook(id=HOOK_ID))
    world.settle()
    world.post.answers = [Answer(status=500)] * 20
    while not world.later.coming:
        world.notify()
        world.clock.advance(timedelta(minutes=15))
    ((_, at),) = world.later.coming.values()
    world.clock.now = at + SCHEDULES_ARE_LATE + timedelta(seconds=10)  # the attempt takes its time, too

    assert whys(later(world, timedelta())) == []

    world.later.coming.clear()
    for _ in range(2):
        swept = later(world)
    assert whys(swept) == [f"nudge lost: {HOOK_ID}"]


def test_a_nudge_whose_sender_died_while_the_message_for_the_newest_change_was_lost_is_sent() -> None:
    world = World(agent_that(asks_once))
    task = world.send(hook=webhook(id=HOOK_ID))
    world.settle()
    (older,) = world.queues.nudges
    world.send("42", task=task)
    world.relay()
    world.run()
    dropped_by_the_stream(world)
    world.queues.nudges = [older]

    def dies() -> None:
        world.post.meanwhile = lambda: None
        raise OSError("the process is gone")

    world.post.meanwhile = dies
    with pytest.raises(OSError, match="gone"):
        world.notify()
    assert notify(world.notifier, older.key, older.config_id, older.seq) == "carried"

    for _ in range(3):
        later(world)

    assert "delivered" in world.notify()
    assert world.post.came[-1].head.state is TaskState.COMPLETED


def test_a_stuck_task_is_told_of_once_and_not_a_second_time_as_untold() -> None:
    world = World(agent_that(asks_once))
    world.send(hook=webhook(id=HOOK_ID))
    world.settle()
    world.queues.nudges.clear()

    later(world)

    assert len(world.queues.nudges) == 1


# What is not


def test_a_sweep_of_healthy_tasks_finds_and_does_nothing() -> None:
    world = World(agent_that(asks_once))
    waiting = world.send(hook=webhook(id=HOOK_ID))
    world.settle()
    world.tasks.store_token(world.key(waiting), 1, "token-1")
    world.notify()
    done = world.send("another")
    world.settle()
    world.tasks.store_token(world.key(done), 1, "token-2")
    world.send("42", task=done)
    world.settle()
    heads = [world.head(task) for task in (waiting, done)]

    swept = [later(world) for _ in range(10)]

    assert [whys(each) for each in swept] == [[]] * 10
    assert [world.head(task) for task in (waiting, done)] == heads
    assert (world.queues.turns, world.queues.nudges) == ([], [])


def test_a_waiting_task_is_looked_at_once_and_then_not_before_its_deadline() -> None:
    world, task = parked()

    later(world)

    due = world.tasks.due_at(world.key(task))
    wait = world.head(task).wait
    assert wait is not None
    assert due == wait.until + LOOK_AGAIN


def test_a_task_that_a_living_runner_works_on_for_long_is_left_alone() -> None:
    found: list[list[str]] = []

    def run(turn: Turn) -> None:
        for _ in range(20):
            world.clock.advance(timedelta(seconds=29))
            turn.artifact("log", text="x" * 20_000, append=True)
            found.append(whys(sweep(world.sweeper)))
        turn.complete()

    world = World(agent_that(run))
    task = world.send()
    world.settle()

    assert found == [[]] * 20
    assert world.head(task).state is TaskState.COMPLETED


def test_a_task_that_has_ended_is_not_looked_at_any_more() -> None:
    world = World()
    task = world.send()
    cancel(world.host, ALICE, task.id)

    assert later(world) == Swept(0, ())


def test_a_webhook_that_is_switched_off_is_not_told_by_the_sweep() -> None:
    world = World()
    task = world.send(hook=webhook(id=HOOK_ID))
    world.settle()
    world.post.answers = [Answer(status=410)]
    world.notify()

    assert whys(later(world)) == []
    assert world.tasks.due_at(world.key(task)) is None


def test_a_retry_that_is_not_due_yet_is_left_to_the_queue() -> None:
    world = World()
    world.send(hook=webhook(id=HOOK_ID))
    world.settle()
    world.post.answers = [NoAnswer(Fault.TIMEOUT)] * 6
    for _ in range(5):
        world.clock.advance(max(nudge.delay_seconds for nudge in world.queues.nudges))
        world.notify()

    assert [whys(later(world)) for _ in range(20)] == [[]] * 20


# A sweep that cannot do everything


def test_a_task_that_cannot_be_swept_does_not_keep_the_sweep_from_the_others(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    world = World()
    bad, good = world.send("bad"), world.send("good")
    dropped_by_the_stream(world)
    enqueue = world.queues.enqueue_turn

    def broken(key: TaskKey, turn: int) -> None:
        if key == world.key(bad):
            raise OSError("throttled")
        enqueue(key, turn)

    monkeypatch.setattr(world.queues, "enqueue_turn", broken)

    swept = later(world)

    assert swept.repaired == ((good.id, "turn not taken"),)
    assert [turn.key for turn in world.queues.turns] == [world.key(good)]
    assert "throttled" in caplog.text


def test_more_stuck_tasks_than_one_look_at_the_index_shows_are_all_put_back_at_once() -> None:
    world = World()
    tasks = [world.send(f"m{number}") for number in range(250)]
    dropped_by_the_stream(world)

    swept = later(world)

    assert len(swept.repaired) == len(tasks)
    assert {turn.key for turn in world.queues.turns} == {world.key(task) for task in tasks}


def test_a_task_that_moved_on_while_it_was_swept_is_looked_at_again(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World(agent_that(asks_once))
    task = world.send()
    dropped_by_the_stream(world)
    read = world.tasks.head

    def moved_on(key: TaskKey, **when: object) -> Head | None:
        head = read(key, **when)  # type: ignore[arg-type]  # passed on as it came
        monkeypatch.setattr(world.tasks, "head", read)
        world.send("more", task=task)
        return head

    monkeypatch.setattr(world.tasks, "head", moved_on)

    later(world)

    due = world.tasks.due_at(world.key(task))
    assert due is not None
    assert due <= world.clock()


@pytest.mark.parametrize("why", list(Stuck))
def test_each_kind_of_stuck_has_a_test_here(why: Stuck) -> None:
    source = globals()
    names = {
        Stuck.TURN_NOT_TAKEN: "test_a_turn_that_nobody_took_is_queued_again",
        Stuck.RUNNER_DIED: "test_a_turn_whose_runner_died_and_whose_message_is_lost_runs_again",
        Stuck.WAIT_NOT_HELD: "test_a_wait_that_no_execution_holds_is_held_again",
        Stuck.WAIT_OVERDUE: "test_a_deadline_that_nobody_kept_is_kept_by_the_sweep",
        Stuck.CANCEL_UNNOTICED: "test_an_agent_that_never_heard_of_a_cancel_is_told_by_the_sweep",
    }

    assert names[why] in source


def test_a_task_is_not_called_stuck_within_a_minute_of_its_last_move() -> None:
    world = World()
    task = world.send()

    assert stuck(world.head(task), world.clock() + timedelta(seconds=59)) is None
    assert stuck(world.head(task), world.clock() + timedelta(seconds=60)) is Stuck.TURN_NOT_TAKEN
