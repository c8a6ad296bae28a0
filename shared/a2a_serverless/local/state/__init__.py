"""Keeps a stack's state over a hard kill: what was acknowledged is there when the stack is started again.

`file` is the SQLite file; `tables`, `queues` and `executions` store each change as it happens; `services` stores the
rest as a whole. Restarted, the engine goes on: hidden messages come back, streams are read on from the last
checkpoint, and executions wait on for the same token until the same deadline.
"""

from pathlib import Path

from a2a_serverless.local.patches.step_functions import Executions
from a2a_serverless.local.patches.target import EXPECTED
from a2a_serverless.local.state.executions import ExecutionKeeper
from a2a_serverless.local.state.file import StateFile
from a2a_serverless.local.state.queues import QueueJournal
from a2a_serverless.local.state.services import ServiceStore
from a2a_serverless.local.state.tables import TableJournal

__all__ = ["KeptState", "StateFile", "open_state"]


def open_state(folder: Path) -> StateFile:
    """Open the state in a folder, or make it.

    Raises:
        StackFailedError: another stack holds it, or another emulator wrote it.
    """
    return StateFile(folder, written_by=f"ministack {EXPECTED}")


class KeptState:
    """The journals of one engine."""

    def __init__(self, file: StateFile) -> None:
        self.executions = ExecutionKeeper(file)
        self.tables = TableJournal(file)
        self._queues = QueueJournal(file)
        self._services = ServiceStore(file, self._restore)
        self._walks: Executions | None = None

    def patch(self, walks: Executions) -> None:
        """Follow every change from now on, and restore what is stored when the engine starts."""
        self._walks = walks
        self.tables.patch()
        self._queues.patch()
        self._services.patch()

    def store_services(self) -> None:
        """Store what was deployed; call it on the engine's loop."""
        self._services.store_all()

    def _restore(self) -> None:
        assert self._walks, "restored before it was patched"
        self.tables.restore()
        self._queues.restore()
        self.executions.restore(self._walks)
