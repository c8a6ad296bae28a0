"""DynamoDB: conditions, indexes, pages, limits and streams, as the task table relies on them."""

import threading
import time
from collections.abc import Callable
from typing import Any

import pytest
from botocore.exceptions import ClientError

from .conftest import Cloud, Table, item


@pytest.fixture(scope="module")
def table(engine: str) -> Table:
    """One table for all tests of this module: each uses partition keys of its own."""
    from .conftest import Reports

    return Cloud(engine, Reports()).table()


def refused(call: Callable[[], object]) -> dict[str, Any]:
    """The error that a call is refused with."""
    with pytest.raises(ClientError) as caught:
        call()
    response: dict[str, Any] = dict(caught.value.response)
    return response


def test_a_failed_condition_changes_nothing_and_returns_the_item_it_met(cloud: Cloud, table: Table) -> None:
    cloud.put(table, "met", version=1)

    error = refused(
        lambda: cloud.dynamodb.update_item(
            TableName=table.name,
            Key=item("met"),
            UpdateExpression="SET version = :next",
            ConditionExpression="version = :seen",
            ExpressionAttributeValues={":next": {"N": "3"}, ":seen": {"N": "2"}},
            ReturnValuesOnConditionCheckFailure="ALL_OLD",
        )
    )

    assert error["Error"]["Code"] == "ConditionalCheckFailedException"
    assert error["Item"] == item("met", version=1)
    assert cloud.dynamodb.get_item(TableName=table.name, Key=item("met"))["Item"] == item("met", version=1)


