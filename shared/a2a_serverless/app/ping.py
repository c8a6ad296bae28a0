"""A test that somebody asked for: a signed nudge that says nothing new, sent at once and never again.

It shows the owner of a webhook whether nudges get through, and switches one on again that was switched off.
"""

import logging
from dataclasses import asdict, replace
from typing import Final

from a2a_serverless.app.attempt import NudgeToSend, Sent, endpoint_of, learn, record_of
from a2a_serverless.app.notify import Notifier
from a2a_serverless.core.delivery_outcome import Delivered, ResendAsJson, Verdict, classify
from a2a_serverless.core.delivery_state import PendingNudge, switch_on
from a2a_serverless.core.head import Head
from a2a_serverless.core.push import PushConfig, PushSecrets
from a2a_serverless.errors import Conflict
from a2a_serverless.types import TaskKey

_TRIES: Final = 5

log = logging.getLogger(__name__)


def send_ping(notifier: Notifier, key: TaskKey, config_id: str, message_id: str, *, redelivered: bool = False) -> str:
    """Send the test and keep what came of it; answers in a word what that was.

    `redelivered`: it came before, and its worker may have died on any step.
    A receiver that does not know `application/a2a+json` gets it once more as `application/json`, as with any nudge.

    Raises:
        Exception: ours; the arrival must come again.
    """
    config, head = notifier.push.config(key, config_id), notifier.tasks.head(key, now=notifier.clock())
    if config is None or head is None or config_id not in head.push:
        return "config_gone"
    plain_json = notifier.deliveries.delivery(key, config_id).plain_json
    verdict, result = _attempt(notifier, head, config, message_id, attempt=1, plain_json=plain_json)
    if isinstance(verdict, ResendAsJson):
        verdict, result = _attempt(notifier, head, config, message_id, attempt=2, plain_json=True)
    if isinstance(verdict, Delivered):
        _switch_on(notifier, head, config, redelivered=redelivered)
    return result


def _attempt(
    notifier: Notifier, head: Head, config: PushConfig, message_id: str, *, attempt: int, plain_json: bool
) -> tuple[Verdict, str]:
    """One request. Who asked for a test wants it now: it waits for no breaker, takes no place and counts as no attempt
    of the config's; the endpoint's health learns from it like from any other."""
    now = notifier.clock()
    nudge = PendingNudge(seq=head.nudge_seq, message_id=message_id, since=now, next_at=now, attempts=attempt)
    secrets = notifier.sealer.open(config.sealed, head.key, config.id) if config.sealed else PushSecrets()
    told = NudgeToSend(head=head, config=config, secrets=secrets, nudge=nudge, plain_json=plain_json, is_test=True)
    sent: Sent = notifier.send(told, now=now)
    verdict = classify(sent.outcome, plain_json=plain_json, now=notifier.clock())
    learn(notifier.endpoints, endpoint_of(config.url), sent, verdict, now=notifier.clock())
    line = replace(record_of(nudge, sent, verdict, at=notifier.clock()), is_test=True)
    notifier.deliveries.log_attempt(head.key, config.id, line)
    where = {"task_id": head.key.task_id, "config_id": config.id}
    log.info("test attempted", extra=where | asdict(line))
    return verdict, line.result


def _switch_on(notifier: Notifier, head: Head, config: PushConfig, *, redelivered: bool) -> None:
    """Send nudges again to a webhook that was switched off, the first for where the task stands; that one also if a
    worker may have died right after it switched the webhook on."""
    for _ in range(_TRIES):
        state = notifier.deliveries.delivery(head.key, config.id)
        if state.disabled is None and not redelivered:
            return
        if state.disabled is not None:
            try:
                notifier.deliveries.save_delivery(head.key, config.id, switch_on(state))
            except Conflict:
                continue
            log.info("webhook switched on", extra={"task_id": head.key.task_id, "config_id": config.id})
        endpoint = endpoint_of(config.url)
        notifier.nudges.enqueue_nudge(head.key, config.id, head.nudge_seq, endpoint=endpoint)
        return
    raise Conflict(f"other senders came first {_TRIES} times for config {config.id}")
