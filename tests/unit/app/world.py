"""A whole deployment in memory: every port faked, time standing still, and a test that says what happens next.

Nothing happens by itself. `relay` works off the stream, `run` the turns, `settle` both until nothing is left; a caller
who blocks moves the clock, and lets happen what the test put into `meanwhile`.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import ClassVar

from a2a_serverless.agent import Agent, InboundMessage, Turn
from a2a_serverless.app import notify, run_turn
from a2a_serverless.app.agent_call import Watch, unwatched
from a2a_serverless.app.attempt import NudgeToSend, Sent
from a2a_serverless.app.callbacks import find, use
from a2a_serverless.app.host import Host
from a2a_serverless.app.notify import Notifier
from a2a_serverless.app.relay import relay_change
from a2a_serverless.app.run_turn import Outcome, Runner
from a2a_serverless.app.send import SendConfiguration, SendRequest, send
from a2a_serverless.app.sweep import Sweeper
from a2a_serverless.core.delivery_outcome import Answer
from a2a_serverless.core.delivery_outcome import Outcome as NudgeOutcome
from a2a_serverless.core.effects import Effect
from a2a_serverless.core.head import Head, Record
from a2a_serverless.errors import InvalidParams
from a2a_serverless.testing.hops import Hops
from a2a_serverless.types import (
    AgentCard,
    AgentSkill,
    Caller,
    JsonObject,
    Message,
    Owner,
    Part,
    Role,
    Scope,
    Task,
    TaskKey,
    TaskPushNotificationConfig,
)
from tests.fakes import (
    MemoryEndpoints,
    MemoryHosts,
    MemoryLater,
    MemoryWaits,
)

AGENT = "tester"
ALICE = Caller(Owner("alice"))
BOB = Caller(Owner("bob"))
HOOK = "https://partner.example/hook"

CARD = AgentCard(
    name="Tester",
    description="Does what a test says.",
    version="1.0.0",
    skills=(AgentSkill(id="any", name="Any", description="Anything at all.", tags=("test",)),),
    default_input_modes=("text/plain", "application/json"),
)

Run = Callable[[Turn], Awaitable[None] | None]


def agent_that(
    run: Run,
    *,
    reply: Callable[[InboundMessage], Message | str | None] | None = None,
    on_cancel: Callable[[Task], Awaitable[None] | None] | None = None,
    on_expire: Run | None = None,
) -> Agent:
    """An agent made of functions; only those that are given are written, as the kit looks which ones are."""
    written = {"run": run, "reply": reply, "on_cancel": on_cancel, "on_expire": on_expire}
    methods = {name: _as_method(body) for name, body in written.items() if body is not None}
    made: Agent = type("TestAgent", (Agent,), {"card": CARD, **methods})()
    return made


def _as_method(body: Callable[..., object]) -> Callable[..., object]:
    def method(_self: Agent, argument: object) -> object:
        return body(argument)

    return method


def completes(turn: Turn) -> None:
    """An agent that is done at once."""
    turn.complete("done")


def asks_once(turn: Turn) -> None:
    """An agent that asks, and gives the answer back as an artifact."""
    if "asked" not in turn.state:
        turn.state["asked"] = True
        return turn.ask("What is the answer?", within=timedelta(days=2))
    turn.artifact("answer", text=turn.message.text)
    return turn.complete()


class WorkerDied(BaseException):
    """The process is gone: nothing the kit does may hold this back."""


def dies(_turn: Turn) -> None:
    """An agent that kills its worker."""
    raise WorkerDied


def https_only(url: str) -> str:
    """A registration grammar that is good enough for tests of what is around it."""
    if not url.startswith("https://"):
        raise InvalidParams.of("url", "must begin with https://")
    return url


@dataclass
class Post:
    """A receiver that answers what the test says, and keeps what came."""

    answers: list[NudgeOutcome] = field(default_factory=list)
    came: list[NudgeToSend] = field(default_factory=list)
    meanwhile: Callable[[], None] = lambda: None

    def __call__(self, nudge: NudgeToSend, *, now: datetime) -> Sent:
        self.came.append(nudge)
        self.meanwhile()
        outcome = self.answers.pop(0) if self.answers else Answer(status=200)
        return Sent(outcome=outcome, milliseconds=12, key_id="key-1")


@dataclass
class World(Hops):
    """One deployment with one agent."""

    name: ClassVar[str] = AGENT
    agent: Agent = field(default_factory=lambda: agent_that(completes))
    push_supported: bool = True
    watch: Watch = unwatched

    def __post_init__(self) -> None:
        super().__post_init__()
        self.later = MemoryLater()
        self.held = MemoryWaits()
        self.endpoints = MemoryEndpoints(self.clock)
        self.webhook_hosts = MemoryHosts()
        self.post = Post()
        self.meanwhile: list[Callable[[], object]] = []
        self.relayed = 0

    # What the hops are made of

    @property
    def host(self) -> Host:
        """What `api` works with."""
        return replace(
            super().host,
            webhook_hosts=self.webhook_hosts,
            check_url=https_only,
            pause=self.pause,
            push_supported=self.push_supported,
        )

    @property
    def runner(self) -> Runner:
        """What `run_turn` works with."""
        return replace(super().runner, watch=self.watch)

    @property
    def waits(self) -> MemoryWaits:
        """Which waits are held; their tokens are the test's to store."""
        return self.held

    @property
    def sweeper(self) -> Sweeper:
        """What `sweep` works with."""
        return Sweeper(
            tasks=self.tasks,
            due=self.tasks,
            deliveries=self.tasks,
            relay=self.stream,
            expiry=self.expiry,
            clock=self.clock,
        )

    @property
    def notifier(self) -> Notifier:
        """What `notify` works with."""
        return Notifier(
            tasks=self.tasks,
            push=self.tasks,
            deliveries=self.tasks,
            endpoints=self.endpoints,
            receipts=self.tasks,
            nudges=self.queues,
            later=self.later,
            dead_letters=self.queues,
            sealer=self.sealer,
            send=self.post,
            clock=self.clock,
            ids=self.ids,
            jitter=lambda: 1.0,
        )

    # What happens

    def pause(self, seconds: float) -> None:
        """A caller waits: time passes, and the next thing happens that the test has in mind."""
        self.clock.pause(seconds)
        if self.meanwhile:
            self.meanwhile.pop(0)()

    def send(self, text: str = "hello", *, caller: Caller = ALICE, **how: object) -> Task:
        """Send a message that makes or moves a task, and do not wait; see `request` for `how`."""
        answer = send(self.host, caller, request(text, **{"return_immediately": True, **how}))
        assert isinstance(answer, Task)
        return answer

    def relay(self) -> tuple[Effect, ...]:
        """Work off the stream; answers every effect."""
        effects: list[Effect] = []
        while self.relayed < len(self.tasks.changes):
            old, new = self.tasks.changes[self.relayed]
            effects += relay_change(self.stream, old, new)
            self.relayed += 1
        return tuple(effects)

    def run(self) -> list[Outcome]:
        """Run the turns that are queued, oldest first."""
        queued, self.queues.turns = self.queues.turns, []
        return [run_turn.run_turn(self.runner, turn.key, turn.turn) for turn in queued]

    def settle(self) -> None:
        """Work off the stream and the turns until nothing is left."""
        self.relay()
        while self.queues.turns:
            self.run()
            self.relay()

    def notify(self) -> list[str]:
        """Work off the nudges that are queued or due, oldest first; answers what each came to."""
        queued, self.queues.nudges = [*self.queues.nudges, *self.later.due(self.clock())], []
        return [notify.notify(self.notifier, nudge.key, nudge.config_id, nudge.seq) for nudge in queued]

    def come_back(self) -> list[str]:
        """Let the next delay of the queue, or the next schedule, pass, and work off what comes."""
        delays = [timedelta(seconds=nudge.delay_seconds) for nudge in self.queues.nudges]
        schedules = [at - self.clock() for _, at in self.later.coming.values()]
        self.clock.advance(max(timedelta(0), min([*delays, *schedules], default=timedelta(0))))
        return self.notify()

    def post_callback(self, address: str, posted: JsonObject) -> bool:
        """Somebody posts to a callback address; answers whether its task goes on."""
        grant_id, _, secret = address.rpartition("/")[2].partition("?key=")
        grant = find(self.grants, grant_id, secret, now=self.clock())
        if grant is None:
            return False
        return use(grant, self.tasks, posted, ids=self.ids, rules=self.rules, now=self.clock())

    # What there is to see

    def key(self, task: Task | str, caller: Caller = ALICE) -> TaskKey:
        """Where a task is kept."""
        return TaskKey(Scope(AGENT, caller.owner), task if isinstance(task, str) else task.id)

    def head(self, task: Task | str) -> Head:
        """The head of a task as it is stored."""
        return self.record(task).head

    def record(self, task: Task | str) -> Record:
        """A task as it is stored."""
        record = self.tasks.read(self.key(task), now=self.clock())
        assert record is not None
        return record

    def task(self, task: Task | str) -> Task:
        """A task as its owner would read it."""
        return self.record(task).task()


