"""Generated journals and heads, within what the protocol allows."""

import random
from datetime import UTC, datetime, timedelta
from typing import TypeVar

from hypothesis import strategies as st

from a2a_serverless.core.head import Head, LastSend, Lease, TurnTrigger, Wait, WaitKind
from a2a_serverless.core.journal import ArtifactChanged, Entry, Restarted, Spoken, StatusChanged
from a2a_serverless.types import A2AModel, Artifact, Caller, Message, Owner, Part, Role, TaskKey, TaskState, TaskStatus
from tests.fakes import START

M = TypeVar("M", bound=A2AModel)

moments = st.integers(0, 10**10).map(lambda ms: START + timedelta(milliseconds=ms))
texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=60)
names = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=40)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=8,
)
json_objects = st.dictionaries(texts, json_values, max_size=3)


@st.composite
def long_texts(draw: st.DrawFn) -> str:
    """Up to 100 KB that does not compress well: the sizes at which the store changes its ways."""
    size = draw(st.sampled_from([0, 300, 399, 400, 401, 1_000, 3_000, 3_100, 8_000, 16_384, 32_768, 40_000, 100_000]))
    return random.Random(draw(st.integers(0, 99))).randbytes(size // 2 + 1).hex()[:size]


def model(kind: type[M], **members: st.SearchStrategy[object]) -> st.SearchStrategy[M]:
    """An object of the data model; `st.builds` would guess at the aliases of its members."""
    return st.fixed_dictionaries(members).map(lambda given: kind(**given))


parts = st.one_of(
    model(Part, text=texts | long_texts(), metadata=st.none() | json_objects, media_type=texts),
    model(Part, data=json_values, filename=texts),
    st.builds(Part.from_bytes, st.binary(max_size=200), media_type=texts),
    model(Part, url=names),
)
messages = model(
    Message,
    message_id=names,
    role=st.sampled_from(Role),
    parts=st.lists(parts, min_size=1, max_size=3).map(tuple),
    context_id=texts,
    task_id=texts,
    metadata=st.none() | json_objects,
    extensions=st.lists(texts, max_size=2).map(tuple),
    reference_task_ids=st.lists(texts, max_size=2).map(tuple),
)
statuses = model(TaskStatus, state=st.sampled_from(TaskState), message=st.none() | messages, timestamp=moments)
artifacts = model(
    Artifact,
    artifact_id=names,
    parts=st.lists(parts, min_size=1, max_size=3).map(tuple),
    name=texts,
    description=texts,
    metadata=st.none() | json_objects,
    extensions=st.lists(texts, max_size=2).map(tuple),
)
beside = st.none() | json_objects.filter(bool)
entries: st.SearchStrategy[Entry] = st.one_of(
    st.builds(Spoken, messages, beside, st.lists(names, max_size=2).map(tuple)),
    st.builds(StatusChanged, statuses, beside),
    st.builds(ArtifactChanged, artifacts, st.booleans(), st.booleans(), beside),
    st.builds(Restarted, st.integers(0, 1000)),
)
waits = st.builds(
    Wait,
    number=st.integers(1, 1000),
    kind=st.sampled_from(WaitKind),
    since=moments,
    until=moments,
    remind=st.lists(st.integers(1, 10**9).map(lambda ms: timedelta(milliseconds=ms)), max_size=3).map(tuple),
)
counts = st.integers(0, 10**6)


def heads(key: TaskKey) -> st.SearchStrategy[Head]:
    """Heads of a task with any members; version, journal and status are the test's to set."""
    return st.builds(
        Head,
        key=st.just(key),
        context_id=texts,
        accepts=st.lists(st.sampled_from(["text/plain", "*/*"]), max_size=2).map(tuple),
        caller=st.builds(
            Caller,
            st.just(key.scope.owner) | st.builds(Owner, names, texts),
            st.lists(names, max_size=2).map(tuple),
            st.frozensets(names, max_size=2),
        ),
        status=model(TaskStatus, state=st.sampled_from(TaskState), timestamp=moments),
        created_at=moments,
        turn=counts,
        turn_due=counts,
        trigger=st.sampled_from(TurnTrigger),
        attempt=counts,
        fence=counts,
        lease=st.none() | st.builds(Lease, moments),
        turn_from=counts,
        read_to=counts,
        shown_to=counts,
        spoken_to=counts,
        waits=counts,
        wait=st.none() | waits,
        nudge_seq=counts,
        push=st.lists(names, max_size=3).map(tuple),
        memory=json_objects,
        last_send=st.none() | st.builds(LastSend, texts, moments),
        expires_at=st.none()
        | st.integers(0, 10**9).map(lambda s: datetime(2030, 1, 1, tzinfo=UTC) + timedelta(seconds=s)),
    )
