"""The exchanges of a task in the table, and what they cost."""

import json
import random
from datetime import timedelta
from typing import Any

import pytest

from a2a_serverless.app.evidence import Exchange
from a2a_serverless.aws.bucket import Bucket
from a2a_serverless.aws.evidence_table import EvidenceTable
from a2a_serverless.aws.table import Table
from tests.fakes import START

from . import build
from .conftest import random_ids
from .units import Counter

DAYS = timedelta(days=30)


def exchange(task_id: str, body: str = "{}", *, at: int = 0, **more: Any) -> Exchange:
    return Exchange(
        task_id=task_id,
        at=START + timedelta(seconds=at),
        kind="call",
        operation="GetTask",
        who={"subject": "alice"},
        request={"method": "POST", "url": "/", "body": body},
        answer={"status": 200, "body": body},
        **more,
    )


@pytest.fixture
def evidence(table: Table, bucket: Bucket) -> EvidenceTable:
    return EvidenceTable(table, bucket, ids=random_ids, lifetime=DAYS)


def test_exchanges_come_back_in_order_and_for_one_task_alone(evidence: EvidenceTable) -> None:
    task, other = random_ids(), random_ids()
    for at in (2, 0, 1, 1):
        evidence.keep(exchange(task, at=at))
    evidence.keep(exchange(other))

    found = list(evidence.of_task(task, now=START))

    assert [each["at"][17:19] for each in found] == ["00", "01", "01", "02"]
    assert found[0]["request"] == {"method": "POST", "url": "/", "body": "{}"}


@pytest.mark.parametrize("size", [100, 100_000, 1_000_000, 5_000_000])
def test_an_exchange_of_any_size_is_kept_in_full(evidence: EvidenceTable, size: int) -> None:
    task, body = random_ids(), build.incompressible(size)

    evidence.keep(exchange(task, body))

    (found,) = evidence.of_task(task, now=START)
    assert found["request"]["body"] == found["answer"]["body"] == body


def test_exchanges_are_gone_after_their_days(evidence: EvidenceTable) -> None:
    task = random_ids()
    evidence.keep(exchange(task))

    assert list(evidence.of_task(task, now=START + DAYS - timedelta(seconds=1)))
    assert not list(evidence.of_task(task, now=START + DAYS))


def test_text_that_is_no_text_is_kept_as_far_as_it_is(evidence: EvidenceTable) -> None:
    task = random_ids()

    evidence.keep(exchange(task, "a\ud800b"))

    (found,) = evidence.of_task(task, now=START)
    assert found["request"]["body"] == "a?b"


def test_a_small_exchange_costs_one_call_and_one_write_unit(table_name: str, clients: Any, bucket: Bucket) -> None:
    counter: Any = Counter(clients.dynamodb)
    counted = EvidenceTable(Table(counter, table_name), bucket, ids=random_ids, lifetime=DAYS)
    said = random.Random(1).choices("abcdefghijklmnopqrstuvwxyz      ", k=600)

    counted.keep(exchange(random_ids(), json.dumps({"text": "".join(said)})))

    assert (counter.calls, counter.writes) == ({"put_item": 1}, 1)


def test_a_record_whose_answer_was_lost_is_sent_again_and_not_called_lost(table: Table, bucket: Bucket) -> None:
    evidence = EvidenceTable(table, bucket, ids=lambda: "the-one-id", lifetime=DAYS)
    said = exchange(random_ids())

    evidence.keep(said)
    evidence.keep(said)

    assert len(list(evidence.of_task(said.task_id, now=START))) == 1
