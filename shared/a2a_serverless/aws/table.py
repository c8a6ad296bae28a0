"""One DynamoDB table, spoken to in items. Knows how to ask, not what is in the items."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from botocore.exceptions import ClientError

from a2a_serverless.aws.items import Attribute, Item, text
from a2a_serverless.aws.settings import PARTITION_KEY, SORT_KEY

if TYPE_CHECKING:
    from types_boto3_dynamodb.client import DynamoDBClient

_BATCH: Final = 100
"""Items that BatchGetItem takes."""
_ROUNDS: Final = 10
"""How often what BatchGetItem left out is asked for again."""

_NAME: Final = re.compile(r"#(\w+)")


@dataclass(frozen=True, slots=True)
class Condition:
    """A sentence that must be true of the item as it is stored; `values` are what it compares with.

    `#name` stands for the attribute `name`, and is needed where the name is a reserved word.
    """

    sentence: str
    values: Mapping[str, Attribute]


NOT_THERE: Final = Condition(f"attribute_not_exists({PARTITION_KEY})", {})
"""There is no such item."""


class Refused(Exception):
    """The condition of a write was not met. `stored` is the item that did not meet it, empty if there is none."""

    def __init__(self, stored: Item) -> None:
        super().__init__("the condition was not met")
        self.stored = stored


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A Query: one partition of the table or of an index, in order."""

    where: Condition
    """The key condition."""
    only: Condition | None = None
    """The filter: what does not meet it is read, and paid for, but not answered."""
    index: str = ""
    backwards: bool = False
    names: tuple[str, ...] = ()
    """The attributes that are answered; all where none is named."""


def beginning_with(partition: str, prefix: str) -> Question:
    """The items of one partition whose sort keys begin so."""
    where = Condition(
        f"{PARTITION_KEY} = :partition AND begins_with({SORT_KEY}, :prefix)",
        {":partition": text(partition), ":prefix": text(prefix)},
    )
    return Question(where=where)


@dataclass(frozen=True, slots=True)
class Page:
    """What one Query answered, and where the next goes on (None: that was all)."""

    items: tuple[Item, ...]
    goes_on: Item | None


