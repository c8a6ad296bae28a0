"""Standard Webhooks secrets of owners: sealed, told to nobody else, and replaced without a gap."""

import json
import uuid
from datetime import timedelta

import pytest

from a2a_serverless.aws.clients import Clients
from a2a_serverless.aws.table import Table
from a2a_serverless.aws.webhook_secrets import GOOD_AFTER_THE_NEXT, WebhookSecrets
from a2a_serverless.types import Owner
from tests.fakes import START

FIRST, SECOND, THIRD = "whsec_Zmlyc3Q=", "whsec_c2Vjb25k", "whsec_dGhpcmQ="
MINUTE = timedelta(minutes=1)


@pytest.fixture(scope="session")
def sealing_key(clients: Clients) -> str:
    return clients.kms.create_key()["KeyMetadata"]["KeyId"]


@pytest.fixture
def secrets(table: Table, clients: Clients, sealing_key: str) -> WebhookSecrets:
    return WebhookSecrets(table, clients.kms, sealing_key)


@pytest.fixture
def owner() -> Owner:
    return Owner(f"bob/{uuid.uuid4()}", "acme")


def test_an_owner_who_was_issued_none_has_none(secrets: WebhookSecrets, owner: Owner) -> None:
    assert secrets.good(owner, now=START) == ()


def test_a_secret_is_its_owners_alone(secrets: WebhookSecrets, owner: Owner) -> None:
    secrets.issue(owner, FIRST, now=START)

    assert secrets.good(owner, now=START) == (FIRST,)
    assert secrets.good(Owner(owner.subject), now=START) == ()
    assert secrets.good(Owner("bob", "acme"), now=START) == ()


def test_the_one_before_goes_on_for_a_day_and_no_later_one_prolongs_it(secrets: WebhookSecrets, owner: Owner) -> None:
    secrets.issue(owner, FIRST, now=START)
    secrets.issue(owner, SECOND, now=START + MINUTE)
    secrets.issue(owner, THIRD, now=START + 2 * MINUTE)

    ends = START + MINUTE + GOOD_AFTER_THE_NEXT
    assert secrets.good(owner, now=ends - MINUTE) == (THIRD, SECOND, FIRST)
    assert secrets.good(owner, now=ends) == (THIRD, SECOND)
    assert secrets.good(owner, now=ends + timedelta(days=3000)) == (THIRD,)


def test_what_has_ended_is_forgotten_when_the_next_is_issued(secrets: WebhookSecrets, owner: Owner) -> None:
    secrets.issue(owner, FIRST, now=START)
    secrets.issue(owner, SECOND, now=START + MINUTE)
    secrets.issue(owner, THIRD, now=START + 10 * GOOD_AFTER_THE_NEXT)

    assert secrets.revoke(owner) == 2


def test_revoked_secrets_sign_nothing(secrets: WebhookSecrets, owner: Owner) -> None:
    secrets.issue(owner, FIRST, now=START)
    secrets.issue(owner, SECOND, now=START + MINUTE)

    assert secrets.revoke(owner) == 2
    assert secrets.good(owner, now=START + MINUTE) == ()


def test_no_secret_is_in_the_table_in_the_clear(
    secrets: WebhookSecrets, owner: Owner, clients: Clients, table_name: str
) -> None:
    secrets.issue(owner, FIRST, now=START)

    items = clients.dynamodb.scan(TableName=table_name)["Items"]
    assert any("WHSEC#" in str(item) for item in items)
    assert FIRST not in json.dumps(items, default=lambda value: bytes(value).decode("latin-1"))
