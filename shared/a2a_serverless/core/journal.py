"""A task is a journal: what was said, how the status moved, what was produced, in one order for everybody.

The Task of the specification is a fold over it, and what a subscriber sees is a part of it.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from a2a_serverless.types import (
    Artifact,
    JsonObject,
    Message,
    TaskArtifactUpdateEvent,
    TaskStatus,
    TaskStatusUpdateEvent,
)


@dataclass(frozen=True, slots=True)
class Spoken:
    """A message of the caller was accepted."""

    message: Message
    metadata: JsonObject | None = None
    """What the request said beside it (SPEC 3.2.1): for the agent, and no part of the task."""


@dataclass(frozen=True, slots=True)
class StatusChanged:
    """The task has a new status."""

    status: TaskStatus


@dataclass(frozen=True, slots=True)
class ArtifactChanged:
    """An artifact was created or replaced, or with `append` grew by these parts."""

    artifact: Artifact
    append: bool = False
    last_chunk: bool = False


@dataclass(frozen=True, slots=True)
class Restarted:
    """A turn starts over: artifacts its dead attempts produced since entry number `since` do not count."""

    since: int


Entry = Spoken | StatusChanged | ArtifactChanged | Restarted


@dataclass(frozen=True, slots=True)
class Folded:
    """What the entries amount to."""

    history: tuple[Message, ...] = ()
    artifacts: tuple[Artifact, ...] = ()


def _joined(chunks: Sequence[Artifact]) -> Artifact:
    """Parts in order; names from the first chunk, metadata merged (SPEC 4.2.2)."""
    first = chunks[0]
    if len(chunks) == 1:
        return first
    metadata: JsonObject = {}
    for chunk in chunks:
        metadata |= chunk.metadata or {}
    parts = tuple(part for chunk in chunks for part in chunk.parts)
    return first.but(parts=parts, metadata=metadata or None)


def fold(entries: Iterable[Entry]) -> Folded:
    """History and artifacts of a task from all its entries, from the first.

    The latest status message stands in the status alone; it is history once something follows it.
    """
    history: list[Message] = []
    latest: Message | None = None
    kept: list[tuple[int, ArtifactChanged]] = []
    for position, entry in enumerate(entries):
        if isinstance(entry, ArtifactChanged):
            kept.append((position, entry))
        elif isinstance(entry, Restarted):
            kept = [(at, change) for at, change in kept if at < entry.since]
        else:
            if latest is not None:
                history.append(latest)
                latest = None
            if isinstance(entry, Spoken):
                history.append(entry.message)
            else:
                latest = entry.status.message
    return Folded(tuple(history), _artifacts(change for _, change in kept))


def _artifacts(changes: Iterable[ArtifactChanged]) -> tuple[Artifact, ...]:
    """The newest of each artifact, grown by the chunks that were appended to it."""
    chunks: dict[str, list[Artifact]] = {}
    for change in changes:
        identifier = change.artifact.artifact_id
        if change.append and identifier in chunks:
            chunks[identifier].append(change.artifact)
        else:
            chunks[identifier] = [change.artifact]
    return tuple(_joined(each) for each in chunks.values())


def event_of(entry: Entry, *, task_id: str, context_id: str) -> TaskStatusUpdateEvent | TaskArtifactUpdateEvent | None:
    """What a subscriber sees of an entry; a caller's own message is no event (SPEC 3.1.2)."""
    match entry:
        case StatusChanged(status):
            return TaskStatusUpdateEvent(task_id=task_id, context_id=context_id, status=status)
        case ArtifactChanged(artifact, append, last_chunk):
            return TaskArtifactUpdateEvent(
                task_id=task_id,
                context_id=context_id,
                artifact=artifact,
                append=append,
                last_chunk=last_chunk,
            )
        case Spoken() | Restarted():
            return None
