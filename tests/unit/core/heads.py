"""Heads and messages to begin a test of the core with."""

from datetime import timedelta

from a2a_serverless.core.head import Head, Lease, Wait, WaitKind
from a2a_serverless.types import Caller, Message, Owner, Part, Role, Scope, TaskKey, TaskState, TaskStatus
from tests.fakes import START

ALICE = Caller(Owner("alice"))
KEY = TaskKey(Scope("tester", ALICE.owner), "task-1")


def a_head(state: TaskState = TaskState.WORKING, *, waiting: bool = False, leased: bool = False) -> Head:
    """A stored head in that state, its first turn begun."""
    return Head(
        key=KEY,
        context_id="context-1",
        caller=ALICE,
        status=TaskStatus(state=state, timestamp=START),
        created_at=START,
        version=7,
        entries=3,
        turn=1,
        turn_due=1,
        attempt=1,
        fence=1,
        shown_to=3,
        spoken_to=1,
        turn_from=1,
        waits=1 if waiting else 0,
        wait=a_wait() if waiting else None,
        lease=Lease(START + timedelta(seconds=30)) if leased else None,
    )


def a_wait(number: int = 1) -> Wait:
    """A question that is open for two days."""
    return Wait(number=number, kind=WaitKind.INPUT, since=START, until=START + timedelta(days=2))


def a_message(text: str = "hello", *, message_id: str = "", task_id: str = "", role: Role = Role.USER) -> Message:
    """A message whose id is its text unless another is given."""
    return Message(message_id=message_id or text, role=role, parts=(Part(text=text),), task_id=task_id)
