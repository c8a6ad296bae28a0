"""The bytes of a nudge."""

import dataclasses
import datetime as dt
import hashlib
import json

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from hypothesis import given
from hypothesis import strategies as st

from a2a_serverless.core.head import PUSH_NUDGE_KEY
from a2a_serverless.core.push import WireVersion
from a2a_serverless.core.registration import Authentication, NotificationToken
from a2a_serverless.types import TaskState
from a2a_serverless.webhook.sign import HmacSecret, ed25519_key, signing_key
from a2a_serverless.webhook.wire import OutgoingNudge, content_digest, nudge_body
from tests.unit.webhook.signing import ISSUER, NOW, SECRET, URL, built, der, headers_of, key_ring, nudge, sender


def test_a_1_0_config_gets_a_status_update() -> None:
    assert nudge_body(nudge(), WireVersion.V1_0) == (
        b'{"statusUpdate":{"taskId":"01JDTASK7Q","contextId":"01JDCTX","status":{"state":"TASK_STATE_COMPLETED",'
        b'"timestamp":"2026-11-30T12:00:00.123Z"},"metadata":{"https://a2a-serverless.dev/ext/push-nudge/v1":'
        b'{"nudge":true,"seq":"7"}}}}'
    )


def test_a_0_3_config_gets_a_task() -> None:
    assert nudge_body(nudge(), WireVersion.V0_3) == (
        b'{"id":"01JDTASK7Q","contextId":"01JDCTX","kind":"task","status":{"state":"completed",'
        b'"timestamp":"2026-11-30T12:00:00.123Z"},"metadata":{"https://a2a-serverless.dev/ext/push-nudge/v1":'
        b'{"nudge":true,"seq":"7"}}}'
    )


def test_a_test_says_that_it_is_one() -> None:
    body = json.loads(nudge_body(dataclasses.replace(nudge(), is_test=True), WireVersion.V1_0))

    assert body["statusUpdate"]["metadata"] == {PUSH_NUDGE_KEY: {"nudge": True, "seq": "7", "test": True}}


def test_every_state_has_its_0_3_name() -> None:
    names = [
        json.loads(
            nudge_body(
                OutgoingNudge(
                    task_id="t", context_id="c", state=state, timestamp=None, seq=1, message_id="m", attempt=1
                ),
                WireVersion.V0_3,
            )
        )["status"]["state"]
        for state in TaskState
    ]

    assert names == [
        *("submitted", "working", "completed", "failed"),
        *("canceled", "input-required", "rejected", "auth-required"),
    ]


