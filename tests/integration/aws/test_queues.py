"""Turns, nudges and dead letters on SQS."""

import json
import uuid
from typing import Any

import pytest

from a2a_serverless.aws.clients import Clients
from a2a_serverless.aws.queues import (
    CancelNotice,
    NudgeDue,
    SqsDeadLetters,
    SqsNudges,
    SqsTurns,
    TurnDue,
    nudge_of,
    turn_of,
)
from a2a_serverless.types import Owner, Scope, TaskKey

KEY = TaskKey(Scope("freight", Owner("zoë \U0001f69a", "a/b")), "t-1")


@pytest.fixture
def url(clients: Clients) -> str:
    return clients.sqs.create_queue(QueueName=f"q-{uuid.uuid4().hex[:12]}")["QueueUrl"]


def received(clients: Clients, url: str) -> list[Any]:
    answer = clients.sqs.receive_message(
        QueueUrl=url, MaxNumberOfMessages=10, MessageAttributeNames=["All"], VisibilityTimeout=30
    )
    return list(answer.get("Messages", []))


def test_turns_and_cancel_notices_arrive_as_they_were_sent(clients: Clients, url: str) -> None:
    turns = SqsTurns(clients.sqs, url)

    turns.enqueue_turn(KEY, 3)
    turns.enqueue_cancel_notice(KEY)

    bodies = [message["Body"] for message in received(clients, url)]
    assert all(body.isascii() for body in bodies)
    assert {turn_of(body) for body in bodies} == {TurnDue(KEY, 3), CancelNotice(KEY)}


def test_a_runner_hides_its_message_for_as_long_as_it_needs(clients: Clients, url: str) -> None:
    turns = SqsTurns(clients.sqs, url)
    turns.enqueue_turn(KEY, 1)
    (message,) = received(clients, url)

    turns.extend(message["ReceiptHandle"], 0)
    (again,) = received(clients, url)
    turns.extend(again["ReceiptHandle"], 10**6)

    assert again["Body"] == message["Body"]
    assert received(clients, url) == []


def test_nudges_arrive_as_they_were_sent_and_not_before_their_delay(clients: Clients, url: str) -> None:
    nudges = SqsNudges(clients.sqs, url)

    nudges.enqueue_nudge(KEY, "c-1", 7, endpoint="partner.example:443")
    nudges.enqueue_nudge(KEY, "c-2", 8, delay_seconds=900)

    (message,) = received(clients, url)
    assert nudge_of(message["Body"]) == NudgeDue(KEY, "c-1", 7)


def test_a_dead_letter_has_the_reason_and_can_be_sent_again_as_it_is(clients: Clients, url: str) -> None:
    dead = SqsDeadLetters(clients.sqs, turns=url, nudges=url)

    dead.bury_turn(KEY, 3, "turn 3 stopped its worker 3 times")
    dead.bury_nudge(KEY, "c-1", 7, "x" * 5_000)

    messages = received(clients, url)
    told = {json.loads(m["Body"]).get("config", ""): m["MessageAttributes"] for m in messages}
    reasons = {config: attributes["reason"]["StringValue"] for config, attributes in told.items()}
    assert reasons == {"": "turn 3 stopped its worker 3 times", "c-1": "x" * 1_000}
    assert {attributes["task_id"]["StringValue"] for attributes in told.values()} == {"t-1"}
    bodies = {("turn" in m["Body"]): m["Body"] for m in messages}
    assert turn_of(bodies[True]) == TurnDue(KEY, 3)
    assert nudge_of(bodies[False]) == NudgeDue(KEY, "c-1", 7)
