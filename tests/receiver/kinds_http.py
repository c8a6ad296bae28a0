"""Hostile methods, headers and ownership checks."""

from collections.abc import Iterator
from dataclasses import replace

from tests.receiver.harness import Case, Sent
from tests.receiver.making import (
    AUDIENCE,
    NOW,
    PENDING,
    SIGNATURE,
    TOKEN,
    case_of,
    good,
    renamed,
    with_signed_body,
    word,
)


def http_cases() -> Iterator[Case]:
    for method in ("PUT", "PATCH", "DELETE", "HEAD", "TRACE", "post", ""):
        yield case_of(f"method {method or 'empty'}", 405, "method", replace(good(), method=method))
    for value in ("-1", "+225", "2_25", "0x10", "2e2", "", " ", "225, 225", "225,225", "٢٢٥", "99 99"):
        name = f"Content-Length {word(value)}"
        yield case_of(name, 400, "content_length", good().with_header("Content-Length", value))
    for value in ("65537", "1" + "0" * 30, "10485760", "0000000000000000000000065537", "9" * 18, "9" * 5000):
        name = f"Content-Length {value[:30]}"
        yield case_of(name, 413, "too_large", good().with_header("Content-Length", value))
    padded = good().body + b" " * (65536 - len(good().body))
    yield case_of("body as large as allowed", 202, "accepted", with_signed_body(padded))
    unmeasured = with_signed_body(padded + b" ").with_header("Content-Length", None)
    yield case_of("body too large, no length, rightly signed", 413, "too_large", unmeasured)
    yield case_of("body in chunks", 202, "accepted", good().with_header("Content-Length", None))
    for name in (
        SIGNATURE,
        "webhook-id",
        "X-A2A-Notification-Token",
        "Content-Type",
        "Content-Length",
        "Authorization",
        "webhook-timestamp",
    ):
        yield _twice(name)
    for value in ("x\r\ny: 1", "x\x00", "x\x7f", "x\ty", "é", "x\x80", "\u2028"):
        request = good().with_header("Authorization", value)
        yield case_of(f"header with {word(value)}", 400, "header_charset", request)
    yield case_of(
        "header name with a Kelvin sign",
        401,
        "msg_mismatch",
        renamed(good(), lambda name: name.replace("webhook", "webhoo\u212a")),
    )
    yield from _content_cases()
    yield from _token_header_cases()
    yield from _challenge_cases()


def _twice(name: str) -> Case:
    value = good().header(name) or "x"
    twice = replace(
        good().with_header(name, value), headers=(*good().with_header(name, value).headers, (name.lower(), value))
    )
    return case_of(f"twice: {name}", 400, "duplicate_header", twice)


def _content_cases() -> Iterator[Case]:
    for value in (
        "application/json",
        "Application/JSON",
        "application/a2a+json ; charset=UTF-8",
        'application/json;charset="utf-8"',
        "application/json; profile=x",
    ):
        yield case_of(
            f"control: content type {word(value)}", 202, "accepted", good().with_header("Content-Type", value)
        )
    for value in (
        "text/plain",
        "",
        "application/x-www-form-urlencoded",
        "multipart/form-data; boundary=x",
        "application/jsonx",
        "application/a2a",
        "json",
        "application/json; charset=utf-16",
        "application/json; charset=latin-1",
        "application/secevent+jwt",
    ):
        yield case_of(f"content type {word(value)}", 415, "content_type", good().with_header("Content-Type", value))
    yield case_of("content type missing", 415, "content_type", good().with_header("Content-Type", None))
    yield case_of(
        "content type joined copies",
        400,
        "duplicate_header",
        good().with_header("Content-Type", "application/json, application/json"),
    )
    for value in ("gzip", "deflate", "br", "gzip, identity", "x"):
        yield case_of(
            f"content encoding {value}", 415, "content_encoding", good().with_header("Content-Encoding", value)
        )
    yield case_of(
        "control: content encoding identity", 202, "accepted", good().with_header("Content-Encoding", "identity")
    )


