"""Everything else of the engine in the state file: what was deployed, keys, secrets, schedules, buckets' settings.

It changes seldom, so a service is stored as a whole: all of them after a deployment, one after a call that changed it.
"""

import copy
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from a2a_serverless.local.patches.target import module, replace
from a2a_serverless.local.state.file import StateFile, Write

State = Mapping[str, Any]

_STORED_AFTER_CALLS = frozenset({"scheduler", "secretsmanager", "ssm", "s3", "kms"})
"""Services that functions change while the stack runs (tables, queues and executions have journals of their own)."""

_READS = ("Get", "List", "Describe", "Decrypt", "Encrypt", "GenerateData", "Sign", "Verify", "Batch")


class ServiceStore:
    """Stores ministack's services and gives them back when it starts."""

    def __init__(self, file: StateFile, restore_journals: Callable[[], None]) -> None:
        self._file = file
        self._restore_journals = restore_journals
        self._app: Any = module("app")
        self._persistence: Any = module("core.persistence")

    def patch(self) -> None:
        """Load from the file in the place of ministack's own snapshots, and follow the calls that change a service."""
        app = self._app
        app.PERSIST_STATE = self._persistence.PERSIST_STATE = True
        replace(app, "load_state", self.load, signature="service")
        replace(app, "save_all", lambda _: self.store_all(), signature="services")
        self._load_all = replace(app, "_load_persisted_state", self.load_all, signature="")
        request = "method, path, headers, body, query_params, request_id"
        self._dispatch = replace(app, "_dispatch_service_request", self.dispatch, signature=request)
        scheduler: Any = module("services.scheduler")
        self._tick = replace(scheduler, "_tick_schedules", self.tick, signature="")

    def load(self, service: str) -> State | None:
        """The stored state of one service."""
        found = self._file.rows("SELECT state FROM services WHERE name = ?", service)
        if not found:
            return None
        state: State = json.loads(found[0][0], object_hook=self._persistence._json_object_hook)
        return state

    def load_all(self) -> None:
        """Bring every service back, then what the journals hold."""
        self._load_all()
        if not self._file.is_new:
            self._restore_journals()

    def store_all(self) -> None:
        """Store every service that was used; call it on the engine's loop."""
        services: Mapping[str, Callable[[], State | None]] = self._app._build_persistence_save_dict()
        writes = [write for name, get_state in services.items() if (write := self._stored(name, get_state))]
        self._file.write(writes)

    def _stored(self, name: str, get_state: Callable[[], State | None]) -> Write | None:
        state = _without_journaled_content(name, get_state)
        if state is None:
            return None
        text = json.dumps(state, default=self._persistence._json_default)
        return "INSERT OR REPLACE INTO services VALUES (?, ?)", (name, text)

    async def dispatch(self, method: str, path: str, headers: Mapping[str, str], *rest: Any) -> Any:
        """One API call: store its service if the call may have changed it."""
        response = await self._dispatch(method, path, headers, *rest)
        service = self._app.detect_service(method, path, headers, rest[1])
        if service in _STORED_AFTER_CALLS and response[0] < 300 and not _is_read(method, headers):
            self._store_one(service)
        return response

    def tick(self) -> None:
        """A schedule that fired once is gone: it must not fire again after a restart."""
        schedules = self._app._get_module("scheduler")._schedules._data
        before = len(schedules)
        self._tick()
        if len(schedules) != before:
            self._store_one("scheduler")

    def _store_one(self, name: str) -> None:
        if write := self._stored(name, self._app._get_module(name).get_state):
            self._file.write([write])


def _is_read(method: str, headers: Mapping[str, str]) -> bool:
    operation = headers.get("x-amz-target", "").rpartition(".")[2]
    return operation.startswith(_READS) if operation else method in ("GET", "HEAD")


def _without_journaled_content(name: str, get_state: Callable[[], State | None]) -> State | None:
    """A service's state without what has a journal of its own: that is large, and stored already."""
    match name:
        case "dynamodb":
            with _emptied(module("services.dynamodb")._tables.all_values(), "items"):
                return get_state()
        case "sqs":
            with _emptied(module("services.sqs")._queues.all_values(), "messages"):
                return get_state()
        case "stepfunctions":
            states: Any = module("services.stepfunctions")
            stores = (
                "state_machines",
                "state_machine_versions",
                "state_machine_aliases",
                "tags",
                "activities",
                "map_runs",
            )
            return {store: copy.deepcopy(getattr(states, f"_{store}")) for store in stores}
        case _:
            return get_state()


@contextmanager
def _emptied(holders: Iterable[dict[str, Any]], key: str) -> Iterator[None]:
    """Holders with an empty container under `key`, for as long as nothing else runs on the loop."""
    held = [(holder, holder[key]) for holder in holders]
    for holder, content in held:
        holder[key] = type(content)()
    try:
        yield
    finally:
        for holder, content in held:
            holder[key] = content
