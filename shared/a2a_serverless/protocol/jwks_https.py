"""Fetches a JWKS over HTTPS: no redirects, little patience, little room."""

import http.client
import ssl
from typing import Final
from urllib.parse import urlsplit

from a2a_serverless.protocol.jwks_cache import LARGEST

_TIMEOUT_SECONDS: Final = 5.0


def fetch(url: str) -> bytes:
    """The document at an https address (or plain http on loopback, for the development issuer).

    Raises:
        OSError: it could not be reached.
        ValueError: it answered with something else than 200 and a document of at most 64 KiB.
    """
    parts = urlsplit(url)
    connection = _connection(parts.scheme, parts.hostname or "", parts.port)
    try:
        connection.request("GET", f"{parts.path or '/'}{f'?{parts.query}' if parts.query else ''}", headers=_HEADERS)
        response = connection.getresponse()
        document = response.read(LARGEST + 1)
    except http.client.HTTPException as error:
        raise ValueError("no HTTP answer") from error
    finally:
        connection.close()
    if response.status != 200:
        raise ValueError(f"answered {response.status}")
    return document


_HEADERS: Final = {"accept": "application/json", "user-agent": "a2a-serverless"}


def _connection(scheme: str, host: str, port: int | None) -> http.client.HTTPConnection:
    if scheme == "https":
        return http.client.HTTPSConnection(host, port, timeout=_TIMEOUT_SECONDS, context=ssl.create_default_context())
    if scheme == "http" and host in {"127.0.0.1", "localhost", "::1"}:
        return http.client.HTTPConnection(host, port, timeout=_TIMEOUT_SECONDS)
    raise ValueError("keys are fetched over https only")
