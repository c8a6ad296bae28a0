"""The sender that notify is given."""

import dataclasses
import datetime as dt
import json

import pytest

from a2a_serverless.app.attempt import NudgeToSend
from a2a_serverless.core.delivery_outcome import Answer, Fault, NoAnswer
from a2a_serverless.core.delivery_state import PendingNudge
from a2a_serverless.core.head import Head
from a2a_serverless.core.push import PushConfig, PushSecrets, WireVersion
from a2a_serverless.types import Caller, Owner, Scope, TaskKey, TaskState, TaskStatus
from a2a_serverless.webhook.policy import WebhookPolicy
from a2a_serverless.webhook.sender import WebhookSender
from a2a_serverless.webhook.sign import HmacSecret
from tests.unit.webhook.loopback import ACCEPTED, LOCAL, NAME, STRICT, Authority, Network, answering, receiver
from tests.unit.webhook.signing import NOW, SECRET, sender

OWNER = Owner("alice")


def _to_send(config: PushConfig, secrets: PushSecrets = PushSecrets()) -> NudgeToSend:  # noqa: B008 (frozen)
    head = Head(
        key=TaskKey(Scope("freight", OWNER), "task-1"),
        context_id="ctx-1",
        caller=Caller(OWNER),
        status=TaskStatus(state=TaskState.WORKING, timestamp=NOW),
        created_at=NOW,
        nudge_seq=7,
    )
    nudge = PendingNudge(seq=7, message_id="msg_1", since=NOW, next_at=NOW, attempts=2, spent=2)
    return NudgeToSend(head=head, config=config, secrets=secrets, nudge=nudge, plain_json=False)


def _config(url: str = f"https://{NAME}/p", **more: object) -> PushConfig:
    return dataclasses.replace(PushConfig(id="c", url=url, created_at=NOW), **more)  # type: ignore[arg-type]  # passed on


def _sender(network: Network, authority: Authority | None, policy: WebhookPolicy = STRICT) -> WebhookSender:
    dialler = network.dialler(cafile=authority.cafile if authority else None, policy=policy)
    return WebhookSender(
        dialler=dialler,
        identity=sender(),
        policy=policy,
        secrets_of=lambda owner: (HmacSecret.parse(SECRET),) if owner == OWNER else (),
    )


def test_a_decided_nudge_is_signed_and_sent(authority: Authority) -> None:
    with receiver(answering(ACCEPTED), tls=authority.context()) as partner:
        sent = _sender(Network(partner.port), authority)(_to_send(_config()), now=NOW)

    head, _, body = partner.requests[0].partition(b"\r\n\r\n")
    assert b"Notification-Token" not in head
    assert (sent.outcome, sent.key_id) == (Answer(status=202), "push-es-1")
    assert json.loads(body)["statusUpdate"]["status"]["state"] == "TASK_STATE_WORKING"
    for header in (
        b"Authorization: Bearer ey",
        b"A2A-Push-Signature: ey",
        b"webhook-id: msg_1",
        b"webhook-signature: v1,",
    ):
        assert b"\r\n" + header in head


def test_what_the_config_brought_goes_along(authority: Authority) -> None:
    config = _config(scheme="Bearer", wire_version=WireVersion.V0_3)
    with receiver(answering(ACCEPTED), tls=authority.context()) as partner:
        to_send = _to_send(config, PushSecrets(credentials="abc", token="tok"))
        _sender(Network(partner.port), authority)(to_send, now=NOW)

    head, _, body = partner.requests[0].partition(b"\r\n\r\n")
    assert b"\r\nAuthorization: Bearer abc\r\n" in head
    assert b"\r\nX-A2A-Notification-Token: tok\r\n" in head
    assert json.loads(body)["kind"] == "task"


@pytest.mark.parametrize("url", ["http://127.0.0.1:9000/hook", "https://localhost/", "https://rx.example.com:22/"])
def test_a_url_that_was_taken_under_other_rules_is_not_dialled(url: str) -> None:
    network = Network(1)

    sent = _sender(network, None)(_to_send(_config(url)), now=NOW)

    assert isinstance(sent.outcome, NoAnswer)
    assert sent.outcome.fault is Fault.BLOCKED_ADDRESS
    assert (network.resolved, network.dialled) == ([], [])


def test_a_local_run_reaches_a_receiver_on_the_same_machine() -> None:
    with receiver(answering(ACCEPTED)) as partner:
        network = Network(partner.port, answers=[["127.0.0.1"]])
        sent = _sender(network, None, LOCAL)(_to_send(_config(f"http://127.0.0.1:{partner.port}/hook")), now=NOW)

    assert sent.outcome == Answer(status=202)


def test_without_a_key_nothing_is_sent() -> None:
    network = Network(1)

    with pytest.raises(LookupError):
        _sender(network, None)(_to_send(_config()), now=NOW - dt.timedelta(days=365))

    assert network.resolved == []


@pytest.mark.parametrize("version", WireVersion)
def test_a_test_says_it_is_one_and_any_other_nudge_does_not(authority: Authority, version: WireVersion) -> None:
    nudge = _to_send(_config(wire_version=version))
    with receiver(answering(ACCEPTED), tls=authority.context()) as partner:
        send = _sender(Network(partner.port), authority)
        for each in (nudge, dataclasses.replace(nudge, is_test=True)):
            send(each, now=NOW)

    bodies = [request.partition(b"\r\n\r\n")[2] for request in partner.requests]
    assert [b'"test":true' in body for body in bodies] == [False, True]
