"""The extension `deliveries`, over both bindings: an owner sees and repeats what his webhooks were told."""

from datetime import timedelta
from typing import Any

import pytest

from a2a_serverless.app.ports import AttemptRecord
from a2a_serverless.core.delivery_outcome import DisableReason
from a2a_serverless.core.delivery_state import DeliveryState, Disabled, PendingNudge
from a2a_serverless.types import Owner, Scope, TaskKey
from tests.fakes import START, QueuedNudge, QueuedPing

from .door import AGENT, Door, json_of

URI = "https://a2a-serverless.dev/ext/deliveries/v1"
HOOK = {"id": "c1", "url": "https://partner.example/hook", "token": "s3cret"}
SECOND = timedelta(seconds=1)


@pytest.fixture
def door() -> Door:
    return Door()


def task_of(door: Door) -> str:
    """A task with a webhook; nothing is told in these tests, since nobody works off the queue."""
    task = door.send("echo x", configuration={"taskPushNotificationConfig": HOOK, "returnImmediately": True})
    door.backstage.queues.nudges.clear()
    return str(task["id"])


def key_of(task_id: str) -> TaskKey:
    return TaskKey(Scope(AGENT, Owner("anonymous")), task_id)


def attempted(door: Door, task_id: str, *lines: AttemptRecord, state: DeliveryState | None = None) -> None:
    """Put lines into the log of the webhook, and set its state."""
    tasks = door.backstage.tasks
    for line in lines:
        tasks.log_attempt(key_of(task_id), "c1", line)
    if state is not None:
        tasks.save_delivery(key_of(task_id), "c1", state)


FAILED = AttemptRecord(
    at=START,
    message_id="m1",
    seq=3,
    attempt=1,
    result="timeout",
    milliseconds=10_000,
    key_id="k1",
    next_at=START + SECOND,
)
GIVEN_UP = AttemptRecord(at=START + SECOND, message_id="m1", seq=3, attempt=1, result="exhausted", is_closing=True)
TOLD = AttemptRecord(at=START + 2 * SECOND, message_id="m2", seq=5, attempt=1, result="delivered", status=202)
NAMED = "/tasks/{}/pushNotificationConfigs/c1"


def asked(door: Door, binding: str, verb: str, task_id: str, **members: Any) -> Any:
    """Call an operation of the extension over a binding; answers the result or the error."""
    if binding == "rpc":
        answer = door.rpc(f"deliveries/{verb}", {"taskId": task_id, "id": "c1", **members})
        return answer.get("result", answer.get("error"))
    path = NAMED.format(task_id) + ("/deliveries" if verb == "list" else f":{verb}")
    if verb == "list":
        query = "&".join(f"{name}={value}" for name, value in members.items())
        return json_of(door.request("GET", path, query=query, a2a_version="1.0"))
    return json_of(door.rest("POST", path, members))


both_bindings = pytest.mark.parametrize("binding", ["rpc", "rest"])


@both_bindings
def test_an_owner_sees_each_attempt_and_how_it_ended_but_no_secret(door: Door, binding: str) -> None:
    task_id = task_of(door)
    pending = PendingNudge(seq=6, message_id="m3", since=START, next_at=START + 9 * SECOND)
    attempted(door, task_id, FAILED, GIVEN_UP, TOLD, state=DeliveryState(generation=1, pending=pending))

    log = asked(door, binding, "list", task_id)

    assert log == {
        "id": "c1",
        "url": "https://partner.example/hook",
        "enabled": True,
        "deliveries": [
            {
                "messageId": "m3",
                "seq": "6",
                "outcome": "pending",
                "attempts": [],
                "nextAttempt": "2026-11-30T12:00:09.000Z",
            },
            {
                "messageId": "m2",
                "seq": "5",
                "outcome": "delivered",
                "attempts": [
                    {
                        "attempt": 1,
                        "time": "2026-11-30T12:00:02.000Z",
                        "outcome": "delivered",
                        "milliseconds": 0,
                        "status": 202,
                    }
                ],
            },
            {
                "messageId": "m1",
                "seq": "3",
                "outcome": "exhausted",
                "attempts": [
                    {
                        "attempt": 1,
                        "time": "2026-11-30T12:00:00.000Z",
                        "outcome": "timeout",
                        "milliseconds": 10_000,
                        "keyId": "k1",
                        "nextAttempt": "2026-11-30T12:00:01.000Z",
                    }
                ],
            },
        ],
        "nextPageToken": "",
    }
    assert "s3cret" not in str(log)


@both_bindings
def test_a_long_log_comes_in_pages(door: Door, binding: str) -> None:
    task_id = task_of(door)
    lines = [
        AttemptRecord(at=START + at * SECOND, message_id=f"m{at}", seq=at, attempt=1, result="delivered")
        for at in range(1, 6)
    ]
    attempted(door, task_id, *lines)

    pages: list[list[str]] = []
    token = ""
    while len(pages) < 9:
        page = asked(door, binding, "list", task_id, pageSize=2, pageToken=token)
        pages.append([delivery["messageId"] for delivery in page["deliveries"]])
        token = page["nextPageToken"]
        if not token:
            break

    assert pages == [["m5", "m4"], ["m3", "m2"], ["m1"]]


