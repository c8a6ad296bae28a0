"""Secrets sealed by KMS."""

import random
import string

import pytest
from botocore.exceptions import ClientError

from a2a_serverless.app.ports import Sealer
from a2a_serverless.aws.clients import Clients
from a2a_serverless.aws.sealing import KmsSealer
from a2a_serverless.core.push import PushSecrets
from a2a_serverless.types import Owner, Scope, TaskKey
from tests.fakes import PlainSealer

KEY = TaskKey(Scope("freight", Owner("alice")), "t-1")
TOKEN68 = string.ascii_letters + string.digits + "-._~+/"
VISIBLE = "".join(chr(code) for code in range(0x21, 0x7F))


@pytest.fixture(scope="session")
def sealing_key(clients: Clients) -> str:
    return clients.kms.create_key()["KeyMetadata"]["KeyId"]


@pytest.fixture(params=["memory", "kms"])
def sealer(request: pytest.FixtureRequest) -> Sealer:
    if request.param == "memory":
        return PlainSealer()
    clients: Clients = request.getfixturevalue("clients")
    return KmsSealer(clients.kms, request.getfixturevalue("sealing_key"))


def longest(seed: int) -> PushSecrets:
    """The longest secrets that may be registered, of characters as different as they may be."""
    chosen = random.Random(seed)
    return PushSecrets(
        credentials="".join(chosen.choices(TOKEN68, k=4096)), token="".join(chosen.choices(VISIBLE, k=512))
    )


@pytest.mark.parametrize(
    "secrets",
    [PushSecrets(token="t"), PushSecrets(credentials="abc=="), PushSecrets(credentials='"\\', token="~" * 512)],
)
def test_what_is_sealed_is_opened(sealer: Sealer, secrets: PushSecrets) -> None:
    assert sealer.open(sealer.seal(secrets, KEY, "c-1"), KEY, "c-1") == secrets


def test_the_longest_secrets_that_may_be_registered_are_sealed(sealer: Sealer) -> None:
    for seed in range(5):
        secrets = longest(seed)

        assert sealer.open(sealer.seal(secrets, KEY, "c-1"), KEY, "c-1") == secrets


def test_secrets_are_bound_to_their_task_and_config(sealer: Sealer) -> None:
    sealed = sealer.seal(PushSecrets(token="t"), KEY, "c-1")

    for key, config_id in ((TaskKey(KEY.scope, "t-2"), "c-1"), (KEY, "c-2")):
        with pytest.raises((ClientError, ValueError)):
            sealer.open(sealed, key, config_id)


def test_sealed_secrets_show_nothing(clients: Clients, sealing_key: str) -> None:
    sealed = KmsSealer(clients.kms, sealing_key).seal(PushSecrets("a-credential", "a-token"), KEY, "c-1")

    assert b"a-credential" not in sealed
    assert b"a-token" not in sealed
    assert "a-credential" not in repr(PushSecrets("a-credential", "a-token"))
