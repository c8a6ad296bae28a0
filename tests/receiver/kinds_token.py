"""Hostile strict tokens: their text, header, signature, and the keys they point at."""

import base64
import hashlib
import hmac
import json
from collections.abc import Iterator

import jwt
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa

from a2a_receiver.testing import ES_KID, RS_KID, Sender, encode_part, unsigned
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
    compat,
    good,
    header,
    key_set,
    raw_token,
    renamed,
    sender,
    signed_text,
    with_claims,
    with_jose,
    with_token,
    word,
)


def token_cases() -> Iterator[Case]:
    right = good().header(SIGNATURE)
    head, payload, signature = right.split(".")
    yield case_of("control: a 1.0 body", 202, "accepted", good())
    yield case_of("control: a 0.3 body", 202, "accepted", good(version="0.3"))
    yield case_of("control: as the kit sends it", 202, "accepted", sender().nudge(TASK, seq=7, now=NOW, message_id=MSG))
    yield case_of("control: header names in any case", 202, "accepted", renamed(good(), str.upper))
    for name, token in {
        "padding": right + "=",
        "two paddings": right + "==",
        "leading space": " " + right,
        "trailing space": right + " ",
        "space inside": f"{head}. {payload}.{signature}",
        "two parts": f"{head}.{payload}",
        "four parts": right + ".x",
        "five parts": "a.b.c.d.e",
        "dots only": "..",
        "no header": f".{payload}.{signature}",
        "standard alphabet": right[:-8] + "+/+/+/+/",
        "quoted": f'"{right}"',
        "bearer": f"Bearer {right}",
        "impossible length": f"{head}.{payload}.{signature}AAA",
        "percent": right.replace(".", "%2E"),
        "header of impossible length, signed": signed_text("AAAAA", payload),
        "payload of impossible length, signed": signed_text(head, "AAAAA"),
        "header respelt, signed": signed_text(head[:-1] + _respelt(head[-1]), payload),
        "payload respelt, signed": signed_text(head, payload[:-1] + _respelt(payload[-1])),
        "detached payload": f"{head}..{signature}",
    }.items():
        yield case_of(f"token text: {name}", 401, "jws_format", with_token(token))
    yield case_of("token text: last character respelt", 401, "jws_format", with_token(right[:-1] + _respelt(right[-1])))
    for joint in (",", ", "):
        joined = with_token(f"{right}{joint}{right}")
        yield case_of(f"token text: copies joined by {word(joint)}", 400, "duplicate_header", joined)
    yield case_of("token missing", 401, "no_signature", good().with_header(SIGNATURE, None))
    yield case_of("token empty", 401, "no_signature", with_token(""))
    yield case_of("token too long but right", 401, "jws_format", with_claims(more="x" * 4096))
    for name, raw in {
        "not JSON": b"{",
        "a list": b'["alg"]',
        "a number": b"1",
        "alg twice": header()[:-1] + b', "alg": "none"}',
        "NaN": header()[:-1] + b', "x": NaN}',
        "nested": b"[" * 1500 + b"]" * 1500,
        "BOM": b"\xef\xbb\xbf" + header(),
        "UTF-16": header().decode().encode("utf-16"),
    }.items():
        token = raw_token(raw, json.dumps(claims()).encode())
        yield case_of(f"token header: {name}", 401, "jws_format", with_token(token))
    for name in ("jku", "jwk", "x5u", "x5c", "x5t", "crit", "b64", "cty", "zip", "iss", "nonce", "Alg"):
        yield case_of(f"token header: extra {name}", 401, "jws_header_params", with_jose(**{name: "x"}))
    for alg in (
        "none",
        "None",
        "NONE",
        "",
        ...,
        None,
        0,
        ["ES256"],
        "es256",
        "HS256",
        "RS256",
        "PS256",
        "ES384",
        "EdDSA",
    ):
        yield case_of(f"token header: alg {word(alg)} over a right signature", 401, "alg", with_jose(alg=alg))
    for typ in (..., None, "", "JWT", "at+jwt", "A2A-PUSH+JWT", "application/a2a-push+jwt", "secevent+jwt", ["JWT"]):
        yield case_of(f"token header: typ {word(typ)}", 401, "typ", with_jose(typ=typ))
    yield from _kid_cases()


def _kid_cases() -> Iterator[Case]:
    for kid in (..., None, "", 7, [ES_KID], "../../etc/passwd", "' OR 1=1", "x\n", "x\x00", "é", "k" * 129, ".hidden"):
        yield case_of(f"token header: kid {word(kid)}", 401, "kid", with_jose(kid=kid), max_jwks_fetches=0)
    for kid in ("-thumbprint", "_thumbprint", "k" * 128, "0"):
        named = {"jwks": {"keys": [key_set()["keys"][0] | {"kid": kid}]}}
        yield case_of(f"control: kid {word(kid)}", 202, "accepted", with_jose(kid=kid), fx=named)
    yield case_of("kid unknown", 401, "unknown_kid", with_jose(kid="other"), max_jwks_fetches=1)
    many = [with_jose(kid=f"zz{number}") for number in range(20)]
    yield case_of("kids unknown, many", 401, "unknown_kid", *many, max_jwks_fetches=1)
    yield case_of("kid unknown, keys down", 503, "jwks_unavailable", with_jose(kid="other"), jwks_down=True)
    yield case_of("kid known, keys down", 202, "accepted", good(), jwks_down=True)
    yield case_of("kid of an RSA key", 401, "alg_key_mismatch", with_jose(kid=RS_KID), max_jwks_fetches=0)
    yield case_of("kid of an encryption key", 401, "alg_key_mismatch", with_jose(kid="enc-1"), max_jwks_fetches=0)


