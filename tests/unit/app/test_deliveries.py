"""What an owner or operator can do about deliveries: see them, send one again, send a test; and nudges of hours."""

from datetime import timedelta

import pytest

from a2a_serverless.app import deliveries, ping
from a2a_serverless.app.deliveries import Again, Delivery, Desk
from a2a_serverless.app.notify import notify
from a2a_serverless.app.read import get
from a2a_serverless.core.delivery_endpoint import LAST_PROBE
from a2a_serverless.core.delivery_outcome import Answer, Fault, NoAnswer
from a2a_serverless.core.delivery_schedule import ATTEMPTS, STEPS
from a2a_serverless.core.delivery_state import DeliveryState
from a2a_serverless.core.push import PushSecrets
from a2a_serverless.errors import InvalidParams, TaskNotFound, UnsupportedOperation
from a2a_serverless.types import Task, TaskKey
from tests.fakes import QueuedNudge
from tests.unit.app.world import ALICE, BOB, World, agent_that, asks_once, webhook

HOOK_ID = "mine"
DOWN = NoAnswer(Fault.TIMEOUT)
SECOND = timedelta(seconds=1)


def asked() -> tuple[World, Task]:
    """A task that waits, its nudge queued."""
    world = World(agent_that(asks_once))
    task = world.send(hook=webhook(id=HOOK_ID, token="t-1"))
    world.settle()
    return world, task


def desk(world: World) -> Desk:
    return Desk(
        tasks=world.tasks,
        push=world.tasks,
        deliveries=world.tasks,
        nudges=world.queues,
        clock=world.clock,
        ids=world.ids,
    )


def state_of(world: World, task: Task) -> DeliveryState:
    return world.tasks.delivery(world.key(task), HOOK_ID)


def seen(world: World, task: Task) -> tuple[Delivery, ...]:
    return deliveries.log_of(desk(world), world.key(task), HOOK_ID).deliveries


def fail_until_given_up(world: World) -> None:
    world.post.answers = [DOWN] * 99
    for _ in range(ATTEMPTS):
        world.come_back()
    world.post.answers = []


def sent_tests(world: World) -> list[str]:
    """Work off the tests that are queued."""
    queued, world.queues.pings = world.queues.pings, []
    return [ping.send_ping(world.notifier, each.key, each.config_id, each.message_id) for each in queued]


# Nudges of hours


def test_a_retry_within_the_reach_of_the_queue_needs_no_schedule_and_one_beyond_has_one() -> None:
    world, task = asked()
    world.post.answers = [DOWN] * 99
    carried: list[str] = []
    for _ in range(7):
        world.come_back()
        carried.append("queue" if world.queues.nudges else "schedule" if world.later.coming else "lost")

    assert carried == ["queue"] * 4 + ["schedule"] * 3
    (nudge, at), *none = world.later.coming.values()
    assert none == []
    assert nudge == QueuedNudge(world.key(task), HOOK_ID, world.head(task).nudge_seq)
    assert at == world.clock() + STEPS[7]
    assert state_of(world, task).scheduled_for == at


def test_a_schedule_that_fires_brings_the_next_attempt_and_is_not_cancelled() -> None:
    world, task = asked()
    world.post.answers = [DOWN] * 5
    for _ in range(5):
        world.come_back()
    cancelled: list[str] = []
    world.later.cancel = lambda key, config_id: cancelled.append(config_id)  # type: ignore[method-assign]  # watched

    assert world.come_back() == ["delivered"]
    assert state_of(world, task).scheduled_for is None
    assert cancelled == []


def test_a_schedule_is_cancelled_once_its_nudge_is_superseded() -> None:
    world, task = asked()
    world.post.answers = [DOWN] * 5
    for _ in range(5):
        world.come_back()
    assert world.later.coming

    world.send("42", task=task)
    world.settle()
    world.notify()

    assert world.later.coming == {}
    assert state_of(world, task).delivered_seq == world.head(task).nudge_seq


def test_a_schedule_is_replaced_when_its_nudge_is_superseded_by_one_that_fails_for_long() -> None:
    world, task = asked()
    world.post.answers = [DOWN] * 5
    for _ in range(5):
        world.come_back()
    world.send("42", task=task)
    world.settle()
    world.post.answers = [Answer(status=503, retry_after="7200")]

    world.notify()

    ((nudge, at),) = world.later.coming.values()
    assert nudge.seq == world.head(task).nudge_seq
    assert at == world.clock() + 7_200 * SECOND


