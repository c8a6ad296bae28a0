"""`redrive`: dead letters back into their queues, each with what it was and why it died."""

import argparse
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, assert_never

from a2a_serverless.app.redrive import Fate, Outcome, Redrive
from a2a_serverless.aws.dead_letters import DeadLetter, DeadLetterQueue
from a2a_serverless.aws.queues import CancelNotice, NudgeDue, PingDue, TurnDue
from a2a_serverless.cli import deployment, printed
from a2a_serverless.cli.deployment import Deployment, in_words
from a2a_serverless.types import JsonObject

QUEUES: Final = ("nudges", "turns")
_HEADER: Final = ("queue", "task", "what", "died because", "now", "because")


@dataclass(frozen=True)
class Treated:
    """A letter, and what became of it."""

    queue: str
    letter: DeadLetter
    fate: Fate


def redrive(told: argparse.Namespace) -> int:
    """`redrive [--queue nudges|turns] [--dry-run]`."""
    place = deployment.chosen(stack=told.stack, endpoint=told.endpoint, say=printed.say)
    with in_words(place.stack):
        treated = [each for name in told.queue or QUEUES for each in _redriven(place, name, rehearsal=told.dry_run)]
    if told.json:
        printed.show_json([_object(each) for each in treated])
    elif treated:
        printed.show(printed.table(_HEADER, [_row(each) for each in treated]))
    else:
        printed.show(["there are no dead letters"])
    return 0


def _redriven(place: Deployment, name: str, *, rehearsal: bool) -> Iterator[Treated]:
    queue = _queue(place, name)
    redrive = Redrive(desk=place.desk, receipts=place.push, turns=place.turns, rehearsal=rehearsal)
    for letter in queue.take():
        fate = _fate(redrive, letter)
        if rehearsal or fate.outcome is Outcome.KEPT:
            queue.put_back(letter)
        else:
            queue.remove(letter)
        yield Treated(name, letter, fate)


def _queue(place: Deployment, name: str) -> DeadLetterQueue:
    if name == "turns":
        return DeadLetterQueue.of_turns(place.sqs, place.outputs["TurnsDeadLetters"])
    return DeadLetterQueue.of_nudges(place.sqs, place.outputs["NudgesDeadLetters"])


def _fate(redrive: Redrive, letter: DeadLetter) -> Fate:
    match letter.said:
        case None:
            return Fate(Outcome.KEPT, "it cannot be read: look at it, then delete it by hand")
        case TurnDue(key, turn):
            return redrive.turn(key, turn)
        case CancelNotice(key):
            return redrive.cancel_notice(key)
        case NudgeDue(key, config_id, seq):
            return redrive.nudge(key, config_id, seq)
        case PingDue():
            return redrive.ping()
        case _:
            assert_never(letter.said)


def _what(letter: DeadLetter) -> str:
    match letter.said:
        case None:
            return letter.body[:60]
        case TurnDue(_, turn):
            return f"turn {turn}"
        case CancelNotice():
            return "cancel notice"
        case NudgeDue(_, config_id, seq):
            return f"nudge {seq} to {config_id}"
        case PingDue(_, config_id):
            return f"test of {config_id}"
        case _:
            assert_never(letter.said)


def _row(treated: Treated) -> tuple[str, ...]:
    letter, fate = treated.letter, treated.fate
    return (treated.queue, _task_id(letter), _what(letter), letter.reason, fate.outcome.value, fate.why)


def _object(treated: Treated) -> JsonObject:
    letter, fate = treated.letter, treated.fate
    return {
        "queue": treated.queue,
        "task": _task_id(letter),
        "what": _what(letter),
        "reason": letter.reason,
        "outcome": fate.outcome.value,
        "why": fate.why,
    }


def _task_id(letter: DeadLetter) -> str:
    return letter.said.key.task_id if letter.said is not None else "-"
