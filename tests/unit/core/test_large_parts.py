"""What leaves an entry of the journal, and what is too large to be kept at all."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from a2a_serverless.core.journal import ArtifactChanged, Entry, StatusChanged
from a2a_serverless.core.large_parts import INLINE_BYTES, LARGEST_REST, SMALLEST, StoredPart, moved_out, parts_of
from a2a_serverless.errors import EntryTooLarge
from a2a_serverless.types import Artifact, JsonObject, Message, Part, Role, TaskState, TaskStatus
from tests.fakes import START


def artifact(*parts: Part, metadata: JsonObject | None = None) -> ArtifactChanged:
    return ArtifactChanged(Artifact(artifact_id="a", parts=parts, metadata=metadata))


def status(*parts: Part, metadata: JsonObject | None = None) -> StatusChanged:
    message = Message(message_id="m", role=Role.AGENT, parts=parts, metadata=metadata)
    return StatusChanged(TaskStatus(state=TaskState.WORKING, message=message, timestamp=START))


def text(length: int, letter: str = "x", **members: object) -> Part:
    return Part.model_validate({"text": letter * length, **members})


def kept_apart(entry: Entry) -> list[bool]:
    ((moved,), _) = moved_out([entry])
    return [isinstance(part, StoredPart) for part in parts_of(moved)]


def test_the_largest_leave_first_and_no_more_than_must() -> None:
    half = INLINE_BYTES // 2

    assert kept_apart(artifact(text(half), text(half))) == [False, False]
    assert kept_apart(artifact(text(half), text(half + 1))) == [False, True]


@pytest.mark.parametrize("entry", [artifact, status])
@pytest.mark.parametrize("letter", ['"', "\\", "\x00"])
def test_text_that_grows_as_json_leaves_rather_than_be_refused(entry: Callable[..., Entry], letter: str) -> None:
    """Within the limit as text and beyond that of an item as JSON, with metadata beside it."""
    said = entry(text(INLINE_BYTES - 1, letter, metadata={"n": 1}), text(SMALLEST - 1))

    assert kept_apart(said) == [True, False]


def test_what_cannot_leave_and_is_too_large_is_refused_in_a_sentence() -> None:
    with pytest.raises(EntryTooLarge, match=f"more than {LARGEST_REST} bytes of metadata and small parts"):
        moved_out([artifact(text(1), metadata={"much": "x" * LARGEST_REST})])


@pytest.mark.parametrize(
    "entry", [artifact(text(1)), status(text(1)), StatusChanged(TaskStatus(state=TaskState.WORKING))]
)
def test_what_is_said_beside_an_entry_counts_as_what_stays(entry: ArtifactChanged | StatusChanged) -> None:
    moved_out([replace(entry, metadata={"much": "x" * 1000})])

    with pytest.raises(EntryTooLarge, match=f"more than {LARGEST_REST} bytes of metadata and small parts"):
        moved_out([replace(entry, metadata={"much": "x" * LARGEST_REST})])


def test_a_status_whose_parts_leave_keeps_what_is_said_beside_it() -> None:
    said = replace(status(text(INLINE_BYTES + 1)), metadata={"a": 1})

    ((moved,), _) = moved_out([said])

    assert isinstance(moved, StatusChanged)
    assert moved.metadata == {"a": 1}
