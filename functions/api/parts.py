"""What `api` works with. Nothing here imports boto3, an agent's own libraries aside."""

import json
import time
from functools import cache, lru_cache
from typing import Any, Final

from a2a_serverless.app.deliveries import Desk
from a2a_serverless.app.host import Host
from a2a_serverless.aws.callback_table import CallbackTable
from a2a_serverless.aws.queues import SqsNudges
from a2a_serverless.aws.sealing import KmsSealer
from a2a_serverless.aws.webhook_hosts import HostTable
from a2a_serverless.core.registration import Refused
from a2a_serverless.errors import InvalidParams
from a2a_serverless.protocol.authentication import Anonymous, Authenticator
from a2a_serverless.protocol.callback_door import CallbackDoor
from a2a_serverless.protocol.service import Service
from a2a_serverless.webhook.keys import PublicKey, jwks_document
from a2a_serverless.webhook.url import check_url
from functions import signing, wiring
from functions.api import owners
from functions.api.card_signing import card_signer

_JWKS_SECONDS: Final = 60


@cache
def service() -> Service:
    """The agents of the deployment, and what they share."""
    names = tuple(wiring.agent_sources())
    return Service(
        hosts={name: _host(name) for name in names},
        default=names[0],
        public_url=wiring.settings().public_url,
        authenticator=_authenticator(),
        push_jwks=_push_jwks,
        card_signer=card_signer(),
        clock=wiring.clock,
        record=wiring.recorder(),
        callbacks=CallbackDoor(
            store=CallbackTable(wiring.table()),
            tasks=wiring.tasks(),
            clock=wiring.clock,
            ids=wiring.ids,
            rules=wiring.rules(),
        ),
    )


def _host(name: str) -> Host:
    agent = wiring.agent(name)
    return Host(
        name=name,
        agent=agent,
        card=agent.card,
        tasks=wiring.tasks(),
        parts=wiring.parts(),
        push=wiring.push(),
        receipts=wiring.push(),
        sealer=KmsSealer(wiring.clients.kms, wiring.settings().sealing_key),
        check_url=_checked_url,
        clock=wiring.clock,
        ids=wiring.ids,
        pause=time.sleep,
        webhook_hosts=_webhook_hosts(),
        ask_owner=owners.asked_by(wiring.settings().webhook_ownership),
        desk=_desk(),
        rules=wiring.rules(),
    )


@cache
def _webhook_hosts() -> HostTable:
    """One for all agents: it remembers."""
    return HostTable(wiring.table())


@cache
def _desk() -> Desk:
    return Desk(
        tasks=wiring.tasks(),
        push=wiring.push(),
        deliveries=wiring.push(),
        nudges=SqsNudges(wiring.clients.sqs, wiring.settings().nudges_queue),
        clock=wiring.clock,
        ids=wiring.ids,
    )


def _checked_url(text: str) -> str:
    """The normalised webhook URL.

    Raises:
        InvalidParams: it is none that may be registered.
    """
    url = check_url(text, wiring.webhook_policy())
    if isinstance(url, Refused):
        raise InvalidParams.of(url.field, url.wanted)
    return url.text


def _authenticator() -> Authenticator:
    issuers: list[dict[str, Any]] = json.loads(wiring.settings().issuers or "[]")
    if not issuers:
        return Anonymous()
    from a2a_serverless.protocol.bearer import BearerTokens, Issuer  # only a deployment with issuers pays for it
    from a2a_serverless.protocol.jwks_https import fetch

    trusted = tuple(Issuer(**issuer) for issuer in issuers)
    return BearerTokens(trusted, fetch, wiring.clock)


def _push_jwks() -> bytes:
    """The published keys. Read again every minute, since a key is announced a day before its first use; only the
    very first key is used at once, so that a deployment without any looks each time.
    """
    minute = int(time.monotonic()) // _JWKS_SECONDS
    return jwks_document(_keys_of(minute) or signing.published(), now=wiring.clock())


@lru_cache(maxsize=1)
def _keys_of(_minute: int) -> tuple[PublicKey, ...]:
    return signing.published()
