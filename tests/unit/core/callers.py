"""What callers do to tasks and what must hold of what they are shown: one model for every machine that drives a
deployment, whether in memory step by step (`test_machine`) or served over HTTP (`tests/e2e/test_machine`).

The model knows what was accepted and in which order, which send a repeat would be a retry of, and what every task
looked like when it was last seen. Who carries the calls out says `Callers` what became of them.
"""

from abc import abstractmethod
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from a2a_serverless.app.send import SendRequest
from a2a_serverless.core.head import PUSH_NUDGE_KEY
from a2a_serverless.core.lifecycle import TRANSITIONS, is_terminal
from a2a_serverless.errors import InvalidParams, TaskNotCancelable, TaskNotFound, UnsupportedOperation
from a2a_serverless.types import (
    Caller,
    JsonObject,
    Role,
    Scope,
    Task,
    TaskKey,
    TaskPushNotificationConfig,
    TaskState,
)
from tests.unit.app.world import request, webhook

indexes: Final = st.integers(0, 30)


@dataclass(frozen=True)
class Accepted:
    """A send that was accepted, to be repeated one day."""

    caller: Caller
    request: SendRequest
    key: TaskKey
    at: datetime


class Callers(RuleBasedStateMachine):
    """Two callers and their tasks."""

    agent: str
    """The agent's name in the keys of tasks."""
    people: tuple[Caller, Caller]
    hook: str
    """Where webhooks lead."""
    retry_window: timedelta

    def __init__(self) -> None:
        super().__init__()
        self.accepted: dict[TaskKey, list[str]] = {}
        """Of each task the ids of its messages, in the order in which they were accepted."""
        self.sent: list[Accepted] = []
        self.newest: dict[TaskKey, Accepted] = {}
        """The send whose repeat is a retry."""
        self.seen: dict[TaskKey, Task] = {}
        """Each task as it was shown last."""
        self.texts = 0

    # How a deployment is spoken to

    @abstractmethod
    def now(self) -> datetime:
        """The deployment's time."""

    @abstractmethod
    def somebody_may_be_faster(self) -> bool:
        """Whether the next change may find that another came before it, so that the model cannot say what comes."""

    @abstractmethod
    def call_send(self, caller: Caller, wanted: SendRequest) -> Task:
        """SendMessage. Raises what the deployment refuses it with, as all of these do."""

    @abstractmethod
    def call_get(self, caller: Caller, task_id: str) -> Task:
        """GetTask."""

    @abstractmethod
    def call_list(self, caller: Caller) -> tuple[Sequence[Task], int]:
        """ListTasks: all tasks of a caller with all that is in them, and how many there are said to be."""

    @abstractmethod
    def call_cancel(self, caller: Caller, task_id: str) -> Task:
        """CancelTask."""

    @abstractmethod
    def call_create_webhook(self, caller: Caller, task_id: str, config: TaskPushNotificationConfig) -> None:
        """CreateTaskPushNotificationConfig."""

    @abstractmethod
    def call_delete_webhook(self, caller: Caller, task_id: str, config_id: str) -> None:
        """DeleteTaskPushNotificationConfig."""

    @abstractmethod
    def call_post(self, address: str, posted: JsonObject) -> bool:
        """A post to a callback address; answers whether its task goes on."""

    def look(self, key: TaskKey) -> Task:
        """A task as its owner sees it."""
        return self.call_get(self.owner(key), key.task_id)

    # What callers do

    @rule(
        task=indexes,
        what=st.sampled_from(["answer"] * 3 + ["answer with a webhook", "repeat", "repeat", "fetch", "cancel"]),
    )
    def a_caller_acts(self, task: int, what: str) -> None:
        """A message to a task whatever it does, an old send again, a look, or a cancel."""
        key = self.task(task)
        match what:
            case "answer" | "answer with a webhook":
                self.send(self.owner(key), self.wanted(hook=what != "answer", task=key.task_id))
            case "repeat":
                sent = self.sent[task % len(self.sent)]
                self.send(sent.caller, sent.request, sent)
            case "fetch":
                self.fetch(key)
            case _:
                self.cancel(key)

    @rule(task=indexes, name=st.sampled_from(["a", "b"]), delete=st.booleans())
    def a_webhook_changes(self, task: int, name: str, delete: bool) -> None:
        """One comes, is replaced, or goes."""
        key = self.task(task)
        if delete:
            self.call_delete_webhook(self.owner(key), key.task_id, name)
            return
        with suppress(InvalidParams):  # it has as many as it may
            self.call_create_webhook(self.owner(key), key.task_id, webhook(self.hook, id=name))

    # What must hold

    @invariant()
    def what_is_shown_follows_the_rules(self) -> None:
        """Lists hold a caller's tasks and no other, newest first, and each is what it may be after all that was."""
        for caller in self.people:
            listed, total = self.call_list(caller)
            own = {key.task_id: key for key in self.accepted if self.owner(key) == caller}
            assert sorted(task.id for task in listed) == sorted(own), f"listed {listed}"
            assert total == len(own)
            order = [(task.status.timestamp, task.id) for task in listed]
            assert order == sorted(order, reverse=True), f"listed {order}"
            for task in listed:
                self.shown(own[task.id], task)

    def shown(self, key: TaskKey, task: Task) -> None:
        """Judge a task that was shown, by all that is known of it."""
        heard = [message.message_id for message in task.history if message.role is Role.USER]
        assert heard == self.accepted[key], f"{key.task_id}: accepted {self.accepted[key]}, heard {heard}"
        before = self.seen.get(key)
        if before is not None:
            for check in SHOWN:
                says = check(before, task)
                assert says is None, f"{check.__name__}: {says} ({key.task_id})"
        self.seen[key] = task

    # How

    def task(self, which: int) -> TaskKey:
        """One of the tasks."""
        keys = list(self.accepted)
        return keys[which % len(keys)]

    def owner(self, key: TaskKey) -> Caller:
        """Whose task it is."""
        return next(caller for caller in self.people if caller.owner == key.scope.owner)

    def wanted(self, *, hook: bool = False, task: str = "", text: str = "") -> SendRequest:
        """A send that was never made before; to a task, or one that makes a task."""
        self.texts += 1
        name = f"message {self.texts}"
        address = self.hook if hook else ""
        return request(text or name, message_id=name, task=task, return_immediately=True, hook=address)

    def send(self, caller: Caller, wanted: SendRequest, repeated: Accepted | None = None) -> None:
        """Send, and judge by the model whether that was a retry, a message, or too late."""
        raced = self.somebody_may_be_faster()
        expected = None if raced else self._retried(repeated)
        try:
            answer = self.call_send(caller, wanted)
        except UnsupportedOperation:
            assert wanted.message.task_id
            assert is_terminal(self.look(self._key(caller, wanted.message.task_id)).status.state)
            return
        except InvalidParams:
            assert wanted.configuration.push is not None
            assert wanted.message.task_id, "a first webhook is never one too many"
            return
        key = self._key(caller, answer.id)
        if expected is not None:
            assert key == expected, "a retry got another task"
        if self._was_accepted(key, wanted):
            assert expected is None, "a retry was taken for a message"
            sent = Accepted(caller, wanted, key, self.now())
            self.accepted.setdefault(key, []).append(wanted.message.message_id)
            self.newest[key] = sent
            self.sent.append(sent)
        else:
            assert raced or expected is not None, "a message was taken for a retry"

    def _key(self, caller: Caller, task_id: str) -> TaskKey:
        return TaskKey(Scope(self.agent, caller.owner), task_id)

    def _retried(self, repeated: Accepted | None) -> TaskKey | None:
        """The task that a repeat belongs to, if it is a retry."""
        if repeated is None:
            return None
        newest = [sent for sent in self.newest.values() if sent.request == repeated.request]
        alive = [sent for sent in newest if sent.caller == repeated.caller and self._is_in_window(sent)]
        return alive[-1].key if alive else None

    def _is_in_window(self, sent: Accepted) -> bool:
        return self.now() - sent.at < self.retry_window

    def _was_accepted(self, key: TaskKey, wanted: SendRequest) -> bool:
        heard = sum(message.message_id == wanted.message.message_id for message in self.look(key).history)
        return heard > self.accepted.get(key, []).count(wanted.message.message_id)

    def cancel(self, key: TaskKey) -> None:
        """Cancel: either it is canceled now, or it was over."""
        try:
            canceled = self.call_cancel(self.owner(key), key.task_id)
        except TaskNotCancelable:
            assert is_terminal(self.look(key).status.state)
        else:
            assert canceled.status.state is TaskState.CANCELED
            self.newest.pop(key, None)

    def fetch(self, key: TaskKey) -> None:
        """The owner is shown his task, and nobody else is."""
        other = next(caller for caller in self.people if caller != self.owner(key))
        self.shown(key, self.call_get(self.owner(key), key.task_id))
        try:
            self.call_get(other, key.task_id)
        except TaskNotFound:
            return
        raise AssertionError("a foreign task was shown")

    def post(self, key: TaskKey, address: str, posted: JsonObject) -> bool:
        """Post to a callback address of a task; answers whether it goes on, by one more message."""
        goes_on = self.call_post(address, posted)
        if goes_on:
            heard = [message.message_id for message in self.look(key).history if message.role is Role.USER]
            self.accepted[key].append(heard[-1])
        return goes_on


