"""What the stream's images say: enough for every effect, and nothing that costs."""

import base64
from datetime import timedelta
from typing import Any

import pytest

from a2a_serverless.aws import head_codec
from a2a_serverless.aws.items import Item
from a2a_serverless.aws.stream_images import changed_heads, removed_task
from a2a_serverless.aws.task_table import planned
from a2a_serverless.core.effects import effects
from a2a_serverless.core.head import Change, Head
from a2a_serverless.types import Owner, Scope, TaskKey
from tests.fakes import START, MemoryTasks
from tests.integration.aws import build

SCOPE = Scope("freight", Owner("alice", "acme"))


def image(change: Change) -> dict[str, Any]:
    """The item of a head as the event of a stream spells it."""
    plan = planned(change)
    item = head_codec.new_item(plan.head, plan.written)
    return {name: _spelled(value) for name, value in item.items()}


def _spelled(value: dict[str, Any]) -> dict[str, Any]:
    return {"B": base64.b64encode(value["B"]).decode()} if "B" in value else value


def record(new: Item | None, old: Item | None = None, *, kind: str = "MODIFY", sort: str = "HEAD") -> dict[str, Any]:
    keys = {"pk": {"S": "freight/acme/alice/t-1"}, "sk": {"S": sort}}
    images = {name: value for name, value in (("NewImage", new), ("OldImage", old)) if value is not None}
    return {"eventName": kind, "dynamodb": {"Keys": keys, **images}}


def outline(head: Head) -> Head:
    """A head without what an image is not read for."""
    return head.but(tail=(), memory={})


def test_an_insert_has_no_head_before_it() -> None:
    change = build.new(SCOPE, push=("p-1",))

    old, new = changed_heads(record(image(change), kind="INSERT"))

    assert old is None
    assert new == change.after


def test_a_change_tells_both_heads() -> None:
    tasks = MemoryTasks()
    before = build.running(tasks, SCOPE)
    asked = build.ask(before)

    old, new = changed_heads(record(image(asked), image(Change(None, before))))

    assert old == outline(before)
    assert new == outline(asked.after)


def test_every_effect_is_the_same_read_off_images_or_heads() -> None:
    tasks = MemoryTasks()
    asking = tasks.commit(build.ask(tasks.commit(build.begin(tasks.create(build.new(SCOPE, push=("p-1", "p-2")))))))
    tasks.store_token(asking.key, 1, "token")
    held = tasks.head(asking.key, now=START)
    assert held is not None
    tasks.commit(build.answer(held, now=START + timedelta(hours=1)))

    for old, new in tasks.changes:
        images = [image(Change(None, one)) if one is not None else None for one in (new, old)]
        for one, spelled in zip((new, old), images, strict=True):
            if one is not None and spelled is not None and one.wait_token:
                spelled["wait_token"] = {"S": one.wait_token}
        assert effects(*changed_heads(record(*images))) == effects(old, new)


def test_a_record_of_something_else_is_refused() -> None:
    with pytest.raises(ValueError, match="no head was written"):
        changed_heads(record(image(build.new(SCOPE)), sort="PUSH#1"))
    with pytest.raises(ValueError, match="no head was written"):
        changed_heads(record(None, image(build.new(SCOPE)), kind="REMOVE"))


def test_a_removed_head_names_its_task() -> None:
    old = image(build.new(SCOPE))

    assert removed_task(record(None, old, kind="REMOVE")) == TaskKey(SCOPE, "t-1")
    assert removed_task(record(None, old, kind="REMOVE", sort="PUSH#1")) is None
    assert removed_task(record(old, old)) is None
