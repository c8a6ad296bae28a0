"""Tasks as the use cases make them, for tests of what stores them."""

import base64
import random
from datetime import datetime, timedelta

from a2a_serverless.app.ports import TaskStore
from a2a_serverless.core import sends, turns
from a2a_serverless.core.endings import Ended, Question
from a2a_serverless.core.head import Change, Head, Rules, WaitKind
from a2a_serverless.core.journal import ArtifactChanged, Entry, Spoken, StatusChanged
from a2a_serverless.core.turns import Begun
from a2a_serverless.core.waits import agent_message
from a2a_serverless.types import Artifact, Caller, Message, Part, Role, Scope, TaskKey, TaskState, TaskStatus
from tests.fakes import START

RULES = Rules()


def incompressible(size: int) -> str:
    """Text that no compression makes much smaller."""
    return base64.b64encode(random.Random(size).randbytes(size)).decode()[:size]


def message(text: str = "Quote 3 pallets", *, message_id: str = "m-1") -> Message:
    return Message(message_id=message_id, role=Role.USER, parts=(Part(text=text),))


def artifact(text: str, *, artifact_id: str = "quote", append: bool = False) -> ArtifactChanged:
    return ArtifactChanged(Artifact(artifact_id=artifact_id, parts=(Part(text=text),)), append=append)


def working(now: datetime, said: Message | None = None) -> StatusChanged:
    return StatusChanged(TaskStatus(state=TaskState.WORKING, message=said, timestamp=now))


def new(
    scope: Scope,
    task_id: str = "t-1",
    *,
    text: str = "Quote 3 pallets",
    context_id: str = "c-1",
    push: tuple[str, ...] = (),
    now: datetime = START,
) -> Change:
    """The change that makes a task."""
    return sends.new_task(
        TaskKey(scope, task_id),
        Spoken(message(text)),
        context_id=context_id,
        caller=Caller(scope.owner),
        sent=sends.fingerprint(Spoken(message(text))),
        push=push,
        rules=RULES,
        now=now,
    )


def begin(head: Head, *, now: datetime = START, turn: int = 1) -> Change:
    """The change that takes the lease."""
    beginning = turns.begin(head, turn, message_id="m-fault", rules=RULES, now=now)
    assert isinstance(beginning, Begun), beginning
    return beginning.change


def say(head: Head, *entries: Entry, now: datetime = START) -> Change:
    """The change that a runner writes while it runs."""
    return turns.progress(head, head.fence, *entries, rules=RULES, now=now)


def complete(head: Head, *entries: Entry, text: str = "", now: datetime = START) -> Change:
    """The change that ends a task."""
    said = agent_message(head, text, message_id="m-done") if text else None
    ended = Ended(TaskState.COMPLETED, said)
    return turns.end(head, head.fence, ended, *entries, memory={}, rules=RULES, now=now)


def ask(
    head: Head, text: str = "Sea or air?", *, within: timedelta = timedelta(days=2), now: datetime = START
) -> Change:
    """The change that parks a task."""
    asked = Question(kind=WaitKind.INPUT, message=agent_message(head, text, message_id="m-ask"), within=within)
    return turns.end(head, head.fence, asked, memory={"mode": None}, rules=RULES, now=now)


def answer(head: Head, text: str = "sea", *, now: datetime = START) -> Change:
    """The change that an answer makes."""
    caller = Caller(head.key.scope.owner)
    said = Spoken(message(text, message_id=f"m-{text}"))
    change = sends.accept(head, said, caller=caller, sent=sends.fingerprint(said), rules=RULES, now=now)
    assert isinstance(change, Change)
    return change


def running(store: TaskStore, scope: Scope, task_id: str = "t-1", *, now: datetime = START) -> Head:
    """A stored task whose first turn runs."""
    return store.commit(begin(store.create(new(scope, task_id, now=now)), now=now))


def waiting(store: TaskStore, scope: Scope, task_id: str = "t-1", *, now: datetime = START) -> Head:
    """A stored task that asks."""
    return store.commit(ask(running(store, scope, task_id, now=now), now=now))


def completed(store: TaskStore, scope: Scope, task_id: str = "t-1", *, text: str = "", now: datetime = START) -> Head:
    """A stored task that has ended."""
    return store.commit(complete(running(store, scope, task_id, now=now), text=text, now=now))
