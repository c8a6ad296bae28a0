"""The embedded engine's DynamoDB, called as functions: the very code that answers over HTTP, without the way there."""

import base64
import json
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, Final

import ministack.services.dynamodb as engine  # type: ignore[import-untyped]  # ships no types
from botocore.exceptions import ClientError

from a2a_serverless.aws.settings import DUE_INDEX_SORT, HEAD, PARTITION_KEY, SORT_KEY
from tests.integration.aws.conftest import make_table

from .plan import Faults

Object = dict[str, Any]

TABLE: Final = "faults"
"""One at a time: each world makes its own, and forgets the one before."""
_WRITES: Final = frozenset({"put_item", "update_item", "delete_item"})


class DynamoDB:
    """A botocore client of one table of its own, whose calls are counted and go wrong by plan."""

    def __init__(self, faults: Faults) -> None:
        self._faults = faults
        self.writes = 0
        self.stream: list[Object] = []
        """What its stream carries: records of heads, as Lambda hands them on."""
        self.records: list[Object] = []
        """All of them that ever were."""
        self.due: dict[str, str] = {}
        """When the sweep is to look at each task: what is in its index."""
        self._seen = 0
        engine._delete_table({"TableName": TABLE})
        make_table(_Clients, TABLE)

    def __getattr__(self, operation: str) -> Callable[..., Object]:
        def call(**request: Any) -> Object:
            return self._faults.call(f"dynamodb.{operation}", lambda: self.ask(operation, request))

        return call

    def ask(self, operation: str, request: Object) -> Object:
        """One call that is not counted."""
        answer = _ask(operation, request)
        if operation in _WRITES:
            self.writes += 1
            self._follow_stream()
        return answer

    def items(self) -> list[Object]:
        """Every item there is."""
        found: list[Object] = self.ask("scan", {"TableName": TABLE})["Items"]
        return sorted(found, key=lambda item: (item[PARTITION_KEY]["S"], item[SORT_KEY]["S"]))

    def _follow_stream(self) -> None:
        """Take what the stream's filter lets through, as it is now: later writes must not change it."""
        fresh = engine.stream_records_since(TABLE, self._seen, 100)
        self._seen += len(fresh)
        for record in json.loads(json.dumps(fresh)):
            if record["dynamodb"]["Keys"][SORT_KEY]["S"] == HEAD:
                self.stream.append(record)
                self.records.append(record)
                self._follow_index(record["dynamodb"])

    def _follow_index(self, images: Object) -> None:
        task, due = images["Keys"][PARTITION_KEY]["S"], images.get("NewImage", {}).get(DUE_INDEX_SORT)
        self.due.pop(task, None)
        if due is not None:
            self.due[task] = due["S"]


class _Direct:
    def __getattr__(self, operation: str) -> Callable[..., Object]:
        return lambda **request: _ask(operation, request)


_Clients: Final[Any] = SimpleNamespace(dynamodb=_Direct())


def _ask(operation: str, request: Object) -> Object:
    status, _, body = getattr(engine, f"_{operation}")(_wire(request))
    answer: Object = json.loads(body, object_hook=_bytes)
    if status == 200:
        return answer
    code = answer["__type"].rpartition("#")[2]
    more = {"Item": answer["Item"]} if "Item" in answer else {}
    raise ClientError({"Error": {"Code": code, "Message": answer.get("message", "")}, **more}, operation)  # type: ignore[typeddict-item]  # botocore puts it there too


def _wire(request: Object) -> Object:
    """The request as it would arrive: bytes in base64, and nothing shared with who sent it."""
    sent: Object = json.loads(json.dumps(request, default=lambda value: base64.b64encode(value).decode()))
    return sent


def _bytes(found: Object) -> Object:
    if len(found) == 1 and isinstance(value := found.get("B"), str):
        return {"B": base64.b64decode(value)}
    return found
