"""The contract of LaterNudges, on the fake and on EventBridge Scheduler; and the letters an operator puts back."""

import json
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from a2a_serverless.app.ports import LaterNudges
from a2a_serverless.aws.clients import Clients
from a2a_serverless.aws.dead_letters import DeadLetterQueue
from a2a_serverless.aws.queues import CancelNotice, NudgeDue, PingDue, SqsDeadLetters, SqsNudges, SqsTurns, nudge_of
from a2a_serverless.aws.schedules import ScheduledNudges, schedule_name
from a2a_serverless.types import Owner, Scope, TaskKey
from tests.fakes import MemoryLater

FAR = datetime(2099, 1, 1, 12, 0, tzinfo=UTC)
KEY = TaskKey(Scope("freight", Owner("zoë \U0001f69a", "a/b")), "t-1")

Coming = dict[tuple[TaskKey, str], tuple[NudgeDue, datetime]]


@dataclass(frozen=True)
class Later:
    """An adapter, and what is to come back."""

    nudges: LaterNudges
    coming: Callable[[], Coming]


@pytest.fixture(params=["memory", "scheduler"])
def later(request: pytest.FixtureRequest) -> Later:
    if request.param == "memory":
        return _in_memory()
    clients: Clients = request.getfixturevalue("clients")
    group = f"group-{uuid.uuid4().hex[:12]}"
    scheduler: Any = clients.scheduler
    scheduler.create_schedule_group(Name=group)
    queue, role = "arn:aws:sqs:us-east-1:000000000000:nudges", "arn:aws:iam::000000000000:role/sends"
    nudges = ScheduledNudges(lambda: clients.scheduler, group=group, queue_arn=queue, role_arn=role)
    return Later(nudges, lambda: _scheduled(scheduler, group))


def _in_memory() -> Later:
    memory = MemoryLater()

    def coming() -> Coming:
        return {
            name: (NudgeDue(nudge.key, nudge.config_id, nudge.seq), at) for name, (nudge, at) in memory.coming.items()
        }

    return Later(memory, coming)


def _scheduled(scheduler: Any, group: str) -> Coming:
    coming: Coming = {}
    for listed in scheduler.list_schedules(GroupName=group)["Schedules"]:
        if listed["GroupName"] != group:
            continue
        found = scheduler.get_schedule(GroupName=group, Name=listed["Name"])
        said = nudge_of(found["Target"]["Input"])
        assert isinstance(said, NudgeDue)
        assert listed["Name"] == schedule_name(said.key, said.config_id)
        at = datetime.strptime(found["ScheduleExpression"], "at(%Y-%m-%dT%H:%M:%S)").replace(tzinfo=UTC)
        coming[said.key, said.config_id] = (said, at)
    return coming


def test_a_nudge_comes_back_when_it_was_asked_to(later: Later) -> None:
    later.nudges.bring_back(KEY, "c-1", 7, at=FAR)

    assert later.coming() == {(KEY, "c-1"): (NudgeDue(KEY, "c-1", 7), FAR)}


def test_a_newer_word_about_a_webhook_replaces_the_older_and_nobody_elses(later: Later) -> None:
    other = TaskKey(KEY.scope, "t-2")
    later.nudges.bring_back(KEY, "c-1", 7, at=FAR)
    later.nudges.bring_back(KEY, "c-2", 7, at=FAR)
    later.nudges.bring_back(other, "c-1", 7, at=FAR)

    later.nudges.bring_back(KEY, "c-1", 9, at=FAR + timedelta(days=1))

    assert later.coming() == {
        (KEY, "c-1"): (NudgeDue(KEY, "c-1", 9), FAR + timedelta(days=1)),
        (KEY, "c-2"): (NudgeDue(KEY, "c-2", 7), FAR),
        (other, "c-1"): (NudgeDue(other, "c-1", 7), FAR),
    }


def test_what_is_cancelled_does_not_come_and_cancelling_nothing_is_fine(later: Later) -> None:
    later.nudges.bring_back(KEY, "c-1", 7, at=FAR)

    for _ in range(2):
        later.nudges.cancel(KEY, "c-1")

    assert later.coming() == {}


def test_the_time_of_another_zone_is_the_same_time(later: Later) -> None:
    later.nudges.bring_back(KEY, "c-1", 7, at=FAR.astimezone(datetime.now().astimezone().tzinfo))

    assert later.coming()[KEY, "c-1"][1] == FAR


@pytest.mark.parametrize("config_id", ["c", "x" * 128, "~._-"])
def test_any_webhook_has_a_name_that_scheduler_takes(config_id: str) -> None:
    name = schedule_name(KEY, config_id)

    assert len(name) == 64
    assert name.isalnum()
    assert name.isascii()


# Letters


@pytest.fixture
def url(clients: Clients) -> str:
    return clients.sqs.create_queue(QueueName=f"q-{uuid.uuid4().hex[:12]}")["QueueUrl"]


def test_a_test_arrives_as_it_was_asked_for(clients: Clients, url: str) -> None:
    SqsNudges(clients.sqs, url).enqueue_ping(KEY, "c-1", "msg_1")

    (message,) = clients.sqs.receive_message(QueueUrl=url)["Messages"]

    assert nudge_of(message["Body"]) == PingDue(KEY, "c-1", "msg_1")


def test_every_letter_is_taken_once_with_its_reason(clients: Clients, url: str) -> None:
    dead = SqsDeadLetters(clients.sqs, turns=url, nudges=url)
    for seq in range(1, 13):
        dead.bury_nudge(KEY, "c-1", seq, f"exhausted {seq}")
    clients.sqs.send_message(QueueUrl=url, MessageBody="not ours")
    letters = DeadLetterQueue.of_nudges(clients.sqs, url)

    taken = letters.take()

    assert sorted((letter.said.seq, letter.reason) for letter in taken if isinstance(letter.said, NudgeDue)) == [
        (seq, f"exhausted {seq}") for seq in range(1, 13)
    ]
    (stranger,) = [letter for letter in taken if letter.said is None]
    assert (stranger.body, stranger.reason) == ("not ours", "its function failed each time")
    assert letters.take() == []


def test_a_letter_that_is_put_back_is_there_and_one_that_is_removed_is_not(clients: Clients, url: str) -> None:
    turns = SqsTurns(clients.sqs, url)
    turns.enqueue_cancel_notice(KEY)
    turns.enqueue_turn(KEY, 1)
    letters = DeadLetterQueue.of_turns(clients.sqs, url)

    for letter in letters.take():
        if letter.said == CancelNotice(KEY):
            letters.put_back(letter)
        else:
            letters.remove(letter)

    assert [json.loads(letter.body).get("cancel") for letter in letters.take()] == [True]
