"""Attempts to send a nudge, with both sides written down like those of every other exchange."""

from dataclasses import dataclass
from datetime import datetime

from a2a_serverless.app.attempt import NudgeToSend, Sender, Sent
from a2a_serverless.app.evidence import Exchange, Record
from a2a_serverless.core.delivery_outcome import Answer


@dataclass(frozen=True, slots=True)
class WitnessedSender:
    """A sender of nudges whose every attempt is written down."""

    send: Sender
    record: Record

    def __call__(self, nudge: NudgeToSend, *, now: datetime) -> Sent:
        """Make one attempt."""
        sent = self.send(nudge, now=now)
        self.record(_of_nudge(nudge, sent, at=now))
        return sent


def _of_nudge(nudge: NudgeToSend, sent: Sent, *, at: datetime) -> Exchange:
    seen, outcome = sent.seen, sent.outcome
    answered = {"status": outcome.status} if isinstance(outcome, Answer) else {"status": 0, "why": str(outcome)}
    return Exchange(
        task_id=nudge.head.key.task_id,
        at=at,
        kind="nudge",
        operation="ping" if nudge.is_test else "nudge",
        who={"config": nudge.config.id},
        milliseconds=sent.milliseconds,
        about={"seq": nudge.nudge.seq, "attempt": nudge.nudge.attempts, "key": sent.key_id},
        request={"method": "POST", "url": seen.url, "headers": dict(seen.headers), "body": seen.body} if seen else {},
        answer=answered | ({"headers": dict(seen.answer_headers), "body": seen.answer_body} if seen else {}),
    )
