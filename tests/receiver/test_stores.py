"""One contract for every replay store, as it behaves at home: in memory, on a disk, in Redis, in DynamoDB."""

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import boto3
import fakeredis
import moto
import pytest

from a2a_receiver import MemoryStore, Receiver, ReplayStore
from a2a_receiver.stores.dynamodb import DynamoDBStore
from a2a_receiver.stores.redis import RedisStore
from a2a_receiver.stores.sqlite import SqliteStore
from tests.receiver.making import NOW, good, sender

DAY = 86400
TABLE = "push-replay"


class OneAtATime(fakeredis.FakeRedis):
    """Runs one transaction after the other, as a server does: fakeredis loses some of those that come at once."""

    _alone = threading.Lock()

    def pipeline(self, *args: Any, **kwargs: Any) -> Any:
        pipeline = super().pipeline(*args, **kwargs)
        execute = pipeline.execute

        def alone() -> Any:
            with self._alone:
                return execute()

        pipeline.execute = alone
        return pipeline


@pytest.fixture(params=["memory", "sqlite", "redis", "dynamodb"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[ReplayStore]:
    match request.param:
        case "memory":
            yield MemoryStore()
        case "sqlite":
            on_disk = SqliteStore(tmp_path / "replay.sqlite")
            yield on_disk
            on_disk.close()
        case "redis":
            yield RedisStore(OneAtATime())
        case _:
            with moto.mock_aws():
                yield DynamoDBStore(TABLE, dynamodb())


def dynamodb() -> Any:
    client = boto3.client(
        "dynamodb", region_name="eu-central-1", aws_access_key_id="test", aws_secret_access_key="test"
    )
    client.create_table(
        TableName=TABLE,
        KeySchema=[{"AttributeName": "key", "KeyType": "HASH"}],
        AttributeDefinitions=[{"AttributeName": "key", "AttributeType": "S"}],
        BillingMode="PAY_PER_REQUEST",
    )
    return client


def mark(store: ReplayStore, key: str | None = "m", *, task: str = "t", seq: int | None = 7) -> None:
    store.mark(key, task_key=task, seq=seq, now=NOW, until=NOW + DAY)


def test_nothing_is_there_before_it_was_marked(store: ReplayStore) -> None:
    assert not store.seen("m", now=NOW)
    assert store.max_seq("t", now=NOW) is None


def test_what_was_marked_is_there(store: ReplayStore) -> None:
    mark(store)

    assert store.seen("m", now=NOW)
    assert store.max_seq("t", now=NOW) == 7


def test_others_are_not_there(store: ReplayStore) -> None:
    mark(store)

    assert not store.seen("n", now=NOW)
    assert store.max_seq("u", now=NOW) is None


def test_marking_twice_is_marking_once(store: ReplayStore) -> None:
    mark(store)
    mark(store)

    assert store.seen("m", now=NOW)
    assert store.max_seq("t", now=NOW) == 7


def test_a_version_only_rises(store: ReplayStore) -> None:
    for number, seq in enumerate((7, 9, 8, 2**53 - 1, 1)):
        mark(store, f"m{number}", seq=seq)

    assert store.max_seq("t", now=NOW) == 2**53 - 1


def test_version_nought_is_a_version(store: ReplayStore) -> None:
    mark(store, seq=0)

    assert store.max_seq("t", now=NOW) == 0


def test_a_message_without_version_and_a_version_without_message_are_each_marked_alone(store: ReplayStore) -> None:
    mark(store, "m", seq=None)
    mark(store, None, task="u", seq=3)

    assert store.seen("m", now=NOW)
    assert store.max_seq("t", now=NOW) is None
    assert store.max_seq("u", now=NOW) == 3


def test_copies_that_race_leave_the_highest_version(store: ReplayStore) -> None:
    if isinstance(store, DynamoDBStore):
        return  # one conditional write; its double here checks the condition and writes in two steps

    start = threading.Barrier(8)

    def race(seq: int) -> None:
        start.wait(10)
        mark(store, f"m{seq}", seq=seq)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(race, range(1, 9)))

    assert store.max_seq("t", now=NOW) == 8
    assert all(store.seen(f"m{seq}", now=NOW) for seq in range(1, 9))


def test_a_receiver_keeps_its_promises_over_any_store(store: ReplayStore) -> None:
    nudges: list[object] = []
    reasons: list[str] = []
    receiver = Receiver(
        sender().strict(), enqueue=nudges.append, store=store, observe=lambda seen: reasons.append(seen.reason)
    )

    for seq, message in ((7, "a"), (7, "a"), (5, "b"), (8, "c")):
        receiver.handle(*good(seq=seq, message=message).parts, now=NOW)

    assert (reasons, len(nudges)) == (["accepted", "duplicate", "stale_noop", "accepted"], 2)


@pytest.fixture(params=["memory", "sqlite", "dynamodb"])
def store_by_our_clock(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[ReplayStore]:
    """Those that judge expiry themselves: Redis goes by its own clock."""
    match request.param:
        case "memory":
            yield MemoryStore()
        case "sqlite":
            on_disk = SqliteStore(tmp_path / "replay.sqlite")
            yield on_disk
            on_disk.close()
        case _:
            with moto.mock_aws():
                yield DynamoDBStore(TABLE, dynamodb())


def test_what_has_run_out_is_not_there_though_nobody_deleted_it(store_by_our_clock: ReplayStore) -> None:
    store = store_by_our_clock
    mark(store)

    assert store.seen("m", now=NOW + DAY - 1)
    assert not store.seen("m", now=NOW + DAY)
    assert store.max_seq("t", now=NOW + DAY) is None


def test_a_version_that_has_run_out_holds_nothing_back(store_by_our_clock: ReplayStore) -> None:
    store = store_by_our_clock
    mark(store, seq=9)

    later = NOW + DAY
    store.mark("n", task_key="t", seq=2, now=later, until=later + DAY)

    assert store.max_seq("t", now=later) == 2


def test_redis_forgets_by_itself_what_has_run_out() -> None:
    client = fakeredis.FakeRedis()
    store = RedisStore(client, prefix="p:")

    store.mark("m", task_key="t", seq=7, now=NOW, until=NOW + DAY)

    assert {client.pttl("p:m") // 1000, client.pttl("p:t") // 1000} <= {DAY - 1, DAY}


def test_memory_is_bounded_and_forgets_the_oldest() -> None:
    store = MemoryStore(max_entries=3)

    for number in range(5):
        mark(store, f"m{number}", task=f"t{number}")

    assert [store.seen(f"m{number}", now=NOW) for number in range(5)] == [False, False, True, True, True]
    assert [store.max_seq(f"t{number}", now=NOW) for number in range(5)] == [None, None, 7, 7, 7]


def test_an_sqlite_file_outlives_its_process_and_is_shared(tmp_path: Path) -> None:
    first, second = SqliteStore(tmp_path / "replay.sqlite"), SqliteStore(tmp_path / "replay.sqlite")
    mark(first)
    first.close()

    assert second.seen("m", now=NOW)
    assert second.max_seq("t", now=NOW) == 7
    second.close()


def test_an_sqlite_file_does_not_grow_for_ever(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "replay.sqlite")
    for day in range(5):
        now = NOW + day * DAY
        store.mark(f"m{day}", task_key=f"t{day}", seq=1, now=now, until=now + DAY)

    rows = [store._db.execute(f"SELECT count(*) FROM {table}").fetchone()[0] for table in ("message", "version")]

    assert rows == [1, 1]
    store.close()
