"""One stack for the tests that only use it."""

from collections.abc import Iterator

import pytest

from a2a_serverless.local.stack import LocalStack

from .talking import Caller

SCRIPTED = "functions.agents.scripted:agent"


@pytest.fixture(scope="session")
def stack() -> Iterator[LocalStack]:
    """A served stack with the scripted agent; IAM is enforced, so that every test proves the roles as well."""
    with LocalStack(agents=SCRIPTED, strict_iam=True) as running:
        yield running


@pytest.fixture
def caller(stack: LocalStack) -> Iterator[Caller]:
    """Somebody who talks to the agent."""
    talking = Caller(stack.url)
    yield talking
    talking.close()
