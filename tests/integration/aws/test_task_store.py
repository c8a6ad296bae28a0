"""The contract of TaskStore, on the fake and on DynamoDB."""

from datetime import timedelta

import pytest

from a2a_serverless.app.ports import SendClaim
from a2a_serverless.core import cancels
from a2a_serverless.core.head import Record
from a2a_serverless.core.journal import ArtifactChanged, Spoken, StatusChanged
from a2a_serverless.core.waits import agent_message
from a2a_serverless.errors import Conflict
from a2a_serverless.types import Owner, Scope, TaskKey, TaskState
from tests.fakes import START

from . import build
from .conftest import Tasks

HOUR = timedelta(hours=1)
LONG = "a question that needs many words, " * 40
"""More than the list index carries."""


def test_a_new_task_is_read_back_as_it_was_made(tasks: Tasks, scope: Scope) -> None:
    change = build.new(scope)

    head = tasks.create(change)

    assert head.version == 1
    assert tasks.head(head.key, now=START) == head
    assert tasks.read(head.key, now=START) == Record(head, change.entries)


def test_a_task_that_exists_is_not_made_again(tasks: Tasks, scope: Scope) -> None:
    head = tasks.create(build.new(scope))

    with pytest.raises(Conflict):
        tasks.create(build.new(scope, text="something else"))

    assert tasks.head(head.key, now=START) == head


def test_a_task_of_another_owner_agent_or_tenant_is_not_there(tasks: Tasks, scope: Scope) -> None:
    tasks.create(build.new(scope))
    others = [
        Scope("freight", Owner("bob")),
        Scope("other", scope.owner),
        Scope("freight", Owner(scope.owner.subject, "tenant")),
    ]

    found = [tasks.head(TaskKey(other, "t-1"), now=START) for other in others]

    assert found == [None, None, None]


@pytest.mark.parametrize("task_id", ["", "t-2", "../t-1", "t-1/", "%74-1", "ü\ud800", "x" * 5000])
def test_a_task_id_that_is_not_there_is_not_found_whatever_it_looks_like(
    tasks: Tasks, scope: Scope, task_id: str
) -> None:
    tasks.create(build.new(scope))
    key = TaskKey(scope, task_id)

    assert tasks.head(key, now=START) is None
    assert tasks.read(key, now=START) is None


def test_of_two_writers_at_one_version_one_commits(tasks: Tasks, scope: Scope) -> None:
    head = build.running(tasks, scope)
    flush = build.say(head, build.artifact("first"))
    message = build.answer(head, "hurry")

    tasks.commit(flush)
    with pytest.raises(Conflict):
        tasks.commit(message)

    record = tasks.read(head.key, now=START)
    assert record is not None
    assert record.head.version == head.version + 1
    assert [type(entry) for entry in record.entries] == [Spoken, ArtifactChanged]


def test_a_change_of_a_task_that_is_not_there_is_refused(tasks: Tasks, scope: Scope) -> None:
    never_stored = build.new(scope).after

    with pytest.raises(Conflict):
        tasks.commit(build.begin(never_stored))

    assert tasks.head(never_stored.key, now=START) is None


def test_a_change_without_a_head_before_it_cannot_be_committed(tasks: Tasks, scope: Scope) -> None:
    with pytest.raises(ValueError, match="create"):
        tasks.commit(build.new(scope))


@pytest.mark.parametrize("size", [10, 2_000, 3_000, 4_000, 20_000, 200_000])
def test_a_task_is_read_back_whole_however_long_its_journal(tasks: Tasks, scope: Scope, size: int) -> None:
    head = build.running(tasks, scope)
    chunks = [build.artifact(build.incompressible(size), append=position > 0) for position in range(5)]

    for chunk in chunks:
        head = tasks.commit(build.say(head, chunk))
    head = tasks.commit(build.complete(head, text="done"))

    record = tasks.read(head.key, now=START)
    assert record is not None
    assert record.head == head == tasks.head(head.key, now=START)
    assert list(record.entries[1:-1]) == chunks
    assert len(record.entries) == head.entries


