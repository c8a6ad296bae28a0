"""run_turn: take the lease, let the agent run for one turn, write what it says, end the turn.

A delivery may come twice, early, late or after its worker died; the lease and the turn's number decide what it is
worth. An agent's fault ends the task, ours is raised, so that the queue brings the turn back.
"""

import inspect
import json
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final, assert_never

from a2a_serverless.agent.agent import Agent, decides_on_expiry, notices_cancel
from a2a_serverless.agent.turn import Turn
from a2a_serverless.app.callbacks import Callbacks
from a2a_serverless.app.context_memory import ContextMemory
from a2a_serverless.app.ports import Clock, ContextStore, Ids, TaskStore
from a2a_serverless.app.turn_writer import TurnWriter
from a2a_serverless.core import turns
from a2a_serverless.core.head import Head, Record, Rules, TurnTrigger
from a2a_serverless.core.journal import Spoken
from a2a_serverless.core.turns import Begun, Ended, Ending, Exhausted, Held, NothingToDo
from a2a_serverless.core.waits import agent_message
from a2a_serverless.errors import Conflict, LeaseLost
from a2a_serverless.types import Message, TaskKey, TaskState

_TRIES: Final = 12
_FAULT: Final = "the agent failed; its operator finds the reason under this task's id"

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Done:
    """The delivery is settled."""

    why: str


@dataclass(frozen=True, slots=True)
class Later:
    """Another runner may still have the task: deliver again then."""

    until: datetime


@dataclass(frozen=True, slots=True)
class Buried:
    """The turn killed its worker too often; its task has failed, and the delivery belongs to the dead letters."""

    reason: str


Outcome = Done | Later | Buried

Watch = Callable[[TurnWriter, Callable[[], None]], None]
"""Run the agent (the second argument) while the writer ticks: see `functions.run_turn.pulse`."""


def unwatched(writer: TurnWriter, run: Callable[[], None]) -> None:
    """Run the agent with nobody keeping the lease: for turns that are shorter than it."""
    del writer
    run()


@dataclass(frozen=True, slots=True, kw_only=True)
class Runner:
    """What turns are run with."""

    agents: Callable[[str], Agent]
    """The agent of that name in the deployment."""
    tasks: TaskStore
    contexts: ContextStore
    callbacks: Callbacks
    clock: Clock
    ids: Ids
    rules: Rules = field(default_factory=Rules)
    watch: Watch = unwatched


def run_turn(runner: Runner, key: TaskKey, turn: int, *, redelivered: bool = False) -> Outcome:
    """Run one turn of a task, if it is due and nobody else runs it.

    `redelivered`: the delivery came before, so its worker may have died; a first one that finds the task held is a
    duplicate and can go.

    Raises:
        Exception: ours; nothing of the turn took effect, and the delivery must come again.
    """
    began = _begin(runner, key, turn)
    match began:
        case Head():
            return _run(runner, began)
        case Held(until):
            return Later(until) if redelivered else Done("another runner has the task")
        case NothingToDo():
            return Done("the turn is over, or its task waits or has ended")
        case Exhausted():
            return Buried(f"turn {turn} stopped its worker {runner.rules.attempts} times")
        case _:
            assert_never(began)


def notice_cancel(runner: Runner, key: TaskKey) -> Outcome:
    """Let the agent clean up after a cancel; its faults are logged and change nothing."""
    agent = runner.agents(key.scope.agent)
    if not notices_cancel(agent):
        return Done("the agent has nothing to clean up")
    record = runner.tasks.read(key, now=runner.clock())
    if record is None or record.head.state is not TaskState.CANCELED:
        return Done("the task is not canceled")
    agent.on_cancel(record.task())
    return Done("the agent was told of the cancel")


