"""The contract of ListTasks on the index, on the fake and on DynamoDB."""

from datetime import UTC, datetime, timedelta

import pytest

from a2a_serverless.app.ports import Listed, ListPage, ListQuery, Position
from a2a_serverless.core.head import Head
from a2a_serverless.core.waits import agent_message
from a2a_serverless.types import Owner, Scope, TaskState
from tests.fakes import START

from . import build
from .conftest import Tasks

SECOND = timedelta(seconds=1)
LONG = "a question that needs many words, " * 40


def query(
    scope: Scope,
    page_size: int = 50,
    *,
    after: Position | None = None,
    context_id: str = "",
    state: TaskState | None = None,
    since: datetime | None = None,
    now: datetime = START + timedelta(hours=1),
) -> ListQuery:
    return ListQuery(
        scope=scope,
        page_size=page_size,
        after=after,
        context_id=context_id,
        state=state,
        status_since=since,
        now=now,
    )


def listed(head: Head) -> Listed:
    return Listed(head.key, head.context_id, head.status)


def submitted(tasks: Tasks, scope: Scope, count: int) -> list[Head]:
    """Tasks with rising status times, newest first."""
    heads = [tasks.create(build.new(scope, f"t-{at}", now=START + at * SECOND)) for at in range(count)]
    return heads[::-1]


def ids(page: ListPage) -> list[str]:
    return [one.key.task_id for one in page.tasks]


def test_who_has_no_tasks_gets_an_empty_list(tasks: Tasks, scope: Scope) -> None:
    assert tasks.list(query(scope)) == ListPage((), None, 0)


def test_a_list_has_the_newest_status_first(tasks: Tasks, scope: Scope) -> None:
    heads = submitted(tasks, scope, 3)

    page = tasks.list(query(scope))

    assert page == ListPage(tuple(map(listed, heads)), None, 3)


def test_a_new_status_moves_a_task_to_the_front(tasks: Tasks, scope: Scope) -> None:
    heads = submitted(tasks, scope, 3)
    oldest = tasks.commit(build.begin(heads[-1]))

    asking = tasks.commit(build.ask(oldest, now=START + 60 * SECOND))

    page = tasks.list(query(scope))
    assert page.tasks[0] == listed(asking)
    assert ids(page) == ["t-0", "t-2", "t-1"]


def test_a_write_without_a_new_status_moves_nothing(tasks: Tasks, scope: Scope) -> None:
    heads = submitted(tasks, scope, 2)
    oldest = tasks.commit(build.begin(heads[-1], now=START + 60 * SECOND))

    tasks.commit(build.say(oldest, build.artifact("quote"), now=START + 61 * SECOND))

    assert ids(tasks.list(query(scope))) == ["t-1", "t-0"]


def test_ties_are_broken_by_id(tasks: Tasks, scope: Scope) -> None:
    for task_id in ("t-b", "t-c", "t-a"):
        tasks.create(build.new(scope, task_id))

    assert ids(tasks.list(query(scope))) == ["t-c", "t-b", "t-a"]


