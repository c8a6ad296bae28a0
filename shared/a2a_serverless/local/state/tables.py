"""DynamoDB in the state file: every item as it is written, and the stream until its mappings have read it.

The items and stream records of one request are stored together before the request is answered.
"""

import json
from typing import Any

from a2a_serverless.local.patches.target import module, replace
from a2a_serverless.local.state.file import StateFile

Table = dict[str, Any]


class TableJournal:
    """Stores what ministack's tables hold, and gives it back."""

    def __init__(self, file: StateFile) -> None:
        self._file = file
        self._tables: Any = module("services.dynamodb")
        self._functions: Any = module("services.lambda_svc")

    def patch(self) -> None:
        """Follow every change of an item, every stream record and every checkpoint of a mapping."""
        tables = self._tables
        self._set = replace(tables, "_set_item", self.set_item, signature="table, pk_val, sk_val, item")
        self._remove = replace(tables, "_remove_item", self.remove_item, signature="table, pk_val, sk_val")
        self._emit = replace(
            tables, "_emit_stream_event", self.emit, signature="table_name, event_name, old_item, new_item, replicate"
        )
        self._handle = replace(
            tables, "handle_request", self.handle, signature="method, path, headers, body, query_params"
        )

    async def handle(self, *request: Any) -> Any:
        """One API call: all or nothing of it is stored."""
        with self._file.together():
            return await self._handle(*request)

    def set_item(self, table: Table, pk_val: str, sk_val: str, item: dict[str, Any]) -> Any:
        """Store an item."""
        old = self._set(table, pk_val, sk_val, item)
        statement = "INSERT OR REPLACE INTO items VALUES (?, ?, ?, ?)"
        self._file.write([(statement, (table["TableArn"], str(pk_val), str(sk_val), json.dumps(item)))])
        return old

    def remove_item(self, table: Table, pk_val: str, sk_val: str) -> Any:
        """Forget an item."""
        old = self._remove(table, pk_val, sk_val)
        statement = "DELETE FROM items WHERE scope = ? AND pk = ? AND sk = ?"
        self._file.write([(statement, (table["TableArn"], str(pk_val), str(sk_val)))])
        return old

    def emit(self, table_name: str, event_name: str, old_item: Any, new_item: Any, replicate: bool = True) -> None:  # noqa: FBT001, FBT002 (ministack's function)
        """Store the stream record of a change, if it made one."""
        before = self._tables.stream_end_position(table_name)
        self._emit(table_name, event_name, old_item, new_item, replicate)
        if self._tables.stream_end_position(table_name) > before:
            record = self._tables._stream_records[table_name][-1]
            scope = self._tables._tables[table_name]["TableArn"]
            self._file.write([("INSERT OR REPLACE INTO records VALUES (?, ?, ?)", (scope, before, json.dumps(record)))])

    def advanced(self, mapping: str, stream_arn: str, position: int) -> None:
        """A mapping has processed the stream up to `position`; drop the records that no mapping needs any more."""
        scope = stream_arn.partition("/stream/")[0]
        passed = """
            DELETE FROM records
            WHERE scope = ? AND position < (SELECT min(position) FROM positions WHERE scope = ?)"""
        self._file.write(
            [
                ("INSERT OR REPLACE INTO positions VALUES (?, ?, ?)", (mapping, scope, position)),
                (passed, (scope, scope)),
            ]
        )

    def restore(self) -> None:
        """Fill the tables, streams and checkpoints of a started engine from the file."""
        for (_, _, name), table in self._tables._tables.all_items():
            self._restore_items(table)
            self._restore_stream(name, table)
        for mapping, _, position in self._file.rows("SELECT * FROM positions"):
            self._functions._dynamodb_stream_positions[mapping] = position

    def _restore_items(self, table: Table) -> None:
        for pk, sk, item in self._file.rows("SELECT pk, sk, item FROM items WHERE scope = ?", table["TableArn"]):
            self._set(table, pk, sk, json.loads(item))

    def _restore_stream(self, name: str, table: Table) -> None:
        query = "SELECT position, record FROM records WHERE scope = ? ORDER BY position"
        found = self._file.rows(query, table["TableArn"])
        past = self._file.rows("SELECT max(position) FROM positions WHERE scope = ?", table["TableArn"])
        # Positions count from the table's first record, also past records that are gone.
        self._tables._stream_trimmed[name] = found[0][0] if found else (past[0][0] or 0)
        self._tables._stream_records[name] = [json.loads(record) for _, record in found]