@both_bindings
def test_a_webhook_that_was_switched_off_says_why_and_since_when(door: Door, binding: str) -> None:
    task_id = task_of(door)
    attempted(door, task_id, state=DeliveryState(generation=1, disabled=Disabled(DisableReason.GONE, START)))

    log = asked(door, binding, "list", task_id)

    assert log["enabled"] is False
    assert log["disabled"] == {"reason": "gone", "since": "2026-11-30T12:00:00.000Z"}


@both_bindings
def test_a_nudge_is_sent_again_under_its_id(door: Door, binding: str) -> None:
    task_id = task_of(door)
    attempted(door, task_id, FAILED, GIVEN_UP)

    again = asked(door, binding, "redeliver", task_id, messageId="m1")

    assert again == {"messageId": "m1", "seq": "3"}
    assert door.backstage.queues.nudges == [QueuedNudge(key_of(task_id), "c1", 3)]
    assert asked(door, binding, "list", task_id)["deliveries"][0]["outcome"] == "pending"


@both_bindings
def test_a_test_is_answered_with_what_came_of_it(door: Door, binding: str, monkeypatch: pytest.MonkeyPatch) -> None:
    task_id = task_of(door)
    backstage = door.backstage

    def answered() -> None:
        (queued,) = backstage.queues.pings
        line = AttemptRecord(
            at=backstage.clock(),
            message_id=queued.message_id,
            seq=1,
            attempt=1,
            result="delivered",
            status=204,
            is_test=True,
        )
        backstage.tasks.log_attempt(queued.key, queued.config_id, line)

    monkeypatch.setattr(backstage, "settle", answered)

    tested = asked(door, binding, "ping", task_id)

    assert backstage.queues.pings == [QueuedPing(key_of(task_id), "c1", tested["messageId"])]
    assert (tested["outcome"], tested["test"]) == ("delivered", True)
    assert tested["attempts"][0]["status"] == 204


@both_bindings
def test_a_test_whose_result_takes_too_long_is_pending(door: Door, binding: str) -> None:
    task_id = task_of(door)

    tested = asked(door, binding, "ping", task_id)

    assert tested["outcome"] == "pending"
    assert door.backstage.clock() - START < timedelta(seconds=25)


@both_bindings
@pytest.mark.parametrize("verb", ["list", "redeliver", "ping"])
def test_the_webhook_of_somebody_else_is_like_one_that_is_not_there(door: Door, binding: str, verb: str) -> None:
    task_id = task_of(door)
    theirs = Door(agent_url="/agents/other")
    theirs.backstage = door.backstage
    theirs.service = door.service

    foreign = asked(theirs, binding, verb, task_id)
    missing = asked(theirs, binding, verb, "no-such-task")

    assert foreign == missing
    assert "Task not found" in str(foreign)
    assert door.backstage.queues.pings == []


@both_bindings
@pytest.mark.parametrize("verb", ["list", "redeliver", "ping"])
def test_a_config_that_the_task_has_not_is_not_found(door: Door, binding: str, verb: str) -> None:
    task_id = str(door.send("echo x")["id"])

    assert "no push notification config with this id" in str(asked(door, binding, verb, task_id))


def test_a_member_that_is_wrong_is_named(door: Door) -> None:
    task_id = task_of(door)
    attempted(door, task_id, TOLD)

    wrong = [
        door.error("deliveries/list", {"taskId": task_id, "id": "c1", "pageSize": 0}),
        door.error("deliveries/list", {"taskId": task_id, "id": "c1", "pageToken": "other"}),
        door.error("deliveries/redeliver", {"taskId": task_id, "id": "c1", "messageId": "other"}),
        door.error("deliveries/ping", {"taskId": task_id}),
    ]

    named = [error["data"][1]["fieldViolations"][0]["field"] for error in wrong]
    assert named == ["pageSize", "pageToken", "messageId", "id"]
    assert {error["code"] for error in wrong} == {-32602}


def test_the_card_declares_the_extension_and_a_request_may_activate_it(door: Door) -> None:
    card = json_of(door.request("GET", "/.well-known/agent-card.json"))
    (declared,) = [each for each in card["capabilities"]["extensions"] if each["uri"] == URI]

    answer = door.post(
        {"jsonrpc": "2.0", "id": 1, "method": "deliveries/list", "params": {"taskId": task_of(door), "id": "c1"}},
        a2a_extensions=URI,
    )

    assert declared["params"]["methods"] == ["deliveries/list", "deliveries/redeliver", "deliveries/ping"]
    assert declared["params"]["routes"][0] == "GET /tasks/{taskId}/pushNotificationConfigs/{id}/deliveries"
    assert answer.headers["a2a-extensions"] == URI


def test_an_agent_without_webhooks_neither_declares_nor_offers_it() -> None:
    door = Door(push_supported=False)

    card = json_of(door.request("GET", "/.well-known/agent-card.json"))

    assert URI not in str(card)
    assert door.error("deliveries/list", {"taskId": "t", "id": "c1"})["code"] == -32004


def test_the_methods_belong_to_one_zero_alone(door: Door) -> None:
    assert door.legacy("deliveries/list", {"taskId": "t", "id": "c1"})["code"] == -32009