# What is shown of a task, and what may be shown after it. A check answers what is wrong in words, or None.


def nothing_is_shown_after_the_end(before: Task, after: Task) -> str | None:
    """A task that has ended looks the same for ever; only the bookkeeping of its webhooks goes on."""
    if not is_terminal(before.status.state):
        return None
    same = before.but(metadata=None) == after.but(metadata=None)
    return None if same else f"{before.status} was followed by {after}"


def statuses_follow(before: Task, after: Task) -> str | None:
    """By the table, in order of time, and never back to the beginning."""
    if before.status == after.status:
        return None
    if after.status.state not in TRANSITIONS[before.status.state]:
        return f"{after.status.state.name} followed {before.status.state.name}"
    moments = before.status.timestamp, after.status.timestamp
    if moments[0] is None or moments[1] is None or moments[0] > moments[1]:
        return f"{moments[1]} followed {moments[0]}"
    return None


def what_was_said_stays_said(before: Task, after: Task) -> str | None:
    """The history grows at its end, and what is in it stays there."""
    kept = after.history[: len(before.history)] == before.history
    return None if kept else f"{before.history} was followed by {after.history}"


def numbers_rise(before: Task, after: Task) -> str | None:
    """What a partner goes by never falls."""
    numbers = [int((task.metadata or {}).get(PUSH_NUDGE_KEY, {}).get("seq", 0)) for task in (before, after)]
    return None if numbers == sorted(numbers) else f"{numbers[1]} followed {numbers[0]}"


def artifacts_are_there_once(_before: Task, after: Task) -> str | None:
    """No result is there twice."""
    names = [artifact.artifact_id for artifact in after.artifacts]
    return None if len(set(names)) == len(names) else f"{names}"


SHOWN: Final[tuple[Callable[[Task, Task], str | None], ...]] = (
    nothing_is_shown_after_the_end,
    statuses_follow,
    what_was_said_stays_said,
    numbers_rise,
    artifacts_are_there_once,
)
