"""Whatever comes in: a status, at most one nudge, and never an exception."""

import json
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from a2a_receiver import ConfigError, MemoryStore, Nudge, Receiver, StandardWebhooks, TokenOnly
from a2a_receiver.adapters.aws_lambda import push_handler
from a2a_receiver.strict_json import NotStrictJson, loads
from a2a_receiver.urls import configured_url
from tests.receiver.making import LONG_TOKEN, NOW, SECRET, SIGNATURE, TASK, good, hmac_request, sender

SIGNED_HEADERS = (SIGNATURE, "webhook-id", "X-A2A-Notification-Token")
STATUSES = {200, 202, 400, 401, 405, 413, 415, 503}

FUZZ = settings(deadline=None, max_examples=100, suppress_health_check=[HealthCheck.too_slow])

headers = st.lists(
    st.tuples(
        st.one_of(
            st.sampled_from([name for name, _ in good().headers]),
            st.sampled_from(["authorization", "webhook-signature", "webhook-timestamp", "content-encoding"]),
            st.text(max_size=20),
        ),
        st.one_of(st.sampled_from([value for _, value in good().headers]), st.text(max_size=80)),
    ),
    max_size=12,
)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=12,
)


def receiver(nudges: list[Nudge], proof: Any = None) -> Receiver:
    strict = sender().strict()
    return Receiver(proof or strict, enqueue=nudges.append, store=MemoryStore(), observe=lambda _: None)


@FUZZ
@given(at=st.integers(0, 10_000), change=st.integers(1, 255))
def test_a_body_with_any_byte_changed_is_refused(at: int, change: int) -> None:
    nudges: list[Nudge] = []
    body = bytearray(good().body)
    body[at % len(body)] ^= change

    answer = receiver(nudges).handle("POST", good().headers, bytes(body), now=NOW)

    assert (answer.status, nudges) == (401, [])


@FUZZ
@given(name=st.sampled_from(SIGNED_HEADERS), at=st.integers(0, 10_000), change=st.integers(1, 127))
def test_a_proof_with_any_character_changed_is_refused(name: str, at: int, change: int) -> None:
    nudges: list[Nudge] = []
    value = good().header(name)
    at %= len(value)
    changed = value[:at] + chr(ord(value[at]) ^ change) + value[at + 1 :]

    answer = receiver(nudges).handle("POST", good().with_header(name, changed).headers, good().body, now=NOW)

    assert answer.status in (400, 401)
    assert nudges == []


@FUZZ
@given(at=st.integers(0, 10_000), change=st.integers(1, 255), in_body=st.booleans())
def test_an_hmac_request_with_any_byte_changed_is_refused(at: int, change: int, in_body: bool) -> None:
    nudges: list[Nudge] = []
    request = hmac_request()
    body, signature = bytearray(request.body), bytearray(request.header("webhook-signature").encode())
    changed = body if in_body else signature
    changed[at % len(changed)] ^= change
    request = request.with_header("webhook-signature", signature.decode("latin-1"))

    proof = StandardWebhooks(secrets=[SECRET])
    answer = receiver(nudges, proof).handle("POST", request.headers, bytes(body), now=NOW)

    assert answer.status in (400, 401)
    assert nudges == []


@FUZZ
@given(cut=st.integers(0, 600), more=st.text(max_size=20))
def test_a_token_cut_or_lengthened_is_refused(cut: int, more: str) -> None:
    nudges: list[Nudge] = []
    value = good().header(SIGNATURE)
    changed = value[: cut % len(value)] + more
    if changed == value:
        return

    answer = receiver(nudges).handle("POST", good().with_header(SIGNATURE, changed).headers, good().body, now=NOW)

    assert answer.status in (400, 401)