def _token_header_cases() -> Iterator[Case]:
    name = "X-A2A-Notification-Token"
    for value in (None, "", "tok_WRONG", TOKEN[:-1], TOKEN + "x", TOKEN.upper(), f"{TOKEN},{TOKEN}", f"{TOKEN} "):
        yield case_of(f"token header {word(value)}", 401, "token", good().with_header(name, value))
    renamed = good().with_header(name, None).with_header("A2A-Notification-Token", TOKEN)
    yield case_of("control: token under its other name", 202, "accepted", renamed)
    yield case_of(
        "token under both names", 400, "duplicate_header", good().with_header("A2A-Notification-Token", TOKEN)
    )
    free = good().with_header(name, None)
    yield case_of("control: no token configured", 202, "accepted", free, fx={"notification_token": None})


def _challenge_cases() -> Iterator[Case]:
    def asks(query: str, method: str = "GET", **headers: str) -> Sent:
        return Sent(method, AUDIENCE, list(headers.items()), b"", NOW, query)

    yield case_of("control: expected validation token", 200, "challenge", asks(f"validationToken={PENDING}"))
    yield case_of("control: with another parameter", 200, "challenge", asks(f"a=1&validationToken={PENDING}"))
    for query in ("", "a=1", "validationtoken=" + PENDING):
        yield case_of(f"GET with {query[:20] or 'nothing'}", 405, "method", asks(query))
    twice = f"validationToken={PENDING}&validationToken={PENDING}"
    for query in (
        "validationToken=",
        "validationToken=%3Cscript%3E",
        "validationToken=" + "0" * 64,
        f"validationToken={PENDING[:-1]}",
        f"validationToken={PENDING}%0d%0aX:1",
        "validationToken=" + "x" * 129,
        "validationToken=%ff",
        "&".join(["validationToken=x"] * 30),
    ):
        yield case_of(
            f"GET with {query[16:90].replace('/', '_') or 'an empty token'}", 400, "bad_challenge", asks(query)
        )
    # A gateway that keeps one value of a repeated parameter hides the other, so this one is for the core.
    yield case_of("core only: GET with the token twice", 400, "bad_challenge", asks(twice))
    for pending in ("short", "<script>alert(1)</script>"):
        query = "validationToken=" + pending.replace("<", "%3C").replace(">", "%3E")
        yield case_of(
            f"GET with a token expected as {word(pending)}",
            400,
            "bad_challenge",
            asks(query),
            fx={"pending_validation": pending},
        )
    yield case_of(
        "GET with nothing pending",
        400,
        "bad_challenge",
        asks(f"validationToken={PENDING}"),
        fx={"pending_validation": None},
    )
    with_origin = asks("", "OPTIONS", **{"WebHook-Request-Origin": "a2a.example.com"})
    expected = {"pending_origin": "a2a.example.com"}
    yield case_of("control: OPTIONS of an expected origin", 200, "challenge", with_origin, fx=expected)
    yield case_of("OPTIONS of an origin that is not expected", 400, "bad_challenge", with_origin)
    nothing = {"pending_validation": None}
    yield case_of("OPTIONS with nothing pending", 400, "bad_challenge", with_origin, fx=nothing)
    odd = asks("", "OPTIONS", **{"WebHook-Request-Origin": "a b"})
    yield case_of("OPTIONS of an odd origin, expected", 400, "bad_challenge", odd, fx={"pending_origin": "a b"})
    yield case_of("OPTIONS without an origin", 405, "method", asks("", "OPTIONS"))
    for origin in ("evil.example", "a b", "*", "x" * 300):
        request = asks("", "OPTIONS", **{"WebHook-Request-Origin": origin})
        yield case_of(f"OPTIONS of {origin[:20]}", 400, "bad_challenge", request)
