"""The file that keeps a stack's state: SQLite, written before a change is acknowledged, held by one process.

ministack itself saves only on a clean shutdown, so a kill would lose everything that was accepted.
"""

import sqlite3
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import Any

from a2a_serverless.local.failure import StackFailedError

_SCHEMA = """
CREATE TABLE IF NOT EXISTS meta (name TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS services (name TEXT PRIMARY KEY, state TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS items (
    scope TEXT, pk TEXT, sk TEXT, item TEXT NOT NULL, PRIMARY KEY (scope, pk, sk)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS records (
    scope TEXT, position INTEGER, record TEXT NOT NULL, PRIMARY KEY (scope, position)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS positions (mapping TEXT PRIMARY KEY, scope TEXT NOT NULL, position INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS messages (scope TEXT, id TEXT, message TEXT NOT NULL, PRIMARY KEY (scope, id));
CREATE TABLE IF NOT EXISTS executions (scope TEXT, arn TEXT PRIMARY KEY, execution TEXT NOT NULL, checkpoint TEXT);
CREATE TABLE IF NOT EXISTS tokens (
    token TEXT PRIMARY KEY, machine TEXT NOT NULL, output TEXT, error TEXT, at REAL NOT NULL);
"""

Write = tuple[str, Sequence[Any]]


class StateFile:
    """One open state file."""

    def __init__(self, folder: Path, *, written_by: str) -> None:
        """Open the file in `folder` and hold it; `written_by` names the emulator whose state it is.

        Raises:
            StackFailedError: another stack holds it, another emulator wrote it, or no state can be kept there.
        """
        self.folder = folder
        self._lock = threading.RLock()
        self._batch: ContextVar[list[Write] | None] = ContextVar("batch", default=None)
        self._database = _opened(folder)
        self._require(folder, written_by)

    def _require(self, folder: Path, written_by: str) -> None:
        found = self.meta("written_by")
        if found is not None and found != written_by:
            self.close()
            raise StackFailedError(
                f"the state in {folder} was written by {found}, but this is {written_by}: take another STATE_DIR"
            )
        self.set_meta("written_by", written_by)

    @property
    def is_new(self) -> bool:
        """Whether nothing was deployed into this state yet."""
        return not self.rows("SELECT 1 FROM services LIMIT 1")

    def meta(self, name: str) -> str | None:
        """A remembered value."""
        found = self.rows("SELECT value FROM meta WHERE name = ?", name)
        return str(found[0][0]) if found else None

    def set_meta(self, name: str, value: str) -> None:
        """Remember a value."""
        self.write([("INSERT OR REPLACE INTO meta VALUES (?, ?)", (name, value))])

    def rows(self, query: str, *parameters: Any) -> list[tuple[Any, ...]]:
        """What a query finds."""
        with self._lock:
            return self._database.execute(query, parameters).fetchall()

    def write(self, writes: Iterable[Write]) -> None:
        """Store these changes together, now or, inside `together`, with the others of it."""
        batch = self._batch.get()
        if batch is not None:
            batch.extend(writes)
        else:
            self._commit(list(writes))

    @contextmanager
    def together(self) -> Iterator[None]:
        """Store all changes made inside, by this task or thread, at once when it ends."""
        batch: list[Write] = []
        token = self._batch.set(batch)
        try:
            yield
        finally:
            self._batch.reset(token)
            self._commit(batch)

    def _commit(self, writes: list[Write]) -> None:
        if not writes:
            return
        with self._lock:
            self._database.execute("BEGIN")
            try:
                for statement, parameters in writes:
                    self._database.execute(statement, parameters)
            except BaseException:
                self._database.execute("ROLLBACK")
                raise
            self._database.execute("COMMIT")

    def close(self) -> None:
        """Let go of the file."""
        with self._lock:
            self._database.close()


def _opened(folder: Path) -> sqlite3.Connection:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        database = sqlite3.connect(folder / "state.sqlite", check_same_thread=False, isolation_level=None, timeout=0.2)
    except (OSError, sqlite3.Error) as error:
        raise _cannot_keep(folder, error) from error
    try:
        # Exclusive: a second stack on the same state would tear it apart.
        for pragma in ("locking_mode=EXCLUSIVE", "journal_mode=WAL", "synchronous=NORMAL"):
            database.execute(f"PRAGMA {pragma}").fetchone()
        database.execute("BEGIN EXCLUSIVE")
        database.execute("COMMIT")
        database.executescript(_SCHEMA)
    except sqlite3.Error as error:
        database.close()
        raise _cannot_keep(folder, error) from error
    return database


def _cannot_keep(folder: Path, error: OSError | sqlite3.Error) -> StackFailedError:
    if isinstance(error, sqlite3.Error) and "locked" in str(error):
        return StackFailedError(
            f"the state in {folder} is in use by another stack: give each its own STATE_DIR ({error})"
        )
    reason = error.strerror if isinstance(error, OSError) else error
    return StackFailedError(f"no state can be kept in STATE_DIR={folder}: {reason}; give a folder that can be written")
