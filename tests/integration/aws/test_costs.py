"""What a task costs, in DynamoDB's units and in calls: the budgets of the design, counted from the requests.

A figure may fall; one that rises above its budget fails. `performance` names the arithmetic: a whole-task store writes
505,130 units for 500 chunks of 4 KB, and reads 222 for a list of 50 tasks of 36 KB.
"""

import itertools
import os
import random
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import pytest

from a2a_serverless.app.ports import ListQuery
from a2a_serverless.app.turn_writer import TurnWriter
from a2a_serverless.aws import head_codec
from a2a_serverless.aws.clients import Clients
from a2a_serverless.aws.table import Table
from a2a_serverless.aws.task_table import TaskTable, planned
from a2a_serverless.core.endings import Ended
from a2a_serverless.core.head import Head
from a2a_serverless.core.waits import agent_message
from a2a_serverless.types import Owner, Scope, TaskState
from tests.fakes import START, FakeClock

from . import build
from .conftest import random_ids
from .units import Counter

SECOND = timedelta(seconds=1)
CHAOS = int(os.environ.get("CHAOS", "1"))


@pytest.fixture
def counter(clients: Clients) -> Counter:
    return Counter(clients.dynamodb)


@pytest.fixture
def store(counter: Counter, table_name: str) -> TaskTable:
    client: Any = counter
    return TaskTable(Table(client, table_name), ids=random_ids)


def letters(size: int, seed: int = 0) -> str:
    """Text of random letters: compresses to about 0.6, where prose would to 0.4."""
    return "".join(random.Random(seed).choices("abcdefghijklmnopqrstuvwxyz      ", k=size))


def noise(size: int, seed: int = 0) -> str:
    """Text that does not compress: base64 of random bytes."""
    return build.incompressible(size + seed)[:size]


def started(
    store: TaskTable, scope: Scope, *, text: str = "Quote 3 pallets, Pune to Rotterdam, 400 kg", task_id: str = ""
) -> Head:
    """A task as `api` and `run_turn` make it: the send claimed, the task created, the lease taken."""
    task_id = task_id or random_ids()
    store.claim_send(scope, "f" * 64, task_id=task_id, until=START + timedelta(hours=1), now=START)
    head = store.create(build.new(scope, task_id, text=text, context_id=random_ids()))
    return store.commit(build.begin(head))


def streamed(
    store: TaskTable, head: Head, chunks: int, size: int, *, text: Callable[[int, int], str] = letters
) -> Head:
    """An artifact said in chunks, 5 ms apart, and completed, by the writer of a turn."""
    clock = FakeClock()
    writer = TurnWriter(head, tasks=store, rules=build.RULES, clock=clock, callback_url=str)
    for at in range(chunks):
        writer.say(build.artifact(text(size, at), append=at > 0))
        clock.advance(0.005)
        writer.tick()
    return writer.finish(Ended(TaskState.COMPLETED), {})


@pytest.mark.parametrize("text", [letters, noise])
def test_a_small_task_costs_at_most_11_write_units_in_4_writes(
    store: TaskTable, counter: Counter, scope: Scope, text: Callable[[int], str]
) -> None:
    """Claim, create, lease, and one write for all that the agent said: 2 KB and five events, list index included."""
    head = started(store, scope, text=text(200))
    working = build.working(START + SECOND, agent_message(head, "asking three carriers", message_id=random_ids()))

    head = store.commit(build.complete(head, working, build.artifact(text(1_500)), text="done", now=START + SECOND))

    assert head.entries == 4
    assert counter.requests == 4
    assert counter.writes <= 11


def test_a_task_that_asks_costs_at_most_21_write_units(store: TaskTable, counter: Counter, scope: Scope) -> None:
    """Created, asked, answered, completed."""
    head = store.commit(build.ask(started(store, scope), now=START + SECOND))
    head = store.commit(build.answer(head, now=START + 2 * SECOND))
    head = store.commit(build.begin(head, turn=2, now=START + 3 * SECOND))

    store.commit(build.complete(head, build.artifact(letters(1_000)), now=START + 4 * SECOND))

    assert counter.requests == 7
    assert counter.writes <= 21


@dataclass(frozen=True)
class Work:
    """An artifact in chunks, and the write units it may cost from the send to the end."""

    chunks: int
    size: int
    text: Callable[[int, int], str]
    budget: int


@pytest.mark.parametrize(
    "work",
    [
        Work(50, 4_096, letters, 170),
        Work(500, 4_096, letters, 1_600),
        Work(500, 4_096, noise, 1_850),
        Work(2_000, 200, letters, 350),
        Work(2_000, 200, noise, 400),
    ],
    ids=lambda work: f"{work.chunks}x{work.size}-{work.text.__name__}",
)
def test_a_streamed_artifact_costs_what_it_is_large(
    store: TaskTable, counter: Counter, scope: Scope, work: Work
) -> None:
    head = streamed(store, started(store, scope), work.chunks, work.size, text=work.text)

    assert head.state is TaskState.COMPLETED
    assert head.entries == work.chunks + 2
    assert counter.writes <= work.budget
    record = store.read(head.key, now=START)
    assert record is not None
    assert len(record.entries) == head.entries


