"""Keys of a test run, and one nudge built with them."""

import datetime as dt
from functools import cache

from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from a2a_serverless.core.push import WireVersion
from a2a_serverless.core.registration import Authentication, NotificationToken
from a2a_serverless.types import TaskState
from a2a_serverless.webhook.sign import HmacSecret, KeyRing, signing_key
from a2a_serverless.webhook.wire import OutgoingNudge, Receiver, Sender, Signed, build
from tests.unit.webhook.loopback import url_of

NOW = dt.datetime(2026, 11, 30, 12, 0, tzinfo=dt.UTC)
ISSUER = "https://a2a.example.com"
URL = "https://rx.example.com/a2a/push"
SECRET = "whsec_Y3VycmVudC1zZWNyZXQtMzItYnl0ZXMtbG9uZy1vayE="


def der(private: ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey | ed25519.Ed25519PrivateKey) -> bytes:
    """The form KMS gives a key in."""
    return private.private_bytes(Encoding.DER, PrivateFormat.PKCS8, NoEncryption())


@cache
def key_ring() -> KeyRing:
    """One key of each kind, in use since a month ago."""
    began = NOW - dt.timedelta(days=30)
    strict = der(ec.generate_private_key(ec.SECP256R1()))
    compat = der(rsa.generate_private_key(65537, 2048))
    return KeyRing(
        (signing_key(strict, kid="push-es-1", first_use=began), signing_key(compat, kid="push-rs-1", first_use=began))
    )


def sender() -> Sender:
    """The deployment."""
    agent = "a2a-serverless/0.1.0 (+https://a2a.example.com/docs/webhooks)"
    return Sender(issuer=ISSUER, keys=key_ring(), user_agent=agent)


def nudge(context_id: str = "01JDCTX") -> OutgoingNudge:
    """A task that has come to its end."""
    return OutgoingNudge(
        task_id="01JDTASK7Q",
        context_id=context_id,
        state=TaskState.COMPLETED,
        timestamp=dt.datetime(2026, 11, 30, 12, 0, 0, 123_000, tzinfo=dt.UTC),
        seq=7,
        message_id="msg_01JDMSG001",
        attempt=2,
    )


def built(
    *,
    version: WireVersion = WireVersion.V1_0,
    told: OutgoingNudge | None = None,
    authentication: Authentication | None = None,
    token: NotificationToken | None = None,
    plain_json: bool = False,
    secrets: tuple[HmacSecret, ...] = (),
    compat: bool = True,
    by: Sender | None = None,
    now: dt.datetime = NOW,
    traceparent: str | None = None,
) -> Signed:
    """A request as it would go out."""
    receiver = Receiver(
        url=url_of(URL),
        version=version,
        authentication=authentication,
        token=token,
        plain_json=plain_json,
        secrets=secrets,
        compat=compat,
    )
    return build(told or nudge(), receiver, by or sender(), now=now, traceparent=traceparent)


def headers_of(signed: Signed) -> dict[str, str]:
    """By lower-case name; a name that came twice fails the test."""
    headers = {name.lower(): value for name, value in signed.request.headers}
    assert len(headers) == len(signed.request.headers)
    return headers