def test_a_schedule_is_cancelled_when_its_webhook_turns_out_to_be_gone() -> None:
    world, task = asked()
    world.post.answers = [DOWN] * 5
    for _ in range(5):
        world.come_back()
    deliveries.redeliver(desk(world), world.key(task), HOOK_ID)
    world.post.answers = [Answer(status=410)]

    world.notify()

    assert world.later.coming == {}
    assert state_of(world, task).disabled is not None


def test_an_early_duplicate_of_a_scheduled_nudge_leaves_one_message_for_it() -> None:
    world, task = asked()
    world.post.answers = [DOWN] * 5
    for _ in range(5):
        world.come_back()
    world.clock.advance(timedelta(minutes=20))

    outcome = notify(world.notifier, world.key(task), HOOK_ID, world.head(task).nudge_seq)

    assert outcome == "not_due"
    assert len(world.queues.nudges) + len(world.later.coming) == 1
    assert world.come_back() == ["delivered"]


def test_a_scheduler_that_refuses_costs_no_retry(monkeypatch: pytest.MonkeyPatch) -> None:
    world, task = asked()
    world.post.answers = [DOWN] * 5
    for _ in range(4):
        world.come_back()
    (arrival,) = world.queues.nudges
    world.clock.advance(arrival.delay_seconds)

    def refuses(*_: object, **__: object) -> None:
        raise OSError("throttled")

    with monkeypatch.context() as failing:
        failing.setattr(world.later, "bring_back", refuses)
        with pytest.raises(OSError, match="throttled"):
            world.notify()
    redelivered = notify(world.notifier, arrival.key, arrival.config_id, arrival.seq)

    assert redelivered == "not_due"
    assert world.come_back() == ["delivered"]
    assert state_of(world, task).delivered_seq == world.head(task).nudge_seq


def test_a_busy_endpoint_is_left_alone_for_longer_the_longer_it_is_busy() -> None:
    world, task = asked()
    for _ in range(4):
        world.endpoints.enter("partner.example:443", places=4, until=world.clock() + timedelta(days=1))
    pauses = []
    for _ in range(20):
        assert world.come_back() == ["busy"]
        pauses.append(world.queues.nudges[0].delay_seconds)

    assert pauses == sorted(pauses)
    assert pauses[0] == 2
    assert pauses[-1] == LAST_PROBE.total_seconds()
    assert state_of(world, task).pending is not None
    assert world.post.came == []


# What is seen


def test_a_delivery_has_its_attempts_and_its_outcome() -> None:
    world, task = asked()
    world.post.answers = [DOWN]
    world.notify()

    (pending,) = seen(world, task)
    world.come_back()
    (done,) = seen(world, task)

    assert (pending.outcome, pending.next_at) == ("pending", world.clock())
    assert (done.outcome, done.next_at) == ("delivered", None)
    assert [(line.attempt, line.result) for line in done.attempts] == [(1, "timeout"), (2, "delivered")]
    assert done.message_id == pending.message_id


def test_what_was_superseded_and_what_was_given_up_say_so() -> None:
    world, task = asked()
    world.post.answers = [DOWN]
    world.notify()
    world.send("42", task=task)
    world.settle()
    fail_until_given_up(world)

    given_up, superseded = seen(world, task)

    assert (given_up.outcome, len(given_up.attempts)) == ("exhausted", ATTEMPTS)
    assert (superseded.outcome, len(superseded.attempts)) == ("superseded", 1)


def test_what_a_replaced_webhook_was_told_ends_unfinished() -> None:
    world, task = asked()
    world.post.answers = [DOWN]
    world.notify()
    world.tasks.put_config(world.key(task), world.tasks.configs(world.key(task))[0])

    assert [delivery.outcome for delivery in seen(world, task)] == ["unfinished"]