def test_of_many_writers_with_the_same_seen_version_one_wins(cloud: Cloud, table: Table) -> None:
    cloud.put(table, "race", version=0)
    won: list[int] = []

    def write(number: int) -> None:
        try:
            cloud.dynamodb.update_item(
                TableName=table.name,
                Key=item("race"),
                UpdateExpression="SET version = version + :one",
                ConditionExpression="version = :seen",
                ExpressionAttributeValues={":one": {"N": "1"}, ":seen": {"N": "0"}},
            )
        except ClientError:
            return
        won.append(number)

    writers = [threading.Thread(target=write, args=(number,)) for number in range(12)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()

    assert len(won) == 1


def test_a_put_under_attribute_not_exists_happens_once(cloud: Cloud, table: Table) -> None:
    once: dict[str, Any] = {
        "TableName": table.name,
        "Item": item("once"),
        "ConditionExpression": "attribute_not_exists(pk)",
    }
    cloud.dynamodb.put_item(**once)

    error = refused(lambda: cloud.dynamodb.put_item(**once))

    assert error["Error"]["Code"] == "ConditionalCheckFailedException"


def test_a_condition_on_a_missing_attribute_is_false(cloud: Cloud, table: Table) -> None:
    error = refused(
        lambda: cloud.dynamodb.update_item(
            TableName=table.name,
            Key=item("missing"),
            UpdateExpression="SET wait_token = :token",
            ConditionExpression="wait_number = :number",
            ExpressionAttributeValues={":token": {"S": "t"}, ":number": {"N": "1"}},
        )
    )

    assert error["Error"]["Code"] == "ConditionalCheckFailedException"
    assert "Item" not in cloud.dynamodb.get_item(TableName=table.name, Key=item("missing"))


def test_a_transaction_is_all_or_nothing_and_says_which_condition_failed(cloud: Cloud, table: Table) -> None:
    cloud.put(table, "held", version=1)

    error = refused(
        lambda: cloud.dynamodb.transact_write_items(
            TransactItems=[
                {"Put": {"TableName": table.name, "Item": item("with-it")}},
                {
                    "Put": {
                        "TableName": table.name,
                        "Item": item("held", version=2),
                        "ConditionExpression": "attribute_not_exists(pk)",
                        "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
                    }
                },
            ]
        )
    )

    assert error["Error"]["Code"] == "TransactionCanceledException"
    assert [reason["Code"] for reason in error["CancellationReasons"]] == ["None", "ConditionalCheckFailed"]
    assert error["CancellationReasons"][1]["Item"] == item("held", version=1)
    assert "Item" not in cloud.dynamodb.get_item(TableName=table.name, Key=item("with-it"))


def test_a_transaction_with_the_same_token_takes_effect_once(cloud: Cloud, table: Table) -> None:
    add = {
        "Update": {
            "TableName": table.name,
            "Key": item("counted"),
            "UpdateExpression": "ADD n :one",
            "ExpressionAttributeValues": {":one": {"N": "1"}},
        }
    }

    for _ in range(2):
        cloud.dynamodb.transact_write_items(ClientRequestToken="same-token-1", TransactItems=[add])

    found = cloud.dynamodb.get_item(TableName=table.name, Key=item("counted"))["Item"]
    assert found["n"] == {"N": "1"}


def test_a_query_is_paged_by_limit_and_goes_on_after_the_last_key(cloud: Cloud, table: Table) -> None:
    for number in range(5):
        cloud.put(table, "paged", f"SEG#{number}")

    def page(**more: Any) -> dict[str, Any]:
        answer: dict[str, Any] = cloud.dynamodb.query(
            TableName=table.name,
            KeyConditionExpression="pk = :pk AND begins_with(sk, :seg)",
            ExpressionAttributeValues={":pk": {"S": "paged"}, ":seg": {"S": "SEG#"}},
            Limit=3,
            **more,
        )
        return answer

    first = page()
    second = page(ExclusiveStartKey=first["LastEvaluatedKey"])

    assert [found["sk"]["S"] for found in first["Items"] + second["Items"]] == [f"SEG#{n}" for n in range(5)]
    assert "LastEvaluatedKey" not in second


def test_a_page_ends_at_one_megabyte(cloud: Cloud, table: Table) -> None:
    for number in range(5):
        cloud.put(table, "large", f"SEG#{number}", body="x" * 300_000)

    answer = cloud.dynamodb.query(
        TableName=table.name,
        KeyConditionExpression="pk = :pk",
        ExpressionAttributeValues={":pk": {"S": "large"}},
    )

    assert answer["Count"] < 5
    assert "LastEvaluatedKey" in answer


def test_an_index_lists_newest_first_with_what_it_projects_and_only_items_that_have_its_keys(
    cloud: Cloud, table: Table
) -> None:
    cloud.put(table, "a", owner="alice", listed="2026-01-01#a", state="WORKING", secret="x")
    cloud.put(table, "b", owner="alice", listed="2026-01-02#b", state="COMPLETED")
    cloud.put(table, "c", state="COMPLETED")

    answer = cloud.dynamodb.query(
        TableName=table.name,
        IndexName="by_owner",
        KeyConditionExpression="#owner = :owner",
        ExpressionAttributeNames={"#owner": "owner"},
        ExpressionAttributeValues={":owner": {"S": "alice"}},
        ScanIndexForward=False,
    )

    expected = [
        item("b", owner="alice", listed="2026-01-02#b", state="COMPLETED"),
        item("a", owner="alice", listed="2026-01-01#a", state="WORKING"),
    ]
    assert answer["Items"] == expected


@pytest.mark.parametrize(
    ("what", "attributes"),
    [
        ("an item above 400 KB", {"body": "x" * 410_000}),
        ("an empty index key", {"owner": "", "listed": "x"}),
        ("an index key of another type", {"owner": 1, "listed": "x"}),
    ],
)
def test_dynamodb_refuses(cloud: Cloud, table: Table, what: str, attributes: dict[str, Any]) -> None:
    error = refused(lambda: cloud.put(table, f"bad {what}", **attributes))

    assert error["Error"]["Code"] == "ValidationException"


def test_capacity_is_counted_by_the_kilobyte_and_by_consistency(cloud: Cloud, table: Table) -> None:
    def units(answer: dict[str, Any]) -> float:
        found: float = answer["ConsumedCapacity"]["CapacityUnits"]
        return found

    put = cloud.dynamodb.put_item(
        TableName=table.name, Item=item("weighed", body="x" * 3000), ReturnConsumedCapacity="TOTAL"
    )
    get = {"TableName": table.name, "Key": item("weighed"), "ReturnConsumedCapacity": "TOTAL"}

    assert units(put) == 3
    assert units(cloud.dynamodb.get_item(**get)) == 0.5
    assert units(cloud.dynamodb.get_item(**get, ConsistentRead=True)) == 1


def test_the_stream_has_both_images_and_no_record_of_a_write_that_changed_nothing(cloud: Cloud) -> None:
    table = cloud.table()
    cloud.put(table, "a", n=1)
    cloud.put(table, "a", n=1)
    cloud.put(table, "a", n=2)
    cloud.dynamodb.delete_item(TableName=table.name, Key=item("a"))
    streams = cloud.client("dynamodbstreams")
    (shard,) = streams.describe_stream(StreamArn=table.stream)["StreamDescription"]["Shards"]
    start = streams.get_shard_iterator(
        StreamArn=table.stream, ShardId=shard["ShardId"], ShardIteratorType="TRIM_HORIZON"
    )["ShardIterator"]

    records = streams.get_records(ShardIterator=start)["Records"]

    seen = [
        (record["eventName"], record["dynamodb"].get("OldImage"), record["dynamodb"].get("NewImage"))
        for record in records
    ]
    one, two = item("a", n=1), item("a", n=2)
    assert seen == [("INSERT", None, one), ("MODIFY", one, two), ("REMOVE", two, None)]


def test_a_table_s_time_to_live_attribute_is_remembered(cloud: Cloud) -> None:
    table = cloud.table()

    cloud.dynamodb.update_time_to_live(
        TableName=table.name, TimeToLiveSpecification={"Enabled": True, "AttributeName": "expires_at"}
    )

    found = cloud.dynamodb.describe_time_to_live(TableName=table.name)["TimeToLiveDescription"]
    assert (found["TimeToLiveStatus"], found["AttributeName"]) == ("ENABLED", "expires_at")
    cloud.put(table, "old", expires_at=int(time.time()) - 100)
    assert "Item" in cloud.dynamodb.get_item(TableName=table.name, Key=item("old"))  # expiry is not deletion
