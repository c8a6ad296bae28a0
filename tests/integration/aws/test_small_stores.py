"""The contracts of ContextStore, CallbackStore and Endpoints, on the fakes and on DynamoDB."""

import uuid
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest

from a2a_serverless.app.callbacks import CallbackGrant, CallbackStore
from a2a_serverless.app.ports import ContextState, ContextStore, Endpoints
from a2a_serverless.aws.callback_table import CallbackTable
from a2a_serverless.aws.context_table import ContextTable
from a2a_serverless.aws.endpoint_table import EndpointTable
from a2a_serverless.core.delivery_endpoint import Bucket, EndpointHealth, OpenBreaker
from a2a_serverless.errors import Conflict
from a2a_serverless.types import Owner, Scope, TaskKey
from tests.fakes import START, FakeClock, MemoryCallbacks, MemoryContexts, MemoryEndpoints

from .conftest import random_ids

HOUR = timedelta(hours=1)


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture(params=["memory", "dynamodb"])
def contexts(request: pytest.FixtureRequest, clock: FakeClock) -> ContextStore:
    if request.param == "memory":
        return MemoryContexts(clock)
    return ContextTable(request.getfixturevalue("table"), clock=clock)


@pytest.fixture(params=["memory", "dynamodb"])
def callbacks(request: pytest.FixtureRequest) -> CallbackStore:
    return MemoryCallbacks() if request.param == "memory" else CallbackTable(request.getfixturevalue("table"))


@pytest.fixture(params=["memory", "dynamodb"])
def endpoints(request: pytest.FixtureRequest, clock: FakeClock) -> Endpoints:
    if request.param == "memory":
        return MemoryEndpoints(clock)
    return EndpointTable(request.getfixturevalue("table"), clock=clock, ids=random_ids)


def test_a_context_begins_empty(contexts: ContextStore, scope: Scope) -> None:
    assert contexts.context(scope, "c-1") == ContextState({})


@pytest.mark.parametrize("context_id", ["c-1", "", "a/b#c", "ü" * 100, "\ud800", "x" * 5000])
@pytest.mark.parametrize("value", [{}, {"a": None, "b": [1, 2.5, "ü"]}, {"long": "word " * 3000}])
def test_what_is_kept_for_a_context_is_read_back(
    contexts: ContextStore, scope: Scope, context_id: str, value: dict[str, object]
) -> None:
    contexts.save_context(scope, context_id, ContextState(value), expires_at=START + HOUR)

    assert contexts.context(scope, context_id) == ContextState(value, 1)


def test_of_two_tasks_of_a_context_that_write_at_once_one_is_told(contexts: ContextStore, scope: Scope) -> None:
    contexts.save_context(scope, "c-1", ContextState({"by": "first"}), expires_at=START + HOUR)

    with pytest.raises(Conflict):
        contexts.save_context(scope, "c-1", ContextState({"by": "second"}), expires_at=START + HOUR)

    contexts.save_context(scope, "c-1", ContextState({"by": "second"}, 1), expires_at=START + HOUR)
    assert contexts.context(scope, "c-1") == ContextState({"by": "second"}, 2)


def test_a_guessed_context_of_another_owner_is_empty(contexts: ContextStore, scope: Scope) -> None:
    contexts.save_context(scope, "c-1", ContextState({"secret": 1}), expires_at=START + HOUR)

    assert contexts.context(Scope("freight", Owner("bob")), "c-1") == ContextState({})


def test_a_context_that_expired_begins_anew(contexts: ContextStore, scope: Scope, clock: FakeClock) -> None:
    contexts.save_context(scope, "c-1", ContextState({"a": 1}), expires_at=START + HOUR)

    clock.advance(HOUR)

    assert contexts.context(scope, "c-1") == ContextState({})
    contexts.save_context(scope, "c-1", ContextState({"b": 2}), expires_at=clock() + HOUR)
    assert contexts.context(scope, "c-1") == ContextState({"b": 2}, 1)


def test_a_grant_is_there_until_it_expires(callbacks: CallbackStore, scope: Scope) -> None:
    grant_id = str(uuid.uuid4())
    grant = CallbackGrant(TaskKey(scope, "t-1"), 2, "hash", START + HOUR)

    callbacks.put_grant(grant_id, grant)

    assert callbacks.grant(grant_id, now=START) == grant
    assert callbacks.grant(grant_id, now=START + HOUR) is None


@pytest.mark.parametrize("grant_id", ["", "unknown", "ü", "\ud800", "x" * 5000])
def test_a_grant_that_was_never_made_is_not_there(callbacks: CallbackStore, grant_id: str) -> None:
    assert callbacks.grant(grant_id, now=START) is None


def test_an_endpoint_is_known_as_it_was_saved(endpoints: Endpoints) -> None:
    name = f"{uuid.uuid4().hex}.example:443"
    health = EndpointHealth(
        buckets=(Bucket(START, 10, 7), Bucket(START + HOUR, 1, 0)),
        breaker=OpenBreaker(START + HOUR, timedelta(seconds=30)),
        throttled_until=START + HOUR,
        limit=1,
    )
    assert endpoints.endpoint(name) == EndpointHealth()

    endpoints.save_endpoint(name, health)
    assert endpoints.endpoint(name) == health

    endpoints.save_endpoint(name, EndpointHealth())
    assert endpoints.endpoint(name) == EndpointHealth()


def test_an_endpoint_that_nobody_tried_for_a_day_is_forgotten(endpoints: Endpoints, clock: FakeClock) -> None:
    name = f"{uuid.uuid4().hex}.example:443"
    endpoints.save_endpoint(name, EndpointHealth(limit=1))

    clock.advance(timedelta(days=1))

    assert endpoints.endpoint(name) == EndpointHealth()


def test_of_many_that_ask_at_once_only_as_many_get_a_place_as_there_are(endpoints: Endpoints) -> None:
    name, until = f"{uuid.uuid4().hex}.example:443", START + HOUR

    with ThreadPoolExecutor(12) as senders:
        places = list(senders.map(lambda _: endpoints.enter(name, places=4, until=until), range(24)))

    taken = [place for place in places if place is not None]
    assert len(set(taken)) == len(taken) == 4
    assert endpoints.endpoint(name) == EndpointHealth(leases=(until,) * 4)


def test_a_place_that_was_given_back_is_free_and_what_is_known_is_kept(endpoints: Endpoints) -> None:
    name, until = f"{uuid.uuid4().hex}.example:443", START + HOUR
    place = endpoints.enter(name, places=1, until=until)
    assert place is not None

    endpoints.save_endpoint(name, EndpointHealth(limit=2, leases=(until,)), leaving=place)

    assert endpoints.endpoint(name) == EndpointHealth(limit=2)
    assert endpoints.enter(name, places=1, until=until) is not None
    assert endpoints.endpoint(name) == EndpointHealth(limit=2, leases=(until,))


def test_a_place_that_was_never_given_back_falls_free_by_itself(endpoints: Endpoints, clock: FakeClock) -> None:
    name = f"{uuid.uuid4().hex}.example:443"
    for _ in range(2):
        assert endpoints.enter(name, places=2, until=START + HOUR) is not None
    assert endpoints.enter(name, places=2, until=START + 2 * HOUR) is None

    clock.advance(HOUR)

    assert endpoints.endpoint(name).leases == ()
    assert endpoints.enter(name, places=2, until=START + 2 * HOUR) is not None
    assert endpoints.endpoint(name).leases == (START + 2 * HOUR,)
