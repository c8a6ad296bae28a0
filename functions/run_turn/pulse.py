"""The pulse beside a running agent: it keeps the lease and the delivery alive, and stops a run that has lost its task.

Lambda runs handlers in the main thread, so a run that does not stop by itself is interrupted by a signal there; one
that swallows even that takes its process with it, which costs a cold start and nothing else.
"""

import logging
import os
import signal
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from types import FrameType
from typing import Final

from a2a_serverless.app.turn_writer import TurnWriter
from a2a_serverless.errors import LeaseLost

_BEAT: Final = 0.1
"""Seconds between two looks at what is due."""
_EXTEND_EVERY: Final = 10.0
_GRACE: Final = 5.0
"""How long an agent may take to notice `turn.cancelled`."""
_LAST_GRACE: Final = 2.0

log = logging.getLogger(__name__)


class TurnStopped(BaseException):
    """Raised in the agent's thread when its run is stopped for real. No `except Exception` holds it back."""


class _Run:
    """A run that a signal interrupts, but only while it runs: one that comes late finds nothing to stop."""

    def __init__(self) -> None:
        self._running = False

    def __call__(self, run: Callable[[], None]) -> None:
        self._running = True
        try:
            run()
        finally:
            self._running = False

    def interrupt(self, _number: int, _frame: FrameType | None) -> None:
        """The signal's handler."""
        if self._running:
            raise TurnStopped


@dataclass(frozen=True, slots=True, kw_only=True)
class Pulse:
    """Watches one run. `extend` keeps its delivery from coming back to another worker; times are seconds."""

    extend: Callable[[], None]
    beat: float = _BEAT
    grace: float = _GRACE
    last_grace: float = _LAST_GRACE
    extend_every: float = _EXTEND_EVERY

    def __call__(self, writer: TurnWriter, run: Callable[[], None]) -> None:
        """Run the agent while the pulse beats.

        Raises:
            LeaseLost: the run was stopped because it had lost its task.
        """
        over, interruptible = threading.Event(), _Run()
        before = signal.signal(signal.SIGUSR1, interruptible.interrupt)
        thread = threading.Thread(target=self._watch, args=(writer, over), name="pulse", daemon=True)
        thread.start()
        try:
            interruptible(run)
        except TurnStopped:
            raise LeaseLost("the run was stopped") from None
        finally:
            over.set()
            thread.join()
            signal.signal(signal.SIGUSR1, before)

    def _watch(self, writer: TurnWriter, over: threading.Event) -> None:
        """Beat. Whoever starts the run has just extended its delivery."""
        extend_at = time.monotonic() + self.extend_every
        while not over.wait(self.beat):
            if not _ticked(writer):
                self._stop(writer, over)
                return
            if time.monotonic() >= extend_at:
                self._extend(writer)
                extend_at = time.monotonic() + self.extend_every

    def _extend(self, writer: TurnWriter) -> None:
        """A delivery that comes back too early finds the lease taken; the pulse must beat on."""
        try:
            self.extend()
        except Exception:
            log.exception("the delivery was not extended", extra={"task_id": writer.head.key.task_id})

    def _stop(self, writer: TurnWriter, over: threading.Event) -> None:
        """Give the agent its grace, then interrupt it, then end the process."""
        if over.wait(self.grace):
            return
        log.warning("the run did not stop by itself", extra={"task_id": writer.head.key.task_id})
        signal.pthread_kill(_main_thread_id(), signal.SIGUSR1)
        if over.wait(self.last_grace):
            return
        log.error("the run would not stop, its process ends", extra={"task_id": writer.head.key.task_id})
        os._exit(1)


def _ticked(writer: TurnWriter) -> bool:
    """Do what is due; False once the task is lost. What fails for the moment is tried again at the next beat."""
    try:
        writer.tick()
    except LeaseLost:
        return False
    except Exception:
        log.exception("a beat failed", extra={"task_id": writer.head.key.task_id})
    return not writer.lost


def _main_thread_id() -> int:
    identifier = threading.main_thread().ident
    if identifier is None:
        raise RuntimeError("the main thread has no id: it has not started")
    return identifier
