"""The object a host writes: a card, and what to do with a turn."""

import sys
from collections.abc import Awaitable
from dataclasses import dataclass, field
from typing import ClassVar

from a2a_serverless.agent.turn import Turn
from a2a_serverless.types import AgentCard, Caller, JsonObject, Message, Task


@dataclass(frozen=True, slots=True)
class InboundMessage:
    """A first message, before there is a task: what `Agent.reply` decides on."""

    message: Message
    caller: Caller
    accepted_output_modes: tuple[str, ...] = ()
    metadata: JsonObject = field(default_factory=dict)
    extensions: tuple[str, ...] = ()
    """See `Turn` for all three."""


class Agent:
    """One agent of a deployment.

    Subclass it, set `card`, and write `run`. An instance serves many tasks, one turn at a time per task, several
    tasks at once in other processes: keep nothing on `self` that belongs to a task. What must outlive a turn goes
    into `turn.state`.
    """

    card: ClassVar[AgentCard]
    extended_card: ClassVar[AgentCard | None] = None
    """What authenticated callers get to read of the agent (GetExtendedAgentCard); none unless it is set."""

    def run(self, turn: Turn) -> Awaitable[None] | None:
        """Do one turn: read `turn.message`, say what happens, and end with one of `complete`, `fail`, `reject`,
        `ask` or `require_auth`.

        It may run again for the same turn after a crash (`turn.attempt` counts); what a dead attempt produced has
        no effect. An exception ends the task as FAILED with a message that gives nothing away; a task that it ended
        before stands as it ended.

        `async def` works: a client that the agent keeps is good for its next turn, since all turns of a process share
        a loop, and what a turn leaves running is cancelled.
        """
        raise NotImplementedError(f"{type(self).__name__} must say what a turn does: write run(self, turn)")

    def reply(self, inbound: InboundMessage) -> Message | str | None:
        """Answer a first message at once and without a task, or return None to let a task begin.

        It runs in the request, so it must be quick and must not wait for anything. Nothing is stored.
        """
        del inbound
        return None

    def on_cancel(self, task: Task) -> Awaitable[None] | None:
        """The task was canceled, whatever it did: release what it held. It is final, nothing can be said any more.

        A worker that dies in the middle of it is followed by one that says it again.
        """
        del task
        return None

    def on_expire(self, turn: Turn) -> Awaitable[None] | None:
        """Nobody answered before the deadline. Say how it goes on, as in `run`; without this, the task fails.

        Raises:
            NotImplementedError: the default: let the task fail.
        """
        raise NotImplementedError


def decides_on_expiry(agent: Agent) -> bool:
    """Whether the author wrote `on_expire`."""
    return type(agent).on_expire is not Agent.on_expire


def notices_cancel(agent: Agent) -> bool:
    """Whether the author wrote `on_cancel`."""
    return type(agent).on_cancel is not Agent.on_cancel


def may_reply(agent: Agent) -> bool:
    """Whether the author wrote `reply`."""
    return type(agent).reply is not Agent.reply


def is_its_own_end(end: BaseException) -> bool:
    """Whether nobody but an agent can have raised it, although no `except Exception` holds it back.

    Left alone it would pass for the death of the worker. Ctrl-C and the end of a run's grace raise others.
    """
    asyncio = sys.modules.get("asyncio")  # who raises its error has imported it
    return isinstance(end, SystemExit | GeneratorExit | (asyncio.CancelledError if asyncio else SystemExit))
