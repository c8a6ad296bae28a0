"""For your own tests: a sender with its own keys, and what must not get past you.

sender = Sender(issuer="https://agent.example", audience="https://me.example/a2a/push")
receiver = Receiver(sender.strict(), enqueue=inbox.append)
request = sender.nudge("task-1", seq=7, now=now)
assert receiver.handle(*request.parts, now=now).status == 202
for name, attack in sender.attacks("task-1", now=now).items():
    assert receiver.handle(*attack.parts, now=now).status in (400, 401)
"""

import base64
import hashlib
import hmac
import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from cryptography.hazmat.primitives.asymmetric import ec, rsa
from jwt.algorithms import ECAlgorithm, RSAAlgorithm

from .https import HttpAnswer, HttpRequest
from .jwks import JwksCache
from .nudge import NUDGE_EXTENSION
from .proof import Compat, Strict
from .prove import COMPAT_TYP, STRICT_TYP

ES_KID: Final = "test-es"
RS_KID: Final = "test-rs"

COMPLETED: Final = "TASK_STATE_COMPLETED"

_ES256: Final = ECAlgorithm(ECAlgorithm.SHA256)
_RS256: Final = RSAAlgorithm(RSAAlgorithm.SHA256)


@dataclass(frozen=True, slots=True)
class PushRequest:
    """A request as a receiver sees it."""

    method: str
    url: str
    headers: tuple[tuple[str, str], ...]
    body: bytes

    @property
    def parts(self) -> tuple[str, tuple[tuple[str, str], ...], bytes]:
        """Method, headers and body: the arguments of `Receiver.handle`."""
        return self.method, self.headers, self.body

    def header(self, name: str) -> str:
        """The value of the header called `name`, in any case; empty if there is none."""
        return next((value for key, value in self.headers if key.lower() == name.lower()), "")

    def with_header(self, name: str, value: str | None) -> "PushRequest":
        """The same with one header replaced, added, or (None) left out."""
        others = tuple(pair for pair in self.headers if pair[0].lower() != name.lower())
        return replace(self, headers=others if value is None else (*others, (name, value)))

    def with_body(self, body: bytes) -> "PushRequest":
        """The same with another body and its length, and the old signatures."""
        return replace(self, body=body).with_header("Content-Length", str(len(body)))


