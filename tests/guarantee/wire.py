"""The way of a nudge: the real sender, signing and dialling over real sockets, with less patience than in earnest."""

import socket
import ssl
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
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

_PATIENT: Final = (20.0,)
"""Whoever answers at all is in time, however busy the machine."""
_IMPATIENT: Final = {"http": (0.04,), "https": (0.15, 1.0, 5.0)}
"""Seconds for those who never answer. The wait for them is over soon, but not before the request is there: where the
handshake alone took longer, nothing came to the receiver, and the attempt is made again with more time."""
_ARRIVES_WITHIN: Final = 20.0
_ADDRESS: Final = "93.184.216.34"


class Wire:
    """Names lead to servers on loopback, https under a certificate of their own; the rest is the product's."""

    def __init__(self, authority: Authority) -> None:
        self._authority = authority
        self._now: Endpoint | None = None
        tls = trust(cafile=str(authority.cafile))
        self._senders = {
            (scheme, seconds): self._sender(tls, scheme, seconds)
            for scheme, impatient in _IMPATIENT.items()
            for seconds in (*impatient, *_PATIENT)
        }

    def server_side(self, host: str) -> ssl.SSLContext:
        """TLS for a receiver of that name."""
        return self._authority.context(host)

    def send(self, nudge: NudgeToSend, endpoint: Endpoint, manner: Manner, *, now: datetime) -> Sent:
        """One attempt, to a server that will treat it in that manner."""
        self._now = endpoint
        scheme = endpoint.url.partition(":")[0]
        patience = _IMPATIENT[scheme] if manner.never_answers else _PATIENT
        for seconds in patience:
            sent = self._senders[scheme, seconds](nudge, now=now)
            arrives_within = _ARRIVES_WITHIN if seconds == patience[-1] else 10 * seconds
            if not manner.listens or endpoint.server.settled.wait(arrives_within):
                if manner.never_answers:
                    endpoint.server.finish(_ARRIVES_WITHIN)
                return replace(sent, milliseconds=round(1000 * manner.seconds))
        raise RuntimeError(f"no request got to {endpoint.url} ({manner.name}): {sent.outcome}")

    def close(self) -> None:
        """Close what is kept open."""
        for sender in self._senders.values():
            sender.dialler.close_idle()

    def _sender(self, tls: ssl.SSLContext, scheme: str, seconds: float) -> WebhookSender:
        limits = Limits(connect=20.0, total=seconds, linger=0.05)
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
