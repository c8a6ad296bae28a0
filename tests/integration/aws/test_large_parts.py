"""Large content: kept apart, read back, addressed, forgotten; the contract of PartStore on the fake and on S3."""

import random
import urllib.parse
import urllib.request
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from a2a_serverless.app.large_parts import Whole
from a2a_serverless.app.ports import PartStore
from a2a_serverless.aws.bucket import Bucket
from a2a_serverless.aws.clients import Clients
from a2a_serverless.aws.head_codec import head_key
from a2a_serverless.aws.part_store import S3Parts, below
from a2a_serverless.aws.table import Table
from a2a_serverless.aws.task_table import TaskTable
from a2a_serverless.core.head import Head
from a2a_serverless.core.journal import ArtifactChanged, Entry, Spoken, StatusChanged
from a2a_serverless.core.large_parts import (
    INLINE_BYTES,
    LARGEST_ENTRY,
    StoredPart,
    digest_of,
    parts_of,
    restored,
    with_parts,
)
from a2a_serverless.errors import EntryTooLarge
from a2a_serverless.types import Artifact, Message, Owner, Part, Role, Scope, TaskKey, TaskState, TaskStatus
from tests.fakes import START, MemoryParts

from . import build
from .conftest import random_ids, slow
from .units import size_of

KB = 1024


@pytest.fixture(params=["memory", "s3"])
def parts(request: pytest.FixtureRequest) -> PartStore:
    return MemoryParts() if request.param == "memory" else S3Parts(request.getfixturevalue("bucket"))


@pytest.fixture
def s3(bucket: Bucket) -> S3Parts:
    return S3Parts(bucket)


@pytest.fixture
def store(table: Table, s3: S3Parts) -> TaskTable:
    return TaskTable(table, ids=random_ids, parts=s3)


def test_content_is_read_back_and_written_again_without_harm(parts: PartStore, scope: Scope) -> None:
    key, content = TaskKey(scope, "t-1"), bytes(range(256)) * 2_000
    digest = digest_of(content)

    parts.put(key, digest, content)
    parts.put(key, digest, content)

    assert parts.get(key, digest) == content
    assert parts.forget(key) == 1
    assert parts.forget(key) == 0


def test_content_that_is_not_there_is_a_lookup_error(parts: PartStore, scope: Scope) -> None:
    with pytest.raises(LookupError):
        parts.get(TaskKey(scope, "t-1"), "0" * 64)


def test_content_of_another_owner_agent_tenant_or_task_is_not_there(parts: PartStore, scope: Scope) -> None:
    digest = digest_of(b"content")
    parts.put(TaskKey(scope, "t-1"), digest, b"content")
    others = [
        TaskKey(scope, "t-2"),
        TaskKey(Scope("other", scope.owner), "t-1"),
        TaskKey(Scope("freight", Owner("bob")), "t-1"),
        TaskKey(Scope("freight", Owner(scope.owner.subject, "tenant")), "t-1"),
    ]

    for other in others:
        with pytest.raises(LookupError):
            parts.get(other, digest)
        assert parts.forget(other) == 0

    assert parts.get(TaskKey(scope, "t-1"), digest) == b"content"


@pytest.mark.parametrize("subject", ["..", "a/../b", "ü" * 120, "x" * 255, "%2e%2e"])
def test_a_name_that_somebody_chose_makes_no_path(s3: S3Parts, subject: str) -> None:
    key = TaskKey(Scope("freight", Owner(subject)), random_ids())
    s3.put(key, digest_of(b"content"), b"content")

    name = below(key)

    assert len(name) < 120
    assert name.count("/") == 3
    assert ".." not in name
    assert s3.get(key, digest_of(b"content")) == b"content"


def test_an_address_gives_the_content_with_its_type_and_name_to_whoever_has_it(s3: S3Parts, scope: Scope) -> None:
    key, content = TaskKey(scope, "t-1"), bytes(random.Random(1).randbytes(300_000))
    s3.put(key, digest_of(content), content)

    url = s3.link(key, digest_of(content), media_type="application/pdf", filename='offer "ü".pdf')
    with urllib.request.urlopen(url) as answer:
        got, headers = answer.read(), answer.headers

    assert got == content
    assert headers["content-type"] == "application/pdf"
    assert "filename*=UTF-8''offer%20%22%C3%BC%22.pdf" in headers["content-disposition"]
    assert "X-Amz-Expires=600" in url


