"""An address may be asked whether it wants webhooks before anything is stored or begins."""

from dataclasses import replace

import pytest

from a2a_serverless.app import push_configs, send
from a2a_serverless.core.push import WireVersion
from a2a_serverless.errors import InvalidParams, TaskNotFound
from tests.unit.app.world import ALICE, BOB, HOOK, World, agent_that, asks_once, request, webhook


def declines(url: str) -> None:
    raise InvalidParams.of("url", f"{url} must answer GET with validationToken")


def test_an_address_is_asked_after_all_else_was_found_right() -> None:
    world, asked = World(agent_that(asks_once)), list[str]()
    host = replace(world.host, ask_owner=asked.append)
    task = world.send()

    for wrong in (webhook("http://plain.example"), webhook(token="two words")):
        with pytest.raises(InvalidParams):
            push_configs.create(host, ALICE, task.id, wrong, WireVersion.V1_0)
    with pytest.raises(TaskNotFound):
        push_configs.create(host, BOB, task.id, webhook(), WireVersion.V1_0)
    assert asked == []

    push_configs.create(host, ALICE, task.id, webhook(), WireVersion.V1_0)
    send.send(host, ALICE, request("with a webhook", hook=HOOK, return_immediately=True))
    assert asked == [HOOK, HOOK]


def test_an_address_that_declines_is_not_registered_and_nothing_begins() -> None:
    world = World(agent_that(asks_once))
    host = replace(world.host, ask_owner=declines)
    task = world.send()

    with pytest.raises(InvalidParams, match="validationToken"):
        push_configs.create(host, ALICE, task.id, webhook(), WireVersion.V1_0)
    with pytest.raises(InvalidParams, match="validationToken"):
        send.send(host, ALICE, request("with a webhook", hook=HOOK))

    assert world.tasks.configs(world.key(task)) == ()
    assert world.tasks.keys() == (world.key(task),)
