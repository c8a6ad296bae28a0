"""Listening sockets on loopback, taken before anything else starts, so that a busy port is the first thing said."""

import errno
import socket

LOOPBACK = "127.0.0.1"


class PortTakenError(Exception):
    """Somebody else listens on the wanted port."""


def listen(port: int, *, variable: str) -> socket.socket:
    """A listening socket on 127.0.0.1; `port` 0 lets the system choose; `variable` is what a user sets to change it.

    Raises:
        PortTakenError: with a sentence that says which port and how to choose another.
    """
    sock = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    # A port in TIME_WAIT after a restart is free; on Linux a port that is listened on stays taken all the same.
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        sock.bind((LOOPBACK, port))
        sock.listen(512)
    except OSError as error:
        sock.close()
        match error.errno:
            case errno.EADDRINUSE:
                raise PortTakenError(f"port {port} is taken: choose another with {variable}=...") from error
            case errno.EACCES:
                raise PortTakenError(
                    f"port {port} needs more rights: choose one above 1023 with {variable}=..."
                ) from error
            case _:
                raise
    except OverflowError as error:
        sock.close()
        raise PortTakenError(f"{port} is no port: choose one from 0 to 65535 with {variable}=...") from error
    return sock


def port_of(sock: socket.socket) -> int:
    """The port that a socket listens on."""
    port: int = sock.getsockname()[1]
    return port
