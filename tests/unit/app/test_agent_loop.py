"""Async agents share a loop over their turns: what they keep goes on working, and what they leave behind does not."""

import asyncio
import logging
import socketserver
import threading
from collections.abc import Callable, Iterator
from contextvars import ContextVar

import pytest

from a2a_serverless.agent import Turn
from a2a_serverless.app.agent_loop import wait_for
from a2a_serverless.types import TaskState
from tests.unit.app.world import World, agent_that


class Echo(socketserver.StreamRequestHandler):
    """Says each line again, and keeps the connection."""

    def handle(self) -> None:
        for line in self.rfile:
            self.wfile.write(line)


@pytest.fixture
def echo() -> Iterator[int]:
    """The port of a server that echoes lines."""
    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Echo) as server:
        server.daemon_threads = True
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield server.server_address[1]
        server.shutdown()
        thread.join()


def test_a_connection_that_an_agent_keeps_works_in_its_next_turn(echo: int) -> None:
    """With a loop for each turn, `Event loop is closed` is all that a client of a warm process ever says."""
    kept: list[tuple[asyncio.StreamReader, asyncio.StreamWriter]] = []

    async def run(turn: Turn) -> None:
        if not kept:
            kept.append(await asyncio.open_connection("127.0.0.1", echo))
        reader, writer = kept[0]
        writer.write(f"{turn.message.text}\n".encode())
        turn.complete((await reader.readline()).decode().strip())

    async def close() -> None:
        kept[0][1].close()
        await kept[0][1].wait_closed()

    world, done = World(agent_that(run)), []
    for text in ("one", "two", "three"):
        task = world.send(text)
        world.settle()
        done.append(world.task(task))
    wait_for(close())

    assert [task.status.state for task in done] == [TaskState.COMPLETED] * 3
    assert [task.status.message and task.status.message.text for task in done] == ["one", "two", "three"]


def loop_of_a_turn() -> asyncio.AbstractEventLoop:
    found: list[asyncio.AbstractEventLoop] = []

    async def look() -> None:
        found.append(asyncio.get_running_loop())

    wait_for(look())
    return found[0]


def test_a_turn_that_fails_leaves_the_loop_as_it_was() -> None:
    async def fails() -> None:
        raise ValueError("mine")

    before = loop_of_a_turn()
    with pytest.raises(ValueError, match="mine"):
        wait_for(fails())

    assert loop_of_a_turn() is before


@pytest.mark.parametrize("end", [SystemExit, KeyboardInterrupt, asyncio.CancelledError, GeneratorExit])
def test_a_turn_that_is_stopped_takes_its_loop_along(end: type[BaseException]) -> None:
    async def stopped() -> None:
        raise end

    before = loop_of_a_turn()
    with pytest.raises(end):
        wait_for(stopped())

    assert before.is_closed()
    assert not loop_of_a_turn().is_closed()


def test_what_still_runs_when_a_turn_is_through_is_cancelled() -> None:
    told: list[str] = []
    left: list[asyncio.Task[None]] = []

    async def forever() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            told.append("cancelled")

    async def leaves() -> None:
        left.append(asyncio.get_running_loop().create_task(forever()))
        await asyncio.sleep(0)

    wait_for(leaves())

    assert told == ["cancelled"]
    assert left[0].cancelled()


def test_what_fails_as_it_is_cancelled_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    left: list[asyncio.Task[None]] = []

    async def clings() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            raise OSError("the connection would not close")

    async def leaves() -> None:
        left.append(asyncio.get_running_loop().create_task(clings()))
        await asyncio.sleep(0)

    with caplog.at_level(logging.ERROR):
        wait_for(leaves())

    assert "would not close" in caplog.text


WHO: ContextVar[str] = ContextVar("who", default="nobody")


def test_a_context_variable_of_one_turn_is_not_seen_by_the_next() -> None:
    seen: list[str] = []

    async def looks() -> None:
        seen.append(WHO.get())
        WHO.set("alice")

    wait_for(looks())
    wait_for(looks())

    assert seen == ["nobody", "nobody"]
    assert WHO.get() == "nobody"


def in_threads(call: Callable[[], None], count: int) -> None:
    threads = [threading.Thread(target=call) for _ in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def test_other_threads_have_loops_of_their_own() -> None:
    met = threading.Barrier(3, timeout=20)
    loops: set[int] = set()

    async def meets() -> None:
        loops.add(id(asyncio.get_running_loop()))
        met.wait()

    in_threads(lambda: wait_for(meets()), 3)

    assert len(loops) == 3
    assert id(loop_of_a_turn()) not in loops
