"""Runs code on the engine's event loop, where ministack keeps its queues and streams consistent.

SendMessage and DeleteMessage replace and extend the list of a queue's messages without a lock, because they run on
the loop one after the other. A thread that did the same would lose messages now and then.
"""

import asyncio
from collections.abc import Callable
from contextvars import copy_context
from typing import Any, TypeVar

from a2a_serverless.local.patches.target import module

T = TypeVar("T")


def on_loop(call: Callable[[], T]) -> T:
    """Perform `call` on the engine's loop, in the caller's context, and wait for its result.

    Called from the loop itself, or while no engine serves, it is performed here.
    """
    app: Any = module("app")
    loop: asyncio.AbstractEventLoop | None = app._MAIN_LOOP
    if loop is None or not loop.is_running() or _is_here(loop):
        return call()
    context = copy_context()

    async def perform() -> T:
        return context.run(call)

    return asyncio.run_coroutine_threadsafe(perform(), loop).result()


def _is_here(loop: asyncio.AbstractEventLoop) -> bool:
    try:
        return asyncio.get_running_loop() is loop
    except RuntimeError:
        return False
