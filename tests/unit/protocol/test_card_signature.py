"""Signed cards: the canonical form (RFC 8785) and signatures that both SDKs' rules accept (SPEC 8.4)."""

import base64
import json
import math
import struct
from typing import Any

import jwt
import pytest
from a2a.types import AgentCard as SdkCard
from a2a.utils import _jcs as sdk_jcs
from a2a.utils.signing import InvalidSignaturesError, create_signature_verifier
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, utils
from google.protobuf.json_format import ParseDict  # type: ignore[import-untyped] # it has none
from hypothesis import given
from hypothesis import strategies as st
from jwt.algorithms import ECAlgorithm

from a2a_serverless.protocol import jcs
from a2a_serverless.protocol.authentication import Anonymous, Security
from a2a_serverless.protocol.card_signature import CardSigner, canonical_forms

from .door import PUBLIC_URL, Door, json_of

KEY = ec.derive_private_key(7, ec.SECP256R1())
PUBLIC: dict[str, Any] = {**ECAlgorithm.to_jwk(KEY.public_key(), as_dict=True), "kid": "card-1", "alg": "ES256"}


def sign(content: bytes) -> bytes:
    r, s = utils.decode_dss_signature(KEY.sign(content, ec.ECDSA(hashes.SHA256(), deterministic_signing=True)))
    return r.to_bytes(32, "big") + s.to_bytes(32, "big")


def signed_door() -> Door:
    return Door(card_signer=CardSigner(sign=sign, public_jwk=lambda: PUBLIC))


def verify(card: Any) -> None:
    keys: list[tuple[str | None, str | None]] = []

    def key(kid: str | None, jku: str | None) -> jwt.PyJWK:
        keys.append((kid, jku))
        return jwt.PyJWK(PUBLIC)

    create_signature_verifier(key, ["ES256"])(ParseDict(card, SdkCard(), ignore_unknown_fields=True))
    assert keys[0] == ("card-1", f"{PUBLIC_URL}/.well-known/agent-card-jwks.json")


@pytest.mark.parametrize("path", ["/", "/agents/tester"])
def test_the_sdk_verifies_the_card(path: str) -> None:
    verify(json_of(signed_door().request("GET", path)))


@pytest.mark.parametrize("path", ["/", "/agents/tester"])
def test_the_sdk_verifies_a_card_whose_scheme_has_no_scopes(path: str) -> None:
    class Unscoped(Anonymous):
        def security(self) -> Security:
            scheme = {"httpAuthSecurityScheme": {"scheme": "Bearer"}}
            return Security({"bearer": scheme}, ({"schemes": {"bearer": {}}},))

    door = Door(card_signer=signed_door().card_signer, authenticator=Unscoped())

    verify(json_of(door.request("GET", path)))


def test_the_sdk_refuses_a_card_that_was_changed() -> None:
    card = json_of(signed_door().request("GET", "/"))
    card["description"] += "!"

    with pytest.raises(InvalidSignaturesError):
        verify(card)


def test_the_protected_header_says_what_verifiers_ask_for() -> None:
    signature = json_of(signed_door().request("GET", "/"))["signatures"][0]

    header = json.loads(base64.urlsafe_b64decode(signature["protected"] + "=="))
    assert header == {
        "alg": "ES256",
        "kid": "card-1",
        "typ": "JOSE",
        "jku": f"{PUBLIC_URL}/.well-known/agent-card-jwks.json",
    }


def test_the_key_is_published_apart_from_those_of_webhooks() -> None:
    door = signed_door()

    assert json_of(door.request("GET", "/.well-known/agent-card-jwks.json"))["keys"] == [{**PUBLIC, "use": "sig"}]
    assert json_of(door.request("GET", "/.well-known/jwks.json")) == {"keys": []}


def test_signing_again_gives_the_same_bytes() -> None:
    assert signed_door().request("GET", "/").body == signed_door().request("GET", "/").body