@FUZZ
@given(
    method=st.sampled_from(["POST", "GET", "OPTIONS"]) | st.text(max_size=9),
    pairs=headers,
    body=st.binary(max_size=300),
    query=st.text(max_size=60),
    now=st.floats(0, 1e11),
)
def test_garbage_gives_a_status_and_no_nudge(
    method: str, pairs: list[tuple[str, str]], body: bytes, query: str, now: float
) -> None:
    for proof in (None, StandardWebhooks(secrets=[SECRET]), TokenOnly(notification_tokens=[LONG_TOKEN])):
        nudges: list[Nudge] = []

        answer = receiver(nudges, proof).handle(method, pairs, body, now=now, query=query)

        assert answer.status in STATUSES - {200, 202, 503}
        assert (nudges, answer.body) == ([], b"")


@FUZZ
@given(value=json_values)
def test_any_json_under_a_right_signature_gives_a_status_and_at_most_one_nudge(value: Any) -> None:
    nudges: list[Nudge] = []
    body = json.dumps(value).encode()
    claims = sender().claims(TASK, body, seq=7, now=NOW)
    request = good().with_body(body).with_header(SIGNATURE, sender().sign(claims))

    answer = receiver(nudges).handle("POST", request.with_header("webhook-id", "msg_test").headers, body, now=NOW)

    assert answer.status in (400, 401)
    assert nudges == []


@FUZZ
@given(
    claims=st.dictionaries(
        st.sampled_from(["iss", "aud", "sub", "jti", "msg", "seq", "iat", "exp", "nbf", "request_body_sha256"]),
        json_values,
    )
)
def test_any_claims_under_a_right_signature_give_a_status(claims: dict[str, Any]) -> None:
    nudges: list[Nudge] = []
    right = sender().claims(TASK, good().body, seq=7, now=NOW, message_id=good().header("webhook-id"))
    payload = json.dumps(right | claims).encode()
    head = json.dumps({"alg": "ES256", "kid": "test-es", "typ": "a2a-push+jwt"}).encode()
    request = good().with_header(SIGNATURE, sender().sign_bytes(head, payload))

    answer = receiver(nudges).handle("POST", request.headers, good().body, now=NOW)

    assert answer.status in (202, 401)
    assert len(nudges) == (answer.status == 202)


@FUZZ
@given(
    event=json_values
    | st.fixed_dictionaries(
        {
            "version": st.just("2.0"),
            "requestContext": json_values,
            "headers": json_values,
            "body": json_values,
            "isBase64Encoded": json_values,
            "rawQueryString": json_values,
        }
    )
    | st.fixed_dictionaries(
        {
            "httpMethod": st.just("POST") | json_values,
            "multiValueHeaders": json_values,
            "headers": json_values,
            "body": json_values,
            "isBase64Encoded": json_values,
            "multiValueQueryStringParameters": json_values,
            "queryStringParameters": json_values,
            "requestContext": json_values,
        }
    )
)
def test_any_lambda_event_gives_an_answer(event: Any) -> None:
    nudges: list[Nudge] = []

    answer = push_handler(receiver(nudges), clock=lambda: NOW)(event, None)

    assert answer["statusCode"] in STATUSES - {200, 202}
    assert nudges == []


@FUZZ
@given(data=st.binary(max_size=200) | json_values.map(lambda value: json.dumps(value).encode()))
def test_strict_json_reads_what_json_reads_or_says_no(data: bytes) -> None:
    try:
        value = loads(data)
    except NotStrictJson:
        return

    assert json.dumps(value) == json.dumps(json.loads(data))


@FUZZ
@given(
    url=st.text(max_size=60)
    | st.text(alphabet="https:/.@#[]%a1 \\\t\n", max_size=40).map(lambda rest: "https://" + rest)
)
def test_any_configured_url_is_taken_or_refused_by_one_exception(url: str) -> None:
    try:
        parts = configured_url(url, "audience", allow_loopback_http=False)
    except ConfigError:
        return

    assert (parts.scheme, parts.username, parts.fragment) == ("https", None, "")
    assert parts.hostname


def test_the_fuzzed_request_is_right_before_it_is_changed() -> None:
    nudges: list[Nudge] = []

    strict = receiver(nudges).handle("POST", good().headers, good().body, now=NOW)
    by_hmac = receiver(nudges, StandardWebhooks(secrets=[SECRET])).handle(*hmac_request().parts, now=NOW)

    assert (strict.status, by_hmac.status, len(nudges)) == (202, 202, 2)
