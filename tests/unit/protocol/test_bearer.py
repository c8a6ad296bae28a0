"""Bearer tokens: whose are taken, for whom they speak, and what everybody else is told (SPEC 7.4; RFC 6750, 8693)."""

import json
from base64 import urlsafe_b64encode
from datetime import timedelta
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from hypothesis import given
from hypothesis import strategies as st
from jwt.algorithms import ECAlgorithm, RSAAlgorithm

from a2a_serverless.protocol.authentication import Identity
from a2a_serverless.protocol.bearer import BearerTokens, Issuer
from a2a_serverless.protocol.faults import Refusal
from a2a_serverless.protocol.http import Request
from a2a_serverless.types import JsonObject
from tests.fakes import START, FakeClock

from .door import Door, json_of, message

KEY, OTHER = ec.derive_private_key(3, ec.SECP256R1()), ec.derive_private_key(5, ec.SECP256R1())
RSA = rsa.generate_private_key(65537, 2048)
ISSUER, AUDIENCE, URI = "https://issuer.example", "a2a", "https://issuer.example/jwks"


def public(key: Any, kid: str, **members: str) -> JsonObject:
    kind = RSAAlgorithm if isinstance(key, rsa.RSAPrivateKey) else ECAlgorithm
    return {**kind.to_jwk(key.public_key(), as_dict=True), "kid": kid, **members}


class Keys:
    """An issuer's address: what it answers, and how often it was asked."""

    def __init__(self, *keys: JsonObject) -> None:
        self.answer: bytes | Exception = json.dumps({"keys": keys}).encode()
        self.asked = 0

    def __call__(self, uri: str) -> bytes:
        assert uri == URI
        self.asked += 1
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


def made(keys: Keys | None = None, clock: FakeClock | None = None, **issuer: Any) -> BearerTokens:
    trusted = Issuer(**{"issuer": ISSUER, "audience": AUDIENCE, "jwks_uri": URI, **issuer})
    return BearerTokens((trusted,), keys or Keys(public(KEY, "k1")), clock or FakeClock())


def token(key: Any = KEY, *, algorithm: str = "ES256", header: JsonObject | None = None, **claims: Any) -> str:
    now = int(START.timestamp())
    told = {"iss": ISSUER, "aud": AUDIENCE, "sub": "alice", "iat": now, "exp": now + 60, **claims}
    kept = {name: value for name, value in told.items() if value is not None}
    headers = {name: value for name, value in {"kid": "k1", "typ": "JWT", **(header or {})}.items() if value}
    return jwt.api_jws.encode(json.dumps(kept).encode(), key, algorithm=algorithm, headers=headers)


def who(tokens: BearerTokens, bearer: str, scheme: str = "Bearer") -> Identity | Refusal:
    return tokens.authenticate(Request("GET", "/", headers={"authorization": f"{scheme} {bearer}"}))


def test_a_good_token_says_who_calls() -> None:
    identity = who(made(), token(tenant="acme", scope="a2a pay", act={"sub": "buyer-agent"}))

    assert identity == Identity(
        subject="alice", tenant="acme", actors=("buyer-agent",), scopes=frozenset({"a2a", "pay"})
    )


@pytest.mark.parametrize("scheme", ["Bearer", "bearer", "BEARER"])
def test_the_scheme_is_read_in_any_case(scheme: str) -> None:
    assert isinstance(who(made(), token(), scheme), Identity)


@pytest.mark.parametrize(
    "bad",
    [
        token(OTHER),
        token(iss="https://evil.example"),
        token(iss=None),
        token(iss=["https://issuer.example"]),
        token(aud="another"),
        token(aud=None),
        token(aud=["another"]),
        token(exp=None),
        token(exp=int(START.timestamp()) - 31),
        token(nbf=int(START.timestamp()) + 60),
        token(iat=int(START.timestamp()) + 60),
        token(exp="soon"),
        token(exp=True),
        token(sub=None),
        token(sub=""),
        token(sub="  "),
        token(sub="x" * 256),
        token(sub="a\u0000b"),
        token(tenant=7),
        token(tenant="t" * 256),
        token(act="agent"),
        token(act={"sub": ""}),
        token(act={}),
        token(header={"kid": "k2"}),
        token(header={"typ": "a2a-push+jwt"}),
        token(header={"crit": ["x"], "x": 1}),
        token("secret" * 8, algorithm="HS256"),
        token(RSA, algorithm="RS256"),
        jwt.encode({"iss": ISSUER, "aud": AUDIENCE, "sub": "alice", "exp": 2**33}, "", algorithm="none"),
        "",
        "x",
        "a.b.c",
        "....",
        token() + "x",
        "x" * 10_000,
        token()[:-4] + "AAAA",
    ],
)
def test_a_bad_token_is_refused_with_a_challenge_and_no_reason(bad: str) -> None:
    refused = who(made(), bad)

    assert isinstance(refused, Refusal)
    assert refused.status == 401
    assert refused.headers["www-authenticate"].startswith('Bearer realm="a2a"')
    assert "signature" not in refused.message


