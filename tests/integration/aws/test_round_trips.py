"""No task that was accepted ever becomes unreadable: whatever is written is read back equal."""

import uuid
from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from a2a_serverless.aws.table import Table
from a2a_serverless.aws.task_table import TaskTable
from a2a_serverless.core.head import Change, Head, Record
from a2a_serverless.core.journal import Entry, StatusChanged
from a2a_serverless.types import Owner, Scope, TaskKey
from tests.fakes import START

from . import strategies
from .conftest import random_ids, slow

steps = st.lists(
    st.tuples(strategies.heads(TaskKey(Scope("a", Owner("o")), "t")), st.lists(strategies.entries, max_size=4)),
    min_size=1,
    max_size=5,
)


@slow(25)
@given(steps, strategies.names, strategies.texts, strategies.names)
def test_every_change_is_read_back_as_it_was_written(
    table: Table, steps: Sequence[tuple[Head, Sequence[Entry]]], agent: str, tenant: str, subject: str
) -> None:
    store = TaskTable(table, ids=random_ids)
    key = TaskKey(Scope(agent, Owner(subject, tenant)), str(uuid.uuid4()))
    before: Head | None = None
    journal: tuple[Entry, ...] = ()

    for wanted, entries in steps:
        change = following(before, wanted.but(key=key), tuple(entries))
        before = store.commit(change) if before is not None else store.create(change)
        journal += tuple(entries)

        assert store.head(key, now=START) == before
        assert store.read(key, now=START) == Record(before, journal)
        assert tuple(store.entries_from(before, len(journal) // 2)) == journal[len(journal) // 2 :]


def following(before: Head | None, wanted: Head, entries: tuple[Entry, ...]) -> Change:
    """The change from `before` to `wanted`, with what the core guarantees: versions count, the newest status is the
    head's, the context stays."""
    statuses = [entry.status for entry in entries if isinstance(entry, StatusChanged)]
    if before is None:
        status = statuses[-1] if statuses else wanted.status
        return Change(None, wanted.but(version=1, status=status, entries=len(entries)), entries)
    after = wanted.but(
        version=before.version + 1,
        status=statuses[-1] if statuses else before.status,
        entries=before.entries + len(entries),
        context_id=before.context_id,
        created_at=before.created_at,
        tail=before.tail,
        sealed=before.sealed,
        wait_token=before.wait_token,
    )
    return Change(before, after, entries)
