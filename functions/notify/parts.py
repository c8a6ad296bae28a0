"""What `notify` works with. The only function that knows private keys and webhook secrets in the clear."""

import random
import threading
import time
from datetime import datetime
from functools import cache, lru_cache
from typing import Final

from a2a_serverless.app.attempt import NudgeToSend, Sent
from a2a_serverless.app.attempt import Sender as Deliver
from a2a_serverless.app.notify import Notifier
from a2a_serverless.app.witnessed_sender import WitnessedSender
from a2a_serverless.aws.endpoint_table import EndpointTable
from a2a_serverless.aws.queues import SqsDeadLetters, SqsNudges
from a2a_serverless.aws.schedules import ScheduledNudges
from a2a_serverless.aws.sealing import KmsSealer
from a2a_serverless.aws.webhook_secrets import WebhookSecrets
from a2a_serverless.core.delivery_schedule import JITTER
from a2a_serverless.types import Owner
from a2a_serverless.webhook.dial import Dialler, trust
from a2a_serverless.webhook.sender import WebhookSender
from a2a_serverless.webhook.sign import HmacSecret, KeyRing, signing_key
from a2a_serverless.webhook.wire import Sender
from functions import signing, wiring

_RING_SECONDS: Final = 600
"""How long a process keeps its keys before it looks for newer ones."""
_loading: Final = threading.Lock()


@cache
def notifier() -> Notifier:
    """Everything that one delivery needs."""
    told, clients = wiring.settings(), wiring.clients
    return Notifier(
        tasks=wiring.tasks(),
        push=wiring.push(),
        deliveries=wiring.push(),
        endpoints=EndpointTable(wiring.table(), clock=wiring.clock, ids=wiring.ids),
        receipts=wiring.push(),
        nudges=SqsNudges(clients.sqs, told.nudges_queue),
        later=_later(),
        dead_letters=SqsDeadLetters(clients.sqs, turns="", nudges=told.nudges_dead_letters),
        sealer=KmsSealer(clients.kms, told.sealing_key),
        send=_witnessed(),
        clock=wiring.clock,
        ids=wiring.ids,
        jitter=lambda: random.uniform(*JITTER),  # noqa: S311 (spreads retries, guards nothing)
    )


def _witnessed() -> Deliver:
    recorder = wiring.recorder()
    return WitnessedSender(_send, recorder) if recorder else _send


def _later() -> ScheduledNudges:
    told = wiring.settings()
    return ScheduledNudges(
        lambda: wiring.clients.scheduler,  # made when it is needed, which most processes never come to
        group=told.schedule_group,
        queue_arn=told.nudges_queue_arn,
        role_arn=told.schedule_role,
    )


def _send(nudge: NudgeToSend, *, now: datetime) -> Sent:
    return _sender(int(time.monotonic()) // _RING_SECONDS)(nudge, now=now)


def _sender(period: int) -> WebhookSender:
    """One sender for each period, made by one thread while the others wait."""
    with _loading:
        return _made(period)


@lru_cache(maxsize=1)
def _made(_period: int) -> WebhookSender:
    issuer = wiring.settings().public_url
    return WebhookSender(
        dialler=_dialler(),
        identity=Sender(issuer=issuer, keys=_ring(), user_agent=wiring.USER_AGENT),
        policy=wiring.webhook_policy(),
        secrets_of=_secrets_of,
    )


def _secrets_of(owner: Owner) -> tuple[HmacSecret, ...]:
    return _known_secrets(owner, int(time.monotonic()) // _RING_SECONDS)


@lru_cache(maxsize=1024)
def _known_secrets(owner: Owner, _period: int) -> tuple[HmacSecret, ...]:
    """What the owner was issued, as of some minutes ago: a nudge does not cost a read for it."""
    known = WebhookSecrets(wiring.table(), wiring.clients.kms, wiring.settings().sealing_key)
    return tuple(map(HmacSecret.parse, known.good(owner, now=wiring.clock())))


def _ring() -> KeyRing:
    keys = signing.kept_fresh(wiring.clock())
    unwrap = signing.key_maker().unwrap
    return KeyRing(tuple(signing_key(unwrap(key), kid=key.kid, first_use=key.first_use) for key in keys))


@cache
def _dialler() -> Dialler:
    return Dialler(trust(), policy=wiring.webhook_policy())
