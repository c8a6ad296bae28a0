"""Hostile requests to receivers that ask for another proof than the strict one."""

import base64
import hashlib
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from a2a_receiver.testing import PushRequest
from tests.receiver.harness import Case
from tests.receiver.making import (
    AUDIENCE,
    LONG_TOKEN,
    MSG,
    NOW,
    PREVIOUS,
    SIGNATURE,
    case_of,
    claims,
    compat,
    good,
    hmac_request,
    hmac_signed,
    hmac_version,
    sender,
    with_token,
    word,
)


def compat_cases() -> Iterator[Case]:
    def case(name: str, status: int, reason: str, request: PushRequest) -> Case:
        return case_of(f"compat: {name}", status, reason, request, mode="compat")

    bearer = compat().header("Authorization")
    yield case("control", 202, "accepted", compat())
    yield case("control: aud for us as well", 202, "accepted", compat(aud=AUDIENCE))
    digest_b = hashlib.sha256(b"https://partner-b.example.com/hook").hexdigest()
    digest = hashlib.sha256(AUDIENCE.encode()).hexdigest()
    for value in (..., None, "", digest_b, digest.upper(), digest[:-1], [digest], AUDIENCE):
        yield case(f"URL digest {word(value)}", 401, "aud", compat(a2a_push_url_sha256=value))
    yield case("aud for another", 401, "aud", compat(aud="https://partner-b.example.com/hook"))
    yield case("aud a list", 401, "aud", compat(aud=[AUDIENCE]))
    yield case("expired", 401, "expired", compat(iat=NOW - 900, exp=NOW - 600))
    yield case("no iss", 401, "iss", compat(iss=...))
    yield case("body changed", 401, "body_hash", compat().with_body(good().body + b" "))
    for name, value in {
        "no header": None,
        "basic": "Basic dTpw",
        "lower-case scheme": bearer.replace("Bearer", "bearer"),
        "no scheme": bearer.removeprefix("Bearer "),
        "scheme only": "Bearer ",
        "another scheme": bearer.replace("Bearer", "DPoP"),
    }.items():
        yield case(name, 401, "no_signature", compat().with_header("Authorization", value))
    yield case("two spaces", 401, "jws_format", compat().with_header("Authorization", bearer.replace(" ", "  ")))
    yield case("joined copies", 400, "duplicate_header", compat().with_header("Authorization", f"{bearer},{bearer}"))
    strict = f"Bearer {good().header(SIGNATURE)}"
    yield case("the strict token", 401, "alg", compat().with_header("Authorization", strict))
    typed = sender().sign_compat(sender().compat_claims(claims()), typ="at+jwt")
    yield case("an access token", 401, "typ", compat().with_header("Authorization", f"Bearer {typed}"))
    yield case("only the strict token", 401, "no_signature", good())
    yield case("wrong notification token", 401, "token", compat().with_header("X-A2A-Notification-Token", "x"))
    yield case_of("downgrade: only the compat token", 401, "no_signature", compat())
    yield case_of("downgrade: the compat token as signature", 401, "alg", with_token(bearer.removeprefix("Bearer ")))
    yield case_of("downgrade: only HMAC", 401, "no_signature", hmac_request())
    yield case_of("downgrade: only the notification token", 401, "no_signature", good().with_header(SIGNATURE, None))


def hmac_cases() -> Iterator[Case]:
    right = hmac_request().header("webhook-signature")
    wrong = "v1," + "A" * 43 + "="
    yield _hmac("control", 202, "accepted", hmac_request())
    yield _hmac("control: previous secret", 202, "accepted", hmac_request(PREVIOUS))
    for name, value in {
        "unknown versions first": f"v1a,{'A' * 86}== v9,zzz {right}",
        "wrong one first": f"{wrong} {right}",
        "malformed one first": f"v1,a,b {right}",
        "no comma first": f"v1 {right}",
        "not base64 first": f"v1,%%% {right}",
        "doubled space": f"{wrong}  {right}",
        "fifteen others first": " ".join([wrong] * 15 + [right]),
    }.items():
        yield _hmac(f"control: {name}", 202, "accepted", hmac_request(webhook_signature=value))
    for name, value in {
        "only v1a": f"v1a,{'A' * 86}==",
        "v1 signature as v1a": right.replace("v1,", "v1a,"),
        "upper-case version": right.replace("v1", "V1"),
        "without version": right.removeprefix("v1,"),
        "version only": "v1,",
        "prefix of the signature": right[:20],
        "without padding": right[:-1],
        "trailing junk": right + "AAAA",
        "trailing comma": right + ",",
        "hexadecimal": "v1," + base64.b64decode(right[3:]).hex(),
        "wrong": wrong,
        "tab between": f"{wrong} {right[:-1]}",
    }.items():
        yield _hmac(f"signature {name}", 401, "signature", hmac_request(webhook_signature=value))
    twice = replace(hmac_request(), headers=(*hmac_request().headers, ("Webhook-Signature", right)))
    yield _hmac("signature twice", 400, "duplicate_header", twice)
    rotating = f"{right} {wrong}"
    for name, joined in {
        "two lists": f"{rotating},{rotating}",
        "a list and v1a": f"{rotating}, v1a,{'A' * 86}==",
    }.items():
        yield _hmac(f"{name} joined", 400, "duplicate_header", hmac_request(webhook_signature=joined))
    yield _hmac("signature missing", 401, "no_signature", hmac_request(webhook_signature=None))
    yield _hmac("signature empty", 401, "no_signature", hmac_request(webhook_signature=""))
    yield _hmac(
        "too many signatures, the last one right",
        401,
        "too_many_signatures",
        hmac_request(webhook_signature=" ".join([wrong] * 16 + [right])),
    )
    yield from _hmac_time_cases()
    yield from _hmac_replay_cases()


