"""What an agent keeps for a context: merged key by key, and never over what another task wrote."""

from datetime import timedelta
from typing import Any

import pytest

from a2a_serverless.app.context_memory import ContextMemory
from a2a_serverless.app.ports import ContextState
from a2a_serverless.errors import Conflict
from a2a_serverless.types import Owner, Scope
from tests.fakes import START, MemoryContexts

SCOPE = Scope("tester", Owner("alice"))
LATER = START + timedelta(days=1)


def stored(contexts: MemoryContexts) -> dict[str, Any]:
    return contexts.context(SCOPE, "c").value


def memory_of(contexts: MemoryContexts, value: dict[str, Any] | None = None) -> ContextMemory:
    if value is not None:
        contexts.save_context(SCOPE, "c", ContextState(value), expires_at=LATER)
    return ContextMemory(contexts, SCOPE, "c")


def test_what_was_not_asked_for_is_neither_read_nor_written() -> None:
    contexts = MemoryContexts()
    memory = memory_of(contexts, {"a": 1})

    memory.save(None, expires_at=LATER)

    assert contexts.context(SCOPE, "c").version == 1


def test_what_was_only_read_is_not_written() -> None:
    contexts = MemoryContexts()
    memory = memory_of(contexts, {"a": {"b": 1}})

    memory.save(memory.load(), expires_at=LATER)

    assert contexts.context(SCOPE, "c").version == 1


def test_what_the_agent_changes_deep_inside_is_noticed_and_changes_nothing_before_it_is_saved() -> None:
    contexts = MemoryContexts()
    memory = memory_of(contexts, {"a": {"b": 1}})
    wanted = memory.load()
    wanted["a"]["b"] = 2

    assert stored(contexts) == {"a": {"b": 1}}
    memory.save(wanted, expires_at=LATER)

    assert stored(contexts) == {"a": {"b": 2}}


@pytest.mark.parametrize(
    ("mine", "theirs", "both"),
    [
        ({"a": 1, "mine": 2}, {"a": 1, "theirs": 3}, {"a": 1, "mine": 2, "theirs": 3}),
        ({"a": 2}, {"a": 3}, {"a": 2}),
        ({}, {"a": 1, "theirs": 3}, {"theirs": 3}),
        ({"a": 1, "mine": 2}, {}, {"mine": 2}),
        ({}, {"a": 3}, {}),
    ],
    ids=["other keys", "same key", "mine removed", "theirs removed", "removed and changed"],
)
def test_two_tasks_that_wrote_at_once_are_merged_key_by_key(
    mine: dict[str, Any], theirs: dict[str, Any], both: dict[str, Any]
) -> None:
    contexts = MemoryContexts()
    memory = memory_of(contexts, {"a": 1})
    memory.load()
    contexts.save_context(SCOPE, "c", ContextState(theirs, 1), expires_at=LATER)

    memory.save(mine, expires_at=LATER)

    assert stored(contexts) == both


def test_a_merge_that_loses_every_race_gives_up_after_a_bounded_number(monkeypatch: pytest.MonkeyPatch) -> None:
    contexts = MemoryContexts()
    memory = memory_of(contexts)
    memory.load()
    tried: list[ContextState] = []

    def never(_scope: Scope, _context: str, state: ContextState, **_: object) -> None:
        tried.append(state)
        raise Conflict("somebody was faster")

    monkeypatch.setattr(contexts, "save_context", never)

    with pytest.raises(Conflict):
        memory.save({"a": 1}, expires_at=LATER)

    assert len(tried) < 50
