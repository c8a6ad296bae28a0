"""Flask: one call adds the route, with the traps of raw bodies taken care of."""

import time
from collections.abc import Callable

import flask
from werkzeug.exceptions import BadRequest, RequestEntityTooLarge

from a2a_receiver.adapters.wsgi import headers_of, synchronous
from a2a_receiver.answer import Response
from a2a_receiver.receiver import Receiver


def add_push_route(
    app: flask.Flask | flask.Blueprint,
    rule: str,
    receiver: Receiver,
    *,
    endpoint: str = "a2a_push",
    clock: Callable[[], float] = time.time,
) -> None:
    """Let `receiver` answer at `rule`, OPTIONS included (Flask would answer that by itself).

    Raises:
        ConfigError: the receiver's enqueue is `async`.
    """
    receiver = synchronous(receiver)

    def push() -> flask.Response:
        answer = _answer(receiver, clock)
        return flask.Response(answer.body, answer.status, list(answer.headers), mimetype=None)

    app.add_url_rule(rule, endpoint, push, methods=["GET", "OPTIONS", "POST"], provide_automatic_options=False)


def _answer(receiver: Receiver, clock: Callable[[], float]) -> Response:
    request = flask.request
    environ = request.environ
    # From the environment: Flask would have made POST of a "post".
    method, headers, query = environ["REQUEST_METHOD"], headers_of(environ), environ.get("QUERY_STRING", "")
    early = receiver.admit(method, headers, now=clock(), query=query)
    if early is not None:
        return early
    # Werkzeug stops reading there, with a length or chunked, at times without a word: so one byte beyond the cap.
    # Cached, so that a hook that came first or comes later finds the same bytes.
    request.max_content_length = receiver.max_body + 1
    try:
        body = request.get_data(cache=True)
    except RequestEntityTooLarge:
        body = bytes(receiver.max_body + 1)
    except BadRequest:
        return Response(400)
    return receiver.handle(method, headers, body, now=clock(), query=query)
