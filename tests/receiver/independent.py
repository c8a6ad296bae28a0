"""Verifiers that share no code with the receiver, for any captured request: the sender's, or our testing kit's.

`captured_problems` runs them all, so that a test of the real sender needs one line.
"""

import hashlib
import hmac
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import a2a.compat.v0_3.types as a2a_v03
import jwt
import standardwebhooks
import svix.webhooks
from a2a.types import StreamResponse
from google.protobuf.json_format import ParseDict  # type: ignore[import-untyped]  # protobuf ships no types


@dataclass(frozen=True)
class Captured:
    """A request as it came off the wire, and what its receiver knows about its sender."""

    url: str
    headers: Sequence[tuple[str, str]]
    body: bytes
    jwks: Mapping[str, Any]
    issuer: str
    task_id: str
    seq: int
    whsec: str | None = None
    token: str | None = None
    has_own_authorization: bool = False

    def header(self, name: str) -> str:
        found = [value for key, value in self.headers if key.lower() == name.lower()]
        assert len(found) <= 1, f"{name} is there twice"
        return found[0] if found else ""


def captured_problems(captured: Captured, *, now: float) -> list[str]:
    """What any verifier has against the request; empty when all of them take it."""
    problems = []
    for verify in (by_the_guide, by_the_retired_samples_rule, by_standardwebhooks, by_svix, by_the_sdk_of_its_version):
        try:
            verify(captured, now=now)
        except Exception as error:  # noqa: BLE001  each library has its own
            problems.append(f"{verify.__name__}: {type(error).__name__}: {error}")
    return problems


def by_the_guide(captured: Captured, *, now: float) -> None:
    """The strict token, verified with PyJWT and the words of docs/partner-guide.md, "Verify in any language"."""
    token = captured.header("A2A-Push-Signature")
    assert len(token) <= 4096
    head = jwt.get_unverified_header(token)
    assert head.keys() == {"alg", "typ", "kid"}
    assert (head["alg"], head["typ"]) == ("ES256", "a2a-push+jwt")
    (entry,) = [key for key in captured.jwks["keys"] if key["kid"] == head["kid"]]
    assert (entry["use"], entry["alg"]) == ("sig", "ES256")
    required = ["iss", "aud", "sub", "jti", "msg", "seq", "iat", "exp", "request_body_sha256"]
    claims = jwt.decode(
        token,
        jwt.PyJWK(dict(entry)),
        algorithms=["ES256"],
        audience=captured.url,
        issuer=captured.issuer,
        options={"require": required, "strict_aud": True, "verify_exp": False, "verify_iat": False},
    )
    assert all(type(claims[name]) is int for name in ("iat", "exp", "seq"))
    assert now < claims["exp"] + 30
    assert claims["iat"] <= now + 60
    assert now - claims["iat"] <= 330
    assert claims["exp"] - claims["iat"] <= 600
    assert hmac.compare_digest(claims["request_body_sha256"], hashlib.sha256(captured.body).hexdigest())
    if captured.token is not None:
        assert hmac.compare_digest(captured.header("X-A2A-Notification-Token"), captured.token)
    assert claims["msg"] == captured.header("webhook-id")
    assert claims["sub"] == captured.task_id
    assert claims["seq"] == captured.seq


def by_the_retired_samples_rule(captured: Captured, *, now: float) -> None:
    """What the a2a-samples receiver asked of the bearer until it was retired (webhooks.md 3.1).

    RS256 and a kid; `aud` refused; `iat` not ahead and at most 300 s old; the hash of the body as it is when parsed
    and written again.
    """
    if captured.has_own_authorization:
        return
    scheme, _, token = captured.header("Authorization").partition(" ")
    assert scheme == "Bearer"
    kid = jwt.get_unverified_header(token)["kid"]
    (entry,) = [key for key in captured.jwks["keys"] if key["kid"] == kid]
    claims = jwt.decode(
        token, jwt.PyJWK(dict(entry)), algorithms=["RS256"], options={"require": ["iat", "request_body_sha256"]}
    )
    written_again = json.dumps(json.loads(captured.body), ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    assert claims["request_body_sha256"] == hashlib.sha256(written_again.encode()).hexdigest()
    assert 0 <= now - claims["iat"] <= 300


def by_standardwebhooks(captured: Captured, *, now: float) -> None:
    del now  # the library has its own clock
    if captured.whsec is not None:
        standardwebhooks.Webhook(captured.whsec).verify(captured.body, _webhook_headers(captured))


def by_svix(captured: Captured, *, now: float) -> None:
    del now
    if captured.whsec is not None:
        svix.webhooks.Webhook(captured.whsec).verify(captured.body, _webhook_headers(captured))


def by_the_sdk_of_its_version(captured: Captured, *, now: float) -> None:
    """The a2a-sdk of the body's own protocol version parses it without leaving anything out."""
    del now
    said = json.loads(captured.body)
    if captured.header("A2A-Version") == "1.0":
        assert captured.header("Content-Type") in ("application/a2a+json", "application/json")
        update = ParseDict(said, StreamResponse())
        assert update.status_update.task_id == captured.task_id
        return
    assert captured.header("Content-Type") == "application/json"
    task = a2a_v03.Task.model_validate(said)
    assert (task.id, task.kind) == (captured.task_id, "task")
    assert task.model_dump(mode="json", by_alias=True, exclude_none=True) == said


def _webhook_headers(captured: Captured) -> dict[str, str]:
    return {name: captured.header(name) for name in ("webhook-id", "webhook-timestamp", "webhook-signature")}
