"""Receivers of every temper on loopback, and diallers that reach them under public names and addresses."""

import contextlib
import datetime as dt
import socket
import ssl
import threading
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID

from a2a_serverless.core.registration import Refused
from a2a_serverless.webhook.dial import Dialler, trust
from a2a_serverless.webhook.exchange import Limits, Request
from a2a_serverless.webhook.policy import WebhookPolicy
from a2a_serverless.webhook.url import WebhookUrl, check_url

PUBLIC = "93.184.216.34"
NAME = "rx.example.com"
PATIENCE = Limits(connect=30.0, total=30.0, linger=0.2)
"""Nothing that works runs into this, however busy the machine."""
IMPATIENCE = Limits(connect=1.0, total=1.0, linger=0.2)
"""For receivers that would take for ever."""
STRICT = WebhookPolicy()
LOCAL = WebhookPolicy(allow_private=True)
ACCEPTED = b"HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n"

opened: list[Dialler] = []
"""Diallers of the running test; their idle connections are closed when it ends."""

Handler = Callable[["Guest"], None]


@dataclass
class Guest:
    """One connection, seen from the receiver."""

    socket: socket.socket
    stop: threading.Event
    buffer: bytearray = field(default_factory=bytearray)

    def request(self) -> bytes:
        """The next request whole; empty when the other side closed."""
        while b"\r\n\r\n" not in self.buffer:
            if not (received := self.socket.recv(65_536)):
                return b""
            self.buffer += received
        head, _, _ = bytes(self.buffer).partition(b"\r\n\r\n")
        lengths = [line[15:] for line in head.split(b"\r\n") if line.lower().startswith(b"content-length:")]
        size = len(head) + 4 + (int(lengths[0]) if lengths else 0)
        while len(self.buffer) < size:
            self.buffer += self.socket.recv(65_536)
        whole = bytes(self.buffer[:size])
        del self.buffer[:size]
        return whole

    def say(self, content: bytes) -> None:
        """Send it."""
        self.socket.sendall(content)

    def drip(self, content: bytes, *, every: float = 0.02) -> None:
        """Send it byte by byte until the test is over."""
        for at in range(len(content)):
            self.socket.sendall(content[at : at + 1])
            if self.stop.wait(every):
                return

    def stay(self) -> None:
        """Say nothing until the test is over or the other side hangs up."""
        while self.socket.recv(65_536):
            pass


def answering(*answers: bytes) -> Handler:
    """A receiver that answers one request after the other on a connection, then closes it."""

    def handle(guest: Guest) -> None:
        for answer in answers:
            if not guest.request():
                return
            guest.say(answer)

    return handle


class Receiver:
    """A server on loopback. `requests` is what came, over all connections."""

    def __init__(self, handler: Handler, *, tls: ssl.SSLContext | None = None) -> None:
        self.requests: list[bytes] = []
        self.names: list[str | None] = []
        """Server names asked for in TLS."""
        self.connections = 0
        self._handler = handler
        self._tls = tls
        self._stop = threading.Event()
        self._threads: list[threading.Thread] = []
        self._open: list[socket.socket] = []
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.port = self._listening.getsockname()[1]
        if tls is not None:
            tls.sni_callback = lambda _, name, __: self.names.append(name)

    def __enter__(self) -> Self:
        self._start(self._accept)
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        for each in (self._listening, *self._open):
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
        self._listening.close()
        for thread in self._threads:
            thread.join(timeout=10)

    def _start(self, run: Callable[[], None]) -> None:
        thread = threading.Thread(target=run, daemon=True)
        self._threads.append(thread)
        thread.start()

    def _accept(self) -> None:
        while True:
            try:
                accepted, _ = self._listening.accept()
            except OSError:
                return
            self.connections += 1
            self._start(lambda accepted=accepted: self._serve(accepted))  # type: ignore[misc]

    def _serve(self, accepted: socket.socket) -> None:
        accepted.settimeout(10)
        with contextlib.suppress(OSError), contextlib.closing(accepted):
            spoken = self._tls.wrap_socket(accepted, server_side=True) if self._tls else accepted
            self._open.append(spoken)
            with contextlib.closing(spoken):
                self._handler(_Recorded(spoken, self._stop, record=self.requests))


@dataclass
class _Recorded(Guest):
    record: list[bytes] = field(default_factory=list)

    def request(self) -> bytes:
        whole = super().request()
        if whole:
            self.record.append(whole)
        return whole


