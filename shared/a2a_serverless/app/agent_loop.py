"""The event loop of async agents: one for all turns of a process.

What an agent keeps from one turn to the next, such as a client with its connections, belongs to the loop that it was
made in; were there a loop for each turn, it would fail from the second on. Nothing else is shared: what still runs when
a turn is through is cancelled, and a turn's context variables are its own.
"""

import atexit
import logging
import threading
from collections.abc import Awaitable
from contextvars import copy_context
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import asyncio

_kept: "list[asyncio.Runner]" = []
"""That of the main thread, where Lambda runs handlers, unless it is in use. Other threads have one for each call."""

log = logging.getLogger(__name__)


def wait_for(result: Awaitable[None]) -> None:
    """Wait for what an async method of an agent answered, on the loop that it had before."""
    import asyncio  # costs 50 ms of a cold start: only agents that are async pay it

    if threading.current_thread() is not threading.main_thread():
        asyncio.run(_alone(result))
        return
    runner = _kept.pop() if _kept else _new()
    try:
        runner.run(_alone(result), context=copy_context())
    except Exception:
        _kept.append(runner)  # the agent's own: the loop is none the worse for it
        raise
    except BaseException:
        runner.close()  # it was stopped in the middle of something
        raise
    else:
        _kept.append(runner)


def _new() -> "asyncio.Runner":
    import asyncio

    runner = asyncio.Runner()
    atexit.register(runner.close)
    return runner


async def _alone(result: Awaitable[None]) -> None:
    """Wait for it, and let nothing that it began outlive it, as `asyncio.run` has it."""
    import asyncio

    try:
        await result
    finally:
        left = asyncio.all_tasks() - {asyncio.current_task()}
        for task in left:
            task.cancel()
        for end in await asyncio.gather(*left, return_exceptions=True):
            if isinstance(end, Exception):
                log.error("a task that an agent left behind failed when it was cancelled", exc_info=end)
