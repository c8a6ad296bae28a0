"""Makes requests, right and hostile, with keys of our own, and cases of the attack format out of them."""

import base64
import hashlib
import hmac
import json
from dataclasses import replace
from functools import cache
from typing import Any

import jwt
from cryptography.hazmat.primitives.asymmetric import ec

from a2a_receiver.testing import (
    ES_KID,
    PushRequest,
    Sender,
    encode_part,
    standard_webhooks_headers,
)
from tests.receiver.harness import Case, Sent

NOW = 1_796_040_000
TASK = "01JDTASK7Q"
MSG = "msg_01JDMSG001"
TOKEN = "tok_5bq1"
LONG_TOKEN = "tok_5bq1-Zw3rTq8xLk2mPn7v"
PENDING = "963e886b899227f9c46a6da6d823213f02a8eb8138030ee44c87f03d3a5bc37b"
SECRET = "whsec_" + base64.b64encode(b"current-secret-32-bytes-long-ok!").decode()
PREVIOUS = "whsec_" + base64.b64encode(b"previous-secret-32-bytes-long-o!").decode()
ISSUER = "https://a2a.example.com"
AUDIENCE = "https://rx.example.com/a2a/push"
SIGNATURE = "A2A-Push-Signature"

Keys = dict[str, Any]


@cache
def sender() -> Sender:
    return Sender(issuer=ISSUER, audience=AUDIENCE, token=TOKEN)


@cache
def key_set() -> Keys:
    published = sender().key_set()["keys"]
    encryption = ec_jwk(ec.generate_private_key(ec.SECP256R1()))
    return {"keys": [*published, encryption | {"kid": "enc-1", "use": "enc", "alg": "ECDH-ES"}]}


@cache
def fixtures() -> dict[str, Any]:
    return {
        "now": NOW,
        "issuer": ISSUER,
        "audience": AUDIENCE,
        "max_body": 65536,
        "jwks": key_set(),
        "hmac_secrets": [SECRET, PREVIOUS],
        "notification_token": TOKEN,
        "known_tasks": [TASK, "7"],
        "pending_validation": PENDING,
        "extension_uri": sender().extension_uri,
    }


def case_of(name: str, status: int, reason: str, *requests: PushRequest | Sent, **world: Any) -> Case:
    changed = world.pop("fx", {})
    return Case(
        id=name.replace(" ", "_"),
        why=name,
        mode=world.pop("mode", "strict"),
        requests=[_sent(request) for request in requests],
        status=status,
        reason=reason,
        fixtures={**fixtures(), **changed},
        **world,
    )


def _sent(request: PushRequest | Sent) -> Sent:
    if isinstance(request, Sent):
        return request
    return Sent(request.method, request.url, request.headers, request.body, NOW)


@cache
def good(*, task: str = TASK, seq: int = 7, message: str = MSG, **more: Any) -> PushRequest:
    """A nudge as the strict receiver wants it, without what it does not look at."""
    request = sender().nudge(task, seq=seq, now=NOW, message_id=message, **more)
    return request.with_header("Authorization", None).with_header("webhook-timestamp", None)


def claims(body: bytes | None = None, **changed: Any) -> dict[str, Any]:
    """The claims of `good`, with some replaced; `...` leaves one out."""
    body = sender().body(TASK, seq=7) if body is None else body
    all_claims = sender().claims(TASK, body, seq=7, now=NOW, message_id=MSG) | changed
    return {name: value for name, value in all_claims.items() if value is not ...}


def raw_token(header: bytes, payload: bytes) -> str:
    """A token over exactly these bytes, whatever they are, rightly signed by the published key."""
    return sender().sign_bytes(header, payload)


def signed_text(head: str, payload: str) -> str:
    """A token whose two parts are exactly these texts, however they decode, rightly signed."""
    algorithm = jwt.algorithms.ECAlgorithm(jwt.algorithms.ECAlgorithm.SHA256)
    signature = algorithm.sign(f"{head}.{payload}".encode(), sender().es_key)
    return f"{head}.{payload}.{encode_part(signature)}"


def header(**changed: Any) -> bytes:
    members = {"alg": "ES256", "kid": ES_KID, "typ": "a2a-push+jwt"} | changed
    return json.dumps({name: value for name, value in members.items() if value is not ...}).encode()


def with_token(token: str) -> PushRequest:
    return good().with_header(SIGNATURE, token)


def with_jose(**changed: Any) -> PushRequest:
    return with_token(raw_token(header(**changed), json.dumps(claims()).encode()))


def with_claims(**changed: Any) -> PushRequest:
    return with_token(sender().sign(claims(**changed)))


def with_signed_body(body: bytes) -> PushRequest:
    """Any body, under a token that is right for it."""
    return good().with_body(body).with_header(SIGNATURE, sender().sign(claims(body)))


def ec_jwk(key: ec.EllipticCurvePrivateKey) -> Keys:
    return jwt.algorithms.ECAlgorithm.to_jwk(key.public_key(), as_dict=True)


def status_update(**changed: Any) -> dict[str, Any]:
    event = json.loads(sender().body(TASK, seq=7))["statusUpdate"] | changed
    return {name: value for name, value in event.items() if value is not ...}


def word(value: object) -> str:
    return "missing" if value is ... else repr(value)[:90].replace("/", "|")


def renamed(request: PushRequest, change: Any) -> PushRequest:
    return replace(request, headers=tuple((change(name), value) for name, value in request.headers))


def compat(**changed: Any) -> PushRequest:
    signed = sender().compat_claims(claims())
    signed = {name: value for name, value in (signed | changed).items() if value is not ...}
    return good().with_header(SIGNATURE, None).with_header("Authorization", f"Bearer {sender().sign_compat(signed)}")


def hmac_request(secret: str = SECRET, *, body: bytes | None = None, **changed: str | None) -> PushRequest:
    """A Standard Webhooks request; `changed` replaces `webhook_id` and so on after it was signed."""
    body = good().body if body is None else body
    request = sender().request(body, standard_webhooks_headers(secret, MSG, body, now=NOW))
    for name, value in changed.items():
        request = request.with_header(name.replace("_", "-"), value)
    return request


def hmac_version(message: str, seq: str) -> PushRequest:
    """A Standard Webhooks request of its own that tells of this version."""
    extension = {sender().extension_uri: {"nudge": True, "seq": seq}}
    body = json.dumps({"statusUpdate": status_update(metadata=extension)}).encode()
    return sender().request(body, standard_webhooks_headers(SECRET, f"msg_{message}", body, now=NOW))


def hmac_signed(message: str, timestamp: str) -> PushRequest:
    """A request whose id and timestamp are rightly signed, whatever they are."""
    body = good().body
    key = base64.b64decode(SECRET.removeprefix("whsec_"))
    mac = base64.b64encode(hmac.digest(key, f"{message}.{timestamp}.".encode() + body, hashlib.sha256)).decode()
    return hmac_request(webhook_id=message, webhook_timestamp=timestamp, webhook_signature=f"v1,{mac}")
