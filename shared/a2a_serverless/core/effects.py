"""What must follow from a committed change, read off its old and new image. The stream is the outbox.

Nothing else may cause these effects: a change that was stored is told, and one that was not is not.
"""

from dataclasses import dataclass

from a2a_serverless.core.head import Head, Wait
from a2a_serverless.types import TaskKey, TaskState


@dataclass(frozen=True, slots=True)
class RunTurn:
    """The turn is due."""

    key: TaskKey
    turn: int


@dataclass(frozen=True, slots=True)
class NoticeCancel:
    """The task was canceled: the agent may clean up."""

    key: TaskKey


@dataclass(frozen=True, slots=True)
class StartWait:
    """An execution is to hold this wait."""

    key: TaskKey
    wait: Wait


@dataclass(frozen=True, slots=True)
class EndWait:
    """The execution that gave this token has nothing left to wait for."""

    key: TaskKey
    number: int
    token: str


@dataclass(frozen=True, slots=True)
class Nudge:
    """Tell one webhook that the task moved on."""

    key: TaskKey
    config_id: str
    seq: int


Effect = RunTurn | NoticeCancel | StartWait | EndWait | Nudge


def effects(old: Head | None, new: Head) -> tuple[Effect, ...]:
    """Everything the change from `old` (None: the task is new) to `new` asks for, in a harmless order."""
    return (*_turns(old, new), *_waits(old, new), *_nudges(old, new))


def _turns(old: Head | None, new: Head) -> tuple[Effect, ...]:
    if new.turn_due > (old.turn_due if old else 0):
        return (RunTurn(new.key, new.turn_due),)
    if new.state is TaskState.CANCELED and old is not None and not old.is_over:
        return (NoticeCancel(new.key),)
    return ()


def _waits(old: Head | None, new: Head) -> tuple[Effect, ...]:
    before = old.wait if old else None
    if before == new.wait:
        return ()
    found: list[Effect] = []
    if old is not None and before is not None and old.wait_token:
        found.append(EndWait(new.key, before.number, old.wait_token))
    if new.wait is not None:
        found.append(StartWait(new.key, new.wait))
    return tuple(found)


def _nudges(old: Head | None, new: Head) -> tuple[Effect, ...]:
    """Every webhook hears of a new number; one that was added hears where the task stands."""
    moved = new.nudge_seq > (old.nudge_seq if old else 0)
    known = old.push if old else ()
    told = new.push if moved else tuple(config for config in new.push if config not in known)
    return tuple(Nudge(new.key, config, new.nudge_seq) for config in told if new.nudge_seq)