def test_units_grow_with_the_work_and_no_faster(store: TaskTable, counter: Counter) -> None:
    spent = []
    for chunks in (25, 50, 100, 200):
        head = started(store, Scope("freight", Owner(random_ids())))
        counter.reset()
        streamed(store, head, chunks, 4_096)
        spent.append(counter.writes)

    slopes = [later / earlier for earlier, later in itertools.pairwise(spent)]
    assert all(slope <= 2.05 for slope in slopes), spent


def test_a_heartbeat_of_a_long_task_costs_one_unit(store: TaskTable, counter: Counter, scope: Scope) -> None:
    head = store.commit(build.say(started(store, scope), build.artifact(build.incompressible(50_000))))
    counter.reset()

    store.commit(build.say(head, now=START + 10 * SECOND))

    assert (counter.requests, counter.writes) == (1, 1)


@pytest.mark.parametrize(("size", "units"), [(1_500, 1), (36_000, 10)])
def test_reading_a_task_is_one_call_and_costs_what_the_task_is_large(
    store: TaskTable, counter: Counter, scope: Scope, size: int, units: int
) -> None:
    head = store.commit(build.complete(started(store, scope), build.artifact(build.incompressible(size))))
    counter.reset()

    store.read(head.key, now=START)

    assert counter.calls == {"query": 1}
    assert counter.reads <= units


def test_following_a_long_task_reads_only_what_is_new(store: TaskTable, counter: Counter, scope: Scope) -> None:
    seen = store.commit(build.say(started(store, scope), build.artifact(build.incompressible(300_000))))
    newer = store.commit(build.say(seen, build.artifact(build.incompressible(6_000), append=True)))
    counter.reset()

    entries = store.entries_from(newer, seen.entries)

    assert len(entries) == 1
    assert counter.calls == {"query": 1}
    assert counter.reads <= 2


@pytest.fixture
def uncounted(table: Table) -> TaskTable:
    """The same table, for what comes before the counting."""
    return TaskTable(table, ids=random_ids)


def make_large_tasks(store: TaskTable, scope: Scope, count: int) -> None:
    """Tasks of 36 KB, completed one after the other."""
    for at in range(count):
        head = started(store, scope, task_id=random_ids())
        result = build.artifact(build.incompressible(36_000))
        store.commit(build.complete(head, result, text="three carriers answered", now=START + at * SECOND))


def listing(scope: Scope, **more: Any) -> ListQuery:
    return ListQuery(scope=scope, page_size=50, now=START + timedelta(hours=1), **more)


def test_a_list_of_50_large_tasks_costs_at_most_3_read_units(
    store: TaskTable, uncounted: TaskTable, counter: Counter, scope: Scope
) -> None:
    """On the first of two pages, the count of all included, and on the second."""
    make_large_tasks(uncounted, scope, 60)

    first = store.list(listing(scope))
    assert (len(first.tasks), first.total) == (50, 60)
    assert counter.calls == {"query": 2}
    assert counter.reads <= 3

    counter.reset()
    second = store.list(listing(scope, after=first.end))
    assert len(second.tasks) == 10
    assert counter.calls == {"query": 1}
    assert counter.reads <= 1


def test_a_list_costs_the_same_among_many_tasks_of_others(
    request: pytest.FixtureRequest, store: TaskTable, uncounted: TaskTable, counter: Counter, scope: Scope
) -> None:
    """The index is asked for one owner's partition. With CHAOS=100 the others have 100,000 tasks."""
    make_large_tasks(uncounted, scope, 5)
    alone = store.list(listing(scope))
    spent = (counter.calls, counter.reads)

    load_foreign_tasks(counter.client, request.getfixturevalue("table_name"), 1_000 * CHAOS)
    counter.reset()
    among = store.list(listing(scope))

    assert among == alone
    assert (counter.calls, counter.reads) == spent == ({"query": 1}, 0.5)


def load_foreign_tasks(dynamodb: Any, table_name: str, count: int) -> None:
    """Heads of other owners, written 25 at a time."""
    run = random_ids()
    for start in range(0, count, 25):
        owners = [Scope("freight", Owner(f"other-{run}-{at % 50}")) for at in range(start, start + 25)]
        plans = [planned(build.new(owner, random_ids())) for owner in owners]
        puts = [{"PutRequest": {"Item": head_codec.new_item(plan.head, plan.written)}} for plan in plans]
        dynamodb.batch_write_item(RequestItems={table_name: puts})
