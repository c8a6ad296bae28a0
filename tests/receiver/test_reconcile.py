"""What no webhook told is found by looking, and what was told is not found again."""

from datetime import UTC, datetime
from typing import Any, Literal
from urllib.parse import parse_qs, urlsplit

import pytest

from a2a_receiver import MemoryStore, Nudge, Observation
from a2a_receiver.reconcile import CLOCK_SKEW, FIRST_LOOK_BACK, GRACE, Reconciled, Reconciler
from a2a_receiver.replay import Memory
from a2a_receiver.tasks import AgentUnavailable, FetchedTask, TaskClient
from tests.receiver.agent_double import BASE, Agent, ok, task
from tests.receiver.making import NOW


def stamp(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


OLD = stamp(NOW - 3600)


@pytest.fixture
def memory() -> Memory:
    return Memory(MemoryStore(), "test")


def reconciler(agent: Agent, memory: Memory, **more: Any) -> Reconciler:
    binding: Literal["JSONRPC", "HTTP+JSON"] = more.pop("binding", "JSONRPC")
    return Reconciler(TaskClient(BASE, ask=agent, binding=binding), memory, **more)


def found_by(agent: Agent, memory: Memory, **more: Any) -> list[str]:
    found: list[FetchedTask] = []
    reconciler(agent, memory, **more).run(found.append, since=None, now=NOW)
    return [one.task_id for one in found]


def test_a_task_that_nobody_told_of_is_found(memory: Memory) -> None:
    seen: list[Observation] = []
    agent = Agent(pages=[[task("a", at=OLD)]])

    assert found_by(agent, memory, observe=seen.append) == ["a"]
    assert seen == [Observation(0, "found_by_reconcile", "reconcile", "a")]


def test_a_task_that_a_webhook_told_of_is_not_found(memory: Memory) -> None:
    memory.remember(Nudge("a", 7), now=NOW)
    memory.remember(Nudge("b", 6), now=NOW)

    assert found_by(Agent(pages=[[task("a", at=OLD), task("b", at=OLD)]]), memory) == ["b"]


def test_what_was_found_once_is_not_found_again(memory: Memory) -> None:
    agent = Agent(pages=[[task("a", at=OLD)]])

    assert [found_by(agent, memory), found_by(agent, memory)] == [["a"], []]


def test_a_change_is_left_to_its_webhook_for_a_while(memory: Memory) -> None:
    agent = Agent(pages=[[task("new", at=stamp(NOW - GRACE + 1)), task("old", at=stamp(NOW - GRACE))]])

    assert found_by(agent, memory) == ["old"]


def test_every_page_is_looked_at(memory: Memory) -> None:
    agent = Agent(pages=[[task("a", at=OLD)], [task("b", at=OLD)], [task("c", at=OLD)]])

    assert found_by(agent, memory) == ["a", "b", "c"]


def test_only_tasks_one_still_waits_for_are_looked_at(memory: Memory) -> None:
    agent = Agent(pages=[[task("a", at=OLD), task("b", at=OLD)]])

    assert found_by(agent, memory, is_open=lambda task_id: task_id == "b") == ["b"]


def test_the_list_starts_before_the_watermark_by_what_clocks_may_differ(memory: Memory) -> None:
    agent = Agent()

    reconciler(agent, memory, binding="HTTP+JSON").run(lambda _: None, since=NOW - 300, now=NOW)

    asked = parse_qs(urlsplit(agent.seen[0].url).query)
    assert asked["statusTimestampAfter"] == [stamp(NOW - 300 - CLOCK_SKEW)]


def test_the_first_run_looks_as_far_back_as_a_sender_goes_on_trying(memory: Memory) -> None:
    agent = Agent()

    reconciler(agent, memory, binding="HTTP+JSON").run(lambda _: None, since=None, now=NOW)

    asked = parse_qs(urlsplit(agent.seen[0].url).query)
    assert asked["statusTimestampAfter"] == [stamp(NOW - FIRST_LOOK_BACK)]


def test_a_run_says_what_it_did_and_where_the_next_one_starts(memory: Memory) -> None:
    memory.remember(Nudge("a", 7), now=NOW)
    agent = Agent(pages=[[task("a", at=OLD), task("b", at=OLD)]])

    assert reconciler(agent, memory).run(lambda _: None, since=None, now=NOW) == Reconciled(NOW - GRACE, 2, 1)


def test_no_change_falls_between_two_runs(memory: Memory) -> None:
    """One that came within the grace of the first run is found by the second."""
    late = task("late", at=stamp(NOW - 1))
    agent = Agent(pages=[[late]])
    found: list[FetchedTask] = []

    first = reconciler(agent, memory).run(found.append, since=None, now=NOW)
    reconciler(agent, memory).run(found.append, since=first.watermark, now=NOW + 300)

    assert [one.task_id for one in found] == ["late"]
    assert first.watermark - CLOCK_SKEW < NOW - 1


def test_a_task_that_could_not_be_taken_is_found_again(memory: Memory) -> None:
    agent = Agent(pages=[[task("a", at=OLD)]])

    def fail(_: FetchedTask) -> None:
        raise ConnectionError

    with pytest.raises(ConnectionError):
        reconciler(agent, memory).run(fail, since=None, now=NOW)

    assert found_by(agent, memory) == ["a"]


@pytest.mark.parametrize("at", ["", "yesterday", "2026-13-45T00:00:00Z", "0001-01-01T00:00:00Z"])
def test_a_task_without_a_time_one_can_read_counts_as_old(memory: Memory, at: str) -> None:
    assert found_by(Agent(pages=[[task("a", at=at)]]), memory) == ["a"]


def test_a_task_without_version_is_found_each_time(memory: Memory) -> None:
    agent = Agent(pages=[[task("a", seq=None, at=OLD)]])

    assert [found_by(agent, memory), found_by(agent, memory)] == [["a"], ["a"]]


@pytest.mark.parametrize("page", [{}, {"tasks": {}}, {"tasks": [], "nextPageToken": 7}])
def test_a_list_that_is_none_is_told(memory: Memory, page: object) -> None:
    broken = Reconciler(TaskClient(BASE, ask=lambda _: ok(page), binding="HTTP+JSON"), memory)

    with pytest.raises(AgentUnavailable):
        broken.run(lambda _: None, since=None, now=NOW)


def test_entries_that_are_no_tasks_are_passed_over(memory: Memory) -> None:
    odd: Any = [7, {}, {"id": 7}, task("a", at=OLD)]

    assert found_by(Agent(pages=[odd]), memory) == ["a"]


def test_a_list_that_never_ends_does(memory: Memory) -> None:
    endless = TaskClient(BASE, ask=lambda _: ok({"tasks": [], "nextPageToken": "x"}), binding="HTTP+JSON")

    assert list(endless.changed_since(OLD, max_pages=5)) == []
