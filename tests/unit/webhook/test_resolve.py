"""Names to addresses."""

import socket
import threading
from collections.abc import Sequence

import pytest

from a2a_serverless.webhook.resolve import STUCK_LIMIT, resolve_within, system_resolver


def test_the_system_knows_this_machine() -> None:
    assert system_resolver("localhost", False) == ("127.0.0.1",)
    assert system_resolver("127.0.0.1", False) == ("127.0.0.1",)


@pytest.mark.parametrize(
    ("host", "ipv6", "asked", "family"),
    [
        ("rx.example.com", False, b"rx.example.com.", socket.AF_INET),
        ("rx.example.com", True, b"rx.example.com.", socket.AF_UNSPEC),
        ("partner", False, b"partner", socket.AF_INET),
        ("10.0.0.7", False, b"10.0.0.7", socket.AF_INET),
    ],
)
def test_a_public_name_is_asked_for_from_the_root(
    monkeypatch: pytest.MonkeyPatch, host: str, ipv6: bool, asked: bytes, family: socket.AddressFamily
) -> None:
    """Patched, because a test must not depend on, nor reach, a name server."""
    seen: list[object] = []

    def getaddrinfo(name: bytes, port: None, wanted: int, kind: int) -> list[tuple[object, ...]]:
        seen.extend((name, wanted, kind))
        return [(0, 0, 0, "", ("192.0.2.7", 0)), (0, 0, 0, "", ("192.0.2.7", 0)), (0, 0, 0, "", ("192.0.2.8", 0))]

    monkeypatch.setattr(socket, "getaddrinfo", getaddrinfo)

    assert system_resolver(host, ipv6) == ("192.0.2.7", "192.0.2.8")
    assert seen == [asked, family, socket.SOCK_STREAM]


def test_what_the_resolver_raises_arrives() -> None:
    def fail(host: str, ipv6: bool) -> Sequence[str]:
        raise socket.gaierror(socket.EAI_NONAME, "no such name")

    with pytest.raises(socket.gaierror, match="no such name"):
        resolve_within(fail, "x", ipv6=False, seconds=5)


def test_hanging_resolutions_are_bounded_and_leave_their_place_when_they_end() -> None:
    released = threading.Event()
    begun = threading.Semaphore(0)

    def hang(host: str, ipv6: bool) -> Sequence[str]:
        begun.release()
        released.wait(10)
        return ["192.0.2.7"]

    for _ in range(STUCK_LIMIT):
        with pytest.raises(TimeoutError, match="not resolved in time"):
            resolve_within(hang, "x", ipv6=False, seconds=0)
        assert begun.acquire(timeout=5)
    with pytest.raises(TimeoutError, match="too many names"):
        resolve_within(hang, "x", ipv6=False, seconds=0)
    hanging = [thread for thread in threading.enumerate() if thread.name == "resolve"]
    released.set()
    for thread in hanging:
        thread.join(5)

    assert resolve_within(lambda *_: ["192.0.2.8"], "x", ipv6=False, seconds=5) == ["192.0.2.8"]