def _begin(runner: Runner, key: TaskKey, turn: int) -> Head | Held | NothingToDo | Exhausted:
    """Take the lease: answers the head with it, or why there is nothing to run."""
    for _ in range(_TRIES):
        now = runner.clock()
        head = runner.tasks.head(key, now=now)
        if head is None:
            return NothingToDo()
        beginning = turns.begin(head, turn, message_id=runner.ids(), rules=runner.rules, now=now)
        if isinstance(beginning, Held | NothingToDo):
            return beginning
        try:
            written = runner.tasks.commit(beginning.change)
        except Conflict:
            continue
        return written if isinstance(beginning, Begun) else beginning
    raise Conflict(f"other writers came first {_TRIES} times on task {key.task_id}")


def _run(runner: Runner, head: Head) -> Outcome:
    now = runner.clock()
    record = runner.tasks.read(head.key, now=now)
    if record is None:
        return Done("the task expired")
    writer = TurnWriter(
        head,
        tasks=runner.tasks,
        rules=runner.rules,
        clock=runner.clock,
        callback_url=lambda: runner.callbacks.address(head.key, head.waits + 1),
    )
    writer.begin()
    memory = ContextMemory(runner.contexts, head.key.scope, head.context_id)
    turn = _turn(runner, head, record, writer, memory)
    try:
        ending = _ending_of(runner, writer, turn)
        memory.save(turn.touched_context, expires_at=runner.clock() + runner.rules.retention)
        ended = writer.finish(ending, dict(turn.state))
    except LeaseLost as lost:
        return Done(f"the run lost its task: {lost}")
    return Done(f"the turn ended in {ended.state.name}")


def _turn(runner: Runner, head: Head, record: Record, writer: TurnWriter, memory: ContextMemory) -> Turn:
    given = Record(record.head, record.entries[: head.shown_to])
    return Turn(
        task=given.task(),
        messages=_messages(head, record),
        state=dict(head.memory),
        caller=head.caller,
        attempt=head.attempt,
        trigger=head.trigger,
        sink=writer,
        load_context=memory.load,
        clock=runner.clock,
        ids=runner.ids,
    )


def _messages(head: Head, record: Record) -> tuple[Message, ...]:
    """What was said since the last turn ended, up to what this turn was given."""
    entries = record.entries[head.read_to : head.shown_to]
    return tuple(entry.message for entry in entries if isinstance(entry, Spoken))


def _ending_of(runner: Runner, writer: TurnWriter, turn: Turn) -> Ending:
    """Run the agent and say how its turn ended; its fault is an ending too."""
    agent = runner.agents(writer.head.key.scope.agent)
    try:
        runner.watch(writer, lambda: _call(agent, turn))
        _check_memory(turn, runner.rules)
    except LeaseLost:
        raise
    except Exception:
        if writer.lost:
            raise LeaseLost("the task was lost while the agent ran") from None
        log.exception("the agent raised", extra=_where(writer.head))
        return _fault(runner, writer.head)
    if writer.ending is None:
        log.error("the agent returned without ending its turn: call complete, fail, reject, ask or require_auth",
                  extra=_where(writer.head))  # fmt: skip
        return _fault(runner, writer.head)
    return writer.ending


def _call(agent: Agent, turn: Turn) -> None:
    expired = turn.trigger is TurnTrigger.EXPIRED and decides_on_expiry(agent)
    result = agent.on_expire(turn) if expired else agent.run(turn)
    if inspect.isawaitable(result):
        _await(result)


def _await(result: Awaitable[None]) -> None:
    import asyncio  # costs 50 ms of a cold start: only agents that are async pay it

    async def finish() -> None:
        await result

    asyncio.run(finish())


def _check_memory(turn: Turn, rules: Rules) -> None:
    for name, value in (("state", turn.state), ("context_state", turn.touched_context)):
        size = len(json.dumps(value, separators=(",", ":"), allow_nan=False))
        if size > rules.memory_bytes:
            raise ValueError(
                f"turn.{name} holds {size} bytes of JSON and may hold {rules.memory_bytes}: keep large things elsewhere"
            )


def _fault(runner: Runner, head: Head) -> Ended:
    return Ended(TaskState.FAILED, agent_message(head, _FAULT, message_id=runner.ids()))


def _where(head: Head) -> dict[str, object]:
    return {"task_id": head.key.task_id, "turn": head.turn, "attempt": head.attempt}
