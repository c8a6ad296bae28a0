"""Callback addresses over HTTP: a person or a system outside A2A resumes a task, once (DESIGN 4).

Opening the address changes nothing, since mail scanners and previews open links: only a POST resumes. A person gets
a page with one button, the only HTML here; a program gets JSON.
"""

from dataclasses import dataclass
from typing import Final
from urllib.parse import parse_qsl

from a2a_serverless.app import callbacks
from a2a_serverless.app.callbacks import CallbackGrant, CallbackStore
from a2a_serverless.app.ports import Clock, Ids, TaskStore
from a2a_serverless.core.head import Rules
from a2a_serverless.errors import A2AError, Conflict
from a2a_serverless.protocol.faults import Refusal, method_not_allowed
from a2a_serverless.protocol.http import Request, Response
from a2a_serverless.protocol.media import JSON
from a2a_serverless.protocol.strict_json import parse, text_of
from a2a_serverless.protocol.witness import TOO_LARGE
from a2a_serverless.types import JsonObject

LARGEST_POST: Final = 65_536
_HTML: Final = "text/html; charset=utf-8"
_PAGE_HEADERS: Final = {
    "cache-control": "no-store",
    "referrer-policy": "no-referrer",
    "content-security-policy": "default-src 'none'; form-action 'self'; frame-ancestors 'none'",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class CallbackDoor:
    """What callback addresses work with."""

    store: CallbackStore
    tasks: TaskStore
    clock: Clock
    ids: Ids
    rules: Rules

    def grant(self, grant_id: str, secret: str) -> CallbackGrant | None:
        """The grant of a genuine address."""
        return callbacks.find(self.store, grant_id, secret, now=self.clock())

    def answer(self, request: Request, grant: CallbackGrant | None) -> Response:
        """The response at the address of this grant, or at one that is none."""
        match request.method:
            case "GET" | "HEAD":
                is_open = grant is not None and callbacks.is_open(grant, self.tasks, now=self.clock())
                return _shown(request, is_open=is_open)
            case "POST":
                return self._use(request, grant)
            case _:
                return method_not_allowed(("GET", "HEAD", "POST")).response()

    def _use(self, request: Request, grant: CallbackGrant | None) -> Response:
        posted = _posted(request)
        if isinstance(posted, Refusal):
            return posted.response()
        if grant is None:
            return _void(request)
        try:
            goes_on = callbacks.use(grant, self.tasks, posted, ids=self.ids, rules=self.rules, now=self.clock())
        except Conflict:
            return Refusal(503, "UNAVAILABLE", "the task is being changed; try again", {"retry-after": "1"}).response()
        return _told(request, 200, "Thank you. It goes on.", {"status": "resumed"}) if goes_on else _void(request)


def _posted(request: Request) -> JsonObject | Refusal:
    """What was posted: a JSON object, a form, or nothing."""
    if len(request.body) > LARGEST_POST:
        return Refusal(TOO_LARGE, "RESOURCE_EXHAUSTED", f"post at most {LARGEST_POST} bytes")
    if request.header("content-type").lower().startswith("application/x-www-form-urlencoded"):
        return dict(parse_qsl(request.body.decode("utf-8", "replace"))[:100])
    try:
        value = parse(request.body) if request.body else {}
    except A2AError as error:
        return Refusal(400, "INVALID_ARGUMENT", error.message)
    if not isinstance(value, dict):
        return Refusal(400, "INVALID_ARGUMENT", "post a JSON object, a form, or nothing")
    return value


def _shown(request: Request, *, is_open: bool) -> Response:
    if not is_open:
        return _void(request)
    if _is_person(request):
        return Response(200, {"content-type": _HTML, **_PAGE_HEADERS}, _page(_QUESTION))
    return _told(request, 200, "", {"status": "open"})


def _void(request: Request) -> Response:
    """Never made, used, expired, or the task moved on: which of these is not told."""
    if _is_person(request):
        return _told(request, 404, "This address is no longer valid.", {})
    return Refusal(404, "NOT_FOUND", "this address opens nothing, or no longer").response()


def _told(request: Request, status: int, sentence: str, body: JsonObject) -> Response:
    if _is_person(request):
        return Response(status, {"content-type": _HTML, **_PAGE_HEADERS}, _page(f"<p>{sentence}</p>"))
    return Response(status, {"content-type": JSON, "cache-control": "no-store"}, text_of(body))


def _is_person(request: Request) -> bool:
    return "text/html" in request.header("accept")


_QUESTION: Final = '<p>An agent waits for your confirmation.</p><form method="post"><button>Continue</button></form>'


def _page(content: str) -> str:
    return (
        '<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">'
        f"<title>Confirmation</title><body>{content}</body></html>"
    )