def test_one_change_may_hold_more_than_one_segment(tasks: Tasks, scope: Scope) -> None:
    head = build.running(tasks, scope)
    chunks = [build.artifact(build.incompressible(9_000), append=position > 0) for position in range(20)]

    head = tasks.commit(build.say(head, *chunks))

    record = tasks.read(head.key, now=START)
    assert record is not None
    assert list(record.entries[1:]) == chunks


def test_a_journal_of_several_megabytes_is_read_whole(tasks: Tasks, scope: Scope) -> None:
    head = build.running(tasks, scope)
    chunks = [build.artifact(build.incompressible(200_000), append=position > 0) for position in range(12)]

    for chunk in chunks:
        head = tasks.commit(build.say(head, chunk))

    record = tasks.read(head.key, now=START)
    assert record is not None
    assert list(record.entries[1:]) == chunks


def test_entries_are_read_from_any_position(tasks: Tasks, scope: Scope) -> None:
    head = build.running(tasks, scope)
    for position in range(12):
        size = 2_500 if position % 3 else 100
        head = tasks.commit(build.say(head, build.artifact(build.incompressible(size + position), append=position > 0)))
    record = tasks.read(head.key, now=START)
    assert record is not None

    for position in range(head.entries + 2):
        assert tuple(tasks.entries_from(head, position)) == tuple(record.entries[position:])


def test_entries_end_where_the_head_ends(tasks: Tasks, scope: Scope) -> None:
    head = build.running(tasks, scope)
    head = tasks.commit(build.say(head, build.artifact(build.incompressible(5_000))))
    tasks.commit(build.say(head, build.artifact(build.incompressible(5_000), append=True)))

    entries = tasks.entries_from(head, 0)

    assert len(entries) == head.entries


@pytest.mark.parametrize("text", ["", "short", "ä" * 390, LONG, build.incompressible(20_000)])
def test_a_status_message_of_any_length_is_in_the_head(tasks: Tasks, scope: Scope, text: str) -> None:
    head = build.running(tasks, scope)
    said = agent_message(head, text, message_id="m-said") if text else None

    head = tasks.commit(build.say(head, build.working(START, said)))
    assert tasks.head(head.key, now=START) == head

    head = tasks.commit(build.say(head, build.artifact("more")))
    assert tasks.head(head.key, now=START) == head

    head = tasks.commit(build.say(head, build.artifact(build.incompressible(6_000))))
    stored = tasks.head(head.key, now=START)

    assert stored == head
    assert stored is not None
    assert stored.status.message == said
    record = tasks.read(head.key, now=START)
    assert record is not None
    assert record.head == head


def test_a_status_message_that_was_sealed_is_replaced_by_the_next(tasks: Tasks, scope: Scope) -> None:
    head = build.running(tasks, scope)
    said = agent_message(head, LONG, message_id="m-said")
    head = tasks.commit(build.say(head, build.working(START, said), build.artifact(build.incompressible(6_000))))

    head = tasks.commit(build.say(head, build.working(START + HOUR)))

    assert tasks.head(head.key, now=START) == head
    assert head.status.message is None


def test_what_an_agent_keeps_between_turns_is_kept(tasks: Tasks, scope: Scope) -> None:
    head = build.waiting(tasks, scope)

    stored = tasks.head(head.key, now=START)

    assert stored is not None
    assert stored.memory == {"mode": None}
    assert stored.wait == head.wait


def test_an_answer_ends_the_wait(tasks: Tasks, scope: Scope) -> None:
    head = tasks.commit(build.answer(build.waiting(tasks, scope)))

    stored = tasks.head(head.key, now=START)

    assert stored == head
    assert head.wait is None
    assert head.turn_due == 2


def test_an_ended_task_is_there_until_it_expires(tasks: Tasks, scope: Scope) -> None:
    head = build.completed(tasks, scope, now=START + timedelta(milliseconds=1))
    assert head.expires_at is not None

    assert tasks.head(head.key, now=head.expires_at - timedelta(seconds=1)) == head
    assert tasks.head(head.key, now=head.expires_at) is None
    assert tasks.read(head.key, now=head.expires_at) is None


