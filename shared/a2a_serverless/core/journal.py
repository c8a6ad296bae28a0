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
    extensions: tuple[str, ...] = ()
    """URIs of the extensions that the request activated (SPEC 4.6): for the agent as well."""


@dataclass(frozen=True, slots=True)
class StatusChanged:
    """The task has a new status."""

    status: TaskStatus
    metadata: JsonObject | None = None
    """What the agent says of the task with it (SPEC 4.2.1): on the event, and in the task's metadata from then on."""


@dataclass(frozen=True, slots=True)
class ArtifactChanged:
    """An artifact was created or replaced, or with `append` grew by these parts."""

    artifact: Artifact
    append: bool = False
    last_chunk: bool = False
    metadata: JsonObject | None = None
    """What the agent says of the change (SPEC 4.2.2): on the event, and no part of the artifact."""


@dataclass(frozen=True, slots=True)
class Restarted:
    """A turn starts over: what its dead attempts produced since entry number `since`, and said of the task, does not
    count."""

    since: int


Entry = Spoken | StatusChanged | ArtifactChanged | Restarted


@dataclass(frozen=True, slots=True)
class Folded:
    """What the entries amount to."""

    history: tuple[Message, ...] = ()
    artifacts: tuple[Artifact, ...] = ()
    metadata: JsonObject | None = None


def _joined(chunks: Sequence[Artifact]) -> Artifact:
    """Parts in order; names from the first chunk, metadata and extensions merged (SPEC 4.2.2)."""
    first = chunks[0]
    if len(chunks) == 1:
        return first
    parts = tuple(part for chunk in chunks for part in chunk.parts)
    extensions = tuple(dict.fromkeys(uri for chunk in chunks for uri in chunk.extensions))
    return first.but(parts=parts, metadata=_merged(chunk.metadata or {} for chunk in chunks), extensions=extensions)


def fold(entries: Iterable[Entry]) -> Folded:
    """History, artifacts and metadata of a task from all its entries, from the first.

    The latest status message stands in the status alone; it is history once something follows it.
    """
    history: list[Message] = []
    latest: Message | None = None
    kept: list[tuple[int, ArtifactChanged]] = []
    beside: list[tuple[int, JsonObject]] = []
    for position, entry in enumerate(entries):
        if isinstance(entry, ArtifactChanged):
            kept.append((position, entry))
        elif isinstance(entry, Restarted):
            kept = [(at, change) for at, change in kept if at < entry.since]
            beside = [(at, said) for at, said in beside if at < entry.since]
        else:
            if latest is not None:
                history.append(latest)
                latest = None
            if isinstance(entry, Spoken):
                history.append(entry.message)
            else:
                latest = entry.status.message
                if entry.metadata:
                    beside.append((position, entry.metadata))
    metadata = _merged(said for _, said in beside)
    return Folded(tuple(history), _artifacts(change for _, change in kept), metadata)


def _merged(said: Iterable[JsonObject]) -> JsonObject | None:
    """Key by key, the newest counts."""
    metadata: JsonObject = {}
    for each in said:
        metadata |= each
    return metadata or None


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
        case StatusChanged(status, metadata):
            return TaskStatusUpdateEvent(task_id=task_id, context_id=context_id, status=status, metadata=metadata)
        case ArtifactChanged(artifact, append, last_chunk, metadata):
            return TaskArtifactUpdateEvent(
                task_id=task_id,
                context_id=context_id,
                artifact=artifact,
                append=append,
                last_chunk=last_chunk,
                metadata=metadata,
            )
        case Spoken() | Restarted():
            return None
