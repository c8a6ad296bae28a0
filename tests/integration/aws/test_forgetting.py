"""What is left of a task when the TTL took its head."""

from typing import Any

from a2a_serverless.app.ports import AttemptRecord
from a2a_serverless.aws.clients import Clients
from a2a_serverless.aws.head_codec import head_key
from a2a_serverless.aws.push_table import PushTable
from a2a_serverless.aws.table import Table
from a2a_serverless.aws.task_table import TaskTable
from a2a_serverless.core.push import PushConfig
from a2a_serverless.types import Scope
from tests.fakes import START

from . import build
from .conftest import random_ids


def test_a_task_whose_head_is_gone_is_forgotten_whole_and_no_other(
    table: Table, clients: Clients, table_name: str, scope: Scope
) -> None:
    store, push = TaskTable(table, ids=random_ids), PushTable(table, ids=random_ids)
    gone = build.running(store, scope)
    gone = store.commit(build.say(gone, *[build.artifact(build.incompressible(30_000)) for _ in range(3)]))
    other = build.running(store, scope, "t-2")
    push.put_config(gone.key, PushConfig(id="c-1", url="https://partner.example/", created_at=START))
    push.log_attempt(gone.key, "c-1", AttemptRecord(at=START, message_id="m", seq=1, attempt=1, result="delivered"))
    push.mark_fetched(gone.key, 1)
    table.delete(head_key(gone.key))

    left = store.forget(gone.key)

    assert left >= 5
    assert store.forget(gone.key) == 0
    dynamodb: Any = clients.dynamodb
    found = dynamodb.query(
        TableName=table_name,
        KeyConditionExpression="pk = :task",
        ExpressionAttributeValues={":task": head_key(gone.key)["pk"]},
    )
    assert found["Items"] == []
    assert store.head(other.key, now=START) == other


def test_a_task_that_is_there_is_not_forgotten(table: Table, scope: Scope) -> None:
    store = TaskTable(table, ids=random_ids)
    head = store.commit(build.say(build.running(store, scope), build.artifact(build.incompressible(30_000))))

    assert store.forget(head.key) == 0

    record = store.read(head.key, now=START)
    assert record is not None
    assert record.head == head