@pytest.mark.parametrize("header", ["", "Basic YTpi", "Bearer", "Bearer "])
def test_who_shows_no_token_is_asked_for_one(header: str) -> None:
    refused = made().authenticate(Request("GET", "/", headers={"authorization": header}))

    assert isinstance(refused, Refusal)
    assert refused.headers == {"www-authenticate": 'Bearer realm="a2a"'}
    assert refused.message == "send a token of a trusted issuer, as `Authorization: Bearer TOKEN`"


def test_an_audience_may_be_one_of_several_and_a_clock_a_little_off() -> None:
    now = int(START.timestamp())

    assert isinstance(who(made(), token(aud=["x", AUDIENCE], exp=now - 29, iat=now + 29, nbf=now + 29)), Identity)


def test_a_longer_chain_than_the_deployment_allows_is_forbidden() -> None:
    chain = {"sub": "buyer", "act": {"sub": "broker"}}

    refused = who(made(), token(act=chain))
    allowed = BearerTokens(
        (Issuer(issuer=ISSUER, audience=AUDIENCE, jwks_uri=URI),),
        Keys(public(KEY, "k1")),
        FakeClock(),
        max_delegation_depth=2,
    )

    assert isinstance(refused, Refusal)
    assert refused.status == 403
    identity = who(allowed, token(act=chain))
    assert isinstance(identity, Identity)
    assert identity.actors == ("buyer", "broker")


@pytest.mark.parametrize("claims", [{}, {"scope": "a2a"}, {"scp": ["a2a"]}])
def test_a_missing_scope_is_forbidden_and_named(claims: JsonObject) -> None:
    refused = who(made(required_scopes=["a2a", "pay"]), token(**claims))

    assert isinstance(refused, Refusal)
    assert refused.status == 403
    assert 'error="insufficient_scope"' in refused.headers["www-authenticate"]
    assert 'scope="a2a pay"' in refused.headers["www-authenticate"]
    assert isinstance(who(made(required_scopes=["a2a"]), token(scp=["a2a", 7])), Identity)


def test_a_key_is_for_the_algorithm_it_says_and_no_other() -> None:
    keys = Keys(public(RSA, "k1", alg="PS256"))

    assert isinstance(who(made(keys), token(RSA, algorithm="PS256")), Identity)
    assert isinstance(who(made(keys), token(RSA, algorithm="RS256")), Refusal)


def test_the_only_key_need_not_be_named() -> None:
    unnamed = {name: value for name, value in public(KEY, "").items() if name != "kid"}

    assert isinstance(who(made(Keys(unnamed)), token(header={"kid": None})), Identity)
    assert isinstance(who(made(Keys(unnamed, unnamed)), token(header={"kid": "k2"})), Refusal)


def test_keys_may_be_given_instead_of_fetched() -> None:
    keys = Keys()

    tokens = made(keys, jwks={"keys": [public(KEY, "k1")]}, jwks_uri="")

    assert isinstance(who(tokens, token()), Identity)
    assert keys.asked == 0


def test_unusable_keys_spoil_no_set() -> None:
    assert isinstance(who(made(Keys(public(KEY, "k1", use="enc"))), token()), Refusal)
    noise: list[Any] = [None, 7, {"kty": "oct", "k": "c2VjcmV0", "kid": "k1", "alg": "HS256"}, {"kty": "EC"}]
    keys = Keys(*noise, public(KEY, "k1", use="enc"), public(KEY, "k1", use="sig"))

    assert isinstance(who(made(keys), token()), Identity)


