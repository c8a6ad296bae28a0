"""What a running turn writes: together where it can, in time, once, and only while the task is its own."""

from collections.abc import Callable
from contextlib import suppress
from datetime import datetime, timedelta

import pytest

from a2a_serverless.agent import Turn, TurnEnded
from a2a_serverless.app.cancel import cancel
from a2a_serverless.app.turn_writer import FLUSH_AFTER, FLUSH_BYTES, LOOK_EVERY, TurnWriter
from a2a_serverless.core.advance import status
from a2a_serverless.core.endings import Ended
from a2a_serverless.core.head import Change, Head, Lease
from a2a_serverless.core.journal import ArtifactChanged, Entry, StatusChanged
from a2a_serverless.core.turns import Begun, begin
from a2a_serverless.errors import EntryTooLarge, LeaseLost
from a2a_serverless.types import Artifact, Part, Task, TaskKey, TaskState
from tests.unit.app.world import ALICE, World, agent_that

DONE = Ended(TaskState.COMPLETED)


def chunk(text: str = "x", *, append: bool = True) -> ArtifactChanged:
    return ArtifactChanged(Artifact(artifact_id="log", parts=(Part(text=text),)), append=append)


def begun() -> tuple[World, Task, TurnWriter]:
    """A task, and the writer of its first turn."""
    world = World()
    task = world.send()
    beginning = begin(world.head(task), 1, message_id="m", rules=world.rules, now=world.clock())
    assert isinstance(beginning, Begun)
    return world, task, writer_of(world, world.tasks.commit(beginning.change))


def writer_of(world: World, head: Head) -> TurnWriter:
    return TurnWriter(head, tasks=world.tasks, rules=world.rules, clock=world.clock, callback_url=lambda: "https://x")


def written(world: World, task: Task) -> list[Entry]:
    return list(world.record(task).entries[1:])


def after(world: World, writer: TurnWriter, by: timedelta) -> None:
    """The pulse beats when that much time has passed."""
    world.clock.advance(by)
    writer.tick()


# Together, and in time


def test_what_is_said_waits_for_more_and_is_written_by_the_first_beat_after_a_quarter_second() -> None:
    world, task, writer = begun()
    writer.say(chunk("1"))
    writer.say(chunk("2"))

    after(world, writer, FLUSH_AFTER - timedelta(milliseconds=1))
    early = written(world, task)
    after(world, writer, timedelta(milliseconds=1))

    assert (early, written(world, task)) == ([], [chunk("1"), chunk("2")])


def test_so_much_that_it_fills_a_segment_is_written_at_once() -> None:
    world, task, writer = begun()
    big = chunk("x" * FLUSH_BYTES)

    writer.say(big)

    assert written(world, task) == [big]


def test_two_thousand_small_chunks_are_written_by_few_changes() -> None:
    world, task, writer = begun()
    before = world.head(task).version

    for number in range(2_000):
        writer.say(chunk(f"{number:0200}"))
    writer.finish(DONE, {})

    assert world.head(task).version - before < 60
    assert len(written(world, task)) == 2_001


def test_what_is_left_goes_with_the_end_in_one_change() -> None:
    world, task, writer = begun()
    version = world.head(task).version
    writer.say(chunk("1"))

    head = writer.finish(DONE, {"k": 1})

    assert (head.version, head.memory, head.state) == (version + 1, {"k": 1}, TaskState.COMPLETED)
    assert written(world, task)[0] == chunk("1")


def test_after_the_end_a_beat_does_nothing() -> None:
    world, task, writer = begun()
    writer.finish(DONE, {})
    version = world.head(task).version

    after(world, writer, timedelta(minutes=1))

    assert world.head(task).version == version


def test_a_queued_task_is_working_from_the_first_beat_on_even_if_its_agent_says_nothing() -> None:
    world, task, writer = begun()
    writer.begin()

    after(world, writer, FLUSH_AFTER)

    assert world.head(task).state is TaskState.WORKING


def test_a_task_that_works_already_is_not_told_so_again() -> None:
    world, task, writer = begun()
    writer.say(status(TaskState.WORKING, world.clock()))
    after(world, writer, FLUSH_AFTER)
    again = writer_of(world, world.head(task))

    again.begin()
    after(world, again, FLUSH_AFTER)

    assert len(written(world, task)) == 1


def test_the_bare_word_that_it_works_stands_if_an_artifact_comes_first() -> None:
    world, task, writer = begun()
    writer.begin()
    writer.say(chunk())

    after(world, writer, FLUSH_AFTER)

    assert [type(entry) for entry in written(world, task)] == [StatusChanged, ArtifactChanged]


# The lease


def test_a_silent_run_extends_its_lease_when_a_third_of_it_is_gone_and_not_before() -> None:
    world, task, writer = begun()
    lease = world.head(task).lease
    third = world.rules.lease / 3

    after(world, writer, third - timedelta(seconds=1))
    early = world.head(task).lease
    after(world, writer, timedelta(seconds=1))

    assert early == lease
    assert world.head(task).lease == Lease(world.clock() + world.rules.lease)


def test_a_run_that_speaks_needs_no_heartbeat() -> None:
    world, task, writer = begun()
    for _ in range(100):
        writer.say(chunk())
        after(world, writer, timedelta(seconds=1))

    lease = world.head(task).lease
    assert lease is not None
    assert lease.until > world.clock()
    assert world.head(task).entries == 101