def message(
    text: str = "hello",
    *,
    message_id: str = "",
    task: Task | str = "",
    context_id: str = "",
    parts: tuple[Part, ...] = (),
    role: Role = Role.USER,
) -> Message:
    """What a caller says; its id is its text unless another is given."""
    return Message(
        message_id=message_id or text,
        role=role,
        parts=parts or (Part(text=text),),
        task_id=task if isinstance(task, str) else task.id,
        context_id=context_id,
    )


def request(text: str = "hello", **how: object) -> SendRequest:
    """A send: members of `SendConfiguration` go there, `hook` is an inline webhook, `metadata` the request's, `active`
    are the extensions it activates, the rest makes the message."""
    hook = how.pop("hook", None)
    push = hook if isinstance(hook, TaskPushNotificationConfig) else webhook(str(hook)) if hook else None
    about_the_answer = {"history_length", "return_immediately", "accepted_output_modes"}
    configuration = {name: how.pop(name) for name in about_the_answer & how.keys()}
    metadata, active = how.pop("metadata", None), how.pop("active", ())
    return SendRequest(
        message=message(text, **how),  # type: ignore[arg-type]  # each is checked where it lands
        configuration=SendConfiguration(push=push, **configuration),  # type: ignore[arg-type]  # as above
        metadata=metadata,  # type: ignore[arg-type]  # as above
        extensions=active,  # type: ignore[arg-type]  # as above
    )


def webhook(url: str = HOOK, **members: object) -> TaskPushNotificationConfig:
    """A webhook as a caller registers it."""
    return TaskPushNotificationConfig.model_validate({"url": url, **members})
