"""Several writers at one task, each stopped between any two of its requests, dying there, or repeating what it sent.

The argument is in `aws.task_table`; here it is driven. The model is the list of changes whose head was written. After
each step the task reads as the model says, and so does the journal up to every head that anybody ever saw.
"""

import uuid
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    RuleBasedStateMachine,
    consumes,
    initialize,
    invariant,
    multiple,
    precondition,
    rule,
    run_state_machine_as_test,
)

from a2a_serverless.aws.head_codec import head_key
from a2a_serverless.aws.items import number
from a2a_serverless.aws.settings import NUDGE_SEQ, VERSION, WAIT_REMINDED
from a2a_serverless.aws.table import Table
from a2a_serverless.aws.task_table import Plan, TaskTable, planned, segment_item
from a2a_serverless.core.head import Change, Head, Lease, Record
from a2a_serverless.core.journal import Entry
from a2a_serverless.errors import Conflict
from a2a_serverless.types import Owner, Scope
from tests.fakes import START

from . import build
from .conftest import random_ids, slow

SIZES = st.lists(st.sampled_from([10, 900, 3_100, 9_000, 33_000]), min_size=1, max_size=4)


@dataclass(frozen=True)
class Prepared:
    """A change that a writer decided on what it read, and what of it is still to be sent."""

    plan: Plan
    entries: tuple[Entry, ...]
    sent: int = 0


@dataclass
class Repeating:
    """A client that sends a write again after its answer was lost, as botocore does, with somebody else in between."""

    client: Any
    between: list[Any] = field(default_factory=list)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.client, name)

    def update_item(self, **request: Any) -> Any:
        answer = self.client.update_item(**request)
        if not self.between:
            return answer
        for other in self.between:
            other()
        return self.client.update_item(**request)


class Writers(RuleBasedStateMachine):
    """One task, any number of writers."""

    table: Table
    client: Any
    table_name: str

    seen: Bundle[Head] = Bundle("seen")
    prepared: Bundle[Prepared] = Bundle("prepared")
    sent: Bundle[Plan] = Bundle("sent")
    abandoned: Bundle[Plan] = Bundle("abandoned")

    def __init__(self) -> None:
        super().__init__()
        self.store = TaskTable(self.table, ids=random_ids)
        self.current: Head | None = None
        self.journal: tuple[Entry, ...] = ()
        self.heads: list[Head] = []
        self.said = 0

    @initialize(target=seen)
    def a_task_is_made(self) -> Head:
        change = build.new(Scope("freight", Owner(uuid.uuid4().hex)))
        self._committed(self.store.create(change), change.entries)
        return self._now

    @property
    def _now(self) -> Head:
        assert self.current is not None
        return self.current

    @rule(target=seen)
    def a_writer_reads(self) -> Head:
        head = self.store.head(self._now.key, now=START)
        assert head is not None
        return head

    @rule(target=prepared, head=seen, sizes=SIZES)
    def a_writer_decides(self, head: Head, sizes: list[int]) -> Prepared:
        return self._decided(head, sizes)

    def _decided(self, head: Head, sizes: list[int]) -> Prepared:
        entries = tuple(self._something(size) for size in sizes)
        change = Change(head, head.but(version=head.version + 1, entries=head.entries + len(entries)), entries)
        return Prepared(planned(change), entries)

    @rule(target=prepared, head=seen, sizes=SIZES)
    def two_writers_decide_the_same(self, head: Head, sizes: list[int]) -> Any:
        one = self._decided(head, sizes)
        after = one.plan.head.but(tail=head.tail, sealed=head.sealed)
        return multiple(one, Prepared(planned(Change(head, after, one.entries)), one.entries))

    @rule(target=prepared, work=consumes(prepared))
    def a_segment_is_sent(self, work: Prepared) -> Prepared:
        if work.sent == len(work.plan.segments):
            return work
        self._put(work.plan, work.sent)
        return Prepared(work.plan, work.entries, work.sent + 1)

    @rule(target=abandoned, work=consumes(prepared))
    def a_writer_dies(self, work: Prepared) -> Plan:
        return work.plan

    @rule(target=sent, work=consumes(prepared))
    def a_head_is_sent(self, work: Prepared) -> Plan:
        for segment in range(work.sent, len(work.plan.segments)):
            self._put(work.plan, segment)
        is_current = work.plan.before is not None and work.plan.before.version == self._now.version
        try:
            self.store._write_head(work.plan)
        except Conflict:
            assert not is_current
        else:
            assert is_current
            self._committed(work.plan.head, work.entries)
        return work.plan

    @rule(target=sent, work=consumes(prepared), other=st.booleans())
    def a_head_is_sent_and_its_answer_lost(self, work: Prepared, *, other: bool) -> Plan:
        for segment in range(work.sent, len(work.plan.segments)):
            self._put(work.plan, segment)
        is_current = work.plan.before is not None and work.plan.before.version == self._now.version

        def somebody_else() -> None:
            self._committed(work.plan.head, work.entries)
            if other:
                change = build.say(self._now.but(lease=Lease(START)), self._something(10))
                self._committed(self.store.commit(change), change.entries)

        client: Any = Repeating(self.client, [somebody_else])
        repeating = TaskTable(Table(client, self.table_name), ids=random_ids)
        try:
            repeating._write_head(work.plan)
        except Conflict:
            assert not is_current
        else:
            assert is_current
        return work.plan

    @rule(plan=sent | abandoned, which=st.integers(0, 10))
    def a_late_segment_arrives(self, plan: Plan, which: int) -> None:
        if plan.segments:
            self._put(plan, which % len(plan.segments))

    @rule(plan=sent)
    def a_late_head_arrives(self, plan: Plan) -> None:
        with pytest.raises(Conflict):
            self.store._write_head(plan)

    @rule()
    def the_state_machine_reminds(self) -> None:
        """It raises the version by itself; every writer that read before loses."""
        head = self._now
        changes = {VERSION: number(head.version + 1), NUDGE_SEQ: number(head.version + 1), WAIT_REMINDED: number(1)}
        self.table.update(head_key(head.key), changes)
        self._committed(head.but(version=head.version + 1, nudge_seq=head.version + 1), ())

    @invariant()
    def the_task_reads_as_the_model_says(self) -> None:
        if self.current is None:
            return
        assert self.store.read(self.current.key, now=START) == Record(self.current, self.journal)

    @precondition(lambda self: self.heads)
    @rule(back=st.integers(0, 100), position=st.integers(0, 100))
    def the_journal_of_an_old_head_is_as_it_was(self, back: int, position: int) -> None:
        old = self.heads[back % len(self.heads)]
        position %= old.entries + 1
        assert tuple(self.store.entries_from(old, position)) == self.journal[position : old.entries]

    def _something(self, size: int) -> Entry:
        self.said += 1
        return build.artifact(f"{self.said} {build.incompressible(size)}", append=True)

    def _put(self, plan: Plan, which: int) -> None:
        self.table.put(segment_item(plan.head.key, plan.segments[which]))

    def _committed(self, head: Head, entries: tuple[Entry, ...]) -> None:
        self.current = head
        self.heads.append(head)
        self.journal += entries


def test_no_writer_harms_what_another_wrote(table: Table, clients: Any, table_name: str) -> None:
    given = {"table": table, "client": clients.dynamodb, "table_name": table_name}
    machine = type("WritersOnDynamoDb", (Writers,), given)

    run_state_machine_as_test(machine, settings=slow(15, stateful_step_count=25))
