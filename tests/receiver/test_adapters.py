"""The traps of raw bodies, one by one, where each framework sets them."""

import asyncio
import base64
import io
from collections.abc import Callable
from dataclasses import replace
from types import ModuleType
from typing import Any

import django.core.handlers.asgi  # type: ignore[import-untyped]  # Django ships no types
import django.urls  # type: ignore[import-untyped]  # Django ships no types
import flask
import httpx
import pytest
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.base import BaseHTTPMiddleware
from starlette.routing import Route

from a2a_receiver import ConfigError, Nudge, Receiver
from a2a_receiver.adapters.asgi import PushEndpoint
from a2a_receiver.adapters.aws_lambda import push_handler
from a2a_receiver.adapters.django import push_view
from a2a_receiver.adapters.flask import add_push_route
from a2a_receiver.adapters.wsgi import PushApp, read_body
from tests.receiver import doors
from tests.receiver.harness import Sent
from tests.receiver.making import AUDIENCE, NOW, good, sender

PATH = "/a2a/push"
SENT = Sent("POST", AUDIENCE, good().headers, good().body, NOW)
TWICE = replace(SENT, headers=[*good().headers, ("A2A-Push-Signature", good().header("A2A-Push-Signature"))])


def clock() -> float:
    return NOW


@pytest.fixture
def nudges() -> list[Nudge]:
    return []


@pytest.fixture
def receiver(nudges: list[Nudge]) -> Receiver:
    return Receiver(sender().strict(), enqueue=nudges.append)


class TestAsgi:
    def post(self, app: Any) -> httpx.Response:
        async def call() -> httpx.Response:
            transport = httpx.ASGITransport(app)
            async with httpx.AsyncClient(transport=transport, base_url="https://rx.example.com") as client:
                return await client.post(PATH, content=good().body, headers=dict(good().headers))

        return asyncio.run(call())

    def test_a_nudge_comes_through_a_server_as_it_was_sent(self, receiver: Receiver, nudges: list[Nudge]) -> None:
        answer = self.post(Starlette(routes=[Route(PATH, PushEndpoint(receiver, clock=clock))]))

        assert (answer.status_code, answer.content, answer.headers["content-length"]) == (202, b"", "0")
        assert len(nudges) == 1

    def test_middleware_around_it_does_no_harm(self, receiver: Receiver, nudges: list[Nudge]) -> None:
        async def look(request: Any, call_next: Any) -> Any:
            assert request.headers["webhook-id"]
            return await call_next(request)

        route = Route(PATH, PushEndpoint(receiver, clock=clock))
        app = Starlette(routes=[route], middleware=[Middleware(BaseHTTPMiddleware, dispatch=look)])

        assert self.post(app).status_code == 202
        assert len(nudges) == 1

    def test_a_client_that_goes_away_gets_no_answer_and_leaves_no_nudge(
        self, receiver: Receiver, nudges: list[Nudge]
    ) -> None:
        messages = [{"type": "http.request", "body": good().body[:50], "more_body": True}, {"type": "http.disconnect"}]
        sent: list[Any] = []

        async def call() -> None:
            async def receive() -> Any:
                return messages.pop(0)

            async def send(message: Any) -> None:
                sent.append(message)

            await PushEndpoint(receiver, clock=clock)(doors.asgi_scope(SENT), receive, send)

        asyncio.run(call())

        assert (sent, nudges) == ([], [])

    def test_a_body_that_never_ends_is_given_up(self, receiver: Receiver, nudges: list[Nudge]) -> None:
        sent: list[Any] = []

        async def call() -> None:
            async def receive() -> Any:
                await asyncio.Event().wait()

            async def send(message: Any) -> None:
                sent.append(message)

            endpoint = PushEndpoint(receiver, clock=clock, read_timeout=0.01)
            await endpoint(doors.asgi_scope(SENT), receive, send)

        asyncio.run(call())

        assert (sent[0]["status"], nudges) == (408, [])

    def test_it_can_be_served_alone(self, receiver: Receiver) -> None:
        messages = [{"type": "lifespan.startup"}, {"type": "lifespan.shutdown"}]
        sent: list[Any] = []

        async def call() -> None:
            async def receive() -> Any:
                return messages.pop(0)

            async def send(message: Any) -> None:
                sent.append(message)

            await PushEndpoint(receiver)({"type": "lifespan"}, receive, send)

        asyncio.run(call())

        assert sent == [{"type": "lifespan.startup.complete"}, {"type": "lifespan.shutdown.complete"}]
        assert self.post(PushEndpoint(receiver, clock=clock)).status_code == 202

    def test_a_websocket_is_closed(self, receiver: Receiver) -> None:
        sent: list[Any] = []

        async def call() -> None:
            async def receive() -> Any: ...

            async def send(message: Any) -> None:
                sent.append(message)

            await PushEndpoint(receiver)({"type": "websocket"}, receive, send)

        asyncio.run(call())

        assert sent == [{"type": "websocket.close", "code": 1003}]

    def test_an_async_enqueue_runs_on_the_servers_loop(self) -> None:
        loops: list[object] = []

        async def enqueue(_: Nudge) -> None:
            loops.append(asyncio.get_running_loop())

        async def call() -> None:
            loops.append(asyncio.get_running_loop())
            await doors._call_asgi(PushEndpoint(Receiver(sender().strict(), enqueue=enqueue), clock=clock), SENT, 65536)

        asyncio.run(call())

        assert loops[0] is loops[1]


