"""The contracts of PushStore, DeliveryStore and Receipts, on the fake and on DynamoDB."""

from dataclasses import replace
from datetime import timedelta
from typing import Protocol

import pytest

from a2a_serverless.app.ports import AttemptRecord, DeliveryStore, PushStore, Receipts
from a2a_serverless.aws.keys import task_text
from a2a_serverless.aws.push_table import NAMED_WITHIN, PushTable
from a2a_serverless.aws.table import Table
from a2a_serverless.core.delivery_health import ConfigHealth
from a2a_serverless.core.delivery_outcome import DisableReason
from a2a_serverless.core.delivery_state import DeliveryState, Disabled, PendingNudge
from a2a_serverless.core.push import PushConfig, WireVersion
from a2a_serverless.errors import Conflict
from a2a_serverless.types import Owner, Scope, TaskKey
from tests.fakes import START, MemoryPush

from .conftest import random_ids

MINUTE = timedelta(minutes=1)


class Push(PushStore, DeliveryStore, Receipts, Protocol):
    """The three ports of a table of webhooks."""


@pytest.fixture(params=["memory", "dynamodb"])
def push(request: pytest.FixtureRequest) -> Push:
    if request.param == "memory":
        return MemoryPush()
    return PushTable(request.getfixturevalue("table"), ids=random_ids)


@pytest.fixture
def key(scope: Scope) -> TaskKey:
    return TaskKey(scope, "t-1")


CONFIG = PushConfig(
    id="c-1",
    url="https://partner.example/hook?x=1",
    scheme="Bearer",
    sealed=b"\x00\x01sealed",
    has_token=True,
    wire_version=WireVersion.V0_3,
    created_at=START,
)
BARE = PushConfig(id="c-2", url="https://partner.example/", created_at=START + MINUTE)

FULL = DeliveryState(
    generation=1,
    pending=PendingNudge(
        seq=7,
        message_id="msg_1",
        since=START,
        next_at=START + MINUTE,
        expires_at=START + 10 * MINUTE,
        attempts=3,
        spent=2,
    ),
    claimed_until=START + MINUTE,
    delivered_seq=5,
    settled_seq=6,
    plain_json=True,
    health=ConfigHealth(failures=4, first_failure_at=START, last_success_at=START - MINUTE, refusals=2, warned=50),
    disabled=Disabled(DisableReason.FAILING, START),
    scheduled_for=START + MINUTE,
)


@pytest.mark.parametrize("config", [CONFIG, BARE])
def test_a_config_is_read_back_as_it_was_put(push: Push, key: TaskKey, config: PushConfig) -> None:
    push.put_config(key, config)

    assert push.config(key, config.id) == config


def test_configs_come_oldest_first(push: Push, key: TaskKey) -> None:
    push.put_config(key, BARE)
    push.put_config(key, CONFIG)

    assert push.configs(key) == (CONFIG, BARE)


def test_a_config_is_replaced_whole(push: Push, key: TaskKey) -> None:
    push.put_config(key, CONFIG)

    push.put_config(key, replace(BARE, id=CONFIG.id))

    assert push.configs(key) == (replace(BARE, id=CONFIG.id),)


def test_a_deleted_config_is_gone_and_deleting_it_again_is_fine(push: Push, key: TaskKey) -> None:
    push.put_config(key, CONFIG)

    for _ in range(2):
        push.delete_config(key, CONFIG.id)

    assert push.config(key, CONFIG.id) is None
    assert push.configs(key) == ()
    assert push.delivery(key, CONFIG.id) == DeliveryState()


@pytest.mark.parametrize("config_id", ["", "c", "c-1#", "c-1/", "ü", "\ud800", "x" * 3000])
def test_a_config_that_is_not_there_is_not_found_whatever_its_id(push: Push, key: TaskKey, config_id: str) -> None:
    push.put_config(key, CONFIG)

    assert push.config(key, config_id) is None
    assert push.webhook(key, config_id) is None
    assert push.attempts(key, config_id) == ()
    push.delete_config(key, config_id)


def test_configs_of_other_tasks_and_owners_are_not_seen(push: Push, key: TaskKey) -> None:
    push.put_config(key, CONFIG)

    assert push.configs(TaskKey(key.scope, "t-2")) == ()
    assert push.config(TaskKey(Scope("freight", Owner("bob")), "t-1"), CONFIG.id) is None


@pytest.mark.parametrize(("config", "plain"), [(CONFIG, True), (BARE, False)])
def test_a_new_config_has_a_fresh_state_in_the_words_of_its_version(
    push: Push, key: TaskKey, config: PushConfig, *, plain: bool
) -> None:
    push.put_config(key, config)

    assert push.delivery(key, config.id) == DeliveryState(plain_json=plain)


