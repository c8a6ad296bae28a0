"""GetTask and ListTasks: what a caller may see, as he asked to see it."""

from datetime import timedelta

import pytest

from a2a_serverless.agent import Turn
from a2a_serverless.app.read import DEFAULT_PAGE, ListRequest, TaskPage, get, list_tasks
from a2a_serverless.core.head import PUSH_NUDGE_KEY, WAIT_EXTENSION_URI
from a2a_serverless.errors import InvalidParams, TaskNotFound
from a2a_serverless.types import Task, TaskState, timestamp_text
from tests.fakes import START
from tests.unit.app.world import ALICE, BOB, HOOK, World, agent_that, asks_once


def conversation(world: World) -> Task:
    """A task with five messages: three of the caller, two questions."""
    task = world.send("m1")
    for text in ("m2", "m3"):
        world.settle()
        world.send(text, task=task)
    return task


def asks_always(turn: Turn) -> None:
    turn.artifact("log", text=turn.message.text)
    turn.ask(f"q{len(turn.history)}")


# GetTask


@pytest.mark.parametrize(("length", "expected"), [(None, 5), (0, 0), (2, 2), (100, 5)])
def test_l17_history_is_the_newest_of_it_in_order(length: int | None, expected: int) -> None:
    world = World(agent_that(asks_always))
    task = conversation(world)
    whole = world.task(task).history

    history = get(world.host, ALICE, task.id, history_length=length).history

    assert history == whole[5 - expected :]


def test_l17_a_negative_history_length_is_refused_everywhere() -> None:
    world = World()
    task = world.send()

    with pytest.raises(InvalidParams):
        get(world.host, ALICE, task.id, history_length=-1)
    with pytest.raises(InvalidParams):
        list_tasks(world.host, ALICE, ListRequest(history_length=-1))


def test_l11_reading_with_a_history_length_changes_nothing_that_is_stored() -> None:
    world = World(agent_that(asks_always))
    task = conversation(world)
    before = world.record(task)

    get(world.host, ALICE, task.id, history_length=1)

    assert world.record(task) == before


def test_a01_a_foreign_task_is_not_there() -> None:
    world = World()
    task = world.send()

    with pytest.raises(TaskNotFound) as foreign:
        get(world.host, BOB, task.id)
    with pytest.raises(TaskNotFound) as unknown:
        get(world.host, BOB, "nowhere")

    assert (foreign.value.message, foreign.value.metadata) == (unknown.value.message, unknown.value.metadata)


def test_l13_a_waiting_task_says_until_when_it_waits() -> None:
    world = World(agent_that(asks_once))
    task = world.send()
    world.settle()

    metadata = get(world.host, ALICE, task.id).metadata

    assert metadata is not None
    assert metadata[WAIT_EXTENSION_URI] == {"until": timestamp_text(START + timedelta(days=2))}


def test_l21_a_task_that_waits_longer_than_tasks_are_kept_is_still_there() -> None:
    """One question after the other, none of which may wait longer than that."""
    world = World(agent_that(lambda turn: turn.ask("well?", within=timedelta(days=30))))
    task = world.send()
    world.settle()
    for month in range(10):
        world.clock.advance(timedelta(days=29))
        world.send(f"not yet {month}", task=task)
        world.settle()

    assert get(world.host, ALICE, task.id).status.state is TaskState.INPUT_REQUIRED
    world.send("finally", task=task)
    assert world.head(task).state is TaskState.WORKING


def test_l21_a_task_is_kept_for_its_retention_after_its_end_and_then_not_there() -> None:
    world = World()
    task = world.send()
    world.settle()
    world.clock.advance(world.rules.retention - timedelta(seconds=1))
    assert get(world.host, ALICE, task.id).id == task.id

    world.clock.advance(2)

    with pytest.raises(TaskNotFound):
        get(world.host, ALICE, task.id)


def test_a_fetch_is_the_receipt_for_what_a_webhook_need_not_be_told_again() -> None:
    world = World()
    task = world.send(hook=HOOK)
    world.settle()

    fetched = get(world.host, ALICE, task.id)

    assert fetched.metadata is not None
    assert fetched.metadata[PUSH_NUDGE_KEY] == {"seq": str(world.head(task).nudge_seq)}
    assert world.tasks.fetched(world.key(task)) == world.head(task).nudge_seq


def test_a_task_without_webhooks_costs_no_receipt() -> None:
    world = World()
    task = world.send()
    world.settle()

    get(world.host, ALICE, task.id)

    assert world.tasks.fetched(world.key(task)) == 0


