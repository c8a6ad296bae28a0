"""The pulse: keeps the lease and the delivery, and stops a run that has lost its task, for real."""

import asyncio
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from textwrap import dedent

import pytest

from a2a_serverless.agent import Turn
from a2a_serverless.app.cancel import cancel
from a2a_serverless.app.run_turn import Done
from a2a_serverless.core.head import Lease
from a2a_serverless.errors import LeaseLost
from a2a_serverless.types import Task, TaskState
from functions.run_turn.pulse import Pulse, TurnStopped
from tests.unit.app.world import ALICE, World, agent_that

ROOT = Path(__file__).parents[3]
FOR_EVER = 20.0


def nothing() -> None:
    """A delivery that needs no keeping."""


def quick(extend: Callable[[], None] = nothing) -> Pulse:
    """A pulse that does in milliseconds what the real one does in seconds."""
    return Pulse(extend=extend, beat=0.001, grace=0.01, extend_every=0.002)


def queued(run: Callable[[Turn], object], pulse: Pulse | None = None) -> tuple[World, Task]:
    world = World(agent_that(run), watch=pulse or quick())  # type: ignore[arg-type]  # what it returns is not looked at
    task = world.send()
    world.relay()
    return world, task


def until(is_so: Callable[[], bool]) -> None:
    """Wait for it, but not for ever."""
    deadline = time.monotonic() + FOR_EVER
    while not is_so():
        assert time.monotonic() < deadline, "it never came"
        time.sleep(0)


def canceled(world: World, task_id: str) -> None:
    """The caller cancels, and so much time passes that the next beat looks."""
    cancel(world.host, ALICE, task_id)
    world.clock.advance(2)


# A run that ends by itself


def test_a_run_that_ends_by_itself_is_written_and_leaves_the_signal_as_it_was() -> None:
    before = signal.getsignal(signal.SIGUSR1)
    world, task = queued(lambda turn: turn.complete())

    world.run()

    assert world.head(task).state is TaskState.COMPLETED
    assert signal.getsignal(signal.SIGUSR1) is before
    assert all(thread.name != "pulse" for thread in threading.enumerate())


def test_a_run_that_raises_leaves_the_signal_as_it_was() -> None:
    def run(_turn: Turn) -> None:
        raise RuntimeError("no")

    before = signal.getsignal(signal.SIGUSR1)
    world, task = queued(run)

    world.run()

    assert world.head(task).state is TaskState.FAILED
    assert signal.getsignal(signal.SIGUSR1) is before


def test_what_is_said_is_written_while_the_agent_still_works() -> None:
    def run(turn: Turn) -> None:
        turn.working("half way")
        world.clock.advance(1)
        until(lambda: world.head(task).status.message is not None)
        turn.complete()

    world, task = queued(run)

    world.run()

    assert [message.text for message in world.task(task).history] == ["hello", "half way"]


def test_a_silent_run_keeps_its_lease() -> None:
    def run(turn: Turn) -> None:
        for _ in range(5):
            world.clock.advance(20)
            until(lambda: world.head(task).lease == Lease(world.clock() + world.rules.lease))
        turn.complete()

    world, task = queued(run)

    world.run()

    assert world.head(task).state is TaskState.COMPLETED
    assert world.head(task).fence == 1


def test_the_delivery_is_kept_again_and_again() -> None:
    kept = threading.Semaphore(0)

    def run(turn: Turn) -> None:
        for _ in range(3):
            kept.acquire(timeout=FOR_EVER)
        turn.complete()

    world, task = queued(run, quick(kept.release))

    world.run()

    assert world.head(task).state is TaskState.COMPLETED


def test_a_delivery_that_cannot_be_kept_for_the_moment_does_not_stop_the_pulse() -> None:
    failed = threading.Semaphore(0)

    def broken() -> None:
        failed.release()
        raise OSError("throttled")

    def run(turn: Turn) -> None:
        for _ in range(3):
            failed.acquire(timeout=FOR_EVER)
        canceled(world, task.id)
        until(lambda: turn.cancelled)

    world, task = queued(run, quick(broken))

    (outcome,) = world.run()

    assert isinstance(outcome, Done)
    assert world.head(task).state is TaskState.CANCELED


def test_a_beat_that_fails_for_the_moment_is_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    failed = threading.Semaphore(0)

    def run(turn: Turn) -> None:
        turn.working("half way")
        with monkeypatch.context() as broken:
            broken.setattr(world.tasks, "commit", throttled)
            world.clock.advance(1)
            failed.acquire(timeout=FOR_EVER)
        world.clock.advance(1)
        until(lambda: world.head(task).status.message is not None)
        turn.complete()

    def throttled(_: object) -> None:
        failed.release()
        raise OSError("throttled")

    world, task = queued(run)

    world.run()

    assert [message.text for message in world.task(task).history] == ["hello", "half way"]