@pytest.mark.parametrize("page_size", [1, 2, 3, 4, 7, 8])
def test_pages_give_each_task_once_and_the_same_total(tasks: Tasks, scope: Scope, page_size: int) -> None:
    heads = submitted(tasks, scope, 7)

    pages = [tasks.list(query(scope, page_size))]
    while pages[-1].end is not None:
        pages.append(tasks.list(query(scope, page_size, after=pages[-1].end)))

    assert [one for page in pages for one in page.tasks] == [*map(listed, heads)]
    assert {page.total for page in pages} == {7}
    assert len(pages) == -(-7 // page_size)


def test_a_page_goes_on_behind_a_task_that_has_moved(tasks: Tasks, scope: Scope) -> None:
    heads = submitted(tasks, scope, 4)
    first = tasks.list(query(scope, 2))

    tasks.commit(build.ask(tasks.commit(build.begin(heads[1])), now=START + 60 * SECOND))
    second = tasks.list(query(scope, 2, after=first.end))

    assert ids(second) == ["t-1", "t-0"]
    assert second.total == 4


def test_the_lists_of_others_are_not_seen(tasks: Tasks, scope: Scope) -> None:
    submitted(tasks, Scope(scope.agent, Owner(scope.owner.subject, "tenant")), 3)
    submitted(tasks, Scope("other", scope.owner), 3)
    submitted(tasks, Scope(scope.agent, Owner(scope.owner.subject + "2")), 3)
    (mine,) = submitted(tasks, scope, 1)

    assert tasks.list(query(scope)) == ListPage((listed(mine),), None, 1)


def test_a_list_is_filtered_by_context(tasks: Tasks, scope: Scope) -> None:
    for at in range(6):
        tasks.create(build.new(scope, f"t-{at}", context_id=f"c-{at % 2}", now=START + at * SECOND))

    first = tasks.list(query(scope, 2, context_id="c-0"))
    second = tasks.list(query(scope, 2, context_id="c-0", after=first.end))

    assert (ids(first), first.total) == (["t-4", "t-2"], 3)
    assert (ids(second), second.end, second.total) == (["t-0"], None, 3)


def test_a_list_is_filtered_by_state(tasks: Tasks, scope: Scope) -> None:
    submitted(tasks, scope, 3)
    build.waiting(tasks, scope, "t-asks")

    page = tasks.list(query(scope, state=TaskState.INPUT_REQUIRED))

    assert (ids(page), page.total) == (["t-asks"], 1)


def test_few_are_found_among_many(tasks: Tasks, scope: Scope) -> None:
    build.waiting(tasks, scope, "t-asks", now=START - SECOND)
    submitted(tasks, scope, 60)

    page = tasks.list(query(scope, 2, state=TaskState.INPUT_REQUIRED))

    assert (ids(page), page.end, page.total) == (["t-asks"], None, 1)


def test_a_list_is_filtered_by_status_time(tasks: Tasks, scope: Scope) -> None:
    submitted(tasks, scope, 5)

    first = tasks.list(query(scope, 2, since=START + 2 * SECOND))
    second = tasks.list(query(scope, 2, since=START + 2 * SECOND, after=first.end))

    assert (ids(first), first.total) == (["t-4", "t-3"], 3)
    assert (ids(second), second.end) == (["t-2"], None)


def test_a_time_between_two_milliseconds_is_behind_the_first(tasks: Tasks, scope: Scope) -> None:
    """Clients name times by the microsecond or finer; a status has milliseconds."""
    submitted(tasks, scope, 2)
    just_behind = START + timedelta(microseconds=1)

    page = tasks.list(query(scope, since=just_behind))

    assert (ids(page), page.total) == (["t-1"], 1)


@pytest.mark.parametrize("since", [datetime.max.replace(tzinfo=UTC), datetime.min.replace(tzinfo=UTC)])
def test_the_ends_of_time_are_times(tasks: Tasks, scope: Scope, since: datetime) -> None:
    submitted(tasks, scope, 2)

    assert tasks.list(query(scope, since=since)).total == (2 if since.year == 1 else 0)


def test_a_page_that_goes_on_before_the_time_that_is_asked_for_is_empty(tasks: Tasks, scope: Scope) -> None:
    """No list of ours ends there, but a token can be made up; DynamoDB refuses bounds in the wrong order."""
    submitted(tasks, scope, 2)
    made_up = Position(START, "t-0", 2)

    page = tasks.list(query(scope, after=made_up, since=START + timedelta(minutes=1)))

    assert (page.tasks, page.end) == ((), None)


def test_expired_tasks_are_not_listed_nor_counted(tasks: Tasks, scope: Scope) -> None:
    ended = build.completed(tasks, scope, "t-ended")
    submitted(tasks, scope, 3)
    assert ended.expires_at is not None

    page = tasks.list(query(scope, 2, now=ended.expires_at))

    assert (ids(page), page.total) == (["t-2", "t-1"], 3)


@pytest.mark.parametrize("text", ["done", "ü" * 200, LONG])
def test_a_status_message_is_listed_however_long_it_is(tasks: Tasks, scope: Scope, text: str) -> None:
    head = build.completed(tasks, scope, text=text)

    page = tasks.list(query(scope))

    assert page.tasks == (listed(head),)


def test_a_long_status_message_is_listed_when_its_entry_is_sealed(tasks: Tasks, scope: Scope) -> None:
    head = build.running(tasks, scope)
    said = agent_message(head, LONG, message_id="m-said")
    filling = [build.artifact(f"{at} {LONG}{at * 7919}", append=at > 0) for at in range(60)]

    head = tasks.commit(build.say(head, build.working(START, said), *filling))

    assert tasks.list(query(scope)).tasks == (listed(head),)
