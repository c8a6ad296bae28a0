"""What is written down of a call and of a callback: both sides in full, without credentials.

`service` asks; `visit` knows the task of a call, `callback_door` that of a callback.
"""

from datetime import datetime, timedelta
from typing import Final

from a2a_serverless.app.evidence import Exchange
from a2a_serverless.core.masking import CALLBACK_KEY, HIDDEN, without_secrets, without_signatures
from a2a_serverless.errors import A2AError
from a2a_serverless.protocol.http import Request, Response
from a2a_serverless.protocol.strict_json import parse, text_of
from a2a_serverless.protocol.visit import Sighting
from a2a_serverless.types import Caller, JsonObject, TaskKey

_MAY_HOLD_SECRETS: Final = (b"token", b"credentials", b"url", b"\\u")
_ANSWER_HEADERS: Final = frozenset({"content-type", "a2a-extensions", "x-a2a-extensions", "retry-after"})
_POST_HEADERS: Final = ("content-type", "user-agent")
TOO_LARGE: Final = 413
"""The status of what is not even kept in the record of it."""


def exchange_of(
    sighting: Sighting, request: Request, response: Response, *, agent: str, began: datetime, ended: datetime
) -> Exchange:
    """The call as it is kept."""
    asked = f"{request.path}?{request.query}" if request.query else request.path
    return Exchange(
        task_id=sighting.task_id,
        at=began,
        kind="call",
        operation=sighting.operation,
        who=_caller(sighting.caller),
        milliseconds=(ended - began) // timedelta(milliseconds=1),
        about={"agent": agent, "version": sighting.version.value},
        request={"method": request.method, "url": asked, "body": kept_body(request.body)},
        answer=_answer(response),
    )


def callback_of(
    key: TaskKey, grant_id: str, secret: str, request: Request, response: Response, *, began: datetime, ended: datetime
) -> Exchange:
    """A post to a callback address as it is kept: with what was posted, without what opens the address."""
    posted = request.body.decode("utf-8", "replace") if response.status != TOO_LARGE else ""
    return Exchange(
        task_id=key.task_id,
        at=began,
        kind="callback",
        operation="callback",
        who={"callback": grant_id},
        milliseconds=(ended - began) // timedelta(milliseconds=1),
        about={"agent": key.scope.agent},
        request={
            "method": request.method,
            "url": f"/callbacks/{grant_id}?{CALLBACK_KEY}={HIDDEN}",
            "headers": {name: value for name in _POST_HEADERS if (value := request.header(name))},
            "body": posted.replace(secret, HIDDEN),
        },
        answer=_answer(response),
    )


def _caller(caller: Caller | None) -> JsonObject:
    if caller is None:
        return {}
    told = {"subject": caller.owner.subject, "tenant": caller.owner.tenant, "actors": list(caller.actors)}
    return {name: value for name, value in told.items() if value}


def kept_body(body: bytes) -> str:
    """A request's body as it came, or as compact JSON where secrets had to be taken out."""
    if not any(mark in body for mark in _MAY_HOLD_SECRETS):
        return body.decode("utf-8", "replace")
    try:
        said = parse(body)
    except A2AError:
        return ""  # it was refused, and may hold anything
    kept = without_secrets(said)
    return body.decode("utf-8", "replace") if kept == said else text_of(kept)


def _answer(response: Response) -> JsonObject:
    return {
        "status": response.status,
        "headers": {name: value for name, value in response.headers.items() if name in _ANSWER_HEADERS},
        "body": _answered(response.body),
    }


def _answered(body: str) -> str:
    """An answer as it went out. Configs come without their secrets; addresses that open content are made void."""
    text = without_signatures(body)
    if '"url"' not in text or not text.startswith("{"):
        return text
    said = parse(text.encode("utf-8", "replace"))
    kept = without_secrets(said)
    return text if kept == said else text_of(kept)
