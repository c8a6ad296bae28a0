"""The sender that `notify` is given: from a decided nudge to the outcome of one request."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from a2a_serverless.app.attempt import NudgeToSend, Sent
from a2a_serverless.core.delivery_outcome import Fault, NoAnswer
from a2a_serverless.core.push import PushConfig, PushSecrets
from a2a_serverless.core.registration import Authentication, NotificationToken, Refused
from a2a_serverless.types import Owner
from a2a_serverless.webhook.dial import Dialler
from a2a_serverless.webhook.policy import WebhookPolicy
from a2a_serverless.webhook.seen import seen
from a2a_serverless.webhook.sign import HmacSecret
from a2a_serverless.webhook.url import WebhookUrl, check_url
from a2a_serverless.webhook.wire import OutgoingNudge, Receiver, Sender, build


@dataclass(frozen=True, slots=True, kw_only=True)
class WebhookSender:
    """Signs with `identity` and sends over `dialler`; one per process."""

    dialler: Dialler
    identity: Sender
    policy: WebhookPolicy
    secrets_of: Callable[[Owner], tuple[HmacSecret, ...]] = lambda _: ()
    """The Standard Webhooks secrets an owner was issued: his alone, since whoever has one can forge."""
    compat_for: Callable[[Owner], bool] = lambda _: True
    """Whether an owner's configs without credentials get the RS256 bearer in their place."""

    def __call__(self, nudge: NudgeToSend, *, now: datetime) -> Sent:
        """Make one attempt.

        Raises:
            LookupError: no key may sign: ours, and the attempt was not made.
        """
        url = check_url(nudge.config.url, self.policy)
        if isinstance(url, Refused):
            # Taken under other rules than today's: not dialled, and the config is switched off.
            blocked = NoAnswer(Fault.BLOCKED_ADDRESS, f"the URL {url.wanted}")
            return Sent(outcome=blocked, milliseconds=0, key_id="")
        to = self._receiver(nudge, url)
        signed = build(_told(nudge), to, self.identity, now=now, traceparent=nudge.head.trace)
        exchange = self.dialler.send(signed.request)
        return Sent(
            outcome=exchange.outcome,
            milliseconds=exchange.milliseconds,
            key_id=signed.kid,
            seen=seen(signed.request, exchange, nudge.secrets),
        )

    def _receiver(self, nudge: NudgeToSend, url: WebhookUrl) -> Receiver:
        owner = nudge.head.key.scope.owner
        return Receiver(
            url=url,
            version=nudge.config.wire_version,
            authentication=_authentication(nudge.config, nudge.secrets),
            token=NotificationToken(nudge.secrets.token) if nudge.secrets.token else None,
            plain_json=nudge.plain_json,
            secrets=self.secrets_of(owner),
            compat=self.compat_for(owner),
        )


def _told(nudge: NudgeToSend) -> OutgoingNudge:
    head = nudge.head
    return OutgoingNudge(
        task_id=head.key.task_id,
        context_id=head.context_id,
        state=head.state,
        timestamp=head.status.timestamp,
        seq=nudge.nudge.seq,
        message_id=nudge.nudge.message_id,
        attempt=nudge.nudge.attempts,
        is_test=nudge.is_test,
    )


def _authentication(config: PushConfig, secrets: PushSecrets) -> Authentication | None:
    if not (config.scheme and secrets.credentials):
        return None
    return Authentication(config.scheme, secrets.credentials)