class TestWsgi:
    def test_a_body_without_length_is_not_waited_for(self) -> None:
        class Endless(io.BytesIO):
            def read(self, size: int | None = -1, /) -> bytes:
                raise AssertionError("would have blocked")

        assert read_body({"wsgi.input": Endless()}, 100) == b""

    def test_an_input_that_gives_little_at_a_time_is_read_to_its_end(self) -> None:
        class Dripping(io.BytesIO):
            def read(self, size: int | None = -1, /) -> bytes:
                return super().read(1)

        body = read_body({"wsgi.input": Dripping(b"x" * 50), "CONTENT_LENGTH": "40"}, 100)

        assert body == b"x" * 40

    def test_a_broken_connection_is_refused(self, receiver: Receiver, nudges: list[Nudge]) -> None:
        class Broken(io.BytesIO):
            def read(self, size: int | None = -1, /) -> bytes:
                raise ConnectionResetError

        environ = doors.wsgi_environ(SENT, receiver.max_body) | {"wsgi.input": Broken()}

        assert doors.call_wsgi(PushApp(receiver, clock=clock), environ) == (400, b"")
        assert nudges == []

    def test_a_server_that_names_the_content_type_twice_is_understood(
        self, receiver: Receiver, nudges: list[Nudge]
    ) -> None:
        environ = doors.wsgi_environ(SENT, receiver.max_body)
        twice = {f"HTTP_{name}": environ[name] for name in ("CONTENT_TYPE", "CONTENT_LENGTH")}

        status, _ = doors.call_wsgi(PushApp(receiver, clock=clock), environ | twice)

        assert (status, len(nudges)) == (202, 1)


class TestFlask:
    def app(self, receiver: Receiver) -> flask.Flask:
        app = flask.Flask("partner")
        add_push_route(app, PATH, receiver, clock=clock)
        return app

    @pytest.mark.parametrize("touch", ["form", "data", "values", "files", "json"])
    def test_a_hook_that_touched_the_request_first_does_no_harm(
        self, receiver: Receiver, nudges: list[Nudge], touch: str
    ) -> None:
        app = self.app(receiver)

        @app.before_request
        def look() -> None:
            getattr(flask.request, touch)

        answer = app.test_client().post(
            PATH, data=good().body, headers=dict(good().with_header("Content-Type", "application/json").headers)
        )

        assert (answer.status_code, len(nudges)) == (202, 1)

    def test_a_later_hook_finds_the_body(self, receiver: Receiver) -> None:
        app = self.app(receiver)
        found: list[bytes] = []

        @app.after_request
        def look(response: flask.Response) -> flask.Response:
            found.append(flask.request.get_data())
            return response

        app.test_client().post(PATH, data=good().body, headers=dict(good().headers))

        assert found == [good().body]

    def test_options_is_answered_by_the_receiver_and_not_by_flask(self, receiver: Receiver) -> None:
        assert self.app(receiver).test_client().options(PATH).status_code == 405

    def test_it_fits_on_a_blueprint(self, receiver: Receiver, nudges: list[Nudge]) -> None:
        blueprint = flask.Blueprint("hooks", "hooks", url_prefix="/a2a")
        add_push_route(blueprint, "/push", receiver, clock=clock)
        app = flask.Flask("partner")
        app.register_blueprint(blueprint)

        answer = app.test_client().post(PATH, data=good().body, headers=dict(good().headers))

        assert (answer.status_code, len(nudges)) == (202, 1)