class Table:
    """The table of that name."""

    def __init__(self, client: DynamoDBClient, name: str) -> None:
        self._client: Any = client  # the stubs want literal shapes; what is sent is tested against two engines
        self._name = name

    def get(self, key: Mapping[str, Attribute]) -> Item | None:
        """One item, strongly consistent."""
        answer = self._client.get_item(TableName=self._name, Key=key, ConsistentRead=True)
        item: Item | None = answer.get("Item")
        return item

    def get_many(self, keys: Sequence[Mapping[str, Attribute]]) -> list[Item]:
        """Those of the items that are there, in any order, as they were a moment ago."""
        found: list[Item] = []
        left = list(keys)
        for _ in range(_ROUNDS + len(keys) // _BATCH):
            if not left:
                return found
            wanted, left = left[:_BATCH], left[_BATCH:]
            answer = self._client.batch_get_item(RequestItems={self._name: {"Keys": wanted}})
            found += answer["Responses"].get(self._name, [])
            left += answer.get("UnprocessedKeys", {}).get(self._name, {}).get("Keys", [])
        raise RuntimeError(f"the table left out {len(left)} of {len(keys)} items each time")

    def put(self, item: Item, *, only_if: Condition | None = None) -> None:
        """Write a whole item.

        Raises:
            Refused: the condition is not met by what is stored.
        """
        self._write(self._client.put_item, {"Item": item}, only_if)

    def update(
        self,
        key: Mapping[str, Attribute],
        changes: Mapping[str, Attribute | None],
        *,
        only_if: Condition | None = None,
        copied: Mapping[str, str] | None = None,
        raised: Mapping[str, int] | None = None,
        joined: Mapping[str, str] | None = None,
        left: Mapping[str, Sequence[str]] | None = None,
    ) -> None:
        """Set attributes, or remove those that are None, and leave all others as they are.

        Args:
            key: of the item; it is made if it is not there.
            changes: by name.
            only_if: what must be true of the item.
            copied: attributes that take the value another has before this write, where it has one.
            raised: numbers that rise by one, with what they begin with.
            joined: sets of texts that get one more.
            left: sets of texts, others than those, that lose some.

        Raises:
            Refused: the condition is not met by what is stored.
        """
        update = _update(changes, copied or {}, raised or {}, joined or {}, left or {})
        self._write(self._client.update_item, {"Key": key, "UpdateExpression": update.sentence}, only_if, update)

    def _write(
        self, call: Any, request: dict[str, Any], only_if: Condition | None, update: Condition | None = None
    ) -> None:
        if only_if is not None:
            request["ConditionExpression"] = only_if.sentence
            request["ReturnValuesOnConditionCheckFailure"] = "ALL_OLD"
        try:
            call(TableName=self._name, **request, **_placeholders(update, only_if))
        except ClientError as error:
            if error.response["Error"]["Code"] == "ConditionalCheckFailedException":
                stored: Any = error.response.get("Item", {})
                raise Refused(stored) from error
            raise

    def delete(self, key: Mapping[str, Attribute]) -> None:
        """Forget an item; one that is not there is fine."""
        self._client.delete_item(TableName=self._name, Key=key)

    def query(self, question: Question, *, limit: int = 0, after: Item | None = None) -> Page:
        """One page: at most 1 MB, at most `limit` items before the filter."""
        answer = self._client.query(**self._asked(question, limit, after))
        return Page(tuple(answer["Items"]), answer.get("LastEvaluatedKey"))

    def all(self, question: Question) -> Iterator[Item]:
        """Every item, page by page."""
        after: Item | None = None
        while True:
            page = self.query(question, after=after)
            yield from page.items
            if page.goes_on is None:
                return
            after = page.goes_on

    def count(self, question: Question, *, after: Item | None) -> int:
        """How many items there are behind `after`, where a page ended, without bringing them here."""
        total = 0
        counted = replace(question, names=())  # DynamoDB refuses to be told attributes and to count
        while after is not None:
            answer = self._client.query(**self._asked(counted, 0, after), Select="COUNT")
            total += int(answer["Count"])
            after = answer.get("LastEvaluatedKey")
        return total

    def _asked(self, question: Question, limit: int, after: Item | None) -> dict[str, Any]:
        shown = Condition(", ".join(f"#{name}" for name in question.names), {}) if question.names else None
        asked: dict[str, Any] = {
            "TableName": self._name,
            "KeyConditionExpression": question.where.sentence,
            "ScanIndexForward": not question.backwards,
            **_placeholders(question.where, question.only, shown),
        }
        if question.index:
            asked["IndexName"] = question.index
        else:
            asked["ConsistentRead"] = True
        if question.only is not None:
            asked["FilterExpression"] = question.only.sentence
        if shown is not None:
            asked["ProjectionExpression"] = shown.sentence
        if limit:
            asked["Limit"] = limit
        if after is not None:
            asked["ExclusiveStartKey"] = after
        return asked


def _placeholders(*conditions: Condition | None) -> dict[str, Any]:
    """What the `#names` and `:values` of these sentences stand for."""
    names: dict[str, str] = {}
    values: dict[str, Attribute] = {}
    for condition in filter(None, conditions):
        names |= {f"#{name}": name for name in _NAME.findall(condition.sentence)}
        values |= condition.values
    found = {"ExpressionAttributeNames": names, "ExpressionAttributeValues": values}
    return {name: value for name, value in found.items() if value}


def _update(
    changes: Mapping[str, Attribute | None],
    copied: Mapping[str, str],
    raised: Mapping[str, int],
    joined: Mapping[str, str],
    left: Mapping[str, Sequence[str]],
) -> Condition:
    """An update expression, every name a placeholder: many of ours are reserved words."""
    copies = [f"#{to} = if_not_exists(#{source}, :none)" for to, source in copied.items()]
    raises = [f"#{to} = if_not_exists(#{to}, :before_{to}) + :one" for to in raised]
    sets = [f"#{to} = :{to}" for to, value in changes.items() if value is not None]
    removes = [f"#{to}" for to, value in changes.items() if value is None]
    joins, leaves = [f"#{to} :joins_{to}" for to in joined], [f"#{to} :leaves_{to}" for to in left]
    clauses = (("SET", [*copies, *raises, *sets]), ("REMOVE", removes), ("ADD", joins), ("DELETE", leaves))
    sentence = " ".join(f"{verb} {', '.join(parts)}" for verb, parts in clauses if parts)
    values = {f":{to}": value for to, value in changes.items() if value is not None}
    if copies:
        values[":none"] = {"S": ""}
    if raises:
        values |= {":one": {"N": "1"}, **{f":before_{to}": {"N": str(first - 1)} for to, first in raised.items()}}
    values |= {f":joins_{to}": {"SS": [member]} for to, member in joined.items()}
    values |= {f":leaves_{to}": {"SS": list(members)} for to, members in left.items()}
    return Condition(sentence, values)