@pytest.mark.parametrize("state", [FULL, DeliveryState(generation=1), replace(FULL, pending=None, disabled=None)])
def test_a_delivery_state_is_read_back_as_it_was_saved(push: Push, key: TaskKey, state: DeliveryState) -> None:
    push.put_config(key, CONFIG)

    push.save_delivery(key, CONFIG.id, state)

    assert push.delivery(key, CONFIG.id) == state
    assert push.config(key, CONFIG.id) == CONFIG
    assert push.webhook(key, CONFIG.id) == (CONFIG, state)


def test_a_webhook_that_no_nudge_was_decided_for_is_forgotten_one_day(table: Table, key: TaskKey) -> None:
    push = PushTable(table, ids=random_ids)
    item = {"pk": {"S": task_text(key)}, "sk": {"S": f"PUSH#{CONFIG.id}"}}

    push.put_config(key, CONFIG)

    stored = table.get(item)
    assert stored is not None
    assert stored["expires_at"] == {"N": str(int((START + NAMED_WITHIN).timestamp()))}
    push.save_delivery(key, CONFIG.id, FULL)
    named = table.get(item)
    assert named is not None
    assert "expires_at" not in named


def test_of_two_senders_with_one_generation_one_has_the_claim(push: Push, key: TaskKey) -> None:
    push.put_config(key, CONFIG)
    push.save_delivery(key, CONFIG.id, FULL)

    with pytest.raises(Conflict):
        push.save_delivery(key, CONFIG.id, FULL)

    push.save_delivery(key, CONFIG.id, replace(FULL, generation=2, pending=None))
    assert push.delivery(key, CONFIG.id).generation == 2


def test_a_sender_whose_config_was_replaced_has_lost(push: Push, key: TaskKey) -> None:
    push.put_config(key, CONFIG)
    push.save_delivery(key, CONFIG.id, FULL)

    push.put_config(key, CONFIG)

    with pytest.raises(Conflict):
        push.save_delivery(key, CONFIG.id, replace(FULL, generation=2))
    state = push.delivery(key, CONFIG.id)
    assert state == DeliveryState(generation=2, plain_json=True)


def test_a_sender_whose_config_was_deleted_has_lost(push: Push, key: TaskKey) -> None:
    push.put_config(key, CONFIG)
    push.delete_config(key, CONFIG.id)

    with pytest.raises(Conflict):
        push.save_delivery(key, CONFIG.id, FULL)

    assert push.config(key, CONFIG.id) is None


def test_the_delivery_log_is_read_oldest_first(push: Push, key: TaskKey) -> None:
    lines = [
        AttemptRecord(
            at=START + at * MINUTE,
            message_id="msg_1",
            seq=at,
            attempt=at,
            result="timeout",
            status=503,
            milliseconds=17,
            key_id="es256-1",
            next_at=START + (at + 1) * MINUTE,
        )
        for at in range(12)
    ]
    lines.append(
        AttemptRecord(
            at=START + 99 * MINUTE, message_id="msg_1", seq=1, attempt=1, result="superseded", is_closing=True
        )
    )
    lines.append(
        AttemptRecord(at=START + 100 * MINUTE, message_id="msg_2", seq=0, attempt=0, result="queued", is_test=True)
    )

    for line in reversed(lines):
        push.log_attempt(key, CONFIG.id, line)
    push.log_attempt(key, "c-1x", lines[0])

    assert push.attempts(key, CONFIG.id) == tuple(lines)
    assert push.attempts(key, CONFIG.id, limit=3) == tuple(lines[-3:])


def test_what_was_fetched_only_rises(push: Push, key: TaskKey) -> None:
    assert push.fetched(key) == 0

    for seq in (3, 7, 5):
        push.mark_fetched(key, seq)

    assert push.fetched(key) == 7
    assert push.fetched(TaskKey(key.scope, "t-2")) == 0


def test_the_operator_finds_a_task_with_webhooks_by_its_bare_id(table: Table, scope: Scope) -> None:
    push = PushTable(table, ids=random_ids)
    task_id = random_ids()
    of_two = [TaskKey(scope, task_id), TaskKey(Scope("freight", Owner("bob", "tenant/1")), task_id)]
    for key in of_two:
        push.put_config(key, CONFIG)
        push.put_config(key, BARE)
        push.save_delivery(key, BARE.id, DeliveryState(generation=1))

    assert set(push.tasks_with(task_id)) == set(of_two)
    assert push.tasks_with(random_ids()) == ()
    assert push.tasks_with("") == ()

    for config in (CONFIG, BARE):
        push.delete_config(of_two[0], config.id)
    assert push.tasks_with(task_id) == (of_two[1],)
