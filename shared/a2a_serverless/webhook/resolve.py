"""Names to addresses, within a time limit that the system's resolver does not have."""

import socket
import threading
from collections.abc import Callable, Sequence
from typing import Final

Resolver = Callable[[str, bool], Sequence[str]]
"""From a host and whether IPv6 is wanted to numeric addresses; none, or OSError, when there are none."""

STUCK_LIMIT: Final = 32
"""Resolutions that may hang at a time. A partner whose name servers do not answer must not use up our threads."""

_places = threading.BoundedSemaphore(STUCK_LIMIT)


def system_resolver(host: str, ipv6: bool) -> Sequence[str]:  # noqa: FBT001 (a Resolver)
    """Ask the system: one getaddrinfo, of which every answer is returned.

    A public name is asked for with its root dot, so that no search domain of the network is tried.
    """
    family = socket.AF_UNSPEC if ipv6 else socket.AF_INET
    name = f"{host}." if "." in host and not host[-1].isdigit() else host
    found = socket.getaddrinfo(name.encode("ascii"), None, family, socket.SOCK_STREAM)
    return tuple(dict.fromkeys(str(sockaddr[0]) for *_, sockaddr in found))


def resolve_within(resolver: Resolver, host: str, *, ipv6: bool, seconds: float) -> Sequence[str]:
    """Run a resolver for at most `seconds`; one that takes longer is left behind in its thread.

    Raises:
        OSError: there is no answer, now or at all; TimeoutError when time ran out.
    """
    if not _places.acquire(blocking=False):
        raise TimeoutError("too many names are being resolved")
    answer: list[Sequence[str] | OSError] = []
    done = threading.Event()

    def run() -> None:
        try:
            answer.append(resolver(host, ipv6))
        except OSError as error:
            answer.append(error)
        finally:
            _places.release()
            done.set()

    _start(run)
    if not done.wait(max(seconds, 0)):
        raise TimeoutError("the name was not resolved in time")
    match answer:
        case [OSError() as error]:
            raise error
        case [found] if not isinstance(found, OSError):
            return found
        case _:
            raise OSError("the resolver failed")


def _start(run: Callable[[], None]) -> None:
    try:
        threading.Thread(target=run, name="resolve", daemon=True).start()
    except RuntimeError as error:
        _places.release()
        raise OSError("no thread is left to resolve a name") from error
