"""What `api` works with: what every request needs. The rest is in `seldom`, and imported when it is used.

Nothing here imports boto3, an agent's own libraries aside.
"""

import json
import time
from functools import cache
from typing import Any

from a2a_serverless.app.host import Host
from a2a_serverless.protocol.authentication import Anonymous, Authenticator
from a2a_serverless.protocol.service import Service
from functions import wiring
from functions.later import later


def _seldom() -> Any:
    """The module: what it makes costs those requests that need it, and no cold start."""
    from functions.api import seldom

    return seldom


@cache
def service() -> Service:
    """The agents of the deployment, and what they share."""
    names = tuple(wiring.agent_sources())
    return Service(
        hosts={name: _host(name) for name in names},
        default=names[0],
        public_url=wiring.settings().public_url,
        authenticator=_authenticator(),
        push_jwks=lambda: _seldom().push_jwks(),
        card_signer=later(lambda: _seldom().card_signer()),
        clock=wiring.clock,
        record=wiring.recorder(),
        callbacks=later(lambda: _seldom().callback_door()),
    )


def _host(name: str) -> Host:
    agent = wiring.agent(name)
    return Host(
        name=name,
        agent=agent,
        card=agent.card,
        tasks=wiring.tasks(),
        parts=wiring.parts(),
        push=later(wiring.push),
        receipts=later(wiring.push),
        sealer=later(lambda: _seldom().sealer()),
        check_url=lambda url: _seldom().checked_url(url),
        clock=wiring.clock,
        ids=wiring.ids,
        pause=time.sleep,
        webhook_hosts=later(lambda: _seldom().webhook_hosts()),
        ask_owner=lambda url: _seldom().ask_owner(url),
        desk=later(lambda: _seldom().desk()),
        rules=wiring.rules(),
    )


def _authenticator() -> Authenticator:
    issuers: list[dict[str, Any]] = json.loads(wiring.settings().issuers or "[]")
    if not issuers:
        return Anonymous()
    from a2a_serverless.protocol.bearer import BearerTokens, Issuer  # only a deployment with issuers pays for it
    from a2a_serverless.protocol.jwks_https import fetch

    trusted = tuple(Issuer(**issuer) for issuer in issuers)
    return BearerTokens(trusted, fetch, wiring.clock)