def _hmac(name: str, status: int, reason: str, *requests: PushRequest) -> Case:
    return case_of(f"HMAC: {name}", status, reason, *requests, mode="hmac")


def _hmac_time_cases() -> Iterator[Case]:
    for timestamp in (
        "",
        "+1796040000",
        " 1796040000",
        "1796040000 ",
        "1796_040000",
        "1796040000.0",
        "1.79604e9",
        "0x6b0d3e40",
        "01796040000",
        "-1796040000",
        "NaN",
        "9" * 13,
        "9" * 5000,
    ):
        yield _hmac(f"timestamp {word(timestamp)}", 401, "timestamp_format", hmac_signed(MSG, timestamp))
    yield _hmac("timestamp missing", 401, "timestamp_format", hmac_request(webhook_timestamp=None))
    for offset, status in ((-301, 401), (-300, 202), (300, 202), (301, 401), (10**9, 401)):
        reason = "accepted" if status == 202 else "timestamp_window"
        yield _hmac(f"timestamp {offset:+} s", status, reason, hmac_signed(MSG, str(NOW + offset)))
    for message in ("", "a.b", "a b", "x" * 257):
        yield _hmac(f"id {word(message)}", 401, "webhook_id", hmac_signed(message, str(NOW)))
    yield _hmac("id missing", 401, "webhook_id", hmac_request(webhook_id=None))
    yield _hmac("id changed", 401, "signature", hmac_request(webhook_id="msg_other"))
    yield _hmac("timestamp changed", 401, "signature", hmac_request(webhook_timestamp=str(NOW - 1)))
    yield _hmac("body changed", 401, "signature", hmac_request().with_body(good().body + b" "))
    yield _hmac("wrong notification token", 401, "token", hmac_request(X_A2A_Notification_Token="tok_other"))
    foreign = "whsec_" + base64.b64encode(b"another-secret-of-32-bytes-long!").decode()
    yield _hmac("secret of somebody else", 401, "signature", hmac_request(foreign))


def _hmac_replay_cases() -> Iterator[Case]:
    yield _hmac("replay", 202, "duplicate", hmac_request(), hmac_request())
    for seq, later, reason in (
        ("9", "8", "stale_noop"),
        ("8", "9", "accepted"),
        ("x", "8", "accepted"),
        ("9", "x", "accepted"),
    ):
        yield _hmac(f"version {seq} then {later}", 202, reason, hmac_version("a", seq), hmac_version("b", later))
    for seq in ("x", "-1", " 7", "7.0", "", "9" * 17):
        yield _hmac(f"version {word(seq)}, which is none", 202, "accepted", hmac_version("a", seq))
    absurd = hmac_version("a", str(2**53))
    yield _hmac("version too large to be one, then another", 202, "accepted", absurd, hmac_version("b", "8"))


def token_only_cases() -> Iterator[Case]:
    def case(name: str, status: int, reason: str, *requests: PushRequest, **fx: Any) -> Case:
        return case_of(
            f"token only: {name}", status, reason, *requests, mode="token", fx={"notification_token": LONG_TOKEN} | fx
        )

    bare = good().with_header(SIGNATURE, None).with_header("webhook-id", None)
    plain = bare.with_header("X-A2A-Notification-Token", LONG_TOKEN)
    bearer = {"authorizations": [f"Bearer {LONG_TOKEN}"]}
    yield case("control", 202, "accepted", plain)
    yield case("control: again, since nothing tells a copy from news", 202, "accepted", plain, plain)
    yield case(
        "control: other name",
        202,
        "accepted",
        bare.with_header("X-A2A-Notification-Token", None).with_header("A2A-Notification-Token", LONG_TOKEN),
    )
    yield case("wrong", 401, "token", bare)
    yield case("missing", 401, "token", bare.with_header("X-A2A-Notification-Token", None))
    only_bearer = bare.with_header("Authorization", f"Bearer {LONG_TOKEN}")
    alone = bearer | {"notification_token": None}
    yield case("control: authorization alone", 202, "accepted", only_bearer, **alone)
    named = plain.with_header("webhook-id", "msg_1")
    yield case("control: with a webhook-id, which proves nothing", 202, "accepted", named)
    yield case("authorization missing", 401, "authorization", plain, **bearer)
    yield case("authorization wrong", 401, "authorization", plain.with_header("Authorization", "Bearer x"), **bearer)
    yield case(
        "authorization of another scheme",
        401,
        "authorization",
        plain.with_header("Authorization", f"Basic {LONG_TOKEN}"),
        **bearer,
    )
    yield case(
        "control: authorization", 202, "accepted", plain.with_header("Authorization", f"Bearer {LONG_TOKEN}"), **bearer
    )
    yield case("not a nudge", 400, "shape", plain.with_body(b"{}"))
