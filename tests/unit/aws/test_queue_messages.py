"""What the messages of the queues say, and what is none of ours."""

import json
from typing import Any

import pytest

from a2a_serverless.aws.queues import CancelNotice, NudgeDue, SqsNudges, SqsTurns, TurnDue, nudge_of, turn_of
from a2a_serverless.types import Owner, Scope, TaskKey

KEY = TaskKey(Scope("freight", Owner("zoë/x", "acmé")), "t-1")


class SentMessages:
    """A client that keeps what it is told to send."""

    def __init__(self) -> None:
        self.requests: list[dict[str, Any]] = []

    def send_message(self, **request: Any) -> None:
        self.requests.append(request)


@pytest.fixture
def client() -> Any:
    return SentMessages()


def test_a_turn_is_read_as_it_was_sent(client: Any) -> None:
    SqsTurns(client, "url").enqueue_turn(KEY, 3)

    (request,) = client.requests
    assert json.loads(request["MessageBody"]) == {"pk": "freight/acm%C3%A9/zo%C3%AB%2Fx/t-1", "turn": 3}
    assert turn_of(request["MessageBody"]) == TurnDue(KEY, 3)


def test_a_cancel_notice_is_read_as_it_was_sent(client: Any) -> None:
    SqsTurns(client, "url").enqueue_cancel_notice(KEY)

    assert turn_of(client.requests[0]["MessageBody"]) == CancelNotice(KEY)


def test_a_nudge_is_read_as_it_was_sent(client: Any) -> None:
    SqsNudges(client, "url").enqueue_nudge(KEY, "c-1", 7, delay_seconds=30)

    (request,) = client.requests
    assert nudge_of(request["MessageBody"]) == NudgeDue(KEY, "c-1", 7)
    assert request["DelaySeconds"] == 30


def test_nudges_of_one_endpoint_are_one_group_and_those_of_one_owner_where_it_is_not_known(client: Any) -> None:
    nudges = SqsNudges(client, "url")
    other = TaskKey(KEY.scope, "t-2")

    nudges.enqueue_nudge(KEY, "c-1", 7, endpoint="partner.example:443")
    nudges.enqueue_nudge(KEY, "c-1", 7)
    nudges.enqueue_nudge(other, "c-2", 1)
    nudges.enqueue_nudge(TaskKey(Scope("freight", Owner("é" * 300)), "t"), "c-1", 1)

    groups = [request["MessageGroupId"] for request in client.requests]
    assert groups[0] == "partner.example:443"
    assert groups[1] == groups[2] != groups[3]
    assert all(len(group) <= 128 for group in groups)


@pytest.mark.parametrize("seconds", [-1, 901])
def test_a_delay_that_sqs_does_not_take_is_refused(client: Any, seconds: int) -> None:
    with pytest.raises(ValueError, match="0 to 900"):
        SqsNudges(client, "url").enqueue_nudge(KEY, "c-1", 7, delay_seconds=seconds)

    assert client.requests == []


@pytest.mark.parametrize(
    "body",
    ["", "x", "[]", "null", "{}", '{"pk": "a/b/c/d"}', '{"pk": "a", "turn": 1}', '{"pk": "a/b/c/d", "turn": "1"}',
     '{"pk": "a/b/c/d", "turn": true}', '{"pk": null, "cancel": true}'],
)  # fmt: skip
def test_a_message_that_is_none_of_ours_is_refused(body: str) -> None:
    with pytest.raises(ValueError, match=r"message|partition"):
        turn_of(body)
    with pytest.raises(ValueError, match=r"message|partition"):
        nudge_of(body)