def test_keys_are_asked_for_once_and_again_when_they_are_old() -> None:
    keys, clock = Keys(public(KEY, "k1")), FakeClock()
    tokens = made(keys, clock)

    for _ in range(5):
        who(tokens, token())
    once = keys.asked
    clock.advance(timedelta(minutes=11))
    who(tokens, token())

    assert (once, keys.asked) == (1, 2)


def test_unknown_keys_make_us_ask_once_a_minute_however_many_there_are() -> None:
    keys, clock = Keys(public(KEY, "k1")), FakeClock()
    tokens = made(keys, clock)
    who(tokens, token())

    clock.advance(timedelta(seconds=61))
    for number in range(50):
        who(tokens, token(header={"kid": f"x{number}"}))

    assert keys.asked == 2


def test_a_new_key_is_found_when_it_is_first_used() -> None:
    keys, clock = Keys(public(OTHER, "k0")), FakeClock()
    tokens = made(keys, clock)
    assert isinstance(who(tokens, token()), Refusal)

    keys.answer = json.dumps({"keys": [public(KEY, "k1")]}).encode()
    clock.advance(timedelta(seconds=61))

    assert isinstance(who(tokens, token(exp=int(START.timestamp()) + 600)), Identity)


@pytest.mark.parametrize("answer", [OSError("down"), ValueError("404"), b"[]", b"{", b"x" * 70_000])
def test_old_keys_serve_while_an_issuer_is_away_and_without_any_we_say_try_again(answer: Any) -> None:
    keys, clock = Keys(public(KEY, "k1")), FakeClock()
    tokens = made(keys, clock)
    never_had = made(bad := Keys(), FakeClock())
    bad.answer = answer
    late = token(exp=int(START.timestamp()) + 10**6)
    who(tokens, late)

    keys.answer = answer
    clock.advance(timedelta(hours=23))
    served = who(tokens, late)
    clock.advance(timedelta(hours=2))
    refused, first = who(tokens, late), who(never_had, late)

    assert isinstance(served, Identity)
    for away in (refused, first):
        assert isinstance(away, Refusal)
        assert away.status == 503
        assert away.headers["retry-after"] == "5"


@given(st.text() | st.binary().map(lambda content: ".".join([urlsafe_b64encode(content).decode()] * 3)))
def test_no_token_whatever_makes_it_stumble(bearer: str) -> None:
    assert isinstance(who(made(), bearer), Refusal)


# At the door


def test_operations_ask_for_a_token_on_the_transport_and_cards_do_not() -> None:
    door = Door(authenticator=made())

    rpc = door.post({"jsonrpc": "2.0", "id": 1, "method": "ListTasks"})
    rest = door.rest("GET", "/v1/tasks/x", version=None)

    for refused in (rpc, rest, door.rest("GET", "/extendedAgentCard")):
        assert refused.status == 401
        assert refused.headers["www-authenticate"].startswith("Bearer ")
        assert json_of(refused)["error"]["status"] == "UNAUTHENTICATED"
    assert door.request("GET", "/.well-known/agent-card.json").status == 200
    assert door.request("GET", "/.well-known/jwks.json").status == 200


def test_whose_task_it_is_comes_from_the_token() -> None:
    door = Door(authenticator=made())
    alice, bob = {"authorization": f"Bearer {token()}"}, {"authorization": f"Bearer {token(sub='bob')}"}

    task = door.result("SendMessage", {"message": message("ask")}, **alice)["task"]["id"]

    assert door.result("GetTask", {"id": task}, **alice)["id"] == task
    assert door.error("GetTask", {"id": task}, **bob)["code"] == -32001
    assert door.error("GetTask", {"id": task, "tenant": "acme"}, **alice)["code"] == -32001


def test_the_card_declares_the_scheme_and_its_scopes() -> None:
    door = Door(authenticator=made(required_scopes=["a2a"]))

    card = json_of(door.request("GET", "/agents/tester"))

    assert card["securitySchemes"]["bearer"]["httpAuthSecurityScheme"]["scheme"] == "Bearer"
    assert card["securityRequirements"] == [{"schemes": {"bearer": {"list": ["a2a"]}}}]


def test_tokens_are_never_logged(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("DEBUG")
    bad = token(aud="another")

    who(made(), bad)

    assert "made for another audience" in str([vars(record) for record in caplog.records])
    assert bad not in str([vars(record) for record in caplog.records])
