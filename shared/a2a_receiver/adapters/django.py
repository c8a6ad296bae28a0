"""Django: a plain view. Not a REST framework view: its parsers answer 415 to `application/a2a+json`."""

import time
from collections.abc import Callable

from django.core.exceptions import RequestDataTooBig  # type: ignore[import-untyped]  # Django ships no types
from django.http import HttpRequest, HttpResponse  # type: ignore[import-untyped]
from django.http.request import RawPostDataException, UnreadablePostError  # type: ignore[import-untyped]
from django.views.decorators.csrf import csrf_exempt  # type: ignore[import-untyped]

from a2a_receiver.adapters.wsgi import headers_of, read_body, synchronous
from a2a_receiver.answer import Response
from a2a_receiver.receiver import Receiver


def push_view(receiver: Receiver, *, clock: Callable[[], float] = time.time) -> Callable[[HttpRequest], HttpResponse]:
    """A view for `path("a2a/push", push_view(receiver))`, exempt from CSRF: the signature stands in for it.

    Raises:
        ConfigError: the receiver's enqueue is `async`.
    """
    receiver = synchronous(receiver)

    def push(request: HttpRequest) -> HttpResponse:
        answer = _answer(receiver, request, clock)
        response = HttpResponse(answer.body, status=answer.status, headers=dict(answer.headers))
        if not answer.body:
            del response.headers["Content-Type"]
        return response

    view: Callable[[HttpRequest], HttpResponse] = csrf_exempt(push)
    return view


def _answer(receiver: Receiver, request: HttpRequest, clock: Callable[[], float]) -> Response:
    headers, query = headers_of(request.META), str(request.META.get("QUERY_STRING", ""))
    # As sent: Django would have made POST of a "post".
    method = str(request.META.get("REQUEST_METHOD", request.method))
    early = receiver.admit(method, headers, now=clock(), query=query)
    if early is not None:
        return early
    try:
        body = _body(request, receiver.max_body)
    except RequestDataTooBig:
        body = bytes(receiver.max_body + 1)
    except UnreadablePostError:
        return Response(400)
    return receiver.handle(method, headers, body, now=clock(), query=query)


def _body(request: HttpRequest, cap: int) -> bytes:
    """The raw body, whatever ran before this view."""
    if not request.META.get("CONTENT_LENGTH") and request.META.get("wsgi.input_terminated"):
        # Django reads as many bytes as the length says: none of a chunked request.
        return read_body(request.META, cap)
    try:
        body: bytes = request.body
    except RawPostDataException:
        # A middleware read the stream. What it left is not the body, so the signature will not hold.
        return b""
    return body
