"""Webhooks of a task: create, get, list, delete. Secrets go in and never come out."""

from collections.abc import Callable
from datetime import timedelta

import pytest

from a2a_serverless.app import push_configs
from a2a_serverless.core.delivery_outcome import Answer
from a2a_serverless.core.head import Change, Head, Rules
from a2a_serverless.core.push import PushSecrets, WireVersion
from a2a_serverless.errors import Conflict, InvalidParams, PushNotificationNotSupported, TaskNotFound
from a2a_serverless.types import Task, TaskPushNotificationConfig, TaskState
from tests.unit.app.world import ALICE, BOB, HOOK, World, agent_that, asks_once, webhook

V1 = WireVersion.V1_0


def create(world: World, task: Task, wanted: TaskPushNotificationConfig | None = None) -> TaskPushNotificationConfig:
    return push_configs.create(world.host, ALICE, task.id, wanted or webhook(), V1)


def urls(world: World, task: Task) -> list[str]:
    return [config.url for config in push_configs.list_all(world.host, ALICE, task.id)]


def test_p03_two_webhooks_without_an_id_are_two_with_ids_of_their_own() -> None:
    world = World()
    task = world.send()

    first, second = create(world, task, webhook(HOOK + "/1")), create(world, task, webhook(HOOK + "/2"))

    assert first.id
    assert second.id
    assert first.id != second.id
    assert task.id not in {first.id, second.id}
    assert urls(world, task) == [HOOK + "/1", HOOK + "/2"]


def test_an_owner_points_webhooks_at_so_many_hosts_in_an_hour_and_at_more_in_the_next() -> None:
    world = World(rules=Rules(webhook_hosts=2))
    task = world.send()
    for host in ("one", "two", "one"):
        create(world, task, webhook(f"https://{host}.example/hook"))

    with pytest.raises(InvalidParams) as refused:
        create(world, task, webhook("https://three.example/hook"))
    world.clock.advance(timedelta(hours=1))
    create(world, task, webhook("https://three.example/hook"))

    assert "one of the 2 hosts of this hour" in str(refused.value)
    assert len(urls(world, task)) == 4


def test_a_send_counts_its_webhooks_host_before_there_is_a_task() -> None:
    world = World(rules=Rules(webhook_hosts=1))
    world.send(hook=webhook("https://one.example/hook"))

    with pytest.raises(InvalidParams):
        world.send(hook=webhook("https://two.example/hook"))
    assert len(world.tasks.changes) == 1


def test_the_hosts_of_one_owner_are_not_anothers() -> None:
    world = World(rules=Rules(webhook_hosts=1))
    world.send(hook=webhook("https://one.example/hook"))

    world.send(caller=BOB, hook=webhook("https://two.example/hook"))

    assert len(world.tasks.changes) == 2


def test_p03_a_webhook_with_the_id_of_another_replaces_it() -> None:
    world = World()
    task = world.send()
    create(world, task, webhook(HOOK + "/old", id="mine"))

    create(world, task, webhook(HOOK + "/new", id="mine"))

    assert urls(world, task) == [HOOK + "/new"]


def test_secrets_are_sealed_for_this_task_and_webhook_and_never_shown() -> None:
    world = World()
    task = world.send()
    secret = webhook(id="mine", token="tok-1", authentication={"scheme": "BASIC", "credentials": "dXNlcg=="})

    shown = [
        create(world, task, secret),
        push_configs.get(world.host, ALICE, task.id, "mine"),
        *push_configs.list_all(world.host, ALICE, task.id),
    ]

    assert all(config == shown[0] for config in shown)
    assert shown[0].authentication is not None
    assert (shown[0].authentication.scheme, shown[0].authentication.credentials, shown[0].token) == ("Basic", None, "")
    stored = world.tasks.config(world.key(task), "mine")
    assert stored is not None
    assert world.sealer.open(stored.sealed, world.key(task), "mine") == PushSecrets("dXNlcg==", "tok-1")
    assert "dXNlcg==" not in repr(PushSecrets("dXNlcg==", "tok-1"))


def test_a_webhook_without_secrets_has_nothing_sealed() -> None:
    world = World()
    task = world.send()

    create(world, task, webhook(id="mine"))

    stored = world.tasks.config(world.key(task), "mine")
    assert stored is not None
    assert stored.sealed == b""


