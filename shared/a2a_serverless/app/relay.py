"""relay: carry out what a committed change asks for (`core.effects`). Repeating any of it is harmless."""

import logging
from dataclasses import dataclass
from typing import assert_never

from a2a_serverless.app.ports import NudgeQueue, TurnQueue, WaitRunner
from a2a_serverless.core.effects import Effect, EndWait, NoticeCancel, Nudge, RunTurn, StartWait, effects
from a2a_serverless.core.head import Head

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Relay:
    """Where effects go."""

    turns: TurnQueue
    nudges: NudgeQueue
    waits: WaitRunner


def relay_change(relay: Relay, old: Head | None, new: Head) -> tuple[Effect, ...]:
    """Carry out everything that follows from a change; answers what that was.

    Raises:
        Exception: something could not be carried out; the change must come again as a whole.
    """
    due = effects(old, new)
    for effect in due:
        _carry_out(relay, effect)
    if due:
        names = [type(effect).__name__ for effect in due]
        log.info(
            "relayed", extra={"task_id": new.key.task_id, "version": new.version, "effects": names, "trace": new.trace}
        )
    return due


def _carry_out(relay: Relay, effect: Effect) -> None:
    match effect:
        case RunTurn(key, turn):
            relay.turns.enqueue_turn(key, turn)
        case NoticeCancel(key):
            relay.turns.enqueue_cancel_notice(key)
        case StartWait(key, wait):
            relay.waits.start_wait(key, wait)
        case EndWait(_, _, token):
            relay.waits.end_wait(token)
        case Nudge(key, config_id, seq):
            relay.nudges.enqueue_nudge(key, config_id, seq)
        case _:
            assert_never(effect)