# A run that has lost its task


def test_an_agent_that_looks_is_told_and_may_return_by_itself() -> None:
    def run(turn: Turn) -> None:
        canceled(world, task.id)
        until(lambda: turn.cancelled)

    world, task = queued(run, Pulse(extend=nothing, beat=0.001))

    (outcome,) = world.run()

    assert isinstance(outcome, Done)
    assert world.head(task).state is TaskState.CANCELED


async def sleeps(world: World, task_id: str) -> None:
    canceled(world, task_id)
    await asyncio.sleep(FOR_EVER)


def spins(world: World, task_id: str) -> None:
    canceled(world, task_id)
    while True:
        pass


def swallows_exceptions(world: World, task_id: str) -> None:
    canceled(world, task_id)
    while True:
        with suppress(Exception):
            time.sleep(FOR_EVER)


@pytest.mark.parametrize("stubborn", [sleeps, spins, swallows_exceptions])
def test_a_run_that_does_not_look_is_interrupted_after_its_grace(stubborn: Callable[[World, str], object]) -> None:
    world, task = queued(lambda turn: stubborn(world, turn.task.id))
    before = signal.getsignal(signal.SIGUSR1)

    (outcome,) = world.run()

    assert isinstance(outcome, Done)
    assert world.head(task).state is TaskState.CANCELED
    assert signal.getsignal(signal.SIGUSR1) is before


def test_the_side_effects_of_a_canceled_run_cease() -> None:
    ticks: list[int] = []

    def run(_turn: Turn) -> None:
        canceled(world, task.id)
        while True:
            ticks.append(1)
            time.sleep(0.001)

    world, task = queued(run)

    world.run()
    after = len(ticks)

    assert after > 0
    assert len(ticks) == after


def test_after_an_interrupted_run_the_process_runs_the_next_one() -> None:
    def run(turn: Turn) -> None:
        if turn.message.text == "hello":
            spins(world, turn.task.id)
        turn.complete()

    world, _ = queued(run)
    world.run()
    second = world.send("second")

    world.settle()

    assert world.head(second).state is TaskState.COMPLETED


def test_a_signal_that_comes_when_the_run_has_just_ended_stops_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    main, about_to_stop = threading.main_thread(), threading.Event()
    kill = signal.pthread_kill

    def stop_late(thread: int, number: int) -> None:
        about_to_stop.set()
        while sys._current_frames()[main.ident or 0].f_code.co_filename != threading.__file__:
            time.sleep(0)
        kill(thread, number)

    def run(turn: Turn) -> None:
        canceled(world, task.id)
        while not about_to_stop.is_set():
            for _ in range(1_000):
                pass

    monkeypatch.setattr(signal, "pthread_kill", stop_late)
    before = signal.getsignal(signal.SIGUSR1)
    world, task = queued(run)

    (outcome,) = world.run()

    assert isinstance(outcome, Done)
    assert signal.getsignal(signal.SIGUSR1) is before


def test_a_run_that_swallows_everything_takes_its_process_with_it() -> None:
    script = dedent("""
        import time
        from a2a_serverless.app.cancel import cancel
        from functions.run_turn.pulse import Pulse
        from tests.unit.app.world import ALICE, World, agent_that

        def run(turn):
            cancel(world.host, ALICE, turn.task.id)
            world.clock.advance(2)
            while True:
                try:
                    time.sleep(60)
                except BaseException:
                    print("swallowed", flush=True)

        pulse = Pulse(extend=lambda: None, beat=0.001, grace=0.01, last_grace=0.05)
        world = World(agent_that(run), watch=pulse)
        world.send()
        world.relay()
        world.run()
        print("survived", flush=True)
    """)

    ended = subprocess.run(
        [sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, timeout=FOR_EVER, check=False
    )

    assert (ended.returncode, ended.stdout) == (1, "swallowed\n")


def test_no_except_exception_of_an_agent_holds_the_stop_back() -> None:
    assert not issubclass(TurnStopped, Exception)


def test_a_stopped_run_is_a_lost_one() -> None:
    world, task = queued(lambda turn: None)
    writer = object()

    def stopped() -> None:
        raise TurnStopped

    with pytest.raises(LeaseLost):
        Pulse(extend=nothing, beat=FOR_EVER)(writer, stopped)  # type: ignore[arg-type]  # it comes to no beat

    assert world.head(task).state is TaskState.SUBMITTED
