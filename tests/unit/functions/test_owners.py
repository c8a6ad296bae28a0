"""Which question `api` asks an address, as the deployment chose."""

from collections.abc import Callable, Iterator
from urllib.parse import parse_qs

import pytest

from a2a_serverless.app.host import everybody_wants
from a2a_serverless.aws.settings import Variable
from a2a_serverless.errors import InvalidParams
from a2a_serverless.webhook.dial import Dialler
from a2a_serverless.webhook.policy import WebhookPolicy
from functions import wiring
from functions.api import owners
from tests.unit.webhook.loopback import LOCAL, Network, answering, receiver

Ask = Callable[[str], None]


@pytest.fixture(autouse=True)
def _local(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv(Variable.STAGE, "local")
    monkeypatch.setenv(Variable.PUBLIC_URL, "https://agents.example:8443/base")
    monkeypatch.setenv(Variable.ALLOW_PRIVATE_WEBHOOKS, "1")
    cached = (wiring.settings, wiring.webhook_policy)
    for each in cached:
        each.cache_clear()
    yield
    for each in cached:
        each.cache_clear()


def dialling(port: int, monkeypatch: pytest.MonkeyPatch) -> None:
    dialler: Dialler = Network(port, answers=[["127.0.0.1"]]).dialler(policy=LOCAL)
    monkeypatch.setattr(owners, "_dialler", lambda: dialler)


@pytest.mark.parametrize("how", ["none", "", "other"])
def test_nobody_is_asked_unless_the_deployment_says_how(how: str) -> None:
    assert owners.asked_by(how) is everybody_wants


def test_a_token_is_fresh_for_each_question(monkeypatch: pytest.MonkeyPatch) -> None:
    with receiver(answering(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")) as partner:
        dialling(partner.port, monkeypatch)
        for _ in range(2):
            with pytest.raises(InvalidParams, match="url: must answer GET with validationToken"):
                owners.asked_by("token")("http://partner/hook")

    tokens = [_query(request)["validationToken"][0] for request in partner.requests]
    assert len(set(tokens)) == 2
    assert all(len(token) >= 43 for token in tokens)


def _query(request: bytes) -> dict[str, list[str]]:
    target = request.split(b" ")[1].decode()
    return parse_qs(target.partition("?")[2])


def test_options_name_the_host_of_the_deployment(monkeypatch: pytest.MonkeyPatch) -> None:
    allowed = b"HTTP/1.1 204 No Content\r\nWebHook-Allowed-Origin: agents.example\r\n\r\n"
    with receiver(answering(allowed)) as partner:
        dialling(partner.port, monkeypatch)

        owners.asked_by("options")("http://partner/hook")

    assert b"\r\nWebHook-Request-Origin: agents.example\r\n" in partner.requests[0]


def test_webhooks_never_lead_back_to_the_deployment() -> None:
    assert wiring.webhook_policy() == WebhookPolicy(allow_private=True, own_hosts=frozenset({"agents.example"}))
