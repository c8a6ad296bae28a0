"""Answers fit: large content comes inline while there is room, else as an address."""

import json
from dataclasses import replace
from typing import Any

import pytest

from a2a_serverless.core.journal import ArtifactChanged
from a2a_serverless.core.large_parts import digest_of, moved_out
from a2a_serverless.errors import InvalidAgentResponse
from a2a_serverless.protocol.answers import LARGEST_ANSWER, cost, result_text
from a2a_serverless.protocol.fitting import LARGE_PART_KEY, Fitting
from a2a_serverless.protocol.results import Sent
from a2a_serverless.types import (
    Artifact,
    Caller,
    Message,
    Owner,
    Part,
    Role,
    Scope,
    Task,
    TaskKey,
    TaskState,
    TaskStatus,
)
from tests.fakes import MemoryParts
from tests.unit.app.world import World

CALLER = Caller(Owner("alice"))
KEY = TaskKey(Scope(World().host.name, CALLER.owner), "t-1")


@pytest.fixture
def parts() -> MemoryParts:
    return MemoryParts()


@pytest.fixture
def fitting(parts: MemoryParts) -> Fitting:
    return Fitting(replace(World().host, parts=parts), CALLER)


def kept(parts: MemoryParts, *contents: Part) -> Task:
    """A task with an artifact of each, its large content kept apart."""
    entries, apart = moved_out(
        [ArtifactChanged(Artifact(artifact_id=str(at), parts=(part,))) for at, part in enumerate(contents)]
    )
    for each in apart:
        parts.put(KEY, each.digest, each.content)
    lighter = tuple(entry.artifact for entry in entries if isinstance(entry, ArtifactChanged))
    return Task(id="t-1", context_id="c-1", status=TaskStatus(state=TaskState.COMPLETED), artifacts=lighter)


def fitted(fitting: Fitting, task: Task) -> list[Part]:
    result: Any = fitting.result(task)
    assert cost(result_text(result)) <= LARGEST_ANSWER
    return [artifact.parts[0] for artifact in result.artifacts]


def test_content_is_put_back_while_there_is_room(fitting: Fitting, parts: MemoryParts) -> None:
    contents = [
        Part(text="x" * 2_000_000, metadata={"page": 1}),
        Part(data=["y" * 2_000_000]),
        Part(text="z" * 2_000_000),
    ]

    first, second, third = fitted(fitting, kept(parts, *contents))

    assert [first, second] == contents[:2]
    assert third.url == parts.links[0]
    about = (third.metadata or {})[LARGE_PART_KEY]
    assert (about["content"], about["bytes"]) == ("text", 2_000_000)


@pytest.mark.parametrize("text", ['"' * 1_500_000, "\n" * 1_500_000, "ü" * 2_000_000, "\x01" * 900_000, "😀" * 600_000])
def test_room_is_counted_as_the_answer_is_written(fitting: Fitting, parts: MemoryParts, text: str) -> None:
    (part,) = fitted(fitting, kept(parts, Part(text=text)))

    assert part.url is not None


@pytest.mark.parametrize("text", ['"' * 250_000, "ü" * 250_000, "\x01" * 250_000, "\\n" * 250_000])
def test_what_is_put_back_is_never_more_than_was_counted(fitting: Fitting, parts: MemoryParts, text: str) -> None:
    task = kept(parts, *(Part(text=text + str(at)) for at in range(20)))

    assert any(part.url is None for part in fitted(fitting, task))


def test_content_that_cannot_be_read_is_given_as_an_address(
    fitting: Fitting, parts: MemoryParts, caplog: pytest.LogCaptureFixture
) -> None:
    task = kept(parts, Part(text="x" * 300_000, filename="a.txt", media_type="text/csv"))
    parts.kept.clear()

    (part,) = fitted(fitting, task)

    assert (part.url, part.filename, part.media_type) == (parts.links[0], "a.txt", "text/csv")


def test_many_small_parts_that_are_too_much_together_become_one_address(fitting: Fitting, parts: MemoryParts) -> None:
    small = tuple(Part(text=f"{at}" * 1_000) for at in range(2_000))
    task = kept(parts).but(artifacts=(Artifact(artifact_id="a", parts=small),))

    (part,) = fitted(fitting, task)

    ((_, digest),) = parts.kept
    assert [each["text"] for each in json.loads(parts.get(KEY, digest))] == [each.text for each in small]
    assert (part.metadata or {})[LARGE_PART_KEY]["content"] == "parts"
    assert digest == digest_of(parts.get(KEY, digest))


def test_a_task_without_large_content_is_left_as_it_is(fitting: Fitting, parts: MemoryParts) -> None:
    task = kept(parts, Part(text="small"), Part(data={"a": 1}))

    assert fitting.result(task) is task


def test_a_direct_reply_that_fits_no_answer_is_the_agents_fault(fitting: Fitting) -> None:
    reply = Message(message_id="m", role=Role.AGENT, parts=(Part(text="x" * 7_000_000),))

    with pytest.raises(InvalidAgentResponse, match="larger than an answer"):
        fitting.result(Sent(reply))