def test_each_alert_is_a_line_that_the_stack_counts(caplog: pytest.LogCaptureFixture) -> None:
    world, _ = asked()
    fail_until_given_up(world)

    alerts = [record.__dict__["alert"] for record in caplog.records if record.getMessage() == "webhook alert"]

    assert alerts.count("exhausted") == 1
    assert {record.__dict__["endpoint"] for record in caplog.records if "alert" in record.__dict__} == {
        "partner.example:443"
    }


# Sent again


def test_a_nudge_that_was_given_up_is_sent_again_under_its_id_with_the_whole_schedule_before_it() -> None:
    world, task = asked()
    fail_until_given_up(world)
    first = world.post.came[0].nudge

    again = deliveries.redeliver(desk(world), world.key(task), HOOK_ID)
    world.post.answers = [DOWN] * 3
    for _ in range(4):
        world.come_back()

    assert again == Again(first.message_id, first.seq)
    assert {sent.nudge.message_id for sent in world.post.came} == {first.message_id}
    assert [sent.nudge.attempts for sent in world.post.came] == list(range(1, ATTEMPTS + 5))
    assert [delivery.outcome for delivery in seen(world, task)] == ["delivered"]


def test_a_nudge_that_was_fetched_already_is_sent_again_all_the_same_and_not_retried() -> None:
    world, task = asked()
    world.notify()
    get(world.host, ALICE, task.id)
    deliveries.redeliver(desk(world), world.key(task), HOOK_ID)
    world.post.answers = [DOWN]

    assert world.come_back() == ["timeout"]
    assert world.come_back() == ["acked_by_fetch"]


def test_a_nudge_that_waits_is_brought_forward() -> None:
    world, task = asked()
    world.post.answers = [DOWN] * 5
    for _ in range(5):
        world.come_back()
    before = world.clock()

    deliveries.redeliver(desk(world), world.key(task), HOOK_ID)

    assert world.notify() == ["delivered"]
    assert world.clock() == before


def test_an_attempt_that_is_under_way_is_not_doubled() -> None:
    world, task = asked()
    again: list[Again] = []
    world.post.meanwhile = lambda: again.append(deliveries.redeliver(desk(world), world.key(task), HOOK_ID))

    assert world.notify() == ["delivered"]
    assert world.queues.nudges == []
    assert len(again) == len(world.post.came) == 1


def test_an_older_nudge_is_not_put_before_the_newer_one_that_is_on_its_way() -> None:
    world, task = asked()
    world.notify()
    older = world.post.came[0].nudge.message_id
    world.send("42", task=task)
    world.settle()
    world.post.answers = [DOWN]
    world.notify()

    with pytest.raises(UnsupportedOperation, match="newer nudge"):
        deliveries.redeliver(desk(world), world.key(task), HOOK_ID, message_id=older)


def test_what_was_never_sent_cannot_be_sent_again() -> None:
    world, task = asked()

    with pytest.raises(UnsupportedOperation, match="nothing was sent"):
        deliveries.redeliver(desk(world), world.key(task), HOOK_ID)
    world.notify()
    with pytest.raises(InvalidParams, match="messageId"):
        deliveries.redeliver(desk(world), world.key(task), HOOK_ID, message_id="msg_other")


def test_a_webhook_that_is_switched_off_says_how_it_is_switched_on() -> None:
    world, task = asked()
    world.post.answers = [Answer(status=410)]
    world.notify()

    with pytest.raises(UnsupportedOperation, match=r"\(gone\); a test that gets through switches it on"):
        deliveries.redeliver(desk(world), world.key(task), HOOK_ID)


@pytest.mark.parametrize("operation", [deliveries.log_of, deliveries.redeliver, deliveries.ping])
def test_what_is_not_the_owners_is_not_there(operation: object) -> None:
    world, task = asked()
    call: object = operation
    assert callable(call)

    for key in (world.key(task, BOB), world.key("none")):
        with pytest.raises(TaskNotFound, match="Task not found"):
            call(desk(world), key, HOOK_ID)
    with pytest.raises(TaskNotFound, match="no push notification config"):
        call(desk(world), world.key(task), "other")
    assert world.queues.pings == []


# Tested


