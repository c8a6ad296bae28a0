"""The one HTTP client of the receiver, against servers that misbehave on loopback."""

import contextlib
import socket
import socketserver
import ssl
import threading
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from a2a_receiver import ConfigError, https
from a2a_receiver.https import ExchangeFailed, HttpRequest, exchange


@contextlib.contextmanager
def server(behave: Callable[[socket.socket, bytes], None], tls: ssl.SSLContext | None = None) -> Iterator[str]:
    """A server that reads a request's head and then behaves as told; gives its URL."""

    class Handler(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            with contextlib.suppress(OSError):
                connection = tls.wrap_socket(self.request, server_side=True) if tls else self.request
                with connection:
                    head = b""
                    while b"\r\n\r\n" not in head and (more := connection.recv(4096)):
                        head += more
                    behave(connection, head)

    class Threaded(socketserver.ThreadingTCPServer):
        allow_reuse_address = True
        daemon_threads = True

    with Threaded(("127.0.0.1", 0), Handler) as listening:
        thread = threading.Thread(target=listening.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield f"http://127.0.0.1:{listening.server_address[1]}"
        finally:
            listening.shutdown()
            thread.join()


def answering(answer: bytes, heads: list[bytes] | None = None) -> Callable[[socket.socket, bytes], None]:
    def behave(connection: socket.socket, head: bytes) -> None:
        if heads is not None:
            heads.append(head)
        connection.sendall(answer)

    return behave


def test_an_answer_comes_back_as_it_was_sent() -> None:
    heads: list[bytes] = []
    sent = b"HTTP/1.1 200 OK\r\nCache-Control: max-age=300\r\nContent-Length: 2\r\n\r\n{}"

    with server(answering(sent, heads)) as url:
        answer = exchange(HttpRequest("GET", f"{url}/a/b?c=d", {"Accept": "application/json"}))

    assert (answer.status, answer.body, answer.headers["cache-control"]) == (200, b"{}", "max-age=300")
    head = heads[0].decode()
    assert head.startswith("GET /a/b?c=d HTTP/1.1\r\n")
    assert "Accept-Encoding: identity\r\n" in head


def test_a_redirect_is_an_answer_and_not_a_journey() -> None:
    heads: list[bytes] = []
    sent = b"HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n"

    with server(answering(sent, heads)) as url:
        answer = exchange(HttpRequest("GET", url))

    assert (answer.status, len(heads)) == (302, 1)


def test_an_error_is_an_answer() -> None:
    with server(answering(b"HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n")) as url:
        assert exchange(HttpRequest("GET", url)).status == 503


@pytest.mark.parametrize(
    "answer",
    [
        b"",
        b"SSH-2.0-OpenSSH_9.6\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 101\r\n\r\n" + b"x" * 101,
        b"HTTP/1.1 200 OK\r\n\r\n" + b"x" * 101,
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n65\r\n" + b"x" * 101 + b"\r\n0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\nshort",
        b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 200 + b"\r\n",
        b"HTTP/1.1 200 OK\r\nX: " + b"y" * 70000 + b"\r\n\r\n",
    ],
    ids=["nothing", "ssh", "long", "long without length", "long in chunks", "bad chunk", "short", "headers", "header"],
)
def test_an_answer_that_breaks_the_rules_is_none(answer: bytes) -> None:
    with server(answering(answer)) as url, pytest.raises(ExchangeFailed):
        exchange(HttpRequest("GET", url, cap=100))


def test_an_answer_of_exactly_the_cap_is_taken() -> None:
    with server(answering(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n" + b"x" * 100)) as url:
        assert len(exchange(HttpRequest("GET", url, cap=100)).body) == 100


@pytest.mark.parametrize("start", [b"", b"HTTP/1.1 200 OK\r\n", b"HTTP/1.1 200 OK\r\n\r\n"])
def test_a_server_that_drips_for_ever_is_cut_off(start: bytes) -> None:
    gone = threading.Event()

    def drip(connection: socket.socket, _: bytes) -> None:
        connection.sendall(start)
        try:
            while not gone.wait(0.02):
                connection.sendall(b"x")
        except OSError:
            gone.set()

    with server(drip) as url:
        with pytest.raises(ExchangeFailed):
            exchange(HttpRequest("GET", url, timeout=0.2))
        assert gone.wait(5)


def test_nobody_there_is_a_failed_exchange() -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        port = unused.getsockname()[1]

    with pytest.raises(ExchangeFailed):
        exchange(HttpRequest("GET", f"http://127.0.0.1:{port}/"))


@pytest.mark.parametrize("url", ["http://192.0.2.1/", "file:///etc/passwd", "ftp://127.0.0.1/", "https://", "x"])
def test_nothing_is_asked_of_an_address_that_is_neither_https_nor_loopback(url: str) -> None:
    with pytest.raises(ConfigError):
        exchange(HttpRequest("GET", url))


def test_a_certificate_that_nobody_vouches_for_is_refused() -> None:
    with server(answering(b"")) as url, pytest.raises(ExchangeFailed):
        exchange(HttpRequest("GET", url.replace("http", "https"), timeout=0.5))


@pytest.fixture
def tls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ssl.SSLContext]:
    """A server side whose certificate for `localhost` the client trusts."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "localhost")])
    today = datetime.now(UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(today - timedelta(days=1))
        .not_valid_after(today + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("localhost")]), critical=False)
        .sign(key, hashes.SHA256())
    )
    plain = serialization.NoEncryption()
    pem = key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, plain)
    (tmp_path / "key.pem").write_bytes(pem)
    (tmp_path / "cert.pem").write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "cert.pem"))
    https._trust.cache_clear()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(tmp_path / "cert.pem", tmp_path / "key.pem")
    yield context
    https._trust.cache_clear()


def test_an_answer_over_tls_comes_from_the_name_that_was_asked(tls: ssl.SSLContext) -> None:
    with server(answering(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"), tls) as url:
        by_name = url.replace("http", "https").replace("127.0.0.1", "localhost")

        assert exchange(HttpRequest("GET", by_name)).body == b"{}"
        with pytest.raises(ExchangeFailed, match="SSLCertVerificationError"):
            exchange(HttpRequest("GET", url.replace("http", "https")))


def test_a_server_that_drips_over_tls_is_cut_off(tls: ssl.SSLContext) -> None:
    gone = threading.Event()

    def drip(connection: socket.socket, _: bytes) -> None:
        connection.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
        try:
            while not gone.wait(0.02):
                connection.sendall(b"x")
        except OSError:
            gone.set()

    with server(drip, tls) as url:
        with pytest.raises(ExchangeFailed):
            exchange(HttpRequest("GET", url.replace("http://127.0.0.1", "https://localhost"), timeout=0.3))
        assert gone.wait(5)


def test_proxies_of_the_environment_are_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "HTTP_PROXY", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")

    with server(answering(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")) as url:
        assert exchange(HttpRequest("GET", url)).status == 200


def test_credentials_do_not_show_in_a_repr() -> None:
    request = HttpRequest("POST", "https://a2a.example.com", {"Authorization": "Bearer secret"}, b"secret")

    assert "secret" not in repr(request)
