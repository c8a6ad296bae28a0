"""A nudge as it goes out: the exact bytes of its body, and the headers that prove where they come from."""

import base64
import hashlib
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from a2a_serverless.core.head import PUSH_NUDGE_KEY
from a2a_serverless.core.push import WireVersion
from a2a_serverless.core.registration import Authentication, NotificationToken
from a2a_serverless.types import JsonObject, TaskState, compact_json, is_trace_context, timestamp_text
from a2a_serverless.webhook.exchange import Request
from a2a_serverless.webhook.sign import (
    HmacSecret,
    KeyRing,
    Vouched,
    compat_token,
    standard_signatures,
    strict_token,
)
from a2a_serverless.webhook.url import WebhookUrl

SIGNATURE_HEADER: Final = "A2A-Push-Signature"


@dataclass(frozen=True, slots=True, kw_only=True)
class OutgoingNudge:
    """What is told: that a task stands in this state since then, and which change that is."""

    task_id: str
    context_id: str
    state: TaskState
    timestamp: datetime | None
    seq: int
    message_id: str
    attempt: int
    is_test: bool = False
    """A signed nudge that says nothing new: the owner asked whether it gets through."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Receiver:
    """Who is told, and what he brought along for it."""

    url: WebhookUrl
    version: WireVersion
    authentication: Authentication | None = None
    token: NotificationToken | None = None
    plain_json: bool = False
    """He does not know `application/a2a+json`."""
    secrets: tuple[HmacSecret, ...] = ()
    """Standard Webhooks secrets he was issued. Never the config's token: that one travels in every request."""
    compat: bool = True
    """Whether a config without credentials gets the RS256 bearer in their place."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sender:
    """Who tells: one per deployment."""

    issuer: str
    """The origin of the agent, where the JWKS is; exactly what receivers compare `iss` with."""
    keys: KeyRing
    user_agent: str
    ed25519: tuple[Ed25519PrivateKey, ...] = field(default=(), repr=False)
    """Keys for `v1a` signatures; none are sent without."""


@dataclass(frozen=True, slots=True)
class Signed:
    """A request ready to send, and the key that signed it, for the delivery log."""

    request: Request
    kid: str


def build(
    nudge: OutgoingNudge,
    receiver: Receiver,
    sender: Sender,
    *,
    now: datetime,
    traceparent: str | None = None,
) -> Signed:
    """The request for one attempt. Build it just before it is sent: its signatures live five minutes.

    Args:
        nudge: what is told.
        receiver: who is told.
        sender: who tells.
        now: the time of the attempt.
        traceparent: W3C trace context to pass on; anything else is left out.

    Raises:
        LookupError: no key may sign.
    """
    body = nudge_body(nudge, receiver.version)
    vouched = Vouched(
        url=receiver.url.text,
        task_id=nudge.task_id,
        seq=nudge.seq,
        message_id=nudge.message_id,
        attempt=nudge.attempt,
        body=body,
    )
    signature = strict_token(vouched, issuer=sender.issuer, keys=sender.keys, now=now)
    headers = (
        ("Content-Type", _media_type(receiver)),
        ("User-Agent", sender.user_agent),
        ("A2A-Version", receiver.version.value),
        *_authorization(vouched, receiver, sender, now=now),
        *((("X-A2A-Notification-Token", receiver.token.value),) if receiver.token else ()),
        (SIGNATURE_HEADER, signature.text),
        *_standard_headers(vouched, receiver, sender, now=now),
        ("Content-Digest", content_digest(body)),
        *_trace(traceparent),
    )
    return Signed(Request(method="POST", url=receiver.url, headers=headers, body=body), signature.kid)


def nudge_body(nudge: OutgoingNudge, version: WireVersion) -> bytes:
    """The body, in the one form that survives being parsed and written again, as some receivers hash it.

    Compact, raw UTF-8, and numbers as text: Protobuf's Struct would make 7 into 7.0.
    """
    said = _status_update(nudge) if version is WireVersion.V1_0 else _task(nudge)
    return compact_json(said).encode("utf-8", "replace")


def _status_update(nudge: OutgoingNudge) -> JsonObject:
    return {
        "statusUpdate": {
            "taskId": nudge.task_id,
            "contextId": nudge.context_id,
            "status": _status(nudge, nudge.state.value),
            "metadata": _metadata(nudge),
        }
    }


def _task(nudge: OutgoingNudge) -> JsonObject:
    state = nudge.state.value.removeprefix("TASK_STATE_").lower().replace("_", "-")
    return {
        "id": nudge.task_id,
        "contextId": nudge.context_id,
        "kind": "task",
        "status": _status(nudge, state),
        "metadata": _metadata(nudge),
    }


def _status(nudge: OutgoingNudge, state: str) -> JsonObject:
    since = {"timestamp": timestamp_text(nudge.timestamp)} if nudge.timestamp else {}
    return {"state": state, **since}


def _metadata(nudge: OutgoingNudge) -> JsonObject:
    test = {"test": True} if nudge.is_test else {}
    return {PUSH_NUDGE_KEY: {"nudge": True, "seq": str(nudge.seq), **test}}


def _media_type(receiver: Receiver) -> str:
    plain = receiver.plain_json or receiver.version is WireVersion.V0_3
    return "application/json" if plain else "application/a2a+json"


def _authorization(
    vouched: Vouched,
    receiver: Receiver,
    sender: Sender,
    *,
    now: datetime,
) -> tuple[tuple[str, str], ...]:
    """What the config brought (SPEC 4.3.3), else the compatibility bearer."""
    if receiver.authentication is not None:
        return (("Authorization", receiver.authentication.header),)
    if not receiver.compat:
        return ()
    bearer = compat_token(vouched, issuer=sender.issuer, keys=sender.keys, now=now)
    return (("Authorization", f"Bearer {bearer.text}"),)


def _standard_headers(
    vouched: Vouched,
    receiver: Receiver,
    sender: Sender,
    *,
    now: datetime,
) -> tuple[tuple[str, str], ...]:
    timestamp = int(now.timestamp())
    signatures = standard_signatures(
        vouched.message_id,
        vouched.body,
        timestamp=timestamp,
        secrets=receiver.secrets,
        ed25519=sender.ed25519,
    )
    return (
        ("webhook-id", vouched.message_id),
        ("webhook-timestamp", str(timestamp)),
        *((("webhook-signature", signatures),) if signatures else ()),
    )


def content_digest(body: bytes) -> str:
    """The Content-Digest of a body (RFC 9530)."""
    return f"sha-256=:{base64.b64encode(hashlib.sha256(body).digest()).decode()}:"


def _trace(traceparent: str | None) -> tuple[tuple[str, str], ...]:
    return (("traceparent", traceparent),) if traceparent is not None and is_trace_context(traceparent) else ()