def test_a_task_is_kept_for_at_least_its_retention(tasks: Tasks, scope: Scope) -> None:
    end = START + timedelta(milliseconds=700)

    head = build.completed(tasks, scope, now=end)

    assert head.expires_at is not None
    assert timedelta(0) <= head.expires_at - (end + build.RULES.retention) < timedelta(seconds=1)


def test_canceled_is_final_for_the_runner_that_was_faster_to_read(tasks: Tasks, scope: Scope) -> None:
    head = build.running(tasks, scope)
    tasks.commit(cancels.cancel(head, rules=build.RULES, now=START))

    with pytest.raises(Conflict):
        tasks.commit(build.complete(head))

    stored = tasks.head(head.key, now=START)
    assert stored is not None
    assert stored.state is TaskState.CANCELED


def test_the_first_send_of_a_kind_claims_its_task(tasks: Tasks, scope: Scope) -> None:
    first = tasks.claim_send(scope, "f", task_id="t-1", until=START + HOUR, now=START)
    again = tasks.claim_send(scope, "f", task_id="t-2", until=START + HOUR, now=START)
    other = tasks.claim_send(scope, "g", task_id="t-3", until=START + HOUR, now=START)

    assert first == SendClaim("t-1", mine=True)
    assert again == SendClaim("t-1", mine=False)
    assert other == SendClaim("t-3", mine=True)


def test_a_claim_is_another_one_for_another_owner(tasks: Tasks, scope: Scope) -> None:
    tasks.claim_send(scope, "f", task_id="t-1", until=START + HOUR, now=START)

    bob = Scope("freight", Owner("bob", scope.owner.subject))

    other = tasks.claim_send(bob, "f", task_id="t-2", until=START + HOUR, now=START)

    assert other == SendClaim("t-2", mine=True)


def test_a_claim_that_was_forgotten_is_free(tasks: Tasks, scope: Scope) -> None:
    tasks.claim_send(scope, "f", task_id="t-1", until=START + HOUR, now=START)

    later = tasks.claim_send(scope, "f", task_id="t-2", until=START + 2 * HOUR, now=START + HOUR)

    assert later == SendClaim("t-2", mine=True)


def test_a_claim_is_replaced_only_by_who_knows_whose_it_was(tasks: Tasks, scope: Scope) -> None:
    until = START + HOUR
    tasks.claim_send(scope, "f", task_id="t-1", until=until, now=START)

    wrong = tasks.claim_send(scope, "f", task_id="t-2", instead_of="t-0", until=until, now=START)
    right = tasks.claim_send(scope, "f", task_id="t-3", instead_of="t-1", until=until, now=START)
    late = tasks.claim_send(scope, "f", task_id="t-4", instead_of="t-1", until=until, now=START)

    assert wrong == SendClaim("t-1", mine=False)
    assert right == SendClaim("t-3", mine=True)
    assert late == SendClaim("t-3", mine=False)


def test_claiming_again_for_the_same_task_is_fine(tasks: Tasks, scope: Scope) -> None:
    """A request whose answer was lost is sent again."""
    for _ in range(2):
        claim = tasks.claim_send(scope, "f", task_id="t-1", until=START + HOUR, now=START)
        assert claim == SendClaim("t-1", mine=True)


def test_the_journal_keeps_statuses_as_they_were_said(tasks: Tasks, scope: Scope) -> None:
    head = build.running(tasks, scope)
    first = build.working(START, agent_message(head, "asking three carriers", message_id="m-2"))
    second = build.working(START + HOUR, agent_message(head, "two answered", message_id="m-3"))

    head = tasks.commit(build.say(head, first))
    head = tasks.commit(build.say(head, second))

    record = tasks.read(head.key, now=START)
    assert record is not None
    assert [entry for entry in record.entries if isinstance(entry, StatusChanged)] == [first, second]
