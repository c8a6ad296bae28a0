"""Every way a request can come to a receiver, each as its framework or gateway really delivers it."""

import asyncio
import base64
import io
import re
from collections.abc import Callable, Iterable, Mapping
from types import ModuleType
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import django  # type: ignore[import-untyped]  # Django ships no types
import django.core.handlers.wsgi  # type: ignore[import-untyped]
import django.urls  # type: ignore[import-untyped]
import flask
from django.conf import settings  # type: ignore[import-untyped]
from starlette.applications import Starlette
from starlette.routing import Route

from a2a_receiver import Receiver
from a2a_receiver.adapters.asgi import PushEndpoint
from a2a_receiver.adapters.aws_lambda import push_handler
from a2a_receiver.adapters.django import push_view
from a2a_receiver.adapters.flask import add_push_route
from a2a_receiver.adapters.wsgi import PushApp
from tests.receiver.harness import Door, Sent, core

CHUNK = 1000
_PLAIN_PATH = re.compile("(?:/[A-Za-z0-9._~%-]+)+/?")


def path_of(sent: Sent) -> str:
    """Where the receiver is mounted: at the URL's path, unless its characters mean something to a framework."""
    path = urlsplit(sent.url).path
    return path if _PLAIN_PATH.fullmatch(path) else "/a2a/push"


# --- ASGI -----------------------------------------------------------------------------------------------------


def asgi(receiver: Receiver, sent: Sent) -> tuple[int, bytes]:
    return asyncio.run(_call_asgi(PushEndpoint(receiver, clock=lambda: sent.now), sent, receiver.max_body))


def starlette(receiver: Receiver, sent: Sent) -> tuple[int, bytes]:
    app = Starlette(routes=[Route(path_of(sent), PushEndpoint(receiver, clock=lambda: sent.now))])
    return asyncio.run(_call_asgi(app, sent, receiver.max_body))


def on_the_wire(text: str) -> bytes:
    """The bytes of a header: Latin-1, or UTF-8 from a client that does not know better."""
    try:
        return text.encode("latin-1")
    except UnicodeEncodeError:
        return text.encode("utf-8", "surrogatepass")


def asgi_scope(sent: Sent) -> dict[str, Any]:
    headers = [(on_the_wire(name).lower(), on_the_wire(value)) for name, value in sent.headers]
    return {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": sent.method,
        "scheme": "https",
        "path": path_of(sent),
        "raw_path": path_of(sent).encode(),
        "root_path": "",
        "query_string": sent.query.encode(),
        "headers": headers if sent.header("host") is not None else [(b"host", b"rx.example.com"), *headers],
        "client": ("192.0.2.7", 50000),
        "server": ("rx.example.com", 443),
    }


async def _call_asgi(app: Any, sent: Sent, cap: int) -> tuple[int, bytes]:
    chunks = [sent.body[at : at + CHUNK] for at in range(0, len(sent.body), CHUNK)] or [b""]
    given = 0
    answered: list[dict[str, Any]] = []

    async def receive() -> dict[str, Any]:
        nonlocal given
        if not chunks:  # all is read: who asks again waits for the client to leave, and it stays
            await asyncio.Event().wait()
        assert not _says_too_much(sent, cap), "read a body whose length was refused"
        assert given <= cap, "read on beyond the cap"
        chunk = chunks.pop(0)
        given += len(chunk)
        return {"type": "http.request", "body": chunk, "more_body": bool(chunks)}

    async def send(message: dict[str, Any]) -> None:
        answered.append(message)

    await app(asgi_scope(sent), receive, send)
    return answered[0]["status"], b"".join(message.get("body", b"") for message in answered[1:])


# --- WSGI -----------------------------------------------------------------------------------------------------


class CountedInput(io.BytesIO):
    """A body that notices when more of it is read than was allowed."""

    def __init__(self, sent: Sent, cap: int) -> None:
        super().__init__(sent.body)
        self._may_read = -1 if _says_too_much(sent, cap) else cap + 1

    def read(self, size: int | None = -1, /) -> bytes:
        assert self._may_read >= 0, "read a body whose length was refused"
        chunk = super().read(size)
        assert self.tell() <= self._may_read + 1, "read on beyond the cap"
        return chunk

    def readinto(self, buffer: Any, /) -> int:
        chunk = self.read(len(buffer))
        buffer[: len(chunk)] = chunk
        return len(chunk)


