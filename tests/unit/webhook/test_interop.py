"""One built request, verified by code that is not ours: each the way its own documentation says."""

import base64
import datetime as dt
import hashlib
import json
from typing import Any

import jwt
import pytest
import svix.webhooks
from a2a.compat.v0_3 import types
from a2a.types import a2a_pb2
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from google.protobuf.json_format import MessageToDict, ParseDict  # type: ignore[import-untyped]  # no stubs
from standardwebhooks import Webhook, WebhookVerificationError

from a2a_serverless.core.head import PUSH_NUDGE_KEY
from a2a_serverless.core.push import WireVersion
from a2a_serverless.webhook.keys import jwks_document
from a2a_serverless.webhook.sign import HmacSecret, ed25519_key
from a2a_serverless.webhook.wire import Sender, Signed
from tests.unit.webhook.signing import ISSUER, SECRET, URL, built, headers_of, key_ring, sender

OTHER_SECRET = "whsec_cHJldmlvdXMtc2VjcmV0LTMyLWJ5dGVzLWxvbmctbyE="


@pytest.fixture
def request_now() -> Signed:
    """Sent this second: the libraries look at their own clock."""
    secrets = (HmacSecret.parse(OTHER_SECRET), HmacSecret.parse(SECRET))
    return built(secrets=secrets, by=_with_v1a(), now=dt.datetime.now(dt.UTC))


def _v1a() -> Ed25519PrivateKey:
    return Ed25519PrivateKey.from_private_bytes(b"\7" * 32)


def _with_v1a() -> Sender:
    seed = _v1a().private_bytes(Encoding.Raw, PrivateFormat.Raw, NoEncryption())
    whsk = f"whsk_{base64.b64encode(seed).decode()}"
    known = sender()
    return Sender(issuer=known.issuer, keys=known.keys, user_agent=known.user_agent, ed25519=(ed25519_key(whsk),))


def test_standardwebhooks_verifies_it(request_now: Signed) -> None:
    webhook = Webhook(SECRET)

    assert webhook.verify(request_now.request.body, headers_of(request_now))["statusUpdate"]["taskId"] == "01JDTASK7Q"
    with pytest.raises(WebhookVerificationError):
        webhook.verify(request_now.request.body + b" ", headers_of(request_now))


def test_svix_verifies_it(request_now: Signed) -> None:
    webhook = svix.webhooks.Webhook(SECRET)

    webhook.verify(request_now.request.body, headers_of(request_now))
    with pytest.raises(svix.webhooks.WebhookVerificationError):
        webhook.verify(request_now.request.body + b" ", headers_of(request_now))


def test_the_v1a_signature_verifies_with_the_public_key_alone(request_now: Signed) -> None:
    headers = headers_of(request_now)
    [signature] = [each for each in headers["webhook-signature"].split(" ") if each.startswith("v1a,")]
    content = f"{headers['webhook-id']}.{headers['webhook-timestamp']}.".encode() + request_now.request.body

    _v1a().public_key().verify(base64.b64decode(signature.removeprefix("v1a,")), content)


def test_a_strict_pyjwt_verifier_takes_the_signature(request_now: Signed) -> None:
    now = dt.datetime.now(dt.UTC)
    token = headers_of(request_now)["a2a-push-signature"]
    key_set = jwt.PyJWKSet.from_json(jwks_document(key_ring().public, now=now).decode())
    header = jwt.get_unverified_header(token)

    claims = jwt.decode(
        token,
        key_set[header["kid"]],
        algorithms=["ES256"],
        audience=URL,
        issuer=ISSUER,
        options={
            "strict_aud": True,
            "require": ["iss", "aud", "sub", "jti", "iat", "exp"],
        },
    )

    assert header["typ"] == "a2a-push+jwt"
    assert claims["request_body_sha256"] == hashlib.sha256(request_now.request.body).hexdigest()
    assert claims["msg"] == headers_of(request_now)["webhook-id"]


def test_the_rule_of_the_retired_a2a_samples_receiver_takes_the_bearer(request_now: Signed) -> None:
    """RS256, no audience asked for, iat at most five minutes old and not ahead, hash over the body written again."""
    now = dt.datetime.now(dt.UTC)
    scheme, _, token = headers_of(request_now)["authorization"].partition(" ")
    key_set = jwt.PyJWKSet.from_json(jwks_document(key_ring().public, now=now).decode())

    claims: dict[str, Any] = jwt.decode(
        token,
        key_set[jwt.get_unverified_header(token)["kid"]],
        algorithms=["RS256"],
        options={"require": ["iat", "request_body_sha256"]},
    )
    again = json.dumps(json.loads(request_now.request.body), ensure_ascii=False, allow_nan=False, separators=(",", ":"))

    assert scheme == "Bearer"
    assert claims["request_body_sha256"] == hashlib.sha256(again.encode()).hexdigest()
    assert 0 <= now.timestamp() - claims["iat"] <= 300


def test_the_1_x_sdk_parses_the_body() -> None:
    event = ParseDict(json.loads(built().request.body), a2a_pb2.StreamResponse())

    update = event.status_update
    assert event.WhichOneof("payload") == "status_update"
    assert (update.task_id, update.context_id) == ("01JDTASK7Q", "01JDCTX")
    assert update.status.state == a2a_pb2.TASK_STATE_COMPLETED
    assert MessageToDict(update.metadata) == {PUSH_NUDGE_KEY: {"nudge": True, "seq": "7"}}


def test_the_1_x_sdk_parses_the_0_3_body_with_its_compatibility_types() -> None:
    task = types.Task.model_validate_json(built(version=WireVersion.V0_3).request.body)

    assert (task.id, task.context_id, task.status.state.value) == ("01JDTASK7Q", "01JDCTX", "completed")
    assert task.metadata == {PUSH_NUDGE_KEY: {"nudge": True, "seq": "7"}}