def test_a_receipt_that_cannot_be_written_does_not_keep_the_task_back(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    world = World()
    task = world.send(hook=HOOK)
    world.settle()

    def broken(*_: object) -> None:
        raise OSError("no network")

    monkeypatch.setattr(world.tasks, "mark_fetched", broken)

    assert get(world.host, ALICE, task.id).status.state is TaskState.COMPLETED
    assert "a receipt was lost" in caplog.text


# ListTasks


def pages(world: World, size: int, **filters: object) -> list[TaskPage]:
    found: list[TaskPage] = []
    after = None
    while not found or after is not None:
        request = ListRequest(page_size=size, after=after, **filters)  # type: ignore[arg-type]  # as the test says
        found.append(list_tasks(world.host, ALICE, request))
        after = found[-1].end
    return found


def ids(found: list[TaskPage]) -> list[str]:
    return [task.id for page in found for task in page.tasks]


def test_a_list_is_newest_status_first() -> None:
    world = World(agent_that(asks_once))
    tasks = []
    for number in range(3):
        tasks.append(world.send(f"m{number}").id)
        world.settle()
        world.clock.advance(1)

    world.send("moves the oldest", task=tasks[0])

    assert ids(pages(world, 10)) == [tasks[0], tasks[2], tasks[1]]


def test_q03_tasks_of_one_moment_are_listed_once_each_over_all_pages() -> None:
    world = World()
    sent = {world.send(f"m{number}").id for number in range(30)}

    found = pages(world, 7)

    assert len(ids(found)) == 30
    assert set(ids(found)) == sent
    assert {page.total for page in found} == {30}
    assert [len(page.tasks) for page in found] == [7, 7, 7, 7, 2]


def test_q01_a_page_goes_on_behind_a_task_that_was_forgotten_meanwhile() -> None:
    world = World()
    for number in range(25):
        world.send(f"m{number}")
        world.clock.advance(1)
    first = list_tasks(world.host, ALICE, ListRequest(page_size=10))
    world.tasks.forget(world.key(first.tasks[-1]))

    rest = list_tasks(world.host, ALICE, ListRequest(page_size=100, after=first.end))

    assert len(rest.tasks) == 15
    assert not {task.id for task in rest.tasks} & {task.id for task in first.tasks}


def test_q05_a_list_shows_and_counts_only_what_is_the_callers_own() -> None:
    world = World()
    for number in range(5):
        world.send(f"a{number}", context_id="alices")
    for number in range(3):
        world.send(f"b{number}", caller=BOB)

    assert list_tasks(world.host, BOB, ListRequest()).total == 3
    assert list_tasks(world.host, BOB, ListRequest(context_id="alices")).total == 0


def test_a_list_can_be_narrowed_by_context_state_and_time() -> None:
    world = World(agent_that(asks_once))
    old = world.send("old", context_id="one")
    world.settle()
    world.clock.advance(60)
    new = world.send("new", context_id="two")

    def found(**filters: object) -> list[str]:
        return ids(pages(world, 10, **filters))

    assert found(context_id="one") == [old.id]
    assert found(state=TaskState.SUBMITTED) == [new.id]
    assert found(status_since=world.clock()) == [new.id]
    assert found(status_since=world.clock() + timedelta(milliseconds=1)) == []


def test_a_list_shows_no_task_that_has_expired() -> None:
    world = World()
    world.send("old")
    world.settle()
    world.clock.advance(world.rules.retention + timedelta(seconds=1))

    assert list_tasks(world.host, ALICE, ListRequest()).tasks == ()


def test_a_list_has_history_and_artifacts_only_if_they_are_asked_for() -> None:
    world = World(agent_that(asks_always))
    task = conversation(world)
    world.settle()
    whole = world.task(task)

    def listed(**how: object) -> Task:
        (page,) = pages(world, 10, **how)
        return page.tasks[0]

    assert (listed().history, listed().artifacts) == ((), ())
    assert (listed(history_length=2).history, listed(history_length=2).artifacts) == (whole.history[-2:], ())
    assert (listed(include_artifacts=True).history, listed(include_artifacts=True).artifacts) == ((), whole.artifacts)
    assert listed(history_length=0, include_artifacts=True).history == ()


def test_a_task_that_is_forgotten_between_index_and_read_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World()
    task = world.send("gone")
    world.send("here")
    listed = world.tasks.list

    def forgetting(query: object) -> object:
        page = listed(query)  # type: ignore[arg-type]  # passed on as it came
        world.tasks.forget(world.key(task))
        return page

    monkeypatch.setattr(world.tasks, "list", forgetting)

    page = list_tasks(world.host, ALICE, ListRequest(include_artifacts=True))

    assert [task.history for task in page.tasks] == [()]


def moved_on_between_index_and_read(monkeypatch: pytest.MonkeyPatch) -> tuple[World, Task, Task]:
    """Two tasks that wait, of which the older one is answered right after the index was asked."""
    world = World(agent_that(asks_always))
    older = world.send("older")
    world.settle()
    world.clock.advance(1)
    newer = world.send("newer")
    world.settle()
    listed = world.tasks.list

    def answering(query: object) -> object:
        page = listed(query)  # type: ignore[arg-type]  # passed on as it came
        monkeypatch.setattr(world.tasks, "list", listed)
        world.clock.advance(1)
        world.send("an answer", task=older)
        return page

    monkeypatch.setattr(world.tasks, "list", answering)
    return world, older, newer


def test_a_task_that_moves_on_between_index_and_read_stands_where_it_belongs_now(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    world, older, newer = moved_on_between_index_and_read(monkeypatch)

    page = list_tasks(world.host, ALICE, ListRequest(include_artifacts=True))

    assert [task.id for task in page.tasks] == [older.id, newer.id]
    assert [task.status.state for task in page.tasks] == [TaskState.WORKING, TaskState.INPUT_REQUIRED]


def test_a_task_that_left_the_state_asked_for_between_index_and_read_is_left_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    world, _, newer = moved_on_between_index_and_read(monkeypatch)

    page = list_tasks(world.host, ALICE, ListRequest(include_artifacts=True, state=TaskState.INPUT_REQUIRED))

    assert [task.id for task in page.tasks] == [newer.id]


@pytest.mark.parametrize("size", [0, -1, 101])
def test_a_page_size_out_of_range_is_refused(size: int) -> None:
    with pytest.raises(InvalidParams, match="1 to 100"):
        list_tasks(World().host, ALICE, ListRequest(page_size=size))


def test_a_page_has_fifty_tasks_unless_another_size_is_asked_for() -> None:
    world = World()
    for number in range(DEFAULT_PAGE + 1):
        world.send(f"m{number}")

    page = list_tasks(world.host, ALICE, ListRequest())

    assert (len(page.tasks), page.page_size, page.end is not None) == (50, 50, True)
