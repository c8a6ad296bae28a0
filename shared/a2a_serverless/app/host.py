"""What the operations of one agent work with, as one value: built once per process by `functions.wiring`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from a2a_serverless.core.head import Rules
from a2a_serverless.types import Caller, Scope

if TYPE_CHECKING:
    from a2a_serverless.agent.agent import Agent
    from a2a_serverless.app.deliveries import Desk
    from a2a_serverless.app.ports import (
        Clock,
        Ids,
        PartStore,
        Pause,
        PushStore,
        Receipts,
        Sealer,
        TaskStore,
        WebhookHosts,
    )
    from a2a_serverless.types import AgentCard


def everybody_wants(_url: str) -> None:
    """Ask no address whether it wants webhooks."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Host:
    """What the operations of one agent work with."""

    name: str
    """The agent's name in the deployment."""
    agent: Agent
    card: AgentCard
    tasks: TaskStore
    push: PushStore
    receipts: Receipts
    sealer: Sealer
    check_url: Callable[[str], str]
    """The registration grammar: the normalised URL, or InvalidParams."""
    clock: Clock
    ids: Ids
    pause: Pause
    ask_owner: Callable[[str], None] = everybody_wants
    """Asks a checked URL whether it wants webhooks, or raises InvalidParams with what it should have said."""
    webhook_hosts: WebhookHosts | None = None
    """Counts at how many hosts an owner points webhooks; without it any number will do."""
    parts: PartStore | None = None
    """Where content is that is too large for the journal of its task; without it there is none."""
    desk: Desk | None = None
    """What callers see and repeat the deliveries of their webhooks with; without it they cannot."""
    rules: Rules = field(default_factory=Rules)
    push_supported: bool = True
    """False: this deployment sends no webhooks, and its cards say so."""

    def scope(self, caller: Caller) -> Scope:
        """Everything this caller has with this agent."""
        return Scope(self.name, caller.owner)
