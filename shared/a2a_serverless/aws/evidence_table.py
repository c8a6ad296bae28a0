"""Both sides of every exchange, in the one table: a partition per task, in the order of time, gone by their TTL.

A record that does not fit an item has its content in the bucket, under `evidence/{task}/`.
"""

import json
import zlib
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import asdict
from datetime import datetime, timedelta
from typing import Any, Final

from a2a_serverless.app.evidence import Exchange
from a2a_serverless.app.ports import Ids
from a2a_serverless.aws.bucket import Bucket
from a2a_serverless.aws.items import Item, binary, bytes_in, text, text_in, ttl
from a2a_serverless.aws.keys import encoded, fits
from a2a_serverless.aws.settings import EVIDENCE_PREFIX, PARTITION_KEY, SORT_KEY, TTL_ATTRIBUTE
from a2a_serverless.aws.table import NOT_THERE, Condition, Question, Refused, Table
from a2a_serverless.types import timestamp_text

EVIDENCE: Final = "EVIDENCE#"
LARGEST_BODY: Final = 380 * 1024
"""Bytes of a record inside an item, which holds 400 KB."""


class EvidenceTable:
    """EvidenceStore on DynamoDB. Records are written once and never changed; each costs one write."""

    def __init__(self, table: Table, bucket: Bucket, *, ids: Ids, lifetime: timedelta) -> None:
        self._table = table
        self._bucket = bucket
        self._ids = ids
        self._lifetime = lifetime

    def keep(self, exchange: Exchange) -> None:
        """Write one down; a large one in two writes, its content first."""
        name = f"{timestamp_text(exchange.at)}#{self._ids()}"
        body = zlib.compress(_text(exchange).encode("utf-8", "replace"), 1)
        item = {
            PARTITION_KEY: text(_partition(exchange.task_id)),
            SORT_KEY: text(name),
            TTL_ATTRIBUTE: ttl(exchange.at + self._lifetime),
        }
        if len(body) <= LARGEST_BODY:
            item["body"] = binary(body)
        else:
            item["kept"] = text(f"{EVIDENCE_PREFIX}{encoded(exchange.task_id)}/{name}")
            self._bucket.put(item["kept"]["S"], body)
        with suppress(Refused):  # its name is its own: its answer was lost, and botocore sent it again
            self._table.put(item, only_if=NOT_THERE)

    def of_task(self, task_id: str, *, now: datetime) -> Iterator[Mapping[str, Any]]:
        """The exchanges of a task as JSON objects, oldest first."""
        if not fits(_partition(task_id)):
            return
        where = Condition(f"{PARTITION_KEY} = :task", {":task": text(_partition(task_id))})
        for item in self._table.all(Question(where=where)):
            if int(item[TTL_ATTRIBUTE]["N"]) > now.timestamp():
                yield json.loads(zlib.decompress(self._body(item)))

    def _body(self, item: Item) -> bytes:
        kept = text_in(item, "kept")
        return self._bucket.get(kept) if kept else bytes_in(item, "body")


def _partition(task_id: str) -> str:
    return EVIDENCE + task_id


def _text(exchange: Exchange) -> str:
    told = {name: value for name, value in asdict(exchange).items() if value not in ({}, "")}
    return json.dumps({**told, "at": timestamp_text(exchange.at)}, ensure_ascii=False, separators=(",", ":"))
