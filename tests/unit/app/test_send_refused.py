"""SendMessage: what is refused is refused whole, and nothing is written."""

from collections.abc import Callable
from typing import Any

import pytest

from a2a_serverless.agent import Turn
from a2a_serverless.app.cancel import cancel
from a2a_serverless.errors import (
    A2AError,
    ContentTypeNotSupported,
    InvalidParams,
    PushNotificationNotSupported,
    TaskNotFound,
    UnsupportedOperation,
)
from a2a_serverless.types import Caller, Owner, Part, Role, Task
from tests.unit.app.sending import sends
from tests.unit.app.world import ALICE, BOB, HOOK, World, agent_that, asks_once, completes, webhook


def test_l03_a_task_id_that_nobody_gave_out_makes_no_task() -> None:
    world = World()

    with pytest.raises(TaskNotFound):
        sends(world, task="11111111-2222-3333-4444-555555555555")

    assert world.tasks.keys() == ()


def test_a01_a_foreign_task_is_like_one_that_is_not_there_and_stays_as_it_is() -> None:
    world = World(agent_that(asks_once))
    task = world.send(hook=HOOK)
    world.settle()
    before = world.record(task)

    with pytest.raises(TaskNotFound) as foreign:
        sends(world, "evil", BOB, task=task)
    with pytest.raises(TaskNotFound) as unknown:
        sends(world, "evil", BOB, task="nowhere")

    assert (foreign.value.message, foreign.value.metadata) == (unknown.value.message, unknown.value.metadata)
    assert world.record(task) == before


def test_a05_an_equal_id_in_another_tenant_is_another_task() -> None:
    world = World(agent_that(asks_once))
    task = world.send()
    other_tenant = Caller(Owner("alice", "t2"))

    with pytest.raises(TaskNotFound):
        sends(world, "hi", other_tenant, task=task)


def test_a03_there_is_no_owner_without_a_name() -> None:
    with pytest.raises(ValueError, match="subject"):
        Owner("")


@pytest.mark.parametrize("end", ["completed", "failed", "canceled", "rejected"])
def test_l01_a_message_to_a_task_that_has_ended_is_refused_and_changes_nothing(end: str) -> None:
    endings: dict[str, Callable[[Turn], None]] = {
        "completed": completes,
        "failed": lambda turn: turn.fail("no"),
        "canceled": completes,
        "rejected": lambda turn: turn.reject("no"),
    }
    world = World(agent_that(endings[end]))
    task = world.send()
    if end == "canceled":
        cancel(world.host, ALICE, task.id)
    world.settle()
    before, told = world.record(task), len(world.tasks.changes)

    with pytest.raises(UnsupportedOperation, match=end.upper()):
        sends(world, "more", task=task)

    assert world.record(task) == before
    assert len(world.tasks.changes) == told


def test_another_context_than_the_tasks_is_refused() -> None:
    world = World(agent_that(asks_once))
    task = world.send(context_id="mine")
    world.settle()
    before = world.record(task)

    with pytest.raises(InvalidParams, match="contextId"):
        sends(world, "42", task=task, context_id="another")

    assert world.record(task) == before


def test_the_same_context_or_none_is_fine() -> None:
    world = World(agent_that(asks_once))
    task = world.send(context_id="mine")

    world.send("a", task=task, context_id="mine")
    world.send("b", task=task)

    assert [message.context_id for message in world.task(task).history] == ["mine"] * 3


def test_a_new_conversation_keeps_the_context_it_names_and_gets_one_if_it_names_none() -> None:
    world = World()

    tasks = [world.send("a", context_id="mine"), world.send("b"), world.send("c")]

    assert tasks[0].context_id == "mine"
    assert tasks[1].context_id
    assert tasks[1].context_id != tasks[2].context_id


BAD: dict[str, tuple[dict[str, Any], type[A2AError]]] = {
    "a caller who speaks as the agent": ({"role": Role.AGENT}, InvalidParams),
    "a negative history length": ({"history_length": -1}, InvalidParams),
    "an unsupported media type": (
        {"parts": (Part(text="x"), Part(raw="aGk=", media_type="application/x-unknown"))},
        ContentTypeNotSupported,
    ),
    "a webhook that cannot be delivered to": ({"hook": "ftp://partner.example"}, InvalidParams),
    "a webhook with an id that cannot be in a path": ({"hook": webhook(id="a/b")}, InvalidParams),
    "a webhook with a token that fits no header": ({"hook": webhook(token="a\r\nb")}, InvalidParams),
    "a webhook with an unknown scheme": (
        {"hook": webhook(authentication={"scheme": "Digest", "credentials": "x"})},
        InvalidParams,
    ),
}


@pytest.mark.parametrize(("how", "error"), BAD.values(), ids=BAD.keys())
@pytest.mark.parametrize("to_a_task", [False, True], ids=["first message", "to a task"])
def test_l05_a_send_that_is_refused_changes_nothing(
    how: dict[str, Any], error: type[A2AError], to_a_task: bool
) -> None:
    world = World(agent_that(asks_once))
    task = world.send("start")
    world.settle()
    before, told = world.record(task), len(world.tasks.changes)

    with pytest.raises(error):
        sends(world, "bad", task=task if to_a_task else "", **how)

    assert world.record(task) == before
    assert len(world.tasks.changes) == told
    assert world.tasks.configs(world.key(task)) == ()


def test_p05_where_there_are_no_webhooks_an_inline_one_is_refused_before_there_is_a_task() -> None:
    world = World(push_supported=False)

    with pytest.raises(PushNotificationNotSupported):
        sends(world, hook=HOOK)

    assert world.tasks.keys() == ()


@pytest.mark.parametrize(
    ("mode", "given"),
    [
        ("image/*", "image/png"),
        ("*/*", "application/x-anything"),
        ("text/plain", "TEXT/Plain; charset=utf-8"),
        ("text/plain; charset=utf-8", "text/plain"),
        ("application/json", ""),
    ],
)
def test_a_media_type_that_the_card_names_passes(mode: str, given: str) -> None:
    world = World()
    world.agent.card = world.agent.card.but(default_input_modes=(mode,))  # type: ignore[misc]  # for this instance

    answer = sends(world, parts=(Part(text="x", media_type=given),), return_immediately=True)

    assert isinstance(answer, Task)


def test_a_media_type_that_only_a_skill_names_passes() -> None:
    world = World()
    card = world.agent.card
    skill = card.skills[0].but(input_modes=("audio/*",))
    world.agent.card = card.but(skills=(skill,))  # type: ignore[misc]  # for this instance

    answer = sends(world, parts=(Part(raw="aGk=", media_type="audio/ogg"),), return_immediately=True)

    assert isinstance(answer, Task)
