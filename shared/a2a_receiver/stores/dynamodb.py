"""A replay store in a DynamoDB table: for receivers on Lambda. Needs a string key `key`; let TTL act on `until`.

Takes a client you made (`boto3.client("dynamodb")`); imports nothing of AWS.
"""

from collections.abc import Mapping
from typing import Any, Protocol


class DynamoDBClient(Protocol):
    """What is used of a `boto3` DynamoDB client."""

    def get_item(self, **kwargs: Any) -> Any:
        """GetItem."""
        ...

    def put_item(self, **kwargs: Any) -> Any:
        """PutItem."""
        ...

    def update_item(self, **kwargs: Any) -> Any:
        """UpdateItem."""
        ...


class DynamoDBStore:
    """See `a2a_receiver.ReplayStore`. A new nudge costs 1 read unit and 2 write units."""

    def __init__(self, table: str, client: DynamoDBClient) -> None:
        """Items go to `table`."""
        self._table = table
        self._client = client

    def seen(self, key: str, *, now: float) -> bool:
        """See `ReplayStore`."""
        return self._read(key, now=now) is not None

    def max_seq(self, task_key: str, *, now: float) -> int | None:
        """See `ReplayStore`."""
        item = self._read(task_key, now=now)
        return None if item is None else int(item["seq"]["N"])

    def mark(self, key: str | None, *, task_key: str, seq: int | None, now: float, until: float) -> None:
        """See `ReplayStore`."""
        if key is not None:
            item = {"key": {"S": key}, "until": _number(until)}
            self._client.put_item(TableName=self._table, Item=item)
        if seq is not None:
            self._raise_seq(task_key, seq, now=now, until=until)

    def _read(self, key: str, *, now: float) -> Mapping[str, Any] | None:
        # Consistent: the copy of a nudge that another instance took a moment ago must be seen.
        answer = self._client.get_item(TableName=self._table, Key={"key": {"S": key}}, ConsistentRead=True)
        item: Mapping[str, Any] | None = answer.get("Item")
        # TTL deletes within days, so what has run out is still there.
        return item if item is not None and float(item["until"]["N"]) > now else None

    def _raise_seq(self, task_key: str, seq: int, *, now: float, until: float) -> None:
        nothing_higher_is_held = "attribute_not_exists(seq) OR seq < :seq OR #until <= :now"
        try:
            self._client.update_item(
                TableName=self._table,
                Key={"key": {"S": task_key}},
                UpdateExpression="SET seq = :seq, #until = :until",
                ConditionExpression=nothing_higher_is_held,
                ExpressionAttributeNames={"#until": "until"},
                ExpressionAttributeValues={
                    ":seq": {"N": str(seq)},
                    ":until": _number(until),
                    ":now": _number(now),
                },
            )
        except Exception as error:
            if not _is_condition_failure(error):
                raise


def _number(seconds: float) -> dict[str, str]:
    """Whole seconds: TTL reads nothing else."""
    return {"N": str(int(seconds))}


def _is_condition_failure(error: Exception) -> bool:
    """Told by its code, so that botocore need not be imported."""
    response = getattr(error, "response", None)
    return isinstance(response, dict) and (response.get("Error", {}).get("Code") == "ConditionalCheckFailedException")
