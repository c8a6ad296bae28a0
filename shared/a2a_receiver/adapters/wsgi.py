"""WSGI (PEP 3333): any server, or mounted in any framework."""

import time
from collections.abc import Callable, Iterable, Mapping
from http import HTTPStatus
from typing import Any

from a2a_receiver.answer import Response
from a2a_receiver.receiver import Receiver
from a2a_receiver.urls import ConfigError

Environ = Mapping[str, Any]
StartResponse = Callable[..., Any]


class PushApp:
    """A WSGI application that answers every path it is given."""

    def __init__(self, receiver: Receiver, *, clock: Callable[[], float] = time.time) -> None:
        """Raises ConfigError where the receiver's enqueue is `async`: there is no loop here to run it."""
        self._receiver = synchronous(receiver)
        self._clock = clock

    def __call__(self, environ: Environ, start_response: StartResponse) -> Iterable[bytes]:
        """One WSGI request."""
        answer = self._answer(environ)
        headers = [*answer.headers, ("Content-Length", str(len(answer.body)))]
        start_response(f"{answer.status} {HTTPStatus(answer.status).phrase}", headers)
        return [answer.body]

    def _answer(self, environ: Environ) -> Response:
        method, query = environ["REQUEST_METHOD"], environ.get("QUERY_STRING", "")
        headers = headers_of(environ)
        early = self._receiver.admit(method, headers, now=self._clock(), query=query)
        if early is not None:
            return early
        try:
            body = read_body(environ, self._receiver.max_body)
        except OSError:
            return Response(400)
        return self._receiver.handle(method, headers, body, now=self._clock(), query=query)


def synchronous(receiver: Receiver) -> Receiver:
    """The receiver, if a synchronous adapter can run its enqueue.

    Raises:
        ConfigError: it cannot.
    """
    if receiver.is_async:
        raise ConfigError("this adapter needs an enqueue that is a plain function, not async")
    return receiver


def headers_of(environ: Environ) -> list[tuple[str, str]]:
    """All headers that WSGI passes on. Servers have joined copies with commas, which the core looks for."""
    named = [(key[5:].replace("_", "-"), str(value)) for key, value in environ.items() if key.startswith("HTTP_")]
    # PEP 3333 gives content type and length without the prefix; some servers give them with it as well.
    headers = [pair for pair in named if pair[0] not in ("CONTENT-TYPE", "CONTENT-LENGTH")]
    plain = (("Content-Type", environ.get("CONTENT_TYPE")), ("Content-Length", environ.get("CONTENT_LENGTH")))
    return headers + [(name, str(value)) for name, value in plain if value]


def read_body(environ: Environ, cap: int) -> bytes:
    """The raw body, at most one byte beyond `cap`.

    Without a length there is a body only where the server says that the input ends by itself (chunked requests);
    elsewhere reading would block for ever.
    """
    stated = environ.get("CONTENT_LENGTH")
    if stated:
        wanted = min(int(stated), cap + 1)
    elif environ.get("wsgi.input_terminated"):
        wanted = cap + 1
    else:
        return b""
    return _read_exactly(environ["wsgi.input"], wanted)


def _read_exactly(stream: Any, wanted: int) -> bytes:
    """WSGI inputs may give less than asked for without being at their end."""
    chunks: list[bytes] = []
    while wanted > 0:
        chunk = stream.read(wanted)
        if not chunk:
            break
        chunks.append(chunk)
        wanted -= len(chunk)
    return b"".join(chunks)