def wsgi_environ(sent: Sent, cap: int) -> dict[str, Any]:
    environ: dict[str, Any] = {
        "REQUEST_METHOD": sent.method,
        "SCRIPT_NAME": "",
        "PATH_INFO": path_of(sent),
        "QUERY_STRING": sent.query,
        "SERVER_NAME": "rx.example.com",
        "SERVER_PORT": "443",
        "SERVER_PROTOCOL": "HTTP/1.1",
        "REMOTE_ADDR": "192.0.2.7",
        "wsgi.version": (1, 0),
        "wsgi.url_scheme": "https",
        "wsgi.input": CountedInput(sent, cap),
        "wsgi.errors": io.StringIO(),
        "wsgi.multithread": True,
        "wsgi.multiprocess": False,
        "wsgi.run_once": False,
    }
    for name, value in sent.headers:
        if "_" in name:  # servers drop it: for WSGI it would be the same as the name with a hyphen
            continue
        key = on_the_wire(name).decode("latin-1").upper().replace("-", "_")
        value = on_the_wire(value).decode("latin-1")  # noqa: PLW2901  what a WSGI server makes of it
        key = key if key in ("CONTENT_TYPE", "CONTENT_LENGTH") else f"HTTP_{key}"
        environ[key] = f"{environ[key]},{value}" if key in environ else value
    environ.setdefault("HTTP_HOST", "rx.example.com")
    if "CONTENT_LENGTH" not in environ:  # then the body came in chunks
        environ["HTTP_TRANSFER_ENCODING"] = "chunked"
    if "HTTP_TRANSFER_ENCODING" in environ:  # and the server knows where they end
        environ["wsgi.input_terminated"] = True
    return environ


def call_wsgi(app: Callable[..., Iterable[bytes]], environ: dict[str, Any]) -> tuple[int, bytes]:
    started: list[str] = []

    def start_response(status: str, _headers: object, _error: object = None) -> None:
        started.append(status)

    answer = app(environ, start_response)
    body = b"".join(answer)
    if hasattr(answer, "close"):
        answer.close()
    return int(started[0].split()[0]), body


def wsgi(receiver: Receiver, sent: Sent) -> tuple[int, bytes]:
    return call_wsgi(PushApp(receiver, clock=lambda: sent.now), wsgi_environ(sent, receiver.max_body))


def flask_app(receiver: Receiver, sent: Sent) -> tuple[int, bytes]:
    app = flask.Flask("partner")
    add_push_route(app, path_of(sent), receiver, clock=lambda: sent.now)
    return call_wsgi(app, wsgi_environ(sent, receiver.max_body))


# --- Django ---------------------------------------------------------------------------------------------------

_urls: dict[str, ModuleType] = {}


