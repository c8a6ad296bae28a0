"""Hostile claims under a right signature."""

import base64
import hashlib
import json
from collections.abc import Iterator

from a2a_receiver.testing import PushRequest
from tests.receiver.harness import Case
from tests.receiver.making import (
    AUDIENCE,
    ISSUER,
    MSG,
    NOW,
    SIGNATURE,
    TASK,
    case_of,
    claims,
    good,
    header,
    raw_token,
    sender,
    with_claims,
    with_token,
    word,
)


def claim_cases() -> Iterator[Case]:
    for name, payload in {
        "not JSON": b"{",
        "a list": b"[1]",
        "text": b'"x"',
        "aud twice": json.dumps(claims()).encode()[:-1] + b', "aud": "x"}',
        "Infinity": json.dumps(claims()).encode()[:-1] + b', "x": Infinity}',
        "nested": json.dumps(claims()).encode()[:-1] + b', "x": ' + b"[" * 40 + b"]" * 40 + b"}",
        "not UTF-8": b'{"iss": "\xff"}',
    }.items():
        yield case_of(f"claims: {name}", 401, "claims_format", with_token(raw_token(header(), payload)))
    for name in ("iat", "exp"):
        for value in (..., None, True, False, str(NOW), float(NOW), NOW + 0.5, [NOW], {"n": NOW}):
            yield case_of(f"claims: {name} {word(value)}", 401, "time_type", with_claims(**{name: value}))
    yield case_of("claims: iat negative", 401, "time_type", with_claims(iat=-1))
    for value in (None, True, "now", 1.5, []):
        yield case_of(f"claims: nbf {word(value)}", 401, "time_type", with_claims(nbf=value))
    yield from _time_cases()
    yield from _party_cases()
    yield from _identity_cases()


def _time_cases() -> Iterator[Case]:
    def at(name: str, status: int, reason: str, **times: int) -> Case:
        return case_of(f"times: {name}", status, reason, with_claims(**times))

    yield at("expired, within the leeway", 202, "accepted", iat=NOW - 320, exp=NOW - 29)
    yield at("expired, at the leeway", 401, "expired", iat=NOW - 320, exp=NOW - 30)
    yield at("expired long ago", 401, "expired", iat=NOW - 900, exp=NOW - 600)
    yield at("exp zero", 401, "expired", exp=0)
    yield at("exp negative", 401, "expired", exp=-(10**30))
    yield at("exp far away", 401, "lifetime", exp=10**30)
    yield at("iat ahead, within the leeway", 202, "accepted", iat=NOW + 60, exp=NOW + 300)
    yield at("iat ahead", 401, "future", iat=NOW + 61, exp=NOW + 300)
    yield at("iat far ahead", 401, "future", iat=10**30, exp=10**30 + 300)
    yield at("nbf ahead", 401, "future", nbf=NOW + 61)
    yield at("old, but not expired", 401, "too_old", iat=NOW - 331, exp=NOW + 200)
    yield at("iat zero", 401, "too_old", iat=0)
    yield at("longest lifetime", 202, "accepted", iat=NOW - 5, exp=NOW + 595)
    yield at("lifetime too long", 401, "lifetime", iat=NOW - 5, exp=NOW + 596)
    yield at("expires before it was issued", 401, "lifetime", iat=NOW + 10, exp=NOW + 9)


def _party_cases() -> Iterator[Case]:
    yield case_of("claims: unknown ones besides", 202, "accepted", with_claims(more={"x": [1.5]}))
    for iss in (
        ...,
        None,
        "",
        7,
        [ISSUER],
        "https://evil.example",
        ISSUER + "/",
        ISSUER[:-1],
        ISSUER.upper(),
        "http" + ISSUER[5:],
        ISSUER + ".evil.example",
    ):
        yield case_of(f"claims: iss {word(iss)}", 401, "iss", with_claims(iss=iss))
    for aud in (
        ...,
        None,
        "",
        7,
        [AUDIENCE],
        [AUDIENCE, "x"],
        {"a": AUDIENCE},
        "https://partner-b.example.com/hook",
        AUDIENCE[:-1],
        AUDIENCE + "/",
        AUDIENCE + "?a=1",
        AUDIENCE.upper(),
        AUDIENCE.replace("rx", "RX"),
        AUDIENCE.replace(".com", ".com:443"),
        AUDIENCE.replace("https", "http"),
        ISSUER,
        AUDIENCE + " ",
        "*",
    ):
        yield case_of(f"claims: aud {word(aud)}", 401, "aud", with_claims(aud=aud))
    for jti in (..., None, "", 7, True, ["x"], "a b", "x\n", "x" * 513):
        yield case_of(f"claims: jti {word(jti)}", 401, "jti", with_claims(jti=jti))
    for sub in (..., None, "", 7, [TASK], "a b"):
        yield case_of(f"claims: sub {word(sub)}", 401, "sub", with_claims(sub=sub))
    yield case_of("claims: sub a number that the body spells", 401, "sub", _numbered())
    for sub in ("01JDOTHER", TASK.lower(), TASK + "x"):
        yield case_of(f"claims: sub {sub}", 401, "task_mismatch", with_claims(sub=sub))


def _numbered() -> PushRequest:
    body = sender().body("7", seq=7)
    return good(task="7").with_header(SIGNATURE, sender().sign(claims(body, sub=7)))


def _identity_cases() -> Iterator[Case]:
    digest = claims()["request_body_sha256"]
    for value in (
        ...,
        None,
        "",
        7,
        True,
        [digest],
        digest.upper(),
        "é" * 64,
        digest[:-1],
        digest[:32],
        "0x" + digest,
        digest + "\n",
        "0" * 64,
        hashlib.sha256(b"").hexdigest(),
        base64.b64encode(bytes.fromhex(digest)).decode(),
    ):
        yield case_of(f"claims: body hash {word(value)}", 401, "body_hash", with_claims(request_body_sha256=value))
    for seq in (..., None, True, False, "7", 7.0, 7.5, -1, 2**53, 10**30, [7]):
        yield case_of(f"claims: seq {word(seq)}", 401, "seq", with_claims(seq=seq))
    for msg in (..., None, "", 7, "a.b", "a b", "x" * 257, [MSG]):
        request = with_claims(msg=msg)
        yield case_of(f"claims: msg {word(msg)}", 401, "msg", request.with_header("webhook-id", str(msg).strip("[]'")))
    yield case_of("webhook-id swapped", 401, "msg_mismatch", good().with_header("webhook-id", "msg_ATTACKER"))
    yield case_of("webhook-id missing", 401, "msg_mismatch", good().with_header("webhook-id", None))
    yield case_of("webhook-id empty", 401, "msg_mismatch", good().with_header("webhook-id", ""))