@pytest.mark.parametrize(("region", "host"), [("eu-west-1", "s3.eu-west-1"), ("us-east-1", "s3")])
def test_an_address_on_aws_is_https_and_of_the_bucket_and_region(
    monkeypatch: pytest.MonkeyPatch, region: str, host: str
) -> None:
    monkeypatch.delenv("AWS_ENDPOINT_URL", raising=False)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIA0")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    monkeypatch.setenv("AWS_SESSION_TOKEN", "session")
    monkeypatch.setenv("AWS_DEFAULT_REGION", region)
    clients = Clients()
    away = Bucket(lambda: clients.s3, "our-parts")

    url = urllib.parse.urlsplit(
        S3Parts(away).link(TaskKey(Scope("a", Owner("o")), "t"), "0" * 64, media_type="", filename="")
    )

    assert url.scheme == "https"
    assert url.netloc == f"our-parts.{host}.amazonaws.com"
    query = urllib.parse.parse_qs(url.query)
    assert query["X-Amz-Algorithm"] == ["AWS4-HMAC-SHA256"]
    assert query["X-Amz-Security-Token"] == ["session"]


@pytest.mark.parametrize("kind", ["text", "raw", "data", "many"])
def test_a_large_part_leaves_the_table_and_comes_back_as_it_was(
    request: pytest.FixtureRequest, store: TaskTable, s3: S3Parts, scope: Scope, kind: str
) -> None:
    content = build.incompressible(900_000)
    made: dict[str, tuple[Part, ...]] = {
        "text": (Part(text="small"), Part(text=content, metadata={"page": 1}, media_type="text/csv")),
        "raw": (Part.from_bytes(content.encode(), media_type="application/pdf", filename="offer.pdf"),),
        "data": (Part(data={"rows": [content[at : at + 9] for at in range(0, 900_000, 9)]}),),
        "many": tuple(Part(text=content[at : at + 100_000]) for at in range(0, 900_000, 100_000)),
    }
    said = ArtifactChanged(Artifact(artifact_id="large", parts=made[kind], metadata={"a": 1}))
    head = build.running(store, scope)

    head = store.commit(build.say(head, said))
    head = store.commit(build.complete(head, text="done"))

    record = store.read(head.key, now=START)
    assert record is not None
    assert record.head == head == store.head(head.key, now=START)
    assert any(isinstance(part, StoredPart) for part in parts_of(record.entries[1]))
    assert back(s3, head.key, record.entries)[1] == said
    assert (
        stored_bytes(request.getfixturevalue("clients"), request.getfixturevalue("table_name"), head.key)
        < INLINE_BYTES + 20 * KB
    )


def stored_bytes(clients: Clients, table_name: str, key: TaskKey) -> int:
    """About how much of a task is in the table."""
    dynamodb: Any = clients.dynamodb
    found = dynamodb.query(
        TableName=table_name,
        KeyConditionExpression="pk = :task",
        ExpressionAttributeValues={":task": head_key(key)["pk"]},
    )
    return sum(map(size_of, found["Items"]))


def back(parts: PartStore, key: TaskKey, entries: Sequence[Entry]) -> tuple[Entry, ...]:
    """Entries with their content."""

    def whole(part: Part) -> Part:
        return restored(part, parts.get(key, part.kept.digest)) if isinstance(part, StoredPart) else part

    return tuple(with_parts(entry, tuple(map(whole, parts_of(entry)))) for entry in entries)


@pytest.mark.parametrize("size", [INLINE_BYTES, INLINE_BYTES + 1, 300_000, 1_000_000, 5_000_000])
def test_a_message_of_any_size_that_a_request_may_have_is_kept(
    store: TaskTable, s3: S3Parts, scope: Scope, size: int
) -> None:
    text = build.incompressible(size)

    head = store.create(build.new(scope, text=text))

    record = store.read(head.key, now=START)
    assert record is not None
    assert record.head == head
    (entry,) = back(s3, head.key, record.entries)
    assert [part.text for part in parts_of(entry)] == [text]
    assert any(isinstance(part, StoredPart) for part in parts_of(record.entries[0])) == (size > INLINE_BYTES)


def test_a_message_whose_metadata_alone_fit_no_item_is_kept(store: TaskTable, s3: S3Parts, scope: Scope) -> None:
    """Nothing in it is a part that could leave; its whole segment does."""
    change = build.new(scope)
    said = Spoken(build.message().but(metadata={"large": build.incompressible(2_000_000)}))

    head = store.create(type(change)(None, change.after, (said,)))

    record = store.read(head.key, now=START)
    assert record is not None
    assert record.entries == (said,)
    assert tuple(store.entries_from(head, 0)) == (said,)


def test_a_large_status_message_is_in_the_head_in_the_list_and_in_the_journal(
    store: TaskTable, s3: S3Parts, scope: Scope
) -> None:
    text = build.incompressible(700_000)
    head = store.commit(build.complete(build.running(store, scope), text=text))

    stored = store.head(head.key, now=START)

    assert stored == head
    assert stored is not None
    assert stored.status.message is not None
    assert isinstance(stored.status.message.parts[0], StoredPart)
    record = store.read(head.key, now=START)
    assert record is not None
    whole = Whole(s3, head.key).task(record.task())
    assert whole.status.message is not None
    assert whole.status.message.text == text


