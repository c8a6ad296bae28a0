"""A client that counts what AWS would charge: write and read units by the rules of its developer guide, with indexes.

Around each request it looks at the items themselves, so the figures do not depend on what an engine reports.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from botocore.exceptions import ClientError

from a2a_serverless.aws import settings

Item = Mapping[str, Mapping[str, Any]]

TABLE_KEYS = (settings.PARTITION_KEY, settings.SORT_KEY)


@dataclass(frozen=True)
class Index:
    """A secondary index: its keys and what it projects besides them and the table's."""

    keys: tuple[str, str]
    projected: tuple[str, ...] = ()

    def entry(self, item: Item | None) -> Item | None:
        """What of an item is in the index; None if the item is not."""
        if item is None or any(key not in item for key in self.keys):
            return None
        return {name: item[name] for name in (*TABLE_KEYS, *self.keys, *self.projected) if name in item}


INDEXES = {
    settings.OWNER_INDEX: Index(
        (settings.OWNER_INDEX_PARTITION, settings.OWNER_INDEX_SORT), settings.OWNER_INDEX_PROJECTS
    ),
    settings.DUE_INDEX: Index((settings.DUE_INDEX_PARTITION, settings.DUE_INDEX_SORT)),
}


def size_of(item: Item) -> int:
    """Bytes of an item: names and values in UTF-8, numbers by their digits."""
    return sum(len(name.encode()) + _value_size(value) for name, value in item.items())


def _value_size(value: Mapping[str, Any]) -> int:
    ((kind, content),) = value.items()
    match kind:
        case "S":
            return len(str(content).encode())
        case "B":
            return len(bytes(content))
        case "N":
            digits = str(content).removeprefix("-").strip("0") or "0"
            return math.ceil(len(digits) / 2) + 1 + str(content).startswith("-")
        case "BOOL" | "NULL":
            return 1
        case "SS":
            return sum(len(str(member).encode()) for member in content)
        case _:
            raise ValueError(f"no rule for {kind}")


def write_units(before: Item | None, after: Item | None) -> int:
    """Of one write: the larger of the two items, and each index entry that was removed, added or changed."""
    return _kilobytes(before, after) + sum(_index_units(index, before, after) for index in INDEXES.values())


def _index_units(index: Index, before: Item | None, after: Item | None) -> int:
    old, new = index.entry(before), index.entry(after)
    if old == new:
        return 0
    if old is not None and new is not None and all(old[key] == new[key] for key in index.keys):
        return _kilobytes(old, new)
    return sum(_kilobytes(entry) for entry in (old, new) if entry is not None)


def _kilobytes(*items: Item | None) -> int:
    return max(1, *(math.ceil(size_of(item) / 1024) for item in items if item is not None), 1)


@dataclass
class Counter:
    """The client. `calls` by operation, and the units of everything since `reset`."""

    client: Any
    writes: float = 0
    reads: float = 0
    calls: dict[str, int] = field(default_factory=dict)
    largest: int = 0

    def reset(self) -> None:
        """Count from nothing."""
        self.writes, self.reads, self.largest = 0, 0, 0
        self.calls = {}

    @property
    def requests(self) -> int:
        """How many there were."""
        return sum(self.calls.values())

    def put_item(self, **request: Any) -> Any:
        return self._write("put_item", request, {name: request["Item"][name] for name in TABLE_KEYS})

    def update_item(self, **request: Any) -> Any:
        return self._write("update_item", request, request["Key"])

    def delete_item(self, **request: Any) -> Any:
        return self._write("delete_item", request, request["Key"])

    def _write(self, operation: str, request: dict[str, Any], key: Item) -> Any:
        self._called(operation)
        before = self._look(request["TableName"], key)
        try:
            answer = getattr(self.client, operation)(**request)
        except ClientError:
            self.writes += _kilobytes(before)
            raise
        after = self._look(request["TableName"], key)
        self.writes += write_units(before, after)
        self.largest = max(self.largest, size_of(after or {}))
        return answer

    def _look(self, table: str, key: Item) -> Item | None:
        item: Item | None = self.client.get_item(TableName=table, Key=key, ConsistentRead=True).get("Item")
        return item

    def get_item(self, **request: Any) -> Any:
        self._called("get_item")
        answer = self.client.get_item(**request)
        self.reads += _read_units(size_of(answer.get("Item", {})), strong=request.get("ConsistentRead", False))
        return answer

    def batch_get_item(self, **request: Any) -> Any:
        self._called("batch_get_item")
        answer = self.client.batch_get_item(**request)
        for items in answer["Responses"].values():
            self.reads += sum(_read_units(size_of(item), strong=False) for item in items)
        return answer

    def query(self, **request: Any) -> Any:
        """Charged for what was looked at, before the filter and however little of it is answered."""
        self._called("query")
        answer = self.client.query(**request)
        looked_at = self.client.query(**_unfiltered(request))["Items"]
        index = INDEXES.get(request.get("IndexName", ""))
        entries = [index.entry(item) or {} for item in looked_at] if index is not None else looked_at
        self.reads += _read_units(sum(map(size_of, entries)), strong=request.get("ConsistentRead", False))
        return answer

    def _called(self, operation: str) -> None:
        self.calls[operation] = self.calls.get(operation, 0) + 1


def _unfiltered(request: Mapping[str, Any]) -> dict[str, Any]:
    """The same question without what leaves something out of the answer."""
    key_condition = request["KeyConditionExpression"]
    kept = {name: request[name] for name in request.keys() - {"FilterExpression", "Select", "ProjectionExpression"}}
    for placeholders in ("ExpressionAttributeNames", "ExpressionAttributeValues"):
        used = {name: value for name, value in request.get(placeholders, {}).items() if name in key_condition}
        kept[placeholders] = used
        if not used:
            del kept[placeholders]
    return kept


def _read_units(size: int, *, strong: bool) -> float:
    return max(1, math.ceil(size / 4096)) * (1 if strong else 0.5)
