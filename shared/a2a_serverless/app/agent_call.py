"""Call an agent for one turn, and say how its turn ended, or whose fault it is that it did not.

An agent's fault is an ending too: it fails the task. Ours (a store that does not answer) may surface inside the agent,
when it asks for its context or for a callback address, and must not be taken for the agent's.
"""

import inspect
import json
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Final, TypeVar

from a2a_serverless.agent.agent import Agent, decides_on_expiry, is_its_own_end
from a2a_serverless.agent.turn import ScopesMissing, Turn, TurnEnded
from a2a_serverless.app.agent_loop import wait_for
from a2a_serverless.app.ports import Ids
from a2a_serverless.app.turn_writer import TurnWriter
from a2a_serverless.core.endings import Ended, Ending
from a2a_serverless.core.head import Head, Rules, TurnTrigger
from a2a_serverless.core.waits import agent_message
from a2a_serverless.errors import LeaseLost
from a2a_serverless.types import JsonObject, TaskState

_FAULT: Final = "the agent failed; its operator finds the reason under this task's id"

log = logging.getLogger(__name__)

Watch = Callable[[TurnWriter, Callable[[], None]], None]
"""Run the agent (the second argument) while the writer ticks: see `functions.run_turn.pulse`."""

Answer = TypeVar("Answer")


def unwatched(writer: TurnWriter, run: Callable[[], None]) -> None:
    """Run the agent with nobody keeping the lease: for turns that are shorter than it."""
    del writer
    run()


@dataclass(slots=True)
class OurFaults:
    """Remembers what failed of ours while the agent ran."""

    first: Exception | None = None

    def noted(self, call: Callable[[], Answer]) -> Callable[[], Answer]:
        """The call, with its failure remembered."""

        def noting() -> Answer:
            try:
                return call()
            except Exception as fault:
                self.first = self.first or fault
                raise

        return noting


@dataclass(frozen=True, slots=True)
class TurnResult:
    """How a turn ended, and what is to be kept: plain JSON, small enough."""

    ending: Ending
    state: JsonObject
    context_state: JsonObject | None
    """None: the agent did not ask for it, or its turn failed."""


def call_agent(
    agent: Agent, turn: Turn, writer: TurnWriter, *, watch: Watch, ours: OurFaults, rules: Rules, ids: Ids
) -> TurnResult:
    """Run the agent's turn. What a failed turn did to its state is not kept.

    Raises:
        LeaseLost: the task is no longer this run's.
        Exception: what failed of ours; the turn must run again.
    """
    try:
        _run(agent, turn, writer, watch=watch, ours=ours)
        state = _small_json("state", turn.state, rules)
        touched = turn.touched_context
        context_state = None if touched is None else _small_json("context_state", touched, rules)
    except LeaseLost:
        raise
    except Exception as failure:
        if writer.lost:
            raise LeaseLost("the task was lost while the agent ran") from None
        if ours.first is not None:
            raise
        return _raised(failure, writer.head, ids)
    if writer.lost:
        raise LeaseLost("the task was lost while the agent ran")
    if writer.ending is None:
        log.error("the agent returned without ending its turn: call complete, fail, reject, ask or require_auth",
                  extra=_where(writer.head))  # fmt: skip
        return fault(writer.head, ids)
    return TurnResult(writer.ending, state, context_state)


def _run(agent: Agent, turn: Turn, writer: TurnWriter, *, watch: Watch, ours: OurFaults) -> None:
    """Run the agent. What it lets through after it ended its task is logged: the end stands, and with it what it did.

    Raises:
        Exception: what it let through before, or for saying more after the end: that would be lost.
    """
    try:
        watch(writer, lambda: _call(agent, turn))
    except (LeaseLost, TurnEnded):
        raise
    except Exception:
        if ours.first is not None or not isinstance(writer.ending, Ended):
            raise
        log.exception("the agent raised after it ended its task, which stands", extra=_where(writer.head))


def _raised(failure: Exception, head: Head, ids: Ids) -> TurnResult:
    """What the agent let through: that its caller may not have this done, or a fault of its own."""
    if isinstance(failure, ScopesMissing):
        log.warning("the caller lacks scopes", extra=_where(head) | {"reason": str(failure)})
        message = agent_message(head, str(failure), message_id=ids())
        return TurnResult(Ended(TaskState.REJECTED, message), head.memory, None)
    log.error("the agent raised", exc_info=failure, extra=_where(head))
    return fault(head, ids)


def fault(head: Head, ids: Ids) -> TurnResult:
    """The task fails, with a message that gives nothing away."""
    message = agent_message(head, _FAULT, message_id=ids())
    return TurnResult(Ended(TaskState.FAILED, message), head.memory, None)


def settled(call: Callable[[], Awaitable[None] | None]) -> None:
    """Call a method of the agent, `async` or not, until it is through.

    Raises:
        RuntimeError: it wanted to end its process or its coroutine. What no `except Exception` holds back is taken for
            the death of the worker, and the turn would run two times more to die of the same.
    """
    try:
        result = call()
        if inspect.isawaitable(result):
            wait_for(result)
    except BaseException as end:
        if not is_its_own_end(end):
            raise
        raise RuntimeError(
            f"the agent let {type(end).__name__} through: call turn.fail, or raise an Exception"
        ) from end


def _call(agent: Agent, turn: Turn) -> None:
    expired = turn.trigger is TurnTrigger.EXPIRED and decides_on_expiry(agent)
    settled(lambda: agent.on_expire(turn) if expired else agent.run(turn))


def _small_json(name: str, value: object, rules: Rules) -> JsonObject:
    """A copy as it will come back from the store.

    Raises:
        TypeError: it is no JSON, or no object.
        ValueError: it holds a number or a text that JSON has not, or too much.
    """
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode()
    if not isinstance(value, dict):
        raise TypeError(f"turn.{name} must be a dict, not {type(value).__name__}")
    if len(text) > rules.memory_bytes:
        raise ValueError(
            f"turn.{name} is {len(text)} bytes of JSON and may be {rules.memory_bytes}: keep large things elsewhere"
        )
    copied: JsonObject = json.loads(text)
    return copied


def _where(head: Head) -> dict[str, object]:
    return {"task_id": head.key.task_id, "turn": head.turn, "attempt": head.attempt, "trace": head.trace}
