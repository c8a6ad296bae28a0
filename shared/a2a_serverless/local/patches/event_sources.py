"""Event source mappings: one poller thread per mapping, with the rules of SQS and of DynamoDB streams.

Stock ministack polls all mappings in one thread and runs stream functions inside it, so that one slow function
delays all; it ignores partial batch failures of streams (and so drops records), retry limits, bisection and
failure destinations, and it asks no role.
"""

import contextvars
import logging
import threading
from collections.abc import Callable
from typing import Any

from a2a_serverless.local.patches.queue_mapping import QueueMapping
from a2a_serverless.local.patches.roles import RoleGate
from a2a_serverless.local.patches.stream_mapping import StreamMapping
from a2a_serverless.local.patches.target import expect, module, replace

_log = logging.getLogger(__name__)


class Bell:
    """Wakes every poller when any source has gained work."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._rings = 0

    @property
    def rings(self) -> int:
        """How often it has rung: take this before looking for work."""
        return self._rings

    def ring(self) -> None:
        """Wake everybody."""
        with self._changed:
            self._rings += 1
            self._changed.notify_all()

    def wait(self, *, since: int, seconds: float) -> None:
        """Wait for a ring after `since`, at most so long."""
        with self._changed:
            self._changed.wait_for(lambda: self._rings != since, timeout=seconds)


class Pollers:
    """Keeps one thread per mapping, for as long as the mapping exists."""

    _LOOK_SECONDS = 1.0
    """How soon a created or deleted mapping is noticed when nothing else happens."""

    def __init__(self, gate: RoleGate, *, batches_in_flight: int, advanced: Callable[[str, str, int], None]) -> None:
        """`advanced` is told each checkpoint of a stream: the mapping's id, the stream and the position."""
        self._advanced = advanced
        self._service: Any = module("services.lambda_svc")
        self._gate = gate
        self._batches_in_flight = batches_in_flight
        self._bell = Bell()
        self._on = threading.Event()
        self._on.set()
        self._threads: dict[str, threading.Thread] = {}

    def patch(self) -> None:
        """Take the place of ministack's poll loop, which it starts with the first mapping."""
        expect(self._service, "_iter_all_esms", signature="")
        expect(self._service, "_apply_filter_criteria", signature="records, esm")
        expect(self._service, "_get_func_record_for_qualifier", signature="name, qualifier")
        failure = "esm, func_rec, batch, stream_arn, result, condition"
        expect(self._service, "_send_ddb_stream_failure_record", signature=failure)
        records = "table_name, position, limit, account_id, region"
        expect(module("services.dynamodb"), "stream_records_since", signature=records)
        replace(self._service, "_poll_loop", self.supervise, signature="")

    def hold(self) -> None:
        """Begin no batch until `go_on`: a deployment replaces the functions, and would end whoever works one off."""
        self._on.clear()

    def go_on(self) -> None:
        """Poll, or poll again."""
        self._on.set()

    def supervise(self) -> None:
        """Start a thread for every new mapping and pass ministack's one wake signal on to all of them."""
        wake = self._service._esm_wake
        while True:
            for account, region, mapping in self._service._iter_all_esms():
                self._ensure_thread(account, region, mapping)
            wake.wait(self._LOOK_SECONDS)
            wake.clear()
            self._bell.ring()

    def _ensure_thread(self, account: str, region: str, mapping: dict[str, Any]) -> None:
        name = mapping["UUID"]
        thread = self._threads.get(name)
        if thread and thread.is_alive():
            return
        context = contextvars.copy_context()
        context.run(_enter_scope, account, region)
        thread = threading.Thread(
            target=context.run, args=(self._poll, mapping), daemon=True, name=f"mapping-{name[:8]}"
        )
        self._threads[name] = thread
        thread.start()

    def _poll(self, mapping: dict[str, Any]) -> None:
        """Poll one mapping until it is deleted."""
        source = self._source(mapping)
        if source is None:
            return
        while mapping["UUID"] in self._service._esms:
            self._on.wait()
            rings = self._bell.rings
            try:
                idle = source.poll() if mapping.get("Enabled", True) else self._LOOK_SECONDS
            except Exception:  # noqa: BLE001 (the outermost edge of a thread that must go on)
                _log.exception("event source mapping of %s", mapping["EventSourceArn"])
                idle = self._LOOK_SECONDS
            if idle:
                self._bell.wait(since=rings, seconds=idle)

    def _source(self, mapping: dict[str, Any]) -> QueueMapping | StreamMapping | None:
        match mapping["EventSourceArn"].split(":")[2]:
            case "sqs":
                limit = self._batches_in_flight
                return QueueMapping(mapping, self._service, self._gate, self._bell.ring, batches_in_flight=limit)
            case "dynamodb":
                return StreamMapping(mapping, self._service, self._gate, advanced=self._advanced)
            case service:
                _log.error("event source mappings of %s are not polled locally", service)
                return None


def _enter_scope(account: str, region: str) -> None:
    responses: Any = module("core.responses")
    responses.set_request_account_id(account)
    responses.set_request_region(region)