@given(st.text(max_size=20), st.sampled_from(WireVersion))
def test_the_bytes_survive_being_parsed_and_written_again(context_id: str, version: WireVersion) -> None:
    body = nudge_body(nudge(context_id), version)

    again = json.dumps(json.loads(body), ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()
    assert again == body


def test_a_context_id_that_is_no_unicode_does_not_stop_a_nudge() -> None:
    assert json.loads(nudge_body(nudge("\ud800"), WireVersion.V1_0))["statusUpdate"]["contextId"] == "?"


def test_the_headers_are_those_of_the_wire_format() -> None:
    headers = headers_of(built())

    assert list(headers) == [
        *("content-type", "user-agent", "a2a-version", "authorization", "a2a-push-signature"),
        *("webhook-id", "webhook-timestamp", "content-digest"),
    ]
    assert headers["content-type"] == "application/a2a+json"
    assert headers["a2a-version"] == "1.0"
    assert headers["webhook-id"] == "msg_01JDMSG001"
    assert headers["webhook-timestamp"] == "1796040000"


def test_a_0_3_config_is_told_so_in_json() -> None:
    headers = headers_of(built(version=WireVersion.V0_3))

    assert (headers["content-type"], headers["a2a-version"]) == ("application/json", "0.3")


def test_a_receiver_that_answered_415_gets_plain_json() -> None:
    headers = headers_of(built(plain_json=True))

    assert (headers["content-type"], headers["a2a-version"]) == ("application/json", "1.0")


def test_the_configs_own_credentials_take_the_place_of_the_bearer() -> None:
    headers = headers_of(built(authentication=Authentication("basic", "dTpw"), token=NotificationToken("tok_1")))

    assert headers["authorization"] == "basic dTpw"
    assert headers["x-a2a-notification-token"] == "tok_1"
    assert "a2a-push-signature" in headers


def test_the_bearer_can_be_switched_off() -> None:
    assert "authorization" not in headers_of(built(compat=False))


@pytest.mark.parametrize(
    ("given_", "passed_on"),
    [
        ("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", True),
        ("00-0AF7651916CD43DD8448EB211C80319C-b7ad6b7169203331-01", False),
        ("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01\r\nX: y", False),
        ("", False),
        (None, False),
    ],
)
def test_only_a_trace_context_is_passed_on(given_: str | None, passed_on: bool) -> None:
    headers = headers_of(built(traceparent=given_))

    assert headers.get("traceparent") == (given_ if passed_on else None)


def test_the_digest_is_of_rfc_9530() -> None:
    assert content_digest(b'{"hello": "world"}') == "sha-256=:X48E9qOokqqrvdts8nOJRJN3OWDUoyWxBf7kbu9DBPE=:"


def test_the_strict_token_says_what_the_wire_format_says() -> None:
    signed = built()
    token = headers_of(signed)["a2a-push-signature"]

    assert signed.kid == "push-es-1"
    assert jwt.get_unverified_header(token) == {"alg": "ES256", "typ": "a2a-push+jwt", "kid": "push-es-1"}
    assert _unverified(token) == {
        "iss": ISSUER,
        "aud": URL,
        "sub": "01JDTASK7Q",
        "jti": "msg_01JDMSG001:2",
        "msg": "msg_01JDMSG001",
        "seq": 7,
        "iat": 1796039995,
        "exp": 1796040295,
        "request_body_sha256": hashlib.sha256(signed.request.body).hexdigest(),
    }


def test_the_compatibility_token_has_no_audience_but_its_hash() -> None:
    token = headers_of(built())["authorization"].removeprefix("Bearer ")

    assert jwt.get_unverified_header(token) == {"alg": "RS256", "typ": "JWT", "kid": "push-rs-1"}
    claims = _unverified(token)
    assert "aud" not in claims
    assert claims["a2a_push_url_sha256"] == hashlib.sha256(URL.encode()).hexdigest()


def test_a_token_is_fresh_on_every_attempt() -> None:
    later = NOW + dt.timedelta(hours=24)

    claims = _unverified(headers_of(built(now=later))["a2a-push-signature"])

    assert claims["iat"] == int(later.timestamp()) - 5


def test_printing_a_request_shows_no_secret() -> None:
    shown = repr((built(authentication=Authentication("Bearer", "s3cret"), token=NotificationToken("t0ken")), sender()))

    assert "s3cret" not in shown
    assert "t0ken" not in shown
    assert "eyJ" not in shown


def test_a_key_of_another_kind_is_not_loaded() -> None:
    for private in (
        ec.generate_private_key(ec.SECP384R1()),
        rsa.generate_private_key(65537, 1024),
        ed25519.Ed25519PrivateKey.generate(),
    ):
        with pytest.raises(ValueError, match="P-256 or an RSA key"):
            signing_key(der(private), kid="k", first_use=NOW)


def test_the_public_half_holds_nothing_private() -> None:
    for key in key_ring().public:
        assert set(key.members) in ({"kty", "crv", "x", "y"}, {"kty", "n", "e"})


@pytest.mark.parametrize(
    "text", ["", "whsec_", "whsec_c2hvcnQ=", "whsec_***", SECRET.removeprefix("whsec_"), "whsec_" + "A" * 88]
)
def test_a_weak_or_broken_secret_is_not_taken(text: str) -> None:
    with pytest.raises(ValueError, match=r"must be|has 24 to 64"):
        HmacSecret.parse(text)


@pytest.mark.parametrize("text", ["", "whsk_", "whsk_AAAA", SECRET])
def test_a_broken_signing_key_is_not_taken(text: str) -> None:
    with pytest.raises(ValueError, match=r"must be|has 32 bytes"):
        ed25519_key(text)


def _unverified(token: str) -> dict[str, object]:
    claims: dict[str, object] = jwt.decode(token, options={"verify_signature": False})
    return claims
