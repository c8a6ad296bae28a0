"""The hosts of an owner's webhooks, counted by DynamoDB whoever asks at the same time."""

import uuid
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest

from a2a_serverless.aws.table import Table
from a2a_serverless.aws.webhook_hosts import HostTable
from a2a_serverless.types import Owner
from tests.fakes import START


@pytest.fixture
def owner() -> Owner:
    return Owner(f"bob/{uuid.uuid4()}", "acme")


def test_a_host_counts_once_in_its_hour_in_every_process(table: Table, owner: Owner) -> None:
    here, there = HostTable(table), HostTable(table)

    assert here.admit(owner, "one.example", most=1, now=START)
    assert there.admit(owner, "one.example", most=1, now=START)
    assert not there.admit(owner, "two.example", most=1, now=START)
    assert there.admit(owner, "two.example", most=1, now=START + timedelta(hours=1))
    assert there.admit(Owner(owner.subject), "two.example", most=1, now=START)


def test_callers_at_the_same_time_have_no_more_between_them(table: Table, owner: Owner) -> None:
    def asks(number: int) -> bool:
        return HostTable(table).admit(owner, f"{number}.example", most=3, now=START)

    with ThreadPoolExecutor(max_workers=8) as pool:
        assert sum(pool.map(asks, range(20))) == 3


def test_a_host_that_was_counted_costs_nothing_more(table: Table, owner: Owner) -> None:
    hosts = HostTable(table)
    hosts.admit(owner, "one.example", most=1, now=START)
    table_that_is_gone = HostTable(Table(None, ""))  # type: ignore[arg-type]  # any call fails
    table_that_is_gone._known = hosts._known

    assert table_that_is_gone.admit(owner, "one.example", most=1, now=START)
