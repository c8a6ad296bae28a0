"""Clients: from the environment, impatient, and never asking the instance for anything."""

from typing import Any

import pytest

from a2a_serverless.aws.clients import ATTEMPTS, CONNECT_SECONDS, READ_SECONDS, Clients

GATEWAY_SECONDS = 30


@pytest.fixture
def clients(monkeypatch: pytest.MonkeyPatch) -> Clients:
    monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-central-1")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "id")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "key")
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    return Clients()


def test_all_clients_follow_the_environment_and_share_one_session(clients: Clients) -> None:
    made = [clients.dynamodb, clients.sqs, clients.stepfunctions, clients.kms]

    assert {client.meta.endpoint_url for client in made} == {"http://127.0.0.1:9"}
    assert {client.meta.region_name for client in made} == {"eu-central-1"}
    assert clients.dynamodb is made[0]
    assert clients._session is clients._session


def test_a_call_gives_up_before_the_gateway_does(clients: Clients) -> None:
    config: Any = clients.dynamodb.meta.config

    assert (config.connect_timeout, config.read_timeout) == (CONNECT_SECONDS, READ_SECONDS)
    assert config.retries == {"mode": "standard", "total_max_attempts": ATTEMPTS}
    assert ATTEMPTS * (CONNECT_SECONDS + READ_SECONDS) < GATEWAY_SECONDS


def test_the_instance_is_never_asked_for_credentials(clients: Clients) -> None:
    providers = clients._session.get_component("credential_provider").providers

    assert "iam-role" not in {provider.METHOD for provider in providers}
