"""The dialler: one request to one partner, and whatever he does about it comes back as a value.

A name is resolved once per connection, all its answers are judged, and the judged address is dialled; the certificate
and the Host header stay on the name. Redirects are not followed, bodies are not decoded, and one deadline covers it
all. No proxy and no setting of the environment has a say.
"""

import ssl
import time
from collections.abc import Callable
from typing import Final

from a2a_serverless.core.delivery_outcome import Answer, Fault, NoAnswer
from a2a_serverless.webhook.address import Blocked, Vetted, vet
from a2a_serverless.webhook.connection import Connect, Connection, tcp_connect
from a2a_serverless.webhook.exchange import LIMITS, Exchange, Limits, Request
from a2a_serverless.webhook.http1 import Malformed, Response
from a2a_serverless.webhook.policy import WebhookPolicy
from a2a_serverless.webhook.pool import Pool
from a2a_serverless.webhook.resolve import Resolver, resolve_within, system_resolver
from a2a_serverless.webhook.url import WebhookUrl


def trust(*, cafile: str | None = None) -> ssl.SSLContext:
    """The one context for all connections: TLS 1.2 or newer, certificates and names verified, HTTP/1.1 only.

    Args:
        cafile: certificates to trust instead of the system's.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.hostname_checks_common_name = False
    context.set_alpn_protocols(["http/1.1"])
    if cafile is None:
        context.load_default_certs()
    else:
        context.load_verify_locations(cafile)
    return context


_FAULTS: Final = (
    (TimeoutError, Fault.TIMEOUT),
    (ssl.SSLError, Fault.TLS),
    (Malformed, Fault.PROTOCOL),
    (OSError, Fault.CONNECT),
)


class Dialler:
    """Sends requests. Safe to use from many threads; make one per process, with the process's one SSL context."""

    def __init__(
        self,
        tls: ssl.SSLContext,
        *,
        policy: WebhookPolicy,
        limits: Limits = LIMITS,
        resolver: Resolver = system_resolver,
        connect: Connect = tcp_connect,
        monotonic: Callable[[], float] = time.monotonic,
        clock: Callable[[], float] = time.time,  # noqa: TID251 (nothing is decided by it but how old a connection is)
    ) -> None:
        self._tls = tls
        self._policy = policy
        self._limits = limits
        self._resolver = resolver
        self._connect = connect
        self._monotonic = monotonic
        self._clock = clock
        self._pool = Pool(reuse=limits.reuse, clock=clock)

    def send(self, request: Request) -> Exchange:
        """Make one exchange. Whatever the partner, his name servers or the network do is in the answer.

        Raises:
            ValueError: the request itself cannot be sent as it is.
        """
        content = request.to_bytes()
        began = self._monotonic()
        deadline = began + self._limits.total
        idle = self._pool.take(request.url)
        if idle is not None:
            came = self._ask(idle, request.url, content, deadline=deadline)
            if not _was_dead(idle, came):
                return self._report(came, idle, began=began, reused=True)
        opened = self._open(request.url, deadline=min(deadline, self._monotonic() + self._limits.connect))
        if isinstance(opened, NoAnswer):
            return Exchange(outcome=opened, milliseconds=self._since(began))
        came = self._ask(opened, request.url, content, deadline=deadline)
        return self._report(came, opened, began=began)

    def close_idle(self) -> None:
        """Close all connections that are kept for reuse.

        No invocation needs this at its end. A connection that dies while its process is frozen costs no attempt: it is
        too old by the time of day, or closed, or breaks before anything comes back and is replaced (`send`).
        """
        self._pool.close()

    def _open(self, url: WebhookUrl, *, deadline: float) -> Connection | NoAnswer:
        match self._addresses(url, deadline=deadline):
            case NoAnswer() as nothing:
                return nothing
            case Blocked(address):
                return NoAnswer(Fault.BLOCKED_ADDRESS, f"the host resolves to {address}, which must not be dialled")
            case Vetted(addresses):
                return self._dial(url, addresses, deadline=deadline)

    def _addresses(self, url: WebhookUrl, *, deadline: float) -> Vetted | Blocked | NoAnswer:
        left = deadline - self._monotonic()
        try:
            found = resolve_within(self._resolver, url.host, ipv6=self._policy.allow_ipv6, seconds=left)
        except OSError as error:
            return NoAnswer(Fault.DNS, _brief(error))
        return vet(found, self._policy) if found else NoAnswer(Fault.DNS, "the host has no address")

    def _dial(self, url: WebhookUrl, addresses: tuple[str, ...], *, deadline: float) -> Connection | NoAnswer:
        """Try the first address and, should it not answer, one more: each gets its share of the time."""
        tried = addresses[:2]
        failed = NoAnswer(Fault.CONNECT)
        for remaining, address in zip(range(len(tried), 0, -1), tried, strict=True):
            now = self._monotonic()
            share = now + (deadline - now) / remaining
            try:
                connection = self._connected(address, url, deadline=share)
            except OSError as error:
                failed = _fault(error)
                continue
            return self._secure(connection, url, deadline=deadline)
        return failed

    def _connected(self, address: str, url: WebhookUrl, *, deadline: float) -> Connection:
        return Connection.open(
            self._connect,
            address,
            url,
            deadline=deadline,
            opened_at=self._clock(),
            monotonic=self._monotonic,
        )

    def _secure(self, connection: Connection, url: WebhookUrl, *, deadline: float) -> Connection | NoAnswer:
        if url.scheme == "http":
            return connection
        try:
            connection.secure(self._tls, url.host, deadline=deadline)
        except (OSError, ValueError) as error:
            connection.close()
            return NoAnswer(Fault.TIMEOUT if isinstance(error, TimeoutError) else Fault.TLS, _brief(error))
        return connection

    def _ask(
        self,
        connection: Connection,
        url: WebhookUrl,
        content: bytes,
        *,
        deadline: float,
    ) -> Response | NoAnswer:
        limits = self._limits
        try:
            response = connection.ask(content, deadline=deadline, linger=limits.linger, body_limit=limits.body)
        except (OSError, Malformed) as error:
            connection.close()
            return _fault(error)
        if response.reusable:
            self._pool.give(url, connection)
        else:
            connection.close()
        return response

    def _report(
        self,
        came: Response | NoAnswer,
        connection: Connection,
        *,
        began: float,
        reused: bool = False,
    ) -> Exchange:
        response = came if isinstance(came, Response) else None
        return Exchange(
            outcome=_answer(came) if isinstance(came, Response) else came,
            milliseconds=self._since(began),
            headers=response.headers if response else {},
            body=response.body if response else b"",
            address=connection.address,
            tls=connection.tls_version,
            reused=reused,
        )

    def _since(self, began: float) -> int:
        return round((self._monotonic() - began) * 1000)


def _was_dead(connection: Connection, came: Response | NoAnswer) -> bool:
    """Whether a kept connection failed before anything came back: its other end, or the path to it, was gone while
    nobody looked.

    The request goes out once more on a new one; a receiver that saw it after all knows it by its `webhook-id`. One that
    is merely slow is not asked twice: his system has acknowledged the request (`connection.UNACKNOWLEDGED`).
    """
    return isinstance(came, NoAnswer) and connection.is_silent and came.fault is not Fault.TIMEOUT


def _answer(response: Response) -> Answer:
    headers = response.headers
    return Answer(
        status=response.status,
        retry_after=headers.get("retry-after"),
        control=headers.get("webhook-delivery"),
    )


def _fault(error: Exception) -> NoAnswer:
    fault = next(fault for kind, fault in _FAULTS if isinstance(error, kind))
    return NoAnswer(fault, _brief(error))


def _brief(error: Exception) -> str:
    """What the system says about it, for the delivery log."""
    for name in ("verify_message", "reason", "strerror"):
        if said := getattr(error, name, None):
            return str(said)[:200]
    return (str(error) or type(error).__name__)[:200]
