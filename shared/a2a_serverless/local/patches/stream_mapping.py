"""A DynamoDB stream event source mapping: records in order, retried as the mapping says, never silently dropped.

One batch at a time. `ParallelizationFactor` is ignored: with it AWS runs several batches at once and keeps the order
of each key, which one batch at a time keeps as well.
"""

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from a2a_serverless.local.patches.loop import on_loop
from a2a_serverless.local.patches.queue_mapping import DENIED_SECONDS, failures_of, note_problem
from a2a_serverless.local.patches.roles import RoleGate
from a2a_serverless.local.patches.target import module

_log = logging.getLogger(__name__)

NEEDED = ("dynamodb:DescribeStream", "dynamodb:GetRecords", "dynamodb:GetShardIterator", "dynamodb:ListStreams")
"""What the function's role must allow on the stream (Lambda guide, "Using Lambda with DynamoDB")."""

_IDLE_SECONDS = 1.0
_FIRST_BACKOFF_SECONDS = 0.2
_LONGEST_BACKOFF_SECONDS = 5.0

Record = dict[str, Any]


@dataclass(frozen=True)
class Batch:
    """Records from a position of the stream on, with those among them that the filter lets through."""

    position: int
    raw: list[Record]
    kept: list[Record]

    def index_of(self, sequence_numbers: set[str]) -> int | None:
        """The index in `raw` of the first record that is named; None when a name is unknown."""
        order = [record["dynamodb"]["SequenceNumber"] for record in self.raw]
        if not sequence_numbers <= set(order):
            return None
        return min(order.index(number) for number in sequence_numbers)


class StreamMapping:
    """Reads one stream for one function."""

    def __init__(
        self, mapping: dict[str, Any], service: Any, gate: RoleGate, *, advanced: Callable[[str, str, int], None]
    ) -> None:
        """`advanced` is told each checkpoint: the mapping's id, the stream and the position."""
        self._advanced = advanced
        self._mapping = mapping
        self._lambda = service
        self._tables: Any = module("services.dynamodb")
        self._gate = gate
        self._arn: str = mapping["EventSourceArn"]
        self._table = self._arn.split("/")[1]
        self._attempts = 0
        """Failed attempts for the record at the present position."""
        self._size: int | None = None
        """A smaller batch than configured, after bisection."""
        self._not_before = 0.0

    def poll(self) -> float:
        """Perform one batch when there is one; returns how long to rest (0: look again at once)."""
        function, _ = self._lambda._get_func_record_for_qualifier(
            self._mapping["FunctionName"], self._mapping.get("Qualifier")
        )
        if function is None or not self._is_current():
            return _IDLE_SECONDS
        if denied := self._gate.first_denied(function, NEEDED, self._arn):
            note_problem(self._mapping, denied)
            return DENIED_SECONDS
        if (rest := self._not_before - time.time()) > 0:
            return rest
        batch = on_loop(self._read)
        if not batch.raw:
            return _IDLE_SECONDS
        self._perform(function, batch)
        return 0.0

    def _is_current(self) -> bool:
        table = self._tables._tables.get(self._table)
        return bool(table) and table.get("LatestStreamArn") == self._arn

    def _read(self) -> Batch:
        """On the loop: the next records of the stream."""
        positions = self._lambda._dynamodb_stream_positions
        name = self._mapping["UUID"]
        if name not in positions:
            self._lambda._init_stream_position(name, self._arn, self._mapping.get("StartingPosition", "LATEST"))
        position = max(positions[name], self._tables.stream_start_position(self._table))
        size = self._size or int(self._mapping.get("BatchSize") or 100)
        raw = self._tables.stream_records_since(self._table, position, size)
        return Batch(position, raw, self._lambda._apply_filter_criteria(raw, self._mapping))

    def _perform(self, function: dict[str, Any], batch: Batch) -> None:
        if not batch.kept:
            self._advance(batch.position + len(batch.raw))
            return
        result = self._lambda._execute_function(function, {"Records": batch.kept})
        match self._first_failed(batch, result):
            case None:
                self._advance(batch.position + len(batch.raw))
                self._mapping["LastProcessingResult"] = "OK"
            case index:
                self._failed(function, batch, index, result)

    def _first_failed(self, batch: Batch, result: dict[str, Any]) -> int | None:
        """The index of the first record that was not processed; None: all were."""
        if result.get("error"):
            return 0
        if "ReportBatchItemFailures" not in (self._mapping.get("FunctionResponseTypes") or []):
            return None
        named = failures_of(result.get("body"))
        if named == set():
            return None
        index = batch.index_of(named) if named else None
        return 0 if index is None else index  # an unreadable response fails the whole batch

    def _failed(self, function: dict[str, Any], batch: Batch, index: int, result: dict[str, Any]) -> None:
        self._mapping["LastProcessingResult"] = "FAILED"
        _log.warning("%s failed a batch of %s: %s", self._mapping["FunctionName"], self._arn, result.get("body"))
        if index:  # what came before is done; this failure is the first one of the record at `index`
            self._advance(batch.position + index)
        left = batch.raw[index:]
        if result.get("error") and self._mapping.get("BisectBatchOnFunctionError") and len(left) > 1:
            self._size = (len(left) + 1) // 2  # a bisection spends no attempt
            return
        self._attempts += 1
        if condition := self._exhausted(left):
            kept = [record for record in left if record in batch.kept]
            self._give_up(function, kept, result, condition)
            self._advance(batch.position + len(batch.raw))
            return
        backoff = min(_FIRST_BACKOFF_SECONDS * 2 ** (self._attempts - 1), _LONGEST_BACKOFF_SECONDS)
        self._not_before = time.time() + backoff

    def _exhausted(self, left: list[Record]) -> str | None:
        """Why the records are given up, in the word that AWS puts into the failure record; None: try again."""
        attempts = int(self._mapping.get("MaximumRetryAttempts", -1))
        if 0 <= attempts < self._attempts:
            return "RetryAttemptsExhausted"
        longest = int(self._mapping.get("MaximumRecordAgeInSeconds", -1))
        age = time.time() - float(left[0]["dynamodb"]["ApproximateCreationDateTime"])
        return "MaxRecordAgeExceeded" if 0 <= longest < age else None

    def _give_up(self, function: dict[str, Any], records: list[Record], result: dict[str, Any], condition: str) -> None:
        """Tell the failure destination which records were given up; without one they are only logged."""
        config = function.get("config") or function
        target = ((self._mapping.get("DestinationConfig") or {}).get("OnFailure") or {}).get("Destination", "")
        _log.error("%s gave up %d records of %s: %s", config["FunctionName"], len(records), self._arn, condition)
        if not target:
            return
        action = "sns:Publish" if ":sns:" in target else "sqs:SendMessage"
        if denied := self._gate.ask(config["Role"], action, target, session=config["FunctionName"]):
            _log.error("%s", denied.message)
            return
        send = self._lambda._send_ddb_stream_failure_record
        on_loop(lambda: send(self._mapping, function, records, self._arn, result, condition))

    def _advance(self, position: int) -> None:
        """Move the checkpoint: what lies before it is never read again."""
        with self._lambda._dynamodb_stream_positions_lock:
            self._lambda._dynamodb_stream_positions[self._mapping["UUID"]] = position
        self._advanced(self._mapping["UUID"], self._arn, position)
        self._attempts = 0
        self._size = None
        self._not_before = 0.0