class Authority:
    """A certificate authority for one test run."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "loopback authority")])
        self.cafile = folder / "ca.pem"
        certificate = self._certificate(self._name, self._key, authority=True, days=30)
        self.cafile.write_bytes(certificate.public_bytes(Encoding.PEM))

    def context(self, name: str = NAME, *, days: int = 30, self_signed: bool = False) -> ssl.SSLContext:
        """A server's side of TLS with a certificate for `name`; negative days make it expired."""
        key = ec.generate_private_key(ec.SECP256R1())
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        signer = key if self_signed else self._key
        issuer = subject if self_signed else self._name
        certificate = self._certificate(subject, key, signer=signer, issuer=issuer, san=name, days=days)
        path = self._folder / f"{name}-{days}-{self_signed}.pem"
        private = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
        path.write_bytes(private + certificate.public_bytes(Encoding.PEM))
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(path)
        return context

    def old_context(self) -> ssl.SSLContext:
        """A server's side of TLS that stopped at 1.1."""
        context = self.context()
        context.set_ciphers("ALL:@SECLEVEL=0")
        with warnings.catch_warnings(action="ignore", category=DeprecationWarning):
            context.minimum_version = context.maximum_version = ssl.TLSVersion.TLSv1_1
        return context

    def _certificate(
        self,
        subject: x509.Name,
        key: ec.EllipticCurvePrivateKey,
        *,
        days: int,
        signer: ec.EllipticCurvePrivateKey | None = None,
        issuer: x509.Name | None = None,
        san: str | None = None,
        authority: bool = False,
    ) -> x509.Certificate:
        now = dt.datetime.now(dt.UTC)
        ends = now + dt.timedelta(days=days)
        builder = (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(issuer or self._name)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(min(now, ends) - dt.timedelta(days=1))
            .not_valid_after(ends)
            .add_extension(x509.BasicConstraints(ca=authority, path_length=None), critical=True)
        )
        if san:
            builder = builder.add_extension(x509.SubjectAlternativeName([x509.DNSName(san)]), critical=False)
        return builder.sign(signer or self._key, hashes.SHA256())


@dataclass
class Network:
    """Names and addresses as the test has them; whatever is dialled ends at one port of loopback."""

    port: int
    answers: list[Sequence[str] | OSError] = field(default_factory=lambda: [[PUBLIC]])
    """One per resolution; the last one stays."""
    resolved: list[str] = field(default_factory=list)
    dialled: list[tuple[str, int]] = field(default_factory=list)
    dead: frozenset[str] = frozenset()
    """Addresses where nobody answers."""
    unreachable: OSError | None = None
    """What every attempt to connect ends with."""
    offset: float = 0.0
    """Seconds that have passed without anybody waiting."""
    frozen: float = 0.0
    """Seconds of them in which the process stood still, and its monotonic clock with it."""

    def resolve(self, host: str, ipv6: bool) -> Sequence[str]:
        """A Resolver."""
        self.resolved.append(host)
        answer = self.answers[min(len(self.resolved), len(self.answers)) - 1]
        if isinstance(answer, OSError):
            raise answer
        return answer

    def connect(self, address: str, port: int, seconds: float) -> socket.socket:
        """A Connect."""
        self.dialled.append((address, port))
        if self.unreachable is not None:
            raise self.unreachable
        if address in self.dead:
            raise ConnectionRefusedError("nobody answers")
        return socket.create_connection(("127.0.0.1", self.port), timeout=seconds)

    def monotonic(self) -> float:
        """Time, moved on by `offset`."""
        return time.monotonic() + self.offset

    def clock(self) -> float:
        """The time of day, moved on by `offset` and `frozen`."""
        return time.time() + self.offset + self.frozen

    def dialler(
        self,
        *,
        cafile: Path | None = None,
        policy: WebhookPolicy = STRICT,
        limits: Limits = PATIENCE,
    ) -> Dialler:
        """A dialler in this network."""
        dialler = Dialler(
            trust(cafile=str(cafile)) if cafile else ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT),
            policy=policy,
            limits=limits,
            resolver=self.resolve,
            connect=self.connect,
            monotonic=self.monotonic,
            clock=self.clock,
        )
        opened.append(dialler)
        return dialler


def url_of(text: str, policy: WebhookPolicy = STRICT) -> WebhookUrl:
    """A URL that is known to pass."""
    url = check_url(text, policy)
    assert not isinstance(url, Refused), url
    return url


def post(url: str = f"https://{NAME}/a2a/push", body: bytes = b'{"nudge":true}') -> Request:
    """A request of the usual kind."""
    headers = (("Content-Type", "application/a2a+json"), ("Authorization", "Bearer abc"))
    return Request(
        method="POST", url=url_of(url, LOCAL if url.startswith("http:") else STRICT), headers=headers, body=body
    )


@contextlib.contextmanager
def receiver(handler: Handler, *, tls: ssl.SSLContext | None = None) -> Iterator[Receiver]:
    """A receiver for the time of a test."""
    with Receiver(handler, tls=tls) as serving:
        yield serving