def test_an_answer_names_its_task_and_not_what_the_caller_wrote_there() -> None:
    world = World()
    task = world.send()

    assert create(world, task, webhook(taskId="another", tenant="t9")).task_id == task.id


# What a webhook hears of


def test_a_webhook_that_is_added_late_hears_once_where_the_task_stands() -> None:
    world = World()
    task = world.send()
    world.settle()

    create(world, task)
    world.relay()
    world.notify()

    assert [nudge.head.state for nudge in world.post.came] == [TaskState.COMPLETED]


def test_p07_a_webhook_that_is_added_late_hears_nothing_of_what_was_before() -> None:
    world = World(agent_that(asks_once))
    task = world.send()
    world.settle()
    world.send("42", task=task)
    world.settle()

    create(world, task)
    world.relay()
    world.notify()

    assert [nudge.nudge.seq for nudge in world.post.came] == [world.head(task).nudge_seq]


def test_a_webhook_that_is_added_before_there_is_news_hears_nothing_yet() -> None:
    world = World()
    task = world.send()
    create(world, task)

    world.relay()

    assert world.queues.nudges == []


def test_a_webhook_that_is_replaced_hears_where_the_task_stands_at_its_new_address() -> None:
    world = World()
    task = world.send(hook=webhook(HOOK + "/old", id="mine"))
    world.settle()
    world.notify()

    create(world, task, webhook(HOOK + "/new", id="mine"))
    world.relay()
    world.notify()

    assert [(nudge.config.url, nudge.head.state) for nudge in world.post.came] == [
        (HOOK + "/old", TaskState.COMPLETED),
        (HOOK + "/new", TaskState.COMPLETED),
    ]


def test_a_webhook_that_was_switched_off_is_on_again_once_it_is_replaced() -> None:
    world = World()
    task = world.send(hook=webhook(id="mine"))
    world.settle()
    world.post.answers = [Answer(status=410)]
    world.notify()

    create(world, task, webhook(id="mine"))
    world.relay()

    assert world.notify() == ["delivered"]


def test_the_others_hear_of_no_news_when_one_webhook_is_added() -> None:
    world = World()
    task = world.send(hook=webhook(id="first"))
    world.settle()
    world.notify()

    create(world, task, webhook(id="second"))
    world.relay()

    assert [nudge.config_id for nudge in world.queues.nudges] == ["second"]


# Limits and refusals


def test_p09_a_task_has_a_bounded_number_of_webhooks_and_the_earlier_ones_stay() -> None:
    world = World(rules=Rules(push_configs=2))
    task = world.send()
    create(world, task, webhook(id="a"))
    create(world, task, webhook(id="b"))

    with pytest.raises(InvalidParams, match="at most 2 webhooks"):
        create(world, task, webhook(id="c"))

    create(world, task, webhook(HOOK + "/b2", id="b"))
    assert urls(world, task) == [HOOK, HOOK + "/b2"]


@pytest.mark.parametrize(
    ("wanted", "field"),
    [
        (webhook("http://partner.example"), "url"),
        (webhook(id="a b"), "id"),
        (webhook(id="x" * 129), "id"),
        (webhook(token="with space"), "token"),
        (webhook(token="ü"), "token"),
        (webhook(authentication={"scheme": "", "credentials": "x"}), "authentication.scheme"),
        (webhook(authentication={"scheme": "Basic"}), "authentication.credentials"),
        (webhook(authentication={"scheme": "Bearer", "credentials": ""}), "authentication.credentials"),
        (webhook(authentication={"scheme": "Bearer", "credentials": "a b"}), "authentication.credentials"),
        (webhook(authentication={"scheme": "Bearer", "credentials": "a\nb"}), "authentication.credentials"),
        (webhook(authentication={"scheme": "Bearer", "credentials": "x" * 5000}), "authentication.credentials"),
    ],
)
def test_what_cannot_be_delivered_to_is_refused_by_the_name_of_its_member(
    wanted: TaskPushNotificationConfig, field: str
) -> None:
    world = World()
    task = world.send()

    with pytest.raises(InvalidParams) as refused:
        create(world, task, wanted)

    assert [wrong.field for wrong in refused.value.violations] == [field]
    assert urls(world, task) == []


