"""Fetches the authoritative task, from the address and with the credentials this receiver was configured with."""

import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import CancelledError, Future
from dataclasses import dataclass
from typing import Final, Literal

from .credentials import Credentials
from .https import Exchange, exchange
from .nudge import NUDGE_EXTENSION, Nudge
from .task_calls import AccessDenied, AgentCalls, AgentUnavailable, FetchError, TaskNotFound
from .told import read_seq

__all__ = [
    "AccessDenied",
    "AgentUnavailable",
    "FetchError",
    "FetchedTask",
    "TaskBehind",
    "TaskClient",
    "TaskNotFound",
]

WAITS: Final = (0.2, 0.5, 1.0, 2.0, 4.0)
"""Seconds between the tries for one nudge: an agent's reads may lag behind its nudges, by no more than these."""


@dataclass(frozen=True, slots=True)
class FetchedTask:
    """A task as the agent gave it (A2A 1.0 JSON), and the version it states."""

    task: Mapping[str, object]
    seq: int | None
    """None when the agent states no version."""

    @property
    def task_id(self) -> str:
        """The task's id."""
        return str(self.task["id"])

    @property
    def state(self) -> str | None:
        """`TASK_STATE_COMPLETED` and so on."""
        status = self.task.get("status")
        return str(status["state"]) if isinstance(status, dict) and "state" in status else None

    def reaches(self, seq: int | None) -> bool:
        """Whether this is the task at version `seq` or later, as far as it states one."""
        return seq is None or self.seq is None or self.seq >= seq


class TaskBehind(FetchError):
    """The agent still shows an older version than its nudge spoke of. `fetched` is what it shows."""

    def __init__(self, fetched: FetchedTask, seq: int) -> None:
        """What was fetched, and the version that was told."""
        super().__init__(f"task {fetched.task_id} is at version {fetched.seq}, the nudge told of {seq}")
        self.fetched = fetched


class TaskClient:
    """Thread-safe. Calls for the same task at the same time share one fetch."""

    def __init__(
        self,
        base_url: str,
        *,
        credentials: Credentials | None = None,
        binding: Literal["JSONRPC", "HTTP+JSON"] = "JSONRPC",
        extension_uri: str = NUDGE_EXTENSION,
        allow_loopback_http: bool = False,
        ask: Exchange = exchange,
        sleep: Callable[[float], None] = time.sleep,
        waits: Sequence[float] = WAITS,
    ) -> None:
        """Tasks of the agent at `base_url`, the URL of the interface that speaks `binding` in its card.

        `credentials` are yours; None for an agent that asks for none. `extension_uri` is the metadata key under which
        its tasks carry their version. `waits` are the seconds between the tries of `fetch`; `ask` and `sleep` are for
        tests to replace.

        Raises:
            ConfigError: the URL is not https (or allowed loopback http).
        """
        self._calls = AgentCalls(
            base_url, credentials, binding=binding, allow_loopback_http=allow_loopback_http, ask=ask
        )
        self._extension_uri = extension_uri
        self._sleep = sleep
        self._waits = waits
        self._lock = threading.Lock()
        self._flights: dict[str, Future[FetchedTask]] = {}

    def fetch(self, nudge: Nudge) -> FetchedTask:
        """The task at the nudge's version or later.

        Raises:
            TaskNotFound: still not there, or not yours, after the last try.
            TaskBehind: still older than the nudge after the last try.
            AgentUnavailable: no usable answer after the last try.
            AccessDenied: the agent refuses these credentials.
        """
        own: Future[FetchedTask] = Future()
        with self._lock:
            under_way = self._flights.get(nudge.task_id) if nudge.seq is not None else None
            if under_way is None:
                self._flights[nudge.task_id] = own
        if under_way is None:
            return self._lead(nudge, own)
        # A fetch that was under way already may have read before the change: its version must say it did not.
        shared = _result_of(under_way)
        if shared is not None and shared.seq is not None and shared.reaches(nudge.seq):
            return shared
        return self._fetch_until_current(nudge)

    def get(self, task_id: str) -> FetchedTask:
        """The task as it is now, asked for once.

        Raises:
            FetchError: as for `fetch`.
        """
        return self._read(self._calls.get_task(task_id))

    def changed_since(self, timestamp: str, *, max_pages: int = 1000) -> Iterator[FetchedTask]:
        """Every task whose status is not older than `timestamp` (ISO 8601), newest first, without artifacts.

        At most `max_pages` pages of 100 are asked for, so that an agent whose list never ends does not keep us.

        Raises:
            FetchError: a page could not be had.
        """
        token = ""
        for _ in range(max_pages):
            tasks, token = self._calls.list_tasks(status_timestamp_after=timestamp, page_token=token)
            yield from map(self._read, tasks)
            if not token:
                return

    def _lead(self, nudge: Nudge, flight: Future[FetchedTask]) -> FetchedTask:
        try:
            fetched = self._fetch_until_current(nudge)
            flight.set_result(fetched)
            return fetched
        finally:
            flight.cancel()  # does nothing to one that has its result; else lets the others try for themselves
            with self._lock:
                if self._flights.get(nudge.task_id) is flight:
                    del self._flights[nudge.task_id]

    def _fetch_until_current(self, nudge: Nudge) -> FetchedTask:
        for wait in self._waits:
            try:
                fetched = self.get(nudge.task_id)
                if fetched.reaches(nudge.seq):
                    return fetched
            except (TaskNotFound, AgentUnavailable):
                pass
            self._sleep(wait)
        fetched = self.get(nudge.task_id)
        if nudge.seq is not None and not fetched.reaches(nudge.seq):
            raise TaskBehind(fetched, nudge.seq)
        return fetched

    def _read(self, task: Mapping[str, object]) -> FetchedTask:
        metadata = task.get("metadata")
        extension = metadata.get(self._extension_uri) if isinstance(metadata, dict) else None
        return FetchedTask(task, read_seq(extension.get("seq")) if isinstance(extension, dict) else None)


def _result_of(flight: Future[FetchedTask]) -> FetchedTask | None:
    try:
        return flight.result()
    except CancelledError:
        return None
