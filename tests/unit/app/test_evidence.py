"""Writing exchanges down disturbs nobody, and what a partner echoes is hidden."""

import threading
import time
from dataclasses import replace

import pytest

from a2a_serverless.app.evidence import Exchange, Recorder
from a2a_serverless.core.delivery_outcome import Answer
from a2a_serverless.core.push import PushSecrets
from a2a_serverless.webhook.exchange import Exchange as Sent
from a2a_serverless.webhook.exchange import Request
from a2a_serverless.webhook.policy import WebhookPolicy
from a2a_serverless.webhook.seen import seen
from a2a_serverless.webhook.url import WebhookUrl, check_url
from tests.fakes import START

EXCHANGE = Exchange(
    task_id="t-1", at=START, kind="call", operation="GetTask", who={}, request={}, answer={"status": 200}
)


class Kept:
    def __init__(self) -> None:
        self.all: list[Exchange] = []

    def keep(self, exchange: Exchange) -> None:
        self.all.append(exchange)


class Failing:
    def keep(self, exchange: Exchange) -> None:
        raise RuntimeError("the table is away")


class Hanging:
    def __init__(self) -> None:
        self.released = threading.Event()

    def keep(self, exchange: Exchange) -> None:
        self.released.wait()


def test_an_exchange_is_kept_before_its_answer_leaves() -> None:
    store = Kept()

    Recorder(store)(EXCHANGE)

    assert store.all == [EXCHANGE]


def test_a_callback_address_that_an_agent_gave_out_opens_nothing_when_it_is_kept() -> None:
    store = Kept()
    said = '{"text":"approve at https://a.example/x/callbacks/id-1?key=s3cr-et_x, or not","n":1}'
    sides = {"headers": {"a": "b"}, "body": said}

    Recorder(store)(replace(EXCHANGE, request=sides, answer={"status": 200, **sides}))

    (kept,) = store.all
    assert kept.answer["body"] == said.replace("s3cr-et_x", "(not kept)")
    assert kept.request == {"headers": {"a": "b"}, "body": kept.answer["body"]}
    assert kept.answer["status"] == 200


def test_a_record_that_cannot_be_written_is_logged_and_nothing_else(caplog: pytest.LogCaptureFixture) -> None:
    Recorder(Failing())(EXCHANGE)

    assert "the record of an exchange is lost" in caplog.text


def test_nobody_waits_for_a_record_that_hangs(caplog: pytest.LogCaptureFixture) -> None:
    store = Hanging()
    began = time.monotonic()

    Recorder(store, patience=0.05)(EXCHANGE)

    assert time.monotonic() - began < 1
    assert "late and may be lost" in caplog.text
    store.released.set()


def url(text: str) -> WebhookUrl:
    checked = check_url(text, WebhookPolicy(allow_private=True, own_hosts=frozenset()))
    assert isinstance(checked, WebhookUrl)
    return checked


def test_what_a_partner_echoes_of_our_secrets_is_hidden_and_his_answer_is_cut() -> None:
    secrets = PushSecrets(token="token-secret", credentials='cred"secret')
    headers = (
        ("Content-Type", "application/json"),
        ("Authorization", 'Bearer cred"secret'),
        ("X-A2A-Notification-Token", "token-secret"),
        ("A2A-Push-Signature", "aaa.bbb.ccc"),
        ("webhook-id", "msg_1"),
    )
    echo = b'token-secret cred\\"secret aaa.bbb.ccc ' + b"x" * 5_000
    sent = Sent(
        outcome=Answer(status=200), milliseconds=1, headers={"server": "token-secret", "x-echo": "1"}, body=echo
    )

    kept = seen(Request(method="POST", url=url("http://127.0.0.1:9/h?k=v"), headers=headers, body=b"{}"), sent, secrets)

    assert "secret" not in repr(kept)
    assert "aaa.bbb" not in repr(kept)
    assert kept.url == "http://127.0.0.1:9/h?(not kept)"
    assert kept.headers == {"Content-Type": "application/json", "webhook-id": "msg_1"}
    assert kept.answer_headers == {"server": "(not kept)"}
    assert len(kept.answer_body) == 1024
