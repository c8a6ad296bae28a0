"""The machine of `tests/unit/core/test_machine.py`, over HTTP: the same callers, the same model and the same rules, in
front of a served stack whose workers are killed and whose deadlines come by themselves.

What is drawn does not depend on how fast the stack is. Nothing has to happen within less than a minute, and whatever
is drawn, at the end every task is over, or is answered until it is.
"""

import os
import re
import time
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Final

import httpx
import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import initialize, rule, run_state_machine_as_test

from a2a_serverless.app.send import SendRequest
from a2a_serverless.core.head import PUSH_NUDGE_KEY
from a2a_serverless.core.lifecycle import is_interrupted, is_terminal
from a2a_serverless.errors import A2AError
from a2a_serverless.local.stack import LocalStack
from a2a_serverless.types import Caller, JsonObject, Owner, Task, TaskKey, TaskPushNotificationConfig, TaskState
from tests.unit.core.callers import Callers, indexes

from .conftest import AGENTS, LEASE, Token
from .hooks import Hook, Hooks
from .wire import Object, RpcError, Wire, eventually, text_of

CHAOS: Final = os.environ.get("HYPOTHESIS_PROFILE") == "chaos"
PATIENCE: Final = 120.0
"""Seconds in which a task must come to its end, whatever was done to it: three attempts and as many leases."""
MOST_TASKS: Final = 5
WORDS: Final = ("ask", "auth", "ask-twice", "auth", "crash-once", "expire 2", "wait 0.4", "steps 60", "echo", "fail")
"""What agents are told to do. The scripted agent says what each is."""
ENDS: Final[Mapping[str, frozenset[TaskState]]] = {
    "": frozenset({TaskState.COMPLETED, TaskState.CANCELED}),
    "expire": frozenset({TaskState.COMPLETED, TaskState.CANCELED, TaskState.FAILED}),
    "fail": frozenset({TaskState.CANCELED, TaskState.FAILED}),
}
"""How a task that is told so may end."""
ADDRESS: Final = re.compile(r"https?://\S+/callbacks/\S+")
WHOLE: Final = {
    "steps 60": "".join(f"step {number} of 60\n" for number in range(1, 61)),
    "crash-once": "attempt [23]",
}
"""The one artifact of a task that was completed."""


@dataclass(frozen=True)
class Place:
    """Where a machine plays."""

    stack: LocalStack
    hooks: Hooks
    token: Token


