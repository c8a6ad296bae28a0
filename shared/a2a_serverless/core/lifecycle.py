"""States and transitions, as data.

Two rules of this file: every transition is in the table, and nothing here knows who asks for one.
A terminal state has no way out: no event, no message, no late result, no timer (SPEC 3.1.1, 4.1.3).
"""

from typing import Final

from a2a_serverless.errors import IllegalChange
from a2a_serverless.types import TaskState

TERMINAL: Final = frozenset(
    {TaskState.COMPLETED, TaskState.FAILED, TaskState.CANCELED, TaskState.REJECTED},
)
INTERRUPTED: Final = frozenset({TaskState.INPUT_REQUIRED, TaskState.AUTH_REQUIRED})

_FROM_ALIVE: Final = frozenset({TaskState.WORKING}) | INTERRUPTED | TERMINAL

TRANSITIONS: Final = {
    TaskState.SUBMITTED: _FROM_ALIVE,
    TaskState.WORKING: _FROM_ALIVE,
    TaskState.INPUT_REQUIRED: _FROM_ALIVE,
    TaskState.AUTH_REQUIRED: _FROM_ALIVE,
    TaskState.COMPLETED: frozenset[TaskState](),
    TaskState.FAILED: frozenset[TaskState](),
    TaskState.CANCELED: frozenset[TaskState](),
    TaskState.REJECTED: frozenset[TaskState](),
}
"""From a state to those that may follow. WORKING may follow itself: progress is a new status in the same state."""


def is_terminal(state: TaskState) -> bool:
    """Whether nothing can follow."""
    return state in TERMINAL


def is_interrupted(state: TaskState) -> bool:
    """Whether the task waits for somebody outside (SPEC 3.2.2: a blocking send ends here too)."""
    return state in INTERRUPTED


def check(before: TaskState, after: TaskState) -> None:
    """Refuse a transition that is not in the table.

    Raises:
        IllegalChange: `after` may not follow `before`; nothing was changed.
    """
    if after not in TRANSITIONS[before]:
        raise IllegalChange(f"{after.name} may not follow {before.name}")
