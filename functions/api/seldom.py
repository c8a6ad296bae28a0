"""What few requests of `api` need: webhooks and their deliveries, callback addresses, signed cards, published keys."""

import time
from functools import cache, lru_cache
from typing import Final

from a2a_serverless.app.deliveries import Desk
from a2a_serverless.aws.callback_table import CallbackTable
from a2a_serverless.aws.queues import SqsNudges
from a2a_serverless.aws.sealing import KmsSealer
from a2a_serverless.aws.webhook_hosts import HostTable
from a2a_serverless.protocol.callback_door import CallbackDoor
from a2a_serverless.webhook.keys import PublicKey, jwks_document
from functions import signing, wiring
from functions.api import card_signing, owners

_JWKS_SECONDS: Final = 60

card_signer = cache(card_signing.card_signer)


@cache
def callback_door() -> CallbackDoor:
    """Where waits are resumed from outside A2A."""
    return CallbackDoor(
        store=CallbackTable(wiring.table()),
        tasks=wiring.tasks(),
        clock=wiring.clock,
        ids=wiring.ids,
        rules=wiring.rules(),
    )


@cache
def sealer() -> KmsSealer:
    """What encrypts the secrets of webhooks."""
    return KmsSealer(wiring.clients.kms, wiring.settings().sealing_key)


def ask_owner(url: str) -> None:
    """Ask an address whether it wants webhooks, as the deployment chose."""
    owners.asked_by(wiring.settings().webhook_ownership)(url)


@cache
def webhook_hosts() -> HostTable:
    """One for all agents: it remembers."""
    return HostTable(wiring.table())


@cache
def desk() -> Desk:
    """Where deliveries are looked at, and sent again from."""
    return Desk(
        tasks=wiring.tasks(),
        push=wiring.push(),
        deliveries=wiring.push(),
        nudges=SqsNudges(wiring.clients.sqs, wiring.settings().nudges_queue),
        clock=wiring.clock,
        ids=wiring.ids,
    )


def checked_url(text: str) -> str:
    """The normalised webhook URL.

    Raises:
        InvalidParams: it is none that may be registered.
    """
    return owners.checked(text).text


def push_jwks() -> bytes:
    """The published keys, as of a minute ago at most: a key is announced a day before its first use.

    Only the very first is used at once, so a deployment that has none yet looks each time.
    """
    minute = int(time.monotonic()) // _JWKS_SECONDS
    return jwks_document(_keys_of(minute) or signing.published(), now=wiring.clock())


@lru_cache(maxsize=1)
def _keys_of(_minute: int) -> tuple[PublicKey, ...]:
    return signing.published()