class Sender:
    """Signs as the kit does, with keys made for this test run. Making the RSA key takes a tenth of a second."""

    def __init__(
        self, *, issuer: str, audience: str, token: str | None = None, extension_uri: str = NUDGE_EXTENSION
    ) -> None:
        """A sender that calls itself `issuer` and posts to `audience`, with `token` if the config has one."""
        self.issuer = issuer
        self.audience = audience
        self.token = token
        self.extension_uri = extension_uri
        self.es_key = ec.generate_private_key(ec.SECP256R1())
        self.rs_key = rsa.generate_private_key(65537, 2048)
        self.key_fetches = 0
        """How often the key set was asked for."""
        self.keys_are_down = False
        """Set it to see what happens when the key set cannot be had."""

    def key_set(self) -> dict[str, Any]:
        """The JWKS document."""
        es = ECAlgorithm.to_jwk(self.es_key.public_key(), as_dict=True)
        rs = RSAAlgorithm.to_jwk(self.rs_key.public_key(), as_dict=True)
        return {
            "keys": [
                es | {"kid": ES_KID, "use": "sig", "alg": "ES256"},
                rs | {"kid": RS_KID, "use": "sig", "alg": "RS256", "key_ops": ["verify"]},
            ]
        }

    def answer_keys(self, _request: HttpRequest) -> HttpAnswer:
        """Stands in for the network of a `JwksCache`."""
        self.key_fetches += 1
        if self.keys_are_down:
            raise ConnectionError("the key set is down, as the test wants it")
        return HttpAnswer(200, {"cache-control": "max-age=300"}, json.dumps(self.key_set()).encode())

    def strict(self) -> Strict:
        """The configuration of a receiver for this sender."""
        return Strict(
            issuer=self.issuer,
            audience=self.audience,
            keys=JwksCache(f"{self.issuer}/.well-known/jwks.json", ask=self.answer_keys),
            notification_tokens=(self.token,) if self.token else (),
            extension_uri=self.extension_uri,
        )

    def compat(self) -> Compat:
        """The same for the compatibility token."""
        strict = self.strict()
        return Compat(
            issuer=strict.issuer,
            audience=strict.audience,
            keys=strict.keys,
            notification_tokens=strict.notification_tokens,
            extension_uri=strict.extension_uri,
        )

    def body(self, task_id: str, *, seq: int, state: str = COMPLETED, version: str = "1.0") -> bytes:
        """The bytes of a nudge: a StreamResponse (`version` 1.0) or a Task (0.3)."""
        extension = {self.extension_uri: {"nudge": True, "seq": str(seq)}}
        timestamp = "2026-11-30T12:00:00.123Z"
        if version == "1.0":
            status = {"state": state, "timestamp": timestamp}
            event = {"taskId": task_id, "contextId": "ctx", "status": status, "metadata": extension}
            return _compact({"statusUpdate": event})
        status = {"state": state.removeprefix("TASK_STATE_").lower().replace("_", "-"), "timestamp": timestamp}
        return _compact({"id": task_id, "contextId": "ctx", "kind": "task", "status": status, "metadata": extension})

    def claims(
        self, task_id: str, body: bytes, *, seq: int, now: float, message_id: str = "msg_test", attempt: int = 1
    ) -> dict[str, Any]:
        """What the strict token says."""
        return {
            "iss": self.issuer,
            "aud": self.audience,
            "sub": task_id,
            "jti": f"{message_id}:{attempt}",
            "msg": message_id,
            "seq": seq,
            "iat": int(now) - 5,
            "exp": int(now) + 295,
            "request_body_sha256": hashlib.sha256(body).hexdigest(),
        }

    def sign(self, claims: Mapping[str, Any], **header: Any) -> str:
        """A strict token over `claims`, whatever they are; `header` replaces or adds members of its header."""
        return self.sign_bytes(_compact({"alg": "ES256", "kid": ES_KID, "typ": STRICT_TYP} | header), _compact(claims))

    def sign_compat(self, claims: Mapping[str, Any], **header: Any) -> str:
        """The same for the compatibility token."""
        head = encode_part(_compact({"alg": "RS256", "kid": RS_KID, "typ": COMPAT_TYP} | header))
        signing_input = f"{head}.{encode_part(_compact(claims))}"
        return f"{signing_input}.{encode_part(_RS256.sign(signing_input.encode(), self.rs_key))}"

    def sign_bytes(self, header: bytes, payload: bytes) -> str:
        """A strict token over exactly these bytes, which need not be JSON."""
        signing_input = f"{encode_part(header)}.{encode_part(payload)}"
        return f"{signing_input}.{encode_part(_ES256.sign(signing_input.encode(), self.es_key))}"

    def nudge(
        self,
        task_id: str,
        *,
        seq: int,
        now: float,
        state: str = COMPLETED,
        message_id: str = "msg_test",
        attempt: int = 1,
        version: str = "1.0",
    ) -> PushRequest:
        """A nudge as the kit sends it to a config without credentials of its own: both tokens, and the digest."""
        body = self.body(task_id, seq=seq, state=state, version=version)
        claims = self.claims(task_id, body, seq=seq, now=now, message_id=message_id, attempt=attempt)
        return self.request(
            body,
            {
                "A2A-Version": version,
                "Authorization": f"Bearer {self.sign_compat(self.compat_claims(claims))}",
                "A2A-Push-Signature": self.sign(claims),
                "webhook-id": message_id,
                "webhook-timestamp": str(int(now)),
                "Content-Digest": f"sha-256=:{base64.b64encode(hashlib.sha256(body).digest()).decode()}:",
                "Content-Type": "application/a2a+json" if version == "1.0" else "application/json",
            },
        )

    def compat_claims(self, claims: Mapping[str, Any]) -> dict[str, Any]:
        """The compatibility token's claims for the same delivery: no `aud`, the URL's digest instead."""
        others = {name: value for name, value in claims.items() if name != "aud"}
        return others | {"a2a_push_url_sha256": hashlib.sha256(self.audience.encode()).hexdigest()}

    def request(self, body: bytes, headers: Mapping[str, str]) -> PushRequest:
        """A POST of `body` with `headers`, its length and this sender's token."""
        own = {"Content-Type": "application/a2a+json", "Content-Length": str(len(body))}
        if self.token:
            own["X-A2A-Notification-Token"] = self.token
        return PushRequest("POST", self.audience, tuple((own | dict(headers)).items()), body)

    def attacks(self, task_id: str, *, now: float) -> dict[str, PushRequest]:
        """Requests that a strict receiver must answer with 400 or 401, by what is wrong with them."""
        good = self.nudge(task_id, seq=7, now=now)
        claims = self.claims(task_id, good.body, seq=7, now=now)
        body = good.body.replace(b"COMPLETED", b"CANCELED")
        stranger = Sender(issuer=self.issuer, audience=self.audience, token=self.token)

        def signed(**changed: Any) -> PushRequest:
            return good.with_header("A2A-Push-Signature", self.sign(claims | changed))

        return {
            "body changed": good.with_body(body),
            "body with another spacing": good.with_body(good.body.replace(b":", b": ")),
            "signature missing": good.with_header("A2A-Push-Signature", None),
            "signature changed": good.with_header("A2A-Push-Signature", _flip(good.header("A2A-Push-Signature"))),
            "signature twice": replace(
                good,
                headers=(*good.headers, ("a2a-push-signature", good.header("A2A-Push-Signature"))),
            ),
            "signed by a stranger": good.with_header("A2A-Push-Signature", stranger.sign(claims)),
            "key of another kind": good.with_header("A2A-Push-Signature", self.sign(claims, kid=RS_KID)),
            "algorithm none": good.with_header("A2A-Push-Signature", unsigned(claims)),
            "for another receiver": signed(aud="https://other.example/push"),
            "from another issuer": signed(iss="https://other.example"),
            "expired": signed(iat=int(now) - 900, exp=int(now) - 600),
            "about another task": signed(sub="another-task"),
            "delivery renamed": good.with_header("webhook-id", "msg_other"),
            "ordinary JWT": good.with_header("A2A-Push-Signature", self.sign(claims, typ="JWT")),
        }


