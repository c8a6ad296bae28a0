"""Stacks that all tests of this folder share, a caller of its own for each test, and somebody to be nudged.

A stack serves the synthesized template, started as `make serve` starts it. Tests share it and nothing else: each has
owners, tasks and webhooks of its own.
"""

import uuid
from collections.abc import Callable, Generator, Iterator
from datetime import UTC, datetime, timedelta
from typing import Protocol

import pytest

from a2a_serverless.local.clone import repository_root
from a2a_serverless.local.dev_issuer import DevIssuer
from a2a_serverless.local.stack import LocalStack

from .clients import SDKS, Binding, Client, Driver, Sdk
from .hooks import Hooks, Partner
from .wire import Wire

AGENTS = {
    "scripted": "functions.agents.scripted:agent",
    "conformance": "functions.agents.conformance:agent",
    "freight": "functions.agents.freight:agent",
}


HOPS = ("api", "run_turn", "relay", "notify", "expire", "sweep")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """A failed test shows what the hops of its stacks said last."""
    report = yield
    if report.failed and isinstance(item, pytest.Function):
        for name, stack in item.funcargs.items():
            if isinstance(stack, LocalStack):
                report.sections += [(f"{name}: {hop}", stack.log_of(hop)[-4000:]) for hop in HOPS]
    return report


@pytest.fixture(scope="session")
def stack() -> Iterator[LocalStack]:
    """The stack of most tests: three agents, the scripted one by default, and tokens required."""
    with LocalStack(agents=AGENTS, auth="dev") as running:
        yield running


@pytest.fixture(scope="session")
def freight_stack() -> Iterator[LocalStack]:
    """The example agent by default, under the roles of the template and nothing more."""
    agents = {"freight": AGENTS["freight"], "scripted": AGENTS["scripted"]}
    with LocalStack(agents=agents, auth="dev", strict_iam=True) as running:
        yield running


LEASE = 4.0
"""Seconds of the lease on the durable stack; the product's is 30."""


@pytest.fixture(scope="session")
def durable_stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalStack]:
    """One that keeps its state, takes over from dead workers soon, and refuses webhooks to private addresses."""
    env = {"A2A_LEASE_SECONDS": str(int(LEASE)), "A2A_ALLOW_PRIVATE_WEBHOOKS": ""}
    with LocalStack(agents=AGENTS, auth="dev", env=env, state_dir=tmp_path_factory.mktemp("state")) as running:
        yield running


class Token(Protocol):
    """Makes a bearer token that the stacks trust."""

    def __call__(
        self, subject: str, *, tenant: str = "", lifetime: timedelta = timedelta(hours=1), actors: tuple[str, ...] = ()
    ) -> str: ...


@pytest.fixture(scope="session")
def token() -> Token:
    """Tokens of the development issuer."""
    issuer = DevIssuer.of(repository_root())

    def make(
        subject: str, *, tenant: str = "", lifetime: timedelta = timedelta(hours=1), actors: tuple[str, ...] = ()
    ) -> str:
        return issuer.token(subject, tenant=tenant, lifetime=lifetime, actors=actors, now=datetime.now(tz=UTC))

    return make


@pytest.fixture
def alice(token: Token) -> str:
    """A token of somebody who has no tasks yet."""
    return token(f"alice-{uuid.uuid4()}")


@pytest.fixture
def bob(token: Token) -> str:
    """A token of somebody else who has no tasks yet."""
    return token(f"bob-{uuid.uuid4()}")


Connect = Callable[..., Wire]


@pytest.fixture
def connect() -> Iterator[Connect]:
    """Opens plain HTTP connections to an agent, as the holder of a token."""
    opened: list[Wire] = []

    def make(url: str, token: str = "") -> Wire:
        opened.append(Wire(url, token))
        return opened[-1]

    yield make
    for wire in opened:
        wire.close()


@pytest.fixture
def wire(stack: LocalStack, alice: str, connect: Connect) -> Wire:
    """The scripted agent, spoken to by alice over plain HTTP."""
    return connect(stack.url, alice)


@pytest.fixture(scope="session")
def hooks() -> Iterator[Hooks]:
    """The server of all webhooks."""
    server = Hooks()
    yield server
    server.close()


@pytest.fixture
def partner(stack: LocalStack, hooks: Hooks, alice: str) -> Partner:
    """A partner of the scripted agent, with alice's credentials."""
    return hooks.partner(stack.url, issuer=stack.url, token=alice)


Drive = Callable[[Sdk], Driver]


@pytest.fixture(scope="session")
def drive() -> Iterator[Drive]:
    """Starts an SDK when it is first needed."""
    running: dict[str, Driver] = {}

    def start(sdk: Sdk) -> Driver:
        if sdk.missing:
            pytest.skip(sdk.missing)
        if sdk.name not in running:
            running[sdk.name] = Driver(sdk)
        return running[sdk.name]

    yield start
    for driver in running.values():
        driver.close()


@pytest.fixture(params=SDKS, ids=[sdk.name for sdk in SDKS])
def sdk(request: pytest.FixtureRequest, drive: Drive) -> Driver:
    """Each official client."""
    return drive(request.param)


@pytest.fixture(params=["JSONRPC", "HTTP+JSON"])
def client(request: pytest.FixtureRequest, sdk: Driver, stack: LocalStack, alice: str) -> Client:
    """The scripted agent, spoken to by alice with each official client over each binding."""
    binding: Binding = request.param
    return Client(sdk, stack.url, binding, alice)
