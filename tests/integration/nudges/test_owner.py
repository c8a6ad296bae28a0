"""What the owner of a webhook sees and does, by the API of a running stack in the roles of its template."""

import time
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from a2a_receiver import JwksCache, Strict
from a2a_receiver import Receiver as Verifier
from a2a_serverless.local.stack import LocalStack

from .conftest import Caller, Came, Receiver, Reply
from .test_later import eventually
from .test_operator import Operator

NUDGE = "https://a2a-serverless.dev/ext/push-nudge/v1"


def test_an_owner_reads_each_attempt_of_his_webhook(caller: Caller, receiver: Receiver) -> None:
    receiver.reply = lambda came: (202 if "INPUT" in came.body.decode() else 500, {}, b"")
    task = caller.ask(receiver.url, token="t0ken-of-mine")

    log = eventually(lambda: _settled(caller, task))

    (newest, *_) = log["deliveries"]
    (attempt,) = newest["attempts"]
    assert (newest["outcome"], attempt["outcome"], attempt["status"]) == ("delivered", "delivered", 202)
    assert attempt["keyId"].startswith("es256")
    assert "t0ken-of-mine" not in str(log)


def _settled(caller: Caller, task: str) -> Any:
    log = caller.deliveries(task)
    return log if log["deliveries"] and log["deliveries"][0]["outcome"] == "delivered" else None


def test_a_nudge_that_is_sent_again_has_the_id_it_had(caller: Caller, receiver: Receiver) -> None:
    task = caller.ask(receiver.url)
    first = eventually(lambda: came if "INPUT" in (came := receiver.next()).body.decode() else None)
    eventually(lambda: _settled(caller, task))

    again = caller.rest("POST", f"/tasks/{task}/pushNotificationConfigs/c1:redeliver").json()

    repeated = receiver.next()
    assert again["messageId"] == first.headers["webhook-id"] == repeated.headers["webhook-id"]
    assert repeated.body == first.body
    assert repeated.headers["a2a-push-signature"] != first.headers["a2a-push-signature"]


def test_a_test_is_signed_like_any_nudge_and_switches_the_webhook_on_again(
    stack: LocalStack, caller: Caller, receiver: Receiver
) -> None:
    receiver.answers(410)
    task = caller.ask(receiver.url)
    eventually(lambda: not caller.deliveries(task)["enabled"])
    refused = caller.rpc("deliveries/redeliver", taskId=task, id="c1")
    _forget(receiver)
    receiver.answers(202)

    tested = caller.rpc("deliveries/ping", taskId=task, id="c1")

    ping, nudge = receiver.next(), receiver.next()
    assert "switched off" in refused["message"]
    assert (tested["outcome"], tested["messageId"]) == ("delivered", ping.headers["webhook-id"])
    assert ping.told()["metadata"][NUDGE]["test"] is True
    assert "test" not in nudge.told()["metadata"][NUDGE]
    assert nudge.told()["status"]["state"] == "TASK_STATE_INPUT_REQUIRED"
    assert [_verified(stack, receiver, came) for came in (ping, nudge)] == ["test", "accepted"]
    assert caller.deliveries(task)["enabled"] is True


def _forget(receiver: Receiver) -> None:
    while not receiver.came.empty():
        receiver.came.get()


def _verified(stack: LocalStack, receiver: Receiver, came: Came) -> str:
    """What an independent receiver makes of a request."""
    reasons: list[str] = []
    keys = JwksCache(f"{stack.url}/.well-known/jwks.json")
    proof = Strict(issuer=stack.url, audience=receiver.url, keys=keys, allow_loopback_http=True)
    verifier = Verifier(proof, enqueue=lambda _: None, observe=lambda seen: reasons.append(seen.reason))
    verifier.handle(came.method, tuple(came.headers.items()), came.body, now=time.time())
    return reasons[0]


# Asked before it is registered


@pytest.fixture(scope="module")
def asking_stack() -> Iterator[LocalStack]:
    """A stack that asks each address whether it wants webhooks."""
    with LocalStack(agents="functions.agents.scripted:agent", env={"A2A_WEBHOOK_OWNERSHIP": "token"}) as running:
        yield running


@pytest.fixture
def asking(asking_stack: LocalStack) -> Iterator[Caller]:
    """A caller of it."""
    speaking = Caller(asking_stack.url)
    yield speaking
    speaking.close()


def test_an_address_that_repeats_the_token_is_registered_and_told(asking: Caller, receiver: Receiver) -> None:
    def repeats(came: Came) -> Reply:
        return 200, {}, came.query["validationToken"].encode() if came.method == "GET" else b""

    receiver.reply = repeats

    task = asking.ask(receiver.url)

    assert receiver.next().method == "GET"
    assert receiver.next().told()["taskId"] == task


def test_an_address_that_does_not_know_of_it_is_refused_and_nothing_begins(asking: Caller, receiver: Receiver) -> None:
    receiver.answers(200)

    refused = asking.send("ask", configuration={"taskPushNotificationConfig": {"url": receiver.url}})

    assert refused["code"] == -32602
    assert refused["data"][1]["fieldViolations"][0]["field"] == "url"
    assert "validationToken" in refused["message"]
    assert asking.rpc("ListTasks", pageSize=10)["totalSize"] in {0, 1}  # that of the other test


def test_keys_that_are_compromised_are_trusted_no_more(
    asking_stack: LocalStack, capsys: pytest.CaptureFixture[str]
) -> None:
    operator = Operator(asking_stack, capsys)
    before = {key["kid"] for key in operator.asks("rotate-keys")}

    renewed = {key["kid"] for key in operator.asks("rotate-keys", "--compromised")}

    assert not before & renewed
    assert len(renewed) == 2
    eventually(lambda: _published(asking_stack) == renewed)


def _published(stack: LocalStack) -> set[str]:
    keys = httpx.get(f"{stack.url}/.well-known/jwks.json").json()["keys"]
    return {key["kid"] for key in keys}