def test_a_silent_run_looks_once_a_second_whether_it_still_has_its_task(monkeypatch: pytest.MonkeyPatch) -> None:
    world, _, writer = begun()
    looks: list[TaskKey] = []
    read = world.tasks.head

    def counted(key: TaskKey, *, now: datetime) -> Head | None:
        looks.append(key)
        return read(key, now=now)

    monkeypatch.setattr(world.tasks, "head", counted)

    for _ in range(18):
        after(world, writer, LOOK_EVERY / 2)

    assert len(looks) == 9


# A task that is lost


def lost(how: str) -> tuple[World, Task, TurnWriter]:
    world, task, writer = begun()
    match how:
        case "canceled":
            cancel(world.host, ALICE, task.id)
        case "taken over":
            world.clock.advance(world.rules.lease)
            taken = begin(world.head(task), 1, message_id="m", rules=world.rules, now=world.clock())
            assert isinstance(taken, Begun)
            world.tasks.commit(taken.change)
        case _:
            world.tasks.forget(world.key(task))
    world.clock.advance(LOOK_EVERY)
    return world, task, writer


WRITES: dict[str, Callable[[TurnWriter], object]] = {
    "speech": lambda writer: writer.say(chunk("x" * FLUSH_BYTES)),
    "an end": lambda writer: writer.finish(DONE, {}),
    "a look": lambda writer: writer.confirm(),
}


@pytest.mark.parametrize("how", ["canceled", "taken over", "forgotten"])
@pytest.mark.parametrize("write", WRITES.values(), ids=WRITES.keys())
def test_a_task_that_is_lost_takes_nothing_more(how: str, write: Callable[[TurnWriter], object]) -> None:
    world, _, writer = lost(how)
    changes = len(world.tasks.changes)

    with pytest.raises(LeaseLost):
        write(writer)

    assert writer.lost
    assert len(world.tasks.changes) == changes
    with pytest.raises(LeaseLost):
        writer.say(chunk())


@pytest.mark.parametrize(("how", "canceled"), [("canceled", True), ("taken over", False), ("forgotten", False)])
def test_only_a_cancel_is_called_one(how: str, canceled: bool) -> None:
    _, _, writer = lost(how)
    assert not writer.cancelled

    with suppress(LeaseLost):
        writer.tick()

    assert writer.lost
    assert writer.cancelled is canceled


def test_a_message_that_comes_meanwhile_costs_the_runner_nothing() -> None:
    world, task, writer = begun()
    writer.say(chunk("1"))
    world.send("one more", task=task)

    after(world, writer, FLUSH_AFTER)

    assert chunk("1") in written(world, task)
    assert world.head(task).has_unread
    assert not writer.lost


# Words that cannot be written


def too_large(world: World, monkeypatch: pytest.MonkeyPatch, limit: int) -> None:
    """A store that keeps no entry of more bytes than that."""
    commit = world.tasks.commit

    def strict(change: Change) -> Head:
        if any(len(repr(entry)) > limit for entry in change.entries):
            raise EntryTooLarge("an entry is too large to keep")
        return commit(change)

    monkeypatch.setattr(world.tasks, "commit", strict)


def test_a_word_that_is_too_large_is_refused_to_the_agent_and_the_others_are_kept(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    world, task, writer = begun()
    too_large(world, monkeypatch, limit=50_000)
    writer.say(chunk("small"))

    with pytest.raises(EntryTooLarge):
        writer.say(chunk("x" * 60_000))
    writer.finish(DONE, {})

    assert [entry for entry in written(world, task) if isinstance(entry, ArtifactChanged)] == [chunk("small")]


def test_an_agent_that_says_too_much_at_once_has_failed_its_task_and_kept_its_worker(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def run(turn: Turn) -> None:
        turn.artifact("huge", text="x" * 60_000)
        turn.complete()

    world = World(agent_that(run))
    too_large(world, monkeypatch, limit=50_000)
    task = world.send()

    world.settle()

    assert world.head(task).state is TaskState.FAILED


def test_an_agent_whose_last_words_are_too_large_has_failed_its_task_and_kept_its_worker(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    world = World(agent_that(lambda turn: turn.complete("x" * 60_000)))
    too_large(world, monkeypatch, limit=50_000)
    task = world.send()

    world.settle()

    failed = world.task(task).status
    assert failed.state is TaskState.FAILED
    assert failed.message is not None
    assert len(failed.message.text) < 200


def test_a_turn_ends_once() -> None:
    _, _, writer = begun()
    writer.end(DONE)

    with pytest.raises(TurnEnded):
        writer.end(DONE)


def test_a_store_that_stays_away_is_tried_again_four_times_a_second_and_not_more(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    world, task, writer = begun()
    tried: list[Change] = []

    def away(change: Change) -> Head:
        tried.append(change)
        raise OSError("no network")

    writer.say(chunk("1"))
    with monkeypatch.context() as broken:
        broken.setattr(world.tasks, "commit", away)
        for _ in range(10):
            world.clock.advance(0.1)
            try:
                writer.tick()
            except OSError:
                continue
    after(world, writer, FLUSH_AFTER)

    assert 2 <= len(tried) <= 4
    assert written(world, task) == [chunk("1")]