def _respelt(character: str) -> str:
    """Another base64url character for the same two bits."""
    alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
    return alphabet[alphabet.index(character) | 1]


def signature_cases() -> Iterator[Case]:
    right = good().header(SIGNATURE)
    signing_input, _, signature = right.rpartition(".")
    raw = base64.urlsafe_b64decode(signature + "==")
    stranger = ec.generate_private_key(ec.SECP256R1())
    for name, bad in {
        "first byte changed": bytes([raw[0] ^ 1]) + raw[1:],
        "last byte changed": raw[:-1] + bytes([raw[-1] ^ 1]),
        "truncated": raw[:48],
        "one byte more": raw + b"\0",
        "halves swapped": raw[32:] + raw[:32],
        "all zero": bytes(64),
        "all ones": b"\xff" * 64,
        "as DER": stranger.sign(b"", ec.ECDSA(jwt.algorithms.ECAlgorithm.SHA256())),
        "empty": b"",
    }.items():
        token = f"{signing_input}.{encode_part(bad)}"
        yield case_of(f"signature: {name}", 401, "signature", with_token(token))
    forged = jwt.encode(claims(), stranger, "ES256", headers={"kid": ES_KID, "typ": "a2a-push+jwt"})
    yield case_of("signature: of a stranger", 401, "signature", with_token(forged))
    other = sender().sign(claims(seq=8)).rpartition(".")[2]
    yield case_of("signature: of another token", 401, "signature", with_token(f"{signing_input}.{other}"))
    public = sender().es_key.public_key()
    pem = public.public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
    der = public.public_bytes(serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo)
    for name, secret in {
        "PEM": pem,
        "PEM with CRLF": pem.replace(b"\n", b"\r\n"),
        "DER": der,
        "JWK": json.dumps(key_set()["keys"][0]).encode(),
        "JWKS": json.dumps(key_set()).encode(),
        "nothing": b"",
    }.items():
        head = encode_part(header(alg="HS256"))
        body = encode_part(json.dumps(claims()).encode())
        mac = hmac.digest(secret, f"{head}.{body}".encode(), hashlib.sha256)
        yield case_of(f"HS256 keyed with {name}", 401, "alg", with_token(f"{head}.{body}.{encode_part(mac)}"))
    yield case_of("alg none without signature", 401, "alg", with_token(unsigned(claims(), signature=b"")))
    yield from _key_cases()


def _key_cases() -> Iterator[Case]:
    es = key_set()["keys"][0]
    rs = key_set()["keys"][1]
    small_key = rsa.generate_private_key(65537, 1024)
    small = jwt.algorithms.RSAAlgorithm.to_jwk(small_key.public_key(), as_dict=True)

    private = jwt.algorithms.ECAlgorithm.to_jwk(sender().es_key, as_dict=True)

    def published(name: str, *entries: object, status: int = 401, reason: str = "alg_key_mismatch") -> Case:
        return case_of(f"key set: {name}", status, reason, good(), fx={"jwks": {"keys": list(entries)}})

    yield published(
        "our key among bad entries",
        7,
        None,
        {},
        {"kid": 7},
        {"kid": "x", "kty": "EC"},
        es,
        status=202,
        reason="accepted",
    )
    yield published("same kid for another algorithm first", rs | {"kid": ES_KID}, es, status=202, reason="accepted")
    yield published("use missing", {k: v for k, v in es.items() if k != "use"})
    yield published("use enc", es | {"use": "enc"})
    yield published("alg missing", {k: v for k, v in es.items() if k != "alg"})
    yield published("alg of another kind", es | {"alg": "ES384"})
    yield published("kty oct", es | {"kty": "oct", "k": "AAAA"})
    yield published("curve of another kind", es | {"crv": "P-384"})
    yield published("point not on the curve", es | {"x": es["y"]})
    yield published("coordinate too short", es | {"x": "AAAA"})
    yield published("private key published", es | private)
    yield published("not for verifying", es | {"key_ops": ["sign"]})
    yield published("key_ops not a list", es | {"key_ops": "verify"})
    yield published("key_ops of verifying", es | {"key_ops": ["verify"]}, status=202, reason="accepted")
    weak = small | {"kid": RS_KID, "use": "sig", "alg": "RS256"}
    weak_sender = Sender(issuer=ISSUER, audience=AUDIENCE)
    weak_sender.rs_key = small_key
    signed = weak_sender.sign_compat(sender().compat_claims(claims()))
    request = compat().with_header("Authorization", f"Bearer {signed}")
    world = {"mode": "compat", "fx": {"jwks": {"keys": [weak]}}}
    yield case_of("key set: RSA key too small", 401, "alg_key_mismatch", request, **world)
    for name, document in {
        "not an object": [],
        "keys missing": {},
        "keys not a list": {"keys": {"0": es}},
        "too many": {"keys": [es] * 101},
    }.items():
        yield case_of(f"key set: {name}", 503, "jwks_unavailable", good(), fx={"jwks": document})
