"""run_turn: take the lease, let the agent run for one turn, write what it says, end the turn.

A delivery may come twice, early, late or after its worker died; the lease and the turn's number decide what it is
worth. An agent's fault ends the task, ours is raised, so that the queue brings the turn back.
"""

import logging
from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final, assert_never

from a2a_serverless.agent.agent import Agent, notices_cancel
from a2a_serverless.agent.turn import DEFAULT_WAIT, Turn
from a2a_serverless.app.agent_call import OurFaults, TurnResult, Watch, call_agent, fault, settled, unwatched
from a2a_serverless.app.callbacks import Callbacks
from a2a_serverless.app.context_memory import ContextMemory
from a2a_serverless.app.large_parts import Whole
from a2a_serverless.app.ports import Clock, ContextStore, Ids, PartStore, TaskStore
from a2a_serverless.app.retry import change_task
from a2a_serverless.app.turn_writer import TurnWriter
from a2a_serverless.core import turns
from a2a_serverless.core.cancels import noticed
from a2a_serverless.core.head import Head, Record, Rules
from a2a_serverless.core.journal import Spoken
from a2a_serverless.core.turns import Begun, Exhausted, Held, NothingToDo
from a2a_serverless.errors import Conflict, EntryTooLarge, LeaseLost
from a2a_serverless.types import AgentSkill, JsonObject, Message, TaskKey

_TRIES: Final = 12

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
    parts: PartStore | None = None
    """Where large content is; an agent always gets all of it."""


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
        case Exhausted(None) if not redelivered:
            return Done("the turn was given up")
        case Exhausted():
            return Buried(f"turn {turn} stopped its worker {runner.rules.attempts} times")
        case _:
            assert_never(began)


def notice_cancel(runner: Runner, key: TaskKey) -> Outcome:
    """Let the agent clean up after a cancel; its faults are logged and change nothing.

    That it was told is written down afterwards: whoever dies in between tells it again.
    """
    agent = runner.agents(key.scope.agent)
    if not notices_cancel(agent):
        return Done("the agent has nothing to clean up")
    record = runner.tasks.read(key, now=runner.clock())
    if record is None or not record.head.notice_due:
        return Done("the task is not canceled, or the agent was told")
    try:
        settled(lambda: agent.on_cancel(Whole(runner.parts, key).task(record.task())))
    except Exception:
        log.exception("the agent raised after a cancel", extra={"task_id": key.task_id})
    now = runner.clock()
    change_task(runner.tasks, key, lambda head: noticed(head, rules=runner.rules, now=now), now=now)
    return Done("the agent was told of the cancel")


def _begin(runner: Runner, key: TaskKey, turn: int) -> Head | Held | NothingToDo | Exhausted:
    """Take the lease: answers the head with it, or why there is nothing to run."""
    for _ in range(_TRIES):
        now = runner.clock()
        head = runner.tasks.head(key, now=now)
        if head is None:
            return NothingToDo()
        beginning = turns.begin(head, turn, message_id=runner.ids(), rules=runner.rules, now=now)
        if isinstance(beginning, Held | NothingToDo) or beginning.change is None:
            return beginning
        try:
            written = runner.tasks.commit(beginning.change)
        except Conflict:
            continue
        return written if isinstance(beginning, Begun) else beginning
    raise Conflict(f"other writers came first {_TRIES} times on task {key.task_id}")


def _run(runner: Runner, head: Head) -> Outcome:
    record = runner.tasks.read(head.key, now=runner.clock())
    if record is None:
        return Done("the task expired")
    ours = OurFaults()
    writer = TurnWriter(
        head,
        tasks=runner.tasks,
        rules=runner.rules,
        clock=runner.clock,
        callback_url=ours.noted(lambda: runner.callbacks.address(head.key, head.fence)),
    )
    memory = ContextMemory(runner.contexts, head.key.scope, head.context_id)
    agent = runner.agents(head.key.scope.agent)
    turn = _turn(runner, head, record, writer, ours.noted(memory.load), skills=agent.card.skills)
    try:
        _look_if_late(runner, head, record, writer)
        writer.begin()
        came = call_agent(agent, turn, writer, watch=runner.watch, ours=ours, rules=runner.rules, ids=runner.ids)
        if came.context_state is not None:
            writer.confirm()
            memory.save(came.context_state, expires_at=_forgotten_at(runner))
        ended = _finish(runner, writer, came)
    except LeaseLost as lost:
        return Done(f"the run lost its task: {lost}")
    return Done(f"the turn ended in {ended.state.name}")


def _look_if_late(runner: Runner, head: Head, record: Record, writer: TurnWriter) -> None:
    """A worker that stood still since it took the lease must not start an agent that another has run meanwhile.

    Raises:
        LeaseLost: another runner has the task, or it has ended.
    """
    turns.check_fence(record.head, head.fence)
    if head.lease is None or head.lease.until <= runner.clock():
        writer.confirm()


def _forgotten_at(runner: Runner) -> datetime:
    """A context outlives every task that may still wait in it."""
    return runner.clock() + runner.rules.longest_wait + runner.rules.retention


def _finish(runner: Runner, writer: TurnWriter, came: TurnResult) -> Head:
    try:
        return writer.finish(came.ending, came.state)
    except EntryTooLarge:
        log.exception("the agent's last words are too large", extra={"task_id": writer.head.key.task_id})
        failed = fault(writer.head, runner.ids)
        return writer.finish(failed.ending, failed.state)


def _turn(
    runner: Runner,
    head: Head,
    record: Record,
    writer: TurnWriter,
    load_context: Callable[[], JsonObject],
    *,
    skills: tuple[AgentSkill, ...],
) -> Turn:
    given = Record(record.head, record.entries[: head.shown_to])
    whole, newest = Whole(runner.parts, head.key), _newest(head, record)
    return Turn(
        task=whole.task(given.task()),
        messages=whole.messages(_messages(head, record)),
        state=deepcopy(head.memory),
        caller=head.caller,
        accepted_output_modes=head.accepts,
        metadata=deepcopy(newest.metadata),
        extensions=newest.extensions,
        skills=skills,
        attempt=head.attempt,
        trigger=head.trigger,
        sink=writer,
        load_context=load_context,
        clock=runner.clock,
        ids=runner.ids,
        default_wait=min(DEFAULT_WAIT, runner.rules.longest_question),
    )


def _newest(head: Head, record: Record) -> Spoken:
    """The newest message that this turn was given, with what came beside it; a task begins with one."""
    return next(entry for entry in reversed(record.entries[: head.shown_to]) if isinstance(entry, Spoken))


def _messages(head: Head, record: Record) -> tuple[Message, ...]:
    """What was said since the last turn ended, up to what this turn was given."""
    entries = record.entries[head.read_to : head.shown_to]
    return tuple(entry.message for entry in entries if isinstance(entry, Spoken))