def test_a_test_is_a_signed_nudge_that_says_it_is_one_and_changes_nothing() -> None:
    world, task = asked()
    before = state_of(world, task)

    asked_for = deliveries.ping(desk(world), world.key(task), HOOK_ID)

    assert sent_tests(world) == ["delivered"]
    (sent,) = world.post.came
    assert (sent.is_test, sent.nudge.message_id) == (True, asked_for.message_id)
    assert sent.secrets == PushSecrets(token="t-1")
    assert state_of(world, task) == before
    assert world.notify() == ["delivered"]
    nudge, test = sorted(seen(world, task), key=lambda delivery: delivery.is_test)
    assert (nudge.is_test, nudge.outcome, test.is_test, test.outcome) == (False, "delivered", True, "delivered")


def test_a_test_that_gets_through_switches_a_webhook_on_and_tells_where_the_task_stands() -> None:
    world, task = asked()
    world.post.answers = [Answer(status=410)]
    world.notify()
    world.send("42", task=task)
    world.settle()
    assert set(world.notify()) == {"disabled"}

    deliveries.ping(desk(world), world.key(task), HOOK_ID)

    assert sent_tests(world) == ["delivered"]
    assert state_of(world, task).disabled is None
    assert world.notify() == ["delivered"]
    assert state_of(world, task).delivered_seq == world.head(task).nudge_seq


def test_a_worker_that_dies_right_after_it_switched_a_webhook_on_is_followed_by_one_that_tells_it() -> None:
    world, task = asked()
    world.post.answers = [Answer(status=410)]
    world.notify()
    deliveries.ping(desk(world), world.key(task), HOOK_ID)
    asked_for = world.queues.pings[0]
    sent_tests(world)
    world.queues.nudges.clear()  # the worker died before it enqueued anything

    ping.send_ping(world.notifier, world.key(task), HOOK_ID, asked_for.message_id, redelivered=True)

    assert world.notify() == ["delivered"]
    assert state_of(world, task).delivered_seq == world.head(task).nudge_seq


def test_a_test_that_fails_is_not_repeated_and_leaves_the_webhook_off() -> None:
    world, task = asked()
    world.post.answers = [Answer(status=410), Answer(status=401)]
    world.notify()

    deliveries.ping(desk(world), world.key(task), HOOK_ID)

    assert sent_tests(world) == ["refused"]
    assert state_of(world, task).disabled is not None
    assert (world.queues.nudges, world.later.coming) == ([], {})


def test_a_receiver_that_does_not_know_the_media_type_is_tested_with_the_other_one() -> None:
    world, task = asked()
    world.post.answers = [Answer(status=415)]

    deliveries.ping(desk(world), world.key(task), HOOK_ID)

    assert sent_tests(world) == ["delivered"]
    assert [sent.plain_json for sent in world.post.came] == [False, True]


def test_a_webhook_is_not_tested_twice_within_ten_seconds() -> None:
    world, task = asked()
    deliveries.ping(desk(world), world.key(task), HOOK_ID)

    with pytest.raises(UnsupportedOperation, match="wait 10 s"):
        deliveries.ping(desk(world), world.key(task), HOOK_ID)
    world.clock.advance(10)
    deliveries.ping(desk(world), world.key(task), HOOK_ID)

    assert len(world.queues.pings) == 2


def test_who_waits_for_a_test_is_told_what_came_of_it() -> None:
    world, task = asked()
    key = world.key(task)
    asked_for = deliveries.ping(desk(world), key, HOOK_ID)
    world.meanwhile = [lambda: None, lambda: sent_tests(world)]

    result = deliveries.result_of_ping(desk(world), key, HOOK_ID, asked_for.message_id, pause=world.pause)

    assert result is not None
    assert (result.outcome, len(result.attempts)) == ("delivered", 1)


def test_nobody_waits_for_a_test_for_ever() -> None:
    world, task = asked()
    key: TaskKey = world.key(task)
    asked_for = deliveries.ping(desk(world), key, HOOK_ID)

    assert deliveries.result_of_ping(desk(world), key, HOOK_ID, asked_for.message_id, pause=world.pause) is None


def test_a_test_of_a_webhook_that_was_deleted_meanwhile_is_nothing() -> None:
    world, task = asked()
    deliveries.ping(desk(world), world.key(task), HOOK_ID)
    world.tasks.delete_config(world.key(task), HOOK_ID)

    assert sent_tests(world) == ["config_gone"]
    assert world.post.came == []