class Served(Callers):
    """Callers in front of a served stack."""

    agent = "scripted"
    retry_window = timedelta(hours=1)
    place: Place

    def __init__(self) -> None:
        super().__init__()
        run = uuid.uuid4().hex[:12]
        self.people = (Caller(Owner(f"alice-{run}")), Caller(Owner(f"bob-{run}")))
        self.wires = {person: self._wire(person) for person in self.people}
        self.webhook: Hook = self.place.hooks.hook()
        self.hook = self.webhook.url
        self.killed: set[str] = set()
        self.addresses: dict[str, TaskKey] = {}
        """Callback addresses that were given out, and by which tasks."""
        self.fetched: dict[TaskKey, int] = {}
        """The newest number that the owner has fetched: whoever has fetched a task need not be told of it."""

    def _wire(self, person: Caller) -> Wire:
        return Wire(self.place.stack.url, self.place.token(person.owner.subject))

    @initialize(words=st.lists(st.sampled_from(WORDS), min_size=2, max_size=3))
    def begin(self, words: list[str]) -> None:
        """Whoever acts on tasks needs some."""
        for number, word in enumerate(words):
            self.send(self.people[0], self.wanted(hook=number == 0, text=word))

    def teardown(self) -> None:
        """Everything comes to its end, nothing was lost on the way, and whoever wanted to be told was told."""
        try:
            for key in self.accepted:
                self.ends_as_it_was_told(key)
            self.what_is_shown_follows_the_rules()
            eventually(self.partners_know, PATIENCE)
        finally:
            for wire in self.wires.values():
                wire.close()

    # What may happen beside what callers do

    @rule(who=st.integers(0, 1), hook=st.booleans(), words=st.sampled_from(WORDS))
    def begins_a_task(self, who: int, hook: bool, words: str) -> None:
        """A first message."""
        if len(self.accepted) < MOST_TASKS:
            self.send(self.people[who], self.wanted(hook=hook, text=words))

    @rule(which=indexes, what=st.sampled_from(["address", "address", "time", "much time", "run_turn", "relay"]))
    def something_else_happens(self, which: int, what: str) -> None:
        """Somebody uses a callback address, fresh or used; workers work and deadlines come; or workers die.

        Those at work die once each, if there are any: the third death at a turn would end its task.
        """
        match what:
            case "address":
                self.use_address(which)
            case "time" | "much time":
                time.sleep(0.1 if what == "time" else 0.6)
            case _:
                self.kill(what)

    def kill(self, hop: str) -> None:
        """Kill the workers of a hop, if any are at work soon."""
        until = time.monotonic() + 1.0
        while hop not in self.killed and time.monotonic() < until:
            with suppress(ProcessLookupError):  # it ended by itself meanwhile
                if self.place.stack.kill_worker(hop):
                    self.killed.add(hop)
            time.sleep(0.02)

    def use_address(self, which: int) -> None:
        """Post to one of the addresses that tasks gave out."""
        if self.addresses:
            address = list(self.addresses)[which % len(self.addresses)]
            self.post(self.addresses[address], address, {"approved": True})

    def shown(self, key: TaskKey, task: Task) -> None:
        super().shown(key, task)
        for address in ADDRESS.findall(task.status.message.text if task.status.message else ""):
            self.addresses[address] = key

    # How the deployment is spoken to

    def now(self) -> datetime:
        return datetime.now(UTC)

    def somebody_may_be_faster(self) -> bool:
        return False

    def call_send(self, caller: Caller, wanted: SendRequest) -> Task:
        params: Object = {
            "message": wanted.message.to_wire(),
            "configuration": {"returnImmediately": True},
        }
        if wanted.configuration.push is not None:
            params["configuration"]["taskPushNotificationConfig"] = wanted.configuration.push.to_wire()
        return Task.model_validate(self._call(caller, "SendMessage", params)["task"])

    def call_get(self, caller: Caller, task_id: str) -> Task:
        task = Task.model_validate(self._call(caller, "GetTask", {"id": task_id}))
        key = next(key for key in self.accepted if key.task_id == task_id)
        self.fetched[key] = number_of(task)
        return task

    def call_list(self, caller: Caller) -> tuple[Sequence[Task], int]:
        page = self._call(caller, "ListTasks", {"historyLength": 1000, "includeArtifacts": True})
        return [Task.model_validate(task) for task in page["tasks"]], page["totalSize"]

    def look(self, key: TaskKey) -> Task:
        """As the list shows it: that is no fetch, after which nobody would have to be told."""
        listed, _ = self.call_list(self.owner(key))
        return next(task for task in listed if task.id == key.task_id)

    def call_cancel(self, caller: Caller, task_id: str) -> Task:
        return Task.model_validate(self._call(caller, "CancelTask", {"id": task_id}))

    def call_create_webhook(self, caller: Caller, task_id: str, config: TaskPushNotificationConfig) -> None:
        self._call(caller, "CreateTaskPushNotificationConfig", {**config.to_wire(), "taskId": task_id})

    def call_delete_webhook(self, caller: Caller, task_id: str, config_id: str) -> None:
        self._call(caller, "DeleteTaskPushNotificationConfig", {"taskId": task_id, "id": config_id})

    def call_post(self, address: str, posted: JsonObject) -> bool:
        answer = httpx.post(address, json=posted, timeout=60)
        assert answer.status_code in {200, 404}, answer.text
        return answer.status_code == 200

    def _call(self, caller: Caller, method: str, params: Object) -> Any:
        """The result of a call.

        Raises:
            A2AError: it was refused, as the core refuses it.
        """
        try:
            return self.wires[caller].rpc(method, params)
        except RpcError as refused:
            raise refusal_of(refused) from refused

    # At the end

    def ends_as_it_was_told(self, key: TaskKey) -> None:
        """Answer whatever it asks until it is over: with all it was told in its history, and a result that is whole."""
        until = time.monotonic() + PATIENCE
        while not is_terminal((task := self.look(key)).status.state):
            assert time.monotonic() < until, f"not over within {PATIENCE} s: {task.status}"
            if is_interrupted(task.status.state):
                self.send(self.owner(key), self.wanted(task=key.task_id))
            time.sleep(0.1)
        self.shown(key, task)
        words = task.history[0].text
        may = ENDS.get(words.split()[0], ENDS[""])
        assert task.status.state in may, f"{words}: {task.status}"
        if task.status.state is TaskState.COMPLETED and words in WHOLE:
            (artifact,) = task.artifacts
            assert re.fullmatch(WHOLE[words], text_of(artifact.to_wire()))

    def partners_know(self) -> bool:
        """Of each task that was begun with a webhook its last change was told, or the owner has fetched it."""
        first = [sent for sent in self.sent if not sent.request.message.task_id]
        hooked = [sent.key for sent in first if sent.request.configuration.push]
        return all(max(self.told_of(key), self.fetched.get(key, 0)) >= number_of(self.look(key)) for key in hooked)

    def told_of(self, key: TaskKey) -> int:
        """The newest number that the webhook was told of."""
        told = [posted.json()["statusUpdate"] for posted in self.webhook.all]
        about = [event for event in told if event["taskId"] == key.task_id]
        return max((int(event["metadata"][PUSH_NUDGE_KEY]["seq"]) for event in about), default=0)


def number_of(task: Task) -> int:
    """The number of the last change that a partner hears of."""
    return int((task.metadata or {}).get(PUSH_NUDGE_KEY, {}).get("seq", 0))


def refusal_of(refused: RpcError) -> A2AError:
    """What the core raises for this."""
    kinds = [kind for kind in A2AError.__subclasses__() if kind.kind.code == refused.code]
    assert kinds, f"{refused} is none of the protocol's errors"
    return kinds[0](refused.message)


@pytest.fixture(scope="module")
def restless_stack() -> Iterator[LocalStack]:
    """One that takes over from dead workers soon."""
    env = {"A2A_LEASE_SECONDS": str(int(LEASE))}
    with LocalStack(agents={"scripted": AGENTS["scripted"]}, auth="dev", env=env) as running:
        yield running


def test_whatever_callers_do_and_whoever_dies_the_rules_of_a_task_hold(
    restless_stack: LocalStack, hooks: Hooks, token: Token
) -> None:
    there = Place(restless_stack, hooks, token)

    class Machine(Served):
        place = there

    run_state_machine_as_test(
        Machine,
        settings=settings(
            max_examples=25 if CHAOS else 5,
            stateful_step_count=40 if CHAOS else 20,
            derandomize=not CHAOS,
            database=None,
            deadline=None,
            phases=[Phase.generate],  # a served stack is no two times the same: what failed is told as it was
            suppress_health_check=list(HealthCheck),
        ),
    )