def unsigned(claims: Mapping[str, Any], *, alg: str = "none", signature: bytes = b"x") -> str:
    """A token whose header names `alg` and whose signature is `signature`."""
    header = {"alg": alg, "kid": ES_KID, "typ": STRICT_TYP}
    return ".".join((encode_part(_compact(header)), encode_part(_compact(claims)), encode_part(signature)))


def encode_part(raw: bytes) -> str:
    """Base64url without padding (RFC 7515 section 2)."""
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()


def standard_webhooks_headers(secret: str, message_id: str, body: bytes, *, now: float) -> dict[str, str]:
    """The `webhook-*` headers of a sender that holds the `whsec_` secret (Standard Webhooks 1.0.0)."""
    key = base64.b64decode(secret.removeprefix("whsec_"))
    signed = f"{message_id}.{int(now)}.".encode() + body
    signature = base64.b64encode(hmac.digest(key, signed, hashlib.sha256)).decode()
    return {
        "webhook-id": message_id,
        "webhook-timestamp": str(int(now)),
        "webhook-signature": f"v1,{signature}",
    }


def _compact(value: object) -> bytes:
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()


def _flip(token: str) -> str:
    at = token.rindex(".") + 10
    return token[:at] + ("A" if token[at] != "A" else "B") + token[at + 1 :]
