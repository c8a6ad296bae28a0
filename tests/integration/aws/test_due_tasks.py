"""The contract of DueTasks, on the fake and on DynamoDB. The index is shared: each test looks for its own tasks."""

from datetime import datetime, timedelta

import pytest

from a2a_serverless.core.advance import advance
from a2a_serverless.core.head import Rules
from a2a_serverless.errors import Conflict
from a2a_serverless.types import Scope
from tests.fakes import START

from . import build
from .conftest import Tasks

MINUTE = timedelta(minutes=1)
LATE = START + timedelta(days=400)


def due(tasks: Tasks, scope: Scope, moment: datetime) -> list[str]:
    return [key.task_id for key in tasks.due_before(moment, limit=100_000) if key.scope == scope]


def test_a_new_task_is_due_after_a_minute(tasks: Tasks, scope: Scope) -> None:
    tasks.create(build.new(scope))

    assert due(tasks, scope, START + MINUTE - timedelta(milliseconds=1)) == []
    assert due(tasks, scope, START + MINUTE) == ["t-1"]


def test_a_parked_task_is_due_a_minute_after_its_question_so_that_a_wait_nobody_holds_is_found(
    tasks: Tasks, scope: Scope
) -> None:
    head = build.waiting(tasks, scope)

    asked_at = head.status.timestamp
    assert asked_at is not None
    assert due(tasks, scope, asked_at) == []
    assert due(tasks, scope, asked_at + MINUTE) == ["t-1"]


def test_an_answered_task_is_due_a_minute_after_the_answer(tasks: Tasks, scope: Scope) -> None:
    answered_at = START + timedelta(hours=1)

    tasks.commit(build.answer(build.waiting(tasks, scope), now=answered_at))

    assert due(tasks, scope, answered_at) == []
    assert due(tasks, scope, answered_at + MINUTE) == ["t-1"]


def test_an_ended_task_with_a_webhook_is_due_until_somebody_saw_that_it_was_told(tasks: Tasks, scope: Scope) -> None:
    head = build.completed(tasks, scope)

    added = tasks.commit(advance(head, rules=Rules(), now=START, push=("c-1",)))

    assert due(tasks, scope, LATE) == ["t-1"]
    tasks.postpone(added, None)
    assert due(tasks, scope, LATE) == []


def test_an_ended_task_whose_webhook_was_replaced_is_due_again(tasks: Tasks, scope: Scope) -> None:
    head = tasks.commit(advance(build.completed(tasks, scope), rules=Rules(), now=START, push=("c-1",)))
    tasks.postpone(head, None)

    tasks.commit(advance(head, rules=Rules(), now=START, nudge_seq=head.version + 1))

    assert due(tasks, scope, LATE) == ["t-1"]


def test_an_ended_task_is_never_due(tasks: Tasks, scope: Scope) -> None:
    build.completed(tasks, scope)

    assert due(tasks, scope, LATE) == []


def test_what_a_runner_writes_does_not_change_when_a_task_is_due(tasks: Tasks, scope: Scope) -> None:
    head = build.running(tasks, scope, now=START)

    tasks.commit(build.say(head, build.artifact("x"), now=START + timedelta(seconds=50)))

    assert due(tasks, scope, START + MINUTE) == ["t-1"]


def test_those_due_first_come_first(tasks: Tasks, scope: Scope) -> None:
    for at in (3, 1, 2):
        tasks.create(build.new(scope, f"t-{at}", now=START + at * MINUTE))

    assert due(tasks, scope, LATE) == ["t-1", "t-2", "t-3"]


def test_a_limit_is_kept(tasks: Tasks, scope: Scope) -> None:
    for at in range(3):
        tasks.create(build.new(scope, f"t-{at}"))

    assert len(tasks.due_before(LATE, limit=2)) == 2


def test_a_postponed_task_is_due_later_and_otherwise_as_it_was(tasks: Tasks, scope: Scope) -> None:
    head = tasks.create(build.new(scope))

    tasks.postpone(head, START + 10 * MINUTE)

    assert due(tasks, scope, START + 9 * MINUTE) == []
    assert due(tasks, scope, START + 10 * MINUTE) == ["t-1"]
    assert tasks.head(head.key, now=START) == head


def test_a_task_can_be_taken_out_and_put_back(tasks: Tasks, scope: Scope) -> None:
    head = tasks.create(build.new(scope))

    tasks.postpone(head, None)
    assert due(tasks, scope, LATE) == []

    tasks.postpone(head, START)
    assert due(tasks, scope, START) == ["t-1"]


def test_a_task_that_moved_on_is_not_postponed(tasks: Tasks, scope: Scope) -> None:
    head = tasks.create(build.new(scope))
    tasks.commit(build.begin(head))

    with pytest.raises(Conflict):
        tasks.postpone(head, LATE)

    assert due(tasks, scope, START + MINUTE) == ["t-1"]