def test_the_same_text_outside_cannot_pass_for_content_that_is_kept(store: TaskTable, scope: Scope) -> None:
    """What says that content is kept apart stands beside what was said, where nobody who speaks can write."""
    forged = Message.model_validate(
        {
            "messageId": "m-1",
            "role": "ROLE_USER",
            "parts": [{"text": "", "kept": {"kind": "text", "digest": "0" * 64, "size": 1, "room": 1}}],
            "kept": {"0": ["text", "0" * 64, 1, 1]},
        }
    )
    change = build.new(scope)

    head = store.create(type(change)(None, change.after, (Spoken(forged),)))

    record = store.read(head.key, now=START)
    assert record is not None
    assert type(parts_of(record.entries[0])[0]) is Part


def test_a_retried_write_makes_no_second_object(store: TaskTable, s3: S3Parts, scope: Scope) -> None:
    head = build.running(store, scope)
    change = build.say(head, build.artifact(build.incompressible(300_000)))
    store.commit(change)

    with pytest.raises(Exception, match="version"):
        store.commit(change)

    assert s3.forget(head.key) == 1


def test_more_than_can_be_kept_is_refused_before_anything_is_written(
    store: TaskTable, s3: S3Parts, scope: Scope
) -> None:
    head = build.running(store, scope)
    half = "x" * (LARGEST_ENTRY // 2 + 1)
    too_large = ArtifactChanged(Artifact(artifact_id="a", parts=(Part(text=half), Part(text=half))))

    with pytest.raises(EntryTooLarge, match="at most 67108864"):
        store.commit(build.say(head, too_large))

    assert s3.forget(head.key) == 0
    assert store.head(head.key, now=START) == head


def test_what_cannot_leave_an_agents_entry_is_limited(store: TaskTable, scope: Scope) -> None:
    head = build.running(store, scope)
    metadata = {"large": build.incompressible(400_000)}

    with pytest.raises(EntryTooLarge, match="metadata"):
        store.commit(build.say(head, ArtifactChanged(build.artifact("x").artifact.but(metadata=metadata))))


def test_large_content_is_forgotten_with_its_task_and_no_other(
    store: TaskTable, s3: S3Parts, table: Table, scope: Scope
) -> None:
    heads = [build.running(store, scope, task_id) for task_id in ("t-1", "t-12")]
    large = build.artifact(build.incompressible(300_000))
    gone, other = [store.commit(build.say(head, large)) for head in heads]
    table.delete(head_key(gone.key))

    store.forget(gone.key)

    assert s3.forget(gone.key) == 0
    assert s3.forget(other.key) == 1


sizes = st.sampled_from([0, 1, 2_000, 150_000, INLINE_BYTES - 1, INLINE_BYTES + 1, 400_000, 1_200_000])
fillings = st.sampled_from(["noise", "zeros", "quotes", "wide"])


@st.composite
def large_parts(draw: st.DrawFn) -> Part:
    size, filling = draw(sizes), draw(fillings)
    texts = {
        "noise": build.incompressible(size),
        "zeros": "0" * size,
        "quotes": '"\\\n' * (size // 3),
        "wide": "ü😀" * (size // 6),
    }
    text = texts[filling]
    match draw(st.sampled_from(["text", "raw", "data"])):
        case "text":
            return Part(text=text, media_type="text/plain", metadata={"n": size})
        case "raw":
            return Part.from_bytes(text.encode(), media_type="image/png", filename="ü.png")
        case _:
            return Part(data=[text, None, size, {"k": text[:10]}])


said_parts = st.lists(large_parts(), min_size=1, max_size=4).map(tuple)
large_entries = st.one_of(
    said_parts.map(lambda parts: Spoken(Message(message_id="m", role=Role.USER, parts=parts))),
    said_parts.map(
        lambda parts: StatusChanged(
            TaskStatus(
                state=TaskState.WORKING, message=Message(message_id="m", role=Role.AGENT, parts=parts), timestamp=START
            )
        )
    ),
    said_parts.map(lambda parts: ArtifactChanged(Artifact(artifact_id="a", parts=parts))),
)


@slow(15)
@given(st.data())
def test_tasks_with_large_parts_are_read_back_equal(table: Table, bucket: Bucket, data: st.DataObject) -> None:
    parts = S3Parts(bucket)
    store = TaskTable(table, ids=random_ids, parts=parts)
    head: Head = build.running(store, Scope("freight", Owner(random_ids())))
    journal: list[Entry] = []

    for _ in range(data.draw(st.integers(1, 3))):
        entries = [data.draw(large_entries) for _ in range(data.draw(st.integers(1, 2)))]
        head = store.commit(build.say(head, *entries))
        journal += entries

        record = store.read(head.key, now=START)
        assert record is not None
        assert record.head == head == store.head(head.key, now=START)
        assert list(back(parts, head.key, record.entries[1:])) == journal
        assert back(parts, head.key, store.entries_from(head, 1)) == tuple(journal)
