"""What the hops of one agent are made of, on stores in memory."""

from dataclasses import dataclass, field
from typing import ClassVar, Final

from a2a_serverless.agent.agent import Agent
from a2a_serverless.app.callbacks import Callbacks
from a2a_serverless.app.expire import Expiry
from a2a_serverless.app.host import Host
from a2a_serverless.app.ports import WaitRunner
from a2a_serverless.app.relay import Relay
from a2a_serverless.app.run_turn import Runner
from a2a_serverless.core.head import Rules, Wait
from a2a_serverless.testing.memory import (
    FakeClock,
    MemoryCallbacks,
    MemoryContexts,
    MemoryQueues,
    MemoryTasks,
    PlainSealer,
    SequentialIds,
)
from a2a_serverless.types import TaskKey

ADDRESS: Final = "https://agent.example"


@dataclass
class Hops:
    """One agent, its stores, and what each hop works with."""

    name: ClassVar[str] = "rehearsed"
    agent: Agent
    rules: Rules = field(default_factory=Rules)
    clock: FakeClock = field(default_factory=FakeClock)

    def __post_init__(self) -> None:
        self.ids = SequentialIds()
        self.tasks = MemoryTasks()
        self.queues = MemoryQueues()
        self.contexts = MemoryContexts(self.clock)
        self.grants = MemoryCallbacks()
        self.sealer = PlainSealer()
        self._secrets = SequentialIds("secret")

    @property
    def host(self) -> Host:
        """What `api` works with; there are no webhooks."""
        return Host(
            name=self.name,
            agent=self.agent,
            card=self.agent.card,
            tasks=self.tasks,
            push=self.tasks,
            receipts=self.tasks,
            sealer=self.sealer,
            check_url=str,
            clock=self.clock,
            ids=self.ids,
            pause=self.clock.pause,
            rules=self.rules,
            push_supported=False,
        )

    @property
    def callbacks(self) -> Callbacks:
        """What makes callback addresses."""
        return Callbacks(
            store=self.grants,
            public_url=ADDRESS,
            clock=self.clock,
            ids=self.ids,
            secret=self._secrets,
            rules=self.rules,
        )

    @property
    def runner(self) -> Runner:
        """What `run_turn` works with."""
        return Runner(
            agents=self.agent_named,
            tasks=self.tasks,
            contexts=self.contexts,
            callbacks=self.callbacks,
            clock=self.clock,
            ids=self.ids,
            rules=self.rules,
        )

    @property
    def expiry(self) -> Expiry:
        """What `expire` works with."""
        return Expiry(agents=self.agent_named, tasks=self.tasks, clock=self.clock, ids=self.ids, rules=self.rules)

    @property
    def waits(self) -> WaitRunner:
        """What waits are held with."""
        return _Waits(self.tasks, self.ids)

    @property
    def stream(self) -> Relay:
        """What `relay` works with."""
        return Relay(turns=self.queues, nudges=self.queues, waits=self.waits)

    def agent_named(self, name: str) -> Agent:
        """The one agent there is.

        Raises:
            LookupError: another one is meant.
        """
        if name != self.name:
            raise LookupError(f"no agent {name}")
        return self.agent


@dataclass(frozen=True)
class _Waits:
    """Holds waits as the state machine does: its token in the task says that somebody looks after the deadline."""

    tasks: MemoryTasks
    ids: SequentialIds

    def start_wait(self, key: TaskKey, wait: Wait) -> None:
        self.tasks.store_token(key, wait.number, self.ids())

    def end_wait(self, token: str) -> None:
        """Nothing: a deadline that comes to a wait which is over finds nothing to do."""