class TestDjango:
    def call(self, view: Callable[..., Any], environ: dict[str, Any]) -> tuple[int, bytes]:
        handler = doors.django_handler()
        urls = ModuleType("urls_of_one_test")
        urls.urlpatterns = [django.urls.path(PATH[1:], view)]  # type: ignore[attr-defined]  # made here
        doors._urls["current"] = urls
        return doors.call_wsgi(handler, environ)

    @pytest.mark.parametrize("touch", ["POST", "FILES", "body"])
    def test_code_that_touched_the_request_first_does_no_harm(
        self, receiver: Receiver, nudges: list[Nudge], touch: str
    ) -> None:
        view = push_view(receiver, clock=clock)

        def touched(request: Any) -> Any:
            getattr(request, touch)
            return view(request)

        touched.csrf_exempt = True  # type: ignore[attr-defined]  # as Django marks views

        status, _ = self.call(touched, doors.wsgi_environ(SENT, receiver.max_body))

        assert (status, len(nudges)) == (202, 1)

    def test_code_that_read_the_stream_first_costs_the_nudge_and_no_crash(
        self, receiver: Receiver, nudges: list[Nudge]
    ) -> None:
        view = push_view(receiver, clock=clock)

        def reads(request: Any) -> Any:
            request.read()
            return view(request)

        reads.csrf_exempt = True  # type: ignore[attr-defined]  # as Django marks views

        status, _ = self.call(reads, doors.wsgi_environ(SENT, receiver.max_body))

        assert (status, nudges) == (401, [])

    def test_the_view_works_under_asgi_as_well(self, receiver: Receiver, nudges: list[Nudge]) -> None:
        doors.django_handler()
        urls = ModuleType("urls_of_one_test")
        urls.urlpatterns = [django.urls.path(PATH[1:], push_view(receiver, clock=clock))]  # type: ignore[attr-defined]
        doors._urls["current"] = urls

        answers = [
            asyncio.run(doors._call_asgi(django.core.handlers.asgi.ASGIHandler(), sent, receiver.max_body))
            for sent in (SENT, TWICE)
        ]

        assert (answers, len(nudges)) == ([(202, b""), (400, b"")], 1)

    def test_the_view_asks_for_no_csrf_token(self, receiver: Receiver, nudges: list[Nudge]) -> None:
        environ = doors.wsgi_environ(SENT, receiver.max_body) | {"HTTP_ORIGIN": "https://elsewhere.example"}

        status, _ = self.call(push_view(receiver, clock=clock), environ)

        assert (status, len(nudges)) == (202, 1)


class TestLambda:
    def call(self, receiver: Receiver, event: Any) -> dict[str, Any]:
        return push_handler(receiver, clock=clock)(event, None)

    @pytest.mark.parametrize("encoded", [True, False])
    @pytest.mark.parametrize(
        "event",
        [doors.event_v1, doors.event_v2, doors.event_function_url, doors.event_alb_single, doors.event_alb_multi],
    )
    def test_a_body_comes_encoded_or_as_text(
        self, receiver: Receiver, nudges: list[Nudge], event: Callable[[Sent], dict[str, Any]], *, encoded: bool
    ) -> None:
        text = base64.b64encode(good().body).decode() if encoded else good().body.decode()

        answer = self.call(receiver, event(SENT) | {"body": text, "isBase64Encoded": encoded})

        assert (answer["statusCode"], len(nudges)) == (202, 1)

    def test_text_beyond_ascii_keeps_its_bytes(self, receiver: Receiver, nudges: list[Nudge]) -> None:
        body = good().body.replace(b"ctx", "größe".encode())
        claims = sender().claims("01JDTASK7Q", body, seq=7, now=NOW)
        request = good(message="msg_test").with_body(body)
        request = request.with_header("A2A-Push-Signature", sender().sign(claims))
        sent = Sent("POST", AUDIENCE, request.headers, body, NOW)

        assert self.call(receiver, doors.event_v1(sent))["statusCode"] == 202
        assert len(nudges) == 1

    def test_a_load_balancer_is_answered_in_its_own_shape(self, receiver: Receiver) -> None:
        single = self.call(receiver, doors.event_alb_single(SENT) | {"httpMethod": "PUT"})
        multi = self.call(receiver, doors.event_alb_multi(SENT) | {"httpMethod": "PUT"})

        assert single == {
            "statusCode": 405,
            "statusDescription": "405 Method Not Allowed",
            "headers": {"Allow": "POST"},
            "body": "",
            "isBase64Encoded": False,
        }
        assert multi == {
            "statusCode": 405,
            "statusDescription": "405 Method Not Allowed",
            "multiValueHeaders": {"Allow": ["POST"]},
            "body": "",
            "isBase64Encoded": False,
        }

    def test_an_http_api_with_payload_1_is_understood(self, receiver: Receiver) -> None:
        assert self.call(receiver, doors.event_v1(SENT) | {"version": "1.0"})["statusCode"] == 202

    @pytest.mark.parametrize(
        "body", [{"body": "%%%", "isBase64Encoded": True}, {"body": 7, "isBase64Encoded": True}], ids=["junk", "number"]
    )
    def test_a_body_that_does_not_decode_is_refused(
        self, receiver: Receiver, nudges: list[Nudge], body: dict[str, Any]
    ) -> None:
        assert self.call(receiver, doors.event_v2(SENT) | body)["statusCode"] == 400
        assert nudges == []

    @pytest.mark.parametrize("event", [None, [], "x", {}, {"version": "2.0"}, {"httpMethod": "POST", "headers": 7}])
    def test_an_event_of_another_kind_is_refused(self, receiver: Receiver, event: Any) -> None:
        assert self.call(receiver, event)["statusCode"] in (400, 415)


@pytest.mark.parametrize(
    "adapter",
    [PushApp, push_handler, push_view, lambda receiver: add_push_route(flask.Flask("partner"), PATH, receiver)],
    ids=["wsgi", "lambda", "django", "flask"],
)
def test_a_synchronous_adapter_does_not_start_with_an_async_enqueue(adapter: Callable[[Receiver], object]) -> None:
    async def enqueue(_: Nudge) -> None: ...

    with pytest.raises(ConfigError, match="async"):
        adapter(Receiver(sender().strict(), enqueue=enqueue))
