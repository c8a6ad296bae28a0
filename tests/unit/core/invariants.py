"""The rules of a task (DESIGN 3) as checks on every committed change, each with its own name.

A check answers what is wrong in words, or None. `Watched` looks at each change as it is committed.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from a2a_serverless.core.effects import EndWait, NoticeCancel, Nudge, RunTurn, StartWait, effects
from a2a_serverless.core.head import Head, Rules
from a2a_serverless.core.journal import Entry
from a2a_serverless.core.lifecycle import INTERRUPTED, TRANSITIONS
from a2a_serverless.types import TaskKey, TaskState


def version_strictly_rises(old: Head | None, new: Head) -> str | None:
    """By one with each change; only a token is stored without a new one."""
    if old is None:
        return None if new.version == 1 else f"a new task has version {new.version}"
    if old.but(wait_token=new.wait_token) == new:
        return None
    return None if new.version == old.version + 1 else f"version {old.version} was followed by {new.version}"


def nothing_follows_the_end(old: Head | None, new: Head) -> str | None:
    """One terminal state for ever: no status, no entry, no turn, no wait, no other expiry."""
    if old is None or not old.is_over:
        return None
    kept = ("status", "entries", "turn", "turn_due", "wait", "lease", "expires_at", "memory", "fence")
    changed = [name for name in kept if getattr(old, name) != getattr(new, name)]
    return f"after {old.state.name} changed {changed}" if changed else None


def states_follow_the_table(old: Head | None, new: Head) -> str | None:
    """Each state may follow the one before it, or one that may be passed through on the way."""
    if old is None:
        return None if new.state is TaskState.SUBMITTED else f"a new task is {new.state.name}"
    if old.status == new.status:
        return None
    through = {old.state} | {state for state in TRANSITIONS[old.state] if state in INTERRUPTED or state is _WORKING}
    reachable = {after for before in through for after in TRANSITIONS[before]}
    return None if new.state in reachable else f"{new.state.name} followed {old.state.name}"


_WORKING = TaskState.WORKING


def a_waiting_task_has_no_lease_and_no_turn(_old: Head | None, new: Head) -> str | None:
    """A wait is on exactly in the interrupted states, and while it is nothing runs or is due."""
    if (new.wait is not None) != (new.state in INTERRUPTED):
        return f"in {new.state.name} the wait is {new.wait}"
    if new.wait is not None and (new.lease is not None or new.turn_due != new.turn):
        return f"waits with lease {new.lease} and turn {new.turn} of {new.turn_due}"
    return None


def a_task_that_does_not_wait_goes_on(_old: Head | None, new: Head) -> str | None:
    """Whoever neither waits nor has ended has a runner, or a turn that is due."""
    if new.is_over or new.wait is not None:
        return None
    expected = new.turn if new.lease is not None else new.turn + 1
    return None if new.turn_due == expected else f"lease {new.lease}, turn {new.turn}, due {new.turn_due}"


def an_ended_task_holds_nothing(_old: Head | None, new: Head) -> str | None:
    """Neither lease nor wait nor token, and it says until when it is kept."""
    if not new.is_over:
        return None if new.expires_at is None else "a living task expires"
    held = (new.lease, new.wait, new.wait_token)
    return None if held == (None, None, "") and new.expires_at is not None else f"holds {held}"


def a_token_belongs_to_a_wait(_old: Head | None, new: Head) -> str | None:
    """There is no token without a wait, and an answered wait takes its token along."""
    return "a token without a wait" if new.wait_token and new.wait is None else None


def numbers_never_go_back(old: Head | None, new: Head) -> str | None:
    """Fences, turns, waits, positions in the journal and nudge numbers only rise."""
    if old is None:
        return None
    counted = ("fence", "turn", "turn_due", "waits", "entries", "read_to", "spoken_to", "nudge_seq", "shown_to")
    fallen = [name for name in counted if getattr(new, name) < getattr(old, name)]
    return f"fell: {fallen}" if fallen else None


def no_turn_kills_workers_for_ever(_old: Head | None, new: Head) -> str | None:
    """An attempt has a number, and there is a last one: who counts further has given the task up."""
    return f"attempt {new.attempt}" if new.attempt > Rules().attempts and not new.is_over else None


def each_wait_is_opened_once(old: Head | None, new: Head) -> str | None:
    """A wait that is new has a number that no wait had."""
    if old is None or new.wait is None or new.wait == old.wait:
        return None
    return None if new.wait.number > old.waits else f"wait {new.wait.number} was there before"


def what_a_partner_must_hear_of_is_told(old: Head | None, new: Head) -> str | None:
    """A new status is news: its number is the version, and every webhook gets a nudge with a number not lower."""
    told = {effect.config_id: effect.seq for effect in effects(old, new) if isinstance(effect, Nudge)}
    moved = old is not None and old.status != new.status
    if moved and new.nudge_seq != new.version:
        return f"status changed at {new.version}, newest news {new.nudge_seq}"
    expected = set(new.push) if moved else set()
    untold = {config for config in expected if told.get(config, 0) < new.version}
    return f"not told: {untold}" if untold else None


def writes_that_mean_nothing_cause_nothing(old: Head | None, new: Head) -> str | None:
    """A lease, a token, a receipt: nothing follows from a change of these alone."""
    if old is None:
        return None
    silent = old.but(version=new.version, lease=new.lease, wait_token=new.wait_token)
    return f"caused {effects(old, new)}" if silent == new and effects(old, new) else None


def what_is_due_is_started(old: Head | None, new: Head) -> str | None:
    """A turn that becomes due is queued, a wait that opens is held, one that ends is let go, a cancel is told."""
    found = effects(old, new)
    due, waiting = (old.turn_due, old.wait) if old is not None else (0, None)
    expected = [
        RunTurn(new.key, new.turn_due) if new.turn_due > due else None,
        StartWait(new.key, new.wait) if new.wait is not None and new.wait != waiting else None,
        EndWait(new.key, waiting.number, old.wait_token)
        if old is not None and waiting is not None and waiting != new.wait and old.wait_token
        else None,
        NoticeCancel(new.key) if new.state is TaskState.CANCELED and old is not None and not old.is_over else None,
    ]
    missing = [effect for effect in expected if effect is not None and effect not in found]
    return f"missing {missing}" if missing else None


CHECKS: tuple[Callable[[Head | None, Head], str | None], ...] = (
    version_strictly_rises,
    nothing_follows_the_end,
    states_follow_the_table,
    a_waiting_task_has_no_lease_and_no_turn,
    a_task_that_does_not_wait_goes_on,
    an_ended_task_holds_nothing,
    a_token_belongs_to_a_wait,
    numbers_never_go_back,
    no_turn_kills_workers_for_ever,
    each_wait_is_opened_once,
    what_a_partner_must_hear_of_is_told,
    writes_that_mean_nothing_cause_nothing,
    what_is_due_is_started,
)


@dataclass
class Watched:
    """What was committed so far, and what was wrong with it."""

    wrong: list[str] = field(default_factory=list)
    journals: dict[TaskKey, tuple[Entry, ...]] = field(default_factory=dict)

    def saw(self, old: Head | None, new: Head) -> None:
        """Check one committed change."""
        for check in CHECKS:
            said = check(old, new)
            if said is not None:
                self.wrong.append(f"{check.__name__}: {said} ({new.key.task_id}, version {new.version})")

    def journal_only_appended(self, head: Head, entries: Sequence[Entry]) -> None:
        """What was in the journal stays there, as it was and where it was."""
        known = self.journals.get(head.key, ())
        if tuple(entries[: len(known)]) != known or len(entries) != head.entries:
            self.wrong.append(f"journal_only_appended: {head.key.task_id} at version {head.version}")
        self.journals[head.key] = tuple(entries)