def use_current_urls(get_response: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Middleware: each request of the tests has a view of its own."""

    def middleware(request: Any) -> Any:
        request.urlconf = _urls["current"]
        return get_response(request)

    return middleware


def django_handler() -> Any:
    if not settings.configured:
        settings.configure(
            ALLOWED_HOSTS=["*"],  # to what names a site answers is its own affair
            SECRET_KEY="only for tests",
            ROOT_URLCONF="tests.receiver.doors",
            MIDDLEWARE=[
                "tests.receiver.doors.use_current_urls",
                "django.middleware.security.SecurityMiddleware",
                "django.middleware.common.CommonMiddleware",
                "django.middleware.csrf.CsrfViewMiddleware",
            ],
            LOGGING_CONFIG=None,
        )
        django.setup()
    return django.core.handlers.wsgi.WSGIHandler()


urlpatterns: list[Any] = []


def django_view(receiver: Receiver, sent: Sent) -> tuple[int, bytes]:
    handler = django_handler()
    urls = ModuleType("urls_of_one_request")
    view = push_view(receiver, clock=lambda: sent.now)
    urls.urlpatterns = [django.urls.path(path_of(sent)[1:], view)]  # type: ignore[attr-defined]  # made here
    _urls["current"] = urls
    return call_wsgi(handler, wsgi_environ(sent, receiver.max_body))


# --- Lambda ---------------------------------------------------------------------------------------------------


def _call_lambda(receiver: Receiver, sent: Sent, event: Mapping[str, Any]) -> tuple[int, bytes]:
    answer = push_handler(receiver, clock=lambda: sent.now)(event, None)
    return answer["statusCode"], answer["body"].encode()


def _merged(sent: Sent) -> dict[str, str]:
    merged: dict[str, str] = {}
    for name, value in sent.headers:
        key = name.lower() if name.isascii() else name
        merged[key] = f"{merged[key]},{value}" if key in merged else value
    return merged


def _many(sent: Sent) -> dict[str, list[str]]:
    many: dict[str, list[str]] = {}
    for name, value in sent.headers:
        many.setdefault(name, []).append(value)
    return many


def _encoded(sent: Sent) -> dict[str, Any]:
    if not sent.body:
        return {"body": None, "isBase64Encoded": False}
    return {"body": base64.b64encode(sent.body).decode(), "isBase64Encoded": True}


def _as_text(sent: Sent) -> dict[str, Any]:
    """What a gateway does that takes every body for UTF-8."""
    return {"body": sent.body.decode("utf-8", "replace") or None, "isBase64Encoded": False}


def event_v2(sent: Sent) -> dict[str, Any]:
    return {
        "version": "2.0",
        "routeKey": "$default",
        "rawPath": path_of(sent),
        "rawQueryString": sent.query,
        "headers": _merged(sent),
        "requestContext": {"http": {"method": sent.method, "path": path_of(sent), "protocol": "HTTP/1.1"}},
        **_encoded(sent),
    }


def event_function_url(sent: Sent) -> dict[str, Any]:
    return event_v2(sent) | _as_text(sent) | {"cookies": []}


def event_v1(sent: Sent) -> dict[str, Any]:
    query = parse_qsl(sent.query, keep_blank_values=True)
    many: dict[str, list[str]] = {}
    for name, value in query:
        many.setdefault(name, []).append(value)
    return {
        "resource": "/{proxy+}",
        "path": path_of(sent),
        "httpMethod": sent.method,
        "headers": dict(sent.headers) or None,
        "multiValueHeaders": _many(sent) or None,
        "queryStringParameters": dict(query) or None,
        "multiValueQueryStringParameters": many or None,
        "requestContext": {"stage": "prod", "httpMethod": sent.method},
        **_as_text(sent),
    }


def _event_alb(sent: Sent) -> dict[str, Any]:
    arn = "arn:aws:elasticloadbalancing:eu-central-1:123456789012:targetgroup/rx/1"
    body = _encoded(sent) if sent.body else {"body": "", "isBase64Encoded": False}
    return {
        "requestContext": {"elb": {"targetGroupArn": arn}},
        "httpMethod": sent.method,
        "path": path_of(sent),
        **body,
    }


def _raw_query(sent: Sent) -> list[tuple[str, str]]:
    """A load balancer leaves the query encoded."""
    pairs = [part.partition("=") for part in sent.query.split("&") if part]
    return [(name, value) for name, _, value in pairs]


def event_alb_single(sent: Sent) -> dict[str, Any]:
    return _event_alb(sent) | {
        "headers": dict(sent.headers),
        "queryStringParameters": dict(_raw_query(sent)),
    }


def event_alb_multi(sent: Sent) -> dict[str, Any]:
    many: dict[str, list[str]] = {}
    for name, value in _raw_query(sent):
        many.setdefault(name, []).append(value)
    return _event_alb(sent) | {"multiValueHeaders": _many(sent), "multiValueQueryStringParameters": many}


def _lambda_door(event: Callable[[Sent], dict[str, Any]]) -> Door:
    return lambda receiver, sent: _call_lambda(receiver, sent, event(sent))


def _says_too_much(sent: Sent, cap: int) -> bool:
    length = sent.header("content-length") or ""
    return length.isdecimal() and (len(length) > 18 or int(length) > cap)


DOORS: dict[str, Door] = {
    "core": core,
    "asgi": asgi,
    "starlette": starlette,
    "wsgi": wsgi,
    "flask": flask_app,
    "django": django_view,
    "lambda-v2": _lambda_door(event_v2),
    "function-url": _lambda_door(event_function_url),
    "lambda-v1": _lambda_door(event_v1),
    "alb-single": _lambda_door(event_alb_single),
    "alb-multi": _lambda_door(event_alb_multi),
}
