"""Turns: one runner at a time, told apart by a fence; at least one delivery, one effect."""

from dataclasses import dataclass
from datetime import datetime

from a2a_serverless.core.advance import advance, status
from a2a_serverless.core.endings import Ended, Ending, Question
from a2a_serverless.core.head import Change, Head, Lease, Rules, TurnTrigger
from a2a_serverless.core.journal import Entry, Restarted
from a2a_serverless.core.waits import agent_message, park
from a2a_serverless.errors import LeaseLost
from a2a_serverless.types import JsonObject, TaskState


@dataclass(frozen=True, slots=True)
class Begun:
    """The turn may run, once this is written."""

    change: Change


@dataclass(frozen=True, slots=True)
class Held:
    """Another runner has the task, at least until then."""

    until: datetime


@dataclass(frozen=True, slots=True)
class NothingToDo:
    """The turn has been, or its task waits or has ended."""


@dataclass(frozen=True, slots=True)
class Exhausted:
    """The turn killed its worker too often: this ends the task. None: it has, and a worker may have died of it."""

    change: Change | None


Beginning = Begun | Held | NothingToDo | Exhausted


def begin(head: Head, turn: int, *, message_id: str, rules: Rules, now: datetime) -> Beginning:
    """Decide whether `turn` may run now, and how the head says so.

    `message_id` names the message that ends the task when its attempts are exhausted.
    """
    if head.is_over and head.turn == turn and head.attempt > rules.attempts:
        return Exhausted(None)
    if head.is_over or head.wait is not None or turn != head.turn_due:
        return NothingToDo()
    if head.lease is not None and head.lease.until > now:
        return Held(head.lease.until)
    again = head.turn == turn
    if again and head.lease is None:
        return NothingToDo()
    attempt = head.attempt + 1 if again else 1
    if attempt > rules.attempts:
        return Exhausted(_buried(head, message_id=message_id, rules=rules, now=now))
    return Begun(_leased(head, turn, attempt, rules=rules, now=now))


def _buried(head: Head, *, message_id: str, rules: Rules, now: datetime) -> Change:
    text = f"the agent stopped without an answer {rules.attempts} times"
    failed = status(TaskState.FAILED, now, agent_message(head, text, message_id=message_id))
    return advance(head, *_fenced_off(head), failed, rules=rules, now=now, attempt=head.attempt + 1)


def _fenced_off(head: Head) -> tuple[Entry, ...]:
    """What takes back the artifacts of a dead attempt, if it wrote anything."""
    return (Restarted(head.turn_from),) if head.entries > head.turn_from else ()


def _leased(head: Head, turn: int, attempt: int, *, rules: Rules, now: datetime) -> Change:
    entries = _fenced_off(head) if attempt > 1 else ()
    return advance(
        head,
        *entries,
        rules=rules,
        now=now,
        turn=turn,
        attempt=attempt,
        fence=head.fence + 1,
        lease=Lease(now + rules.lease),
        turn_from=head.turn_from if attempt > 1 else head.entries,
        shown_to=_shown_to(head, head.entries + len(entries)),
    )


def _shown_to(head: Head, length: int) -> int:
    """A turn is given all there is; one that a callback or a deadline began, only what was there when its wait ended.

    What the caller says later is for the turn after it: it must not pass for what was posted to the callback.
    """
    return length if head.trigger is TurnTrigger.MESSAGE else head.shown_to


def check_fence(head: Head, fence: int) -> None:
    """Stop a runner that no longer has the task.

    Raises:
        LeaseLost: a newer runner has it, or it was canceled or otherwise ended.
    """
    if head.fence != fence or head.lease is None:
        raise LeaseLost(f"fence {fence} is behind {head.fence}, or the task has ended ({head.state.value})")


def extend(head: Head, fence: int, *, rules: Rules, now: datetime) -> Change:
    """The runner is alive: it has the task for another lease."""
    check_fence(head, fence)
    return advance(head, rules=rules, now=now, lease=Lease(now + rules.lease))


def progress(head: Head, fence: int, *entries: Entry, rules: Rules, now: datetime) -> Change:
    """What the agent said or produced so far."""
    check_fence(head, fence)
    return advance(head, *entries, rules=rules, now=now, lease=Lease(now + rules.lease))


def end(
    head: Head,
    fence: int,
    ending: Ending,
    *entries: Entry,
    memory: JsonObject,
    rules: Rules,
    now: datetime,
) -> Change:
    """The turn is over: `entries` that were not written yet, then how it ended, in one change."""
    check_fence(head, fence)
    match ending:
        case Ended(state, message, metadata):
            last = status(state, now, message, metadata=metadata)
            return advance(head, *entries, last, rules=rules, now=now, memory=memory)
        case Question():
            return park(head, ending, *entries, memory=memory, rules=rules, now=now)
