"""A replay store in one SQLite file: for one machine with several processes."""

import contextlib
import sqlite3
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Final

_SCHEMA: Final = """
CREATE TABLE IF NOT EXISTS message (key TEXT PRIMARY KEY, until REAL NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS version (task_key TEXT PRIMARY KEY, seq INTEGER NOT NULL, until REAL NOT NULL)
    WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS message_until ON message (until);
CREATE INDEX IF NOT EXISTS version_until ON version (until);
"""
_RAISE_SEQ: Final = """
INSERT INTO version (task_key, seq, until) VALUES (:task_key, :seq, :until)
ON CONFLICT (task_key) DO UPDATE SET
    seq = CASE WHEN until > :now THEN max(seq, excluded.seq) ELSE excluded.seq END,
    until = excluded.until
"""
_PURGE_EVERY: Final = 3600


class SqliteStore:
    """See `a2a_receiver.ReplayStore`. Thread-safe; several processes may share the file."""

    def __init__(self, path: str | Path, *, busy_timeout: float = 5.0) -> None:
        """The file at `path` is made if need be; a write waits `busy_timeout` seconds for another process."""
        self._lock = threading.Lock()
        self._purged_at = 0.0
        self._db = sqlite3.connect(path, timeout=busy_timeout, check_same_thread=False, isolation_level=None)
        self._db.execute("PRAGMA journal_mode = WAL")
        self._db.execute("PRAGMA synchronous = NORMAL")
        self._db.executescript(_SCHEMA)

    def close(self) -> None:
        """Close the file. The store cannot be used afterwards."""
        with self._lock:
            self._db.close()

    def seen(self, key: str, *, now: float) -> bool:
        """See `ReplayStore`."""
        with self._lock:
            found = self._db.execute("SELECT 1 FROM message WHERE key = ? AND until > ?", (key, now)).fetchone()
        return found is not None

    def max_seq(self, task_key: str, *, now: float) -> int | None:
        """See `ReplayStore`."""
        with self._lock:
            row = self._db.execute(
                "SELECT seq FROM version WHERE task_key = ? AND until > ?", (task_key, now)
            ).fetchone()
        return None if row is None else int(row[0])

    def mark(self, key: str | None, *, task_key: str, seq: int | None, now: float, until: float) -> None:
        """See `ReplayStore`."""
        with self._transaction():
            if key is not None:
                self._db.execute("INSERT OR REPLACE INTO message VALUES (?, ?)", (key, until))
            if seq is not None:
                row = {"task_key": task_key, "seq": seq, "now": now, "until": until}
                self._db.execute(_RAISE_SEQ, row)
            if not 0 <= now - self._purged_at < _PURGE_EVERY:
                self._purged_at = now
                self._db.execute("DELETE FROM message WHERE until <= ?", (now,))
                self._db.execute("DELETE FROM version WHERE until <= ?", (now,))

    @contextlib.contextmanager
    def _transaction(self) -> Iterator[None]:
        with self._lock:
            self._db.execute("BEGIN IMMEDIATE")
            try:
                yield
            except BaseException:
                self._db.execute("ROLLBACK")
                raise
            self._db.execute("COMMIT")
