"""The way of a nudge: the real sender, signing and dialling over real sockets, with less patience than in earnest."""

import socket
import ssl
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Final

from a2a_serverless.app.attempt import NudgeToSend, Sent
from a2a_serverless.webhook.dial import Dialler, trust
from a2a_serverless.webhook.exchange import Limits
from a2a_serverless.webhook.policy import WebhookPolicy
from a2a_serverless.webhook.sender import WebhookSender
from a2a_serverless.webhook.wire import Sender
from tests.unit.webhook.loopback import Authority
from tests.unit.webhook.signing import key_ring

from .manners import Manner
from .partners import ISSUER, Endpoint

_PATIENT: Final = Limits(connect=20.0, total=20.0, linger=0.05)
"""Whoever answers at all is in time, however busy the machine."""
_IMPATIENT: Final = {
    "http": Limits(connect=20.0, total=0.04, linger=0.05),
    "https": Limits(connect=20.0, total=0.15, linger=0.05),
}
"""For those who never answer: the wait for them is over soon, but not before the request is there."""
_ADDRESS: Final = "93.184.216.34"


class Wire:
    """Names lead to servers on loopback, https under a certificate of their own; the rest is the product's."""

    def __init__(self, authority: Authority) -> None:
        self._authority = authority
        self._ports: dict[int, Endpoint] = {}
        self._now: Endpoint | None = None
        tls = trust(cafile=str(authority.cafile))
        self._senders = {
            (scheme, never): self._sender(tls, scheme, _IMPATIENT[scheme] if never else _PATIENT)
            for scheme in ("http", "https")
            for never in (True, False)
        }

    def server_side(self, host: str) -> ssl.SSLContext:
        """TLS for a receiver of that name."""
        return self._authority.context(host)

    def send(self, nudge: NudgeToSend, endpoint: Endpoint, manner: Manner, *, now: datetime) -> Sent:
        """One attempt, to a server that will treat it in that manner."""
        self._now = endpoint
        scheme = endpoint.url.partition(":")[0]
        sent = self._senders[scheme, manner.never_answers](nudge, now=now)
        if manner.listens and not endpoint.server.settled.wait(20.0) and not manner.never_answers:
            raise RuntimeError(f"no request got to {endpoint.url} ({manner.name}): {sent.outcome}")
        return replace(sent, milliseconds=round(1000 * manner.seconds))

    def close(self) -> None:
        """Close what is kept open."""
        for sender in self._senders.values():
            sender.dialler.close_idle()

    def _sender(self, tls: ssl.SSLContext, scheme: str, limits: Limits) -> WebhookSender:
        policy = WebhookPolicy(allow_private=scheme == "http")
        dialler = Dialler(tls, policy=policy, limits=limits, resolver=_resolve, connect=self._connect)
        return WebhookSender(
            dialler=dialler,
            identity=Sender(issuer=ISSUER, keys=key_ring(), user_agent="a2a-serverless/test"),
            policy=policy,
        )

    def _connect(self, _address: str, _port: int, seconds: float) -> socket.socket:
        endpoint = self._now
        assert endpoint is not None
        server = endpoint.server
        port = server.port if server.manner.listens else server.dead_port
        connected = socket.create_connection(("127.0.0.1", port), timeout=seconds)
        connected.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return connected


def _resolve(_host: str, _ipv6: bool) -> Sequence[str]:
    return [_ADDRESS]


def authority_in(folder: Path) -> Authority:
    """What all receivers' certificates come from."""
    return Authority(folder)