def test_both_rules_have_their_signature_where_they_differ() -> None:
    plain = {"name": "n", "skills": [{"id": "s", "tags": ["t"]}], "signatures": [1]}
    empty = {"name": "n", "skills": [{"id": "s", "tags": []}], "capabilities": {}}

    assert canonical_forms(plain) == ('{"name":"n","skills":[{"id":"s","tags":["t"]}]}',)
    assert canonical_forms(empty) == (
        '{"name":"n","skills":[{"id":"s"}]}',
        '{"capabilities":{},"name":"n","skills":[{"id":"s","tags":[]}]}',
    )


@pytest.mark.parametrize(
    ("bits", "text"),
    [
        (0x0000000000000000, "0"),
        (0x8000000000000000, "0"),
        (0x0000000000000001, "5e-324"),
        (0x8000000000000001, "-5e-324"),
        (0x7FEFFFFFFFFFFFFF, "1.7976931348623157e+308"),
        (0xFFEFFFFFFFFFFFFF, "-1.7976931348623157e+308"),
        (0x4340000000000000, "9007199254740992"),
        (0xC340000000000000, "-9007199254740992"),
        (0x4430000000000000, "295147905179352830000"),
        (0x44B52D02C7E14AF5, "9.999999999999997e+22"),
        (0x44B52D02C7E14AF6, "1e+23"),
        (0x44B52D02C7E14AF7, "1.0000000000000001e+23"),
        (0x444B1AE4D6E2EF4E, "999999999999999700000"),
        (0x444B1AE4D6E2EF4F, "999999999999999900000"),
        (0x444B1AE4D6E2EF50, "1e+21"),
        (0x3EB0C6F7A0B5ED8C, "9.999999999999997e-7"),
        (0x3EB0C6F7A0B5ED8D, "0.000001"),
        (0x41B3DE4355555553, "333333333.3333332"),
        (0x41B3DE4355555554, "333333333.33333325"),
        (0x41B3DE4355555555, "333333333.3333333"),
        (0x41B3DE4355555556, "333333333.3333334"),
        (0x41B3DE4355555557, "333333333.33333343"),
        (0xBECBF647612F3696, "-0.0000033333333333333333"),
        (0x43143FF3C1CB0959, "1424953923781206.2"),
    ],
)
def test_numbers_are_written_as_the_rfc_lists_them(bits: int, text: str) -> None:
    assert jcs.number(struct.unpack(">d", bits.to_bytes(8, "big"))[0]) == text


def test_names_are_sorted_by_their_utf_16_and_text_escaped_as_ecmascript_does() -> None:
    value = {"\u20ac": 1, "\r": 2, "\ufb33": 3, "1": 4, "\U0001f600": 5, "\u0080": 6, "\u00f6": 'a"\\\u0007\n/é'}

    assert jcs.canonical(value) == (
        '{"\\r":2,"1":4,"\u0080":6,"\u00f6":"a\\"\\\\\\u0007\\n/é","\u20ac":1,"\U0001f600":5,"\ufb33":3}'
    )


@pytest.mark.parametrize("wrong", [math.nan, math.inf, {1: 2}, object(), {"a": b"x"}])
def test_what_is_no_json_has_no_canonical_form(wrong: object) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 (each says what it is about)
        jcs.canonical(wrong)


def test_what_is_nested_without_end_has_no_canonical_form() -> None:
    nested: object = 1
    for _ in range(200):
        nested = [nested]

    with pytest.raises(ValueError, match="deeper than 128"):
        jcs.canonical(nested)


json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.integers(1 - 2**53, 2**53 - 1)
    | st.text(),
    lambda children: st.lists(children, max_size=4) | st.dictionaries(st.text(), children, max_size=4),
    max_leaves=20,
)


@given(json_values)
def test_the_canonical_form_is_that_of_the_sdk(value: Any) -> None:
    assert jcs.canonical(value) == sdk_jcs.canonicalize(value)