def test_p05_where_there_are_no_webhooks_all_four_operations_say_so() -> None:
    world = World()
    task = world.send()
    world.push_supported = False

    operations: list[Callable[[], object]] = [
        lambda: create(world, task),
        lambda: push_configs.get(world.host, ALICE, task.id, "mine"),
        lambda: push_configs.list_all(world.host, ALICE, task.id),
        lambda: push_configs.delete(world.host, ALICE, task.id, "mine"),
    ]

    for operation in operations:
        with pytest.raises(PushNotificationNotSupported):
            operation()


def test_a01_webhooks_of_a_foreign_task_are_like_those_of_one_that_is_not_there() -> None:
    world = World()
    task = world.send(hook=webhook(id="mine"))

    operations: list[Callable[[str], object]] = [
        lambda task_id: push_configs.create(world.host, BOB, task_id, webhook(), V1),
        lambda task_id: push_configs.create(world.host, BOB, task_id, webhook("bad"), V1),
        lambda task_id: push_configs.get(world.host, BOB, task_id, "mine"),
        lambda task_id: push_configs.list_all(world.host, BOB, task_id),
        lambda task_id: push_configs.delete(world.host, BOB, task_id, "mine"),
    ]

    for operation in operations:
        refusals = []
        for task_id in (task.id, "nowhere"):
            with pytest.raises(TaskNotFound) as refused:
                operation(task_id)
            refusals.append((refused.value.message, refused.value.metadata))
        assert refusals[0] == refusals[1]
    assert urls(world, task) == [HOOK]
    assert world.tasks.configs(world.key(task, BOB)) == ()


# Delete


def test_a_deleted_webhook_is_gone_with_its_secrets_and_hears_nothing_more() -> None:
    world = World(agent_that(asks_once))
    task = world.send(hook=webhook(id="mine", token="tok"))
    world.settle()

    push_configs.delete(world.host, ALICE, task.id, "mine")

    assert world.notify() == ["config_gone"]
    assert urls(world, task) == []
    assert world.tasks.config(world.key(task), "mine") is None
    with pytest.raises(TaskNotFound):
        push_configs.get(world.host, ALICE, task.id, "mine")


def test_a_delete_can_be_repeated_and_may_name_what_never_was() -> None:
    world = World()
    task = world.send(hook=webhook(id="mine"))

    for config_id in ("mine", "mine", "never"):
        push_configs.delete(world.host, ALICE, task.id, config_id)

    assert urls(world, task) == []


def test_a_delete_that_died_in_the_middle_leaves_nothing_that_is_shown_or_told(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    world = World(agent_that(asks_once))
    task = world.send(hook=webhook(id="mine"))
    world.settle()

    def dies(*_: object) -> None:
        raise OSError("the process is gone")

    with monkeypatch.context() as dying:
        dying.setattr(world.tasks, "delete_config", dies)
        with pytest.raises(OSError, match="gone"):
            push_configs.delete(world.host, ALICE, task.id, "mine")

    assert urls(world, task) == []
    with pytest.raises(TaskNotFound):
        push_configs.get(world.host, ALICE, task.id, "mine")
    assert world.notify() == ["config_gone"]
    assert world.post.came == []


def test_two_webhooks_that_are_added_at_once_are_both_there(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World()
    task = world.send()
    commit = world.tasks.commit

    def after_another(change: Change) -> Head:
        monkeypatch.setattr(world.tasks, "commit", commit)
        create(world, task, webhook(id="theirs"))
        raise Conflict("somebody was faster")

    monkeypatch.setattr(world.tasks, "commit", after_another)

    create(world, task, webhook(id="mine"))

    assert world.head(task).push == ("theirs", "mine")


def test_a_webhook_of_0_3_is_told_in_0_3() -> None:
    world = World()
    task = world.send()

    push_configs.create(world.host, ALICE, task.id, webhook(id="old"), WireVersion.V0_3)

    stored = world.tasks.config(world.key(task), "old")
    assert stored is not None
    assert stored.wire_version is WireVersion.V0_3
