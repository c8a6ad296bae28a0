"""A task is a journal: what was said, how the status moved, what was produced, in one order for everybody.

The Task of the specification is a fold over it, and what a subscriber sees is a part of it.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

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


@dataclass(slots=True)
class _Fold:
    history: list[Message] = field(default_factory=list)
    artifacts: dict[str, Artifact] = field(default_factory=dict)
    status_message: Message | None = None
    kept: list[tuple[int, ArtifactChanged]] = field(default_factory=list)

    def add(self, position: int, entry: Entry) -> None:
        match entry:
            case Spoken(message):
                self._retire_status_message()
                self.history.append(message)
            case StatusChanged(status):
                self._retire_status_message()
                self.status_message = status.message
            case ArtifactChanged():
                self.kept.append((position, entry))
            case Restarted(since):
                self.kept = [(at, change) for at, change in self.kept if at < since]

    def _retire_status_message(self) -> None:
        """The latest status message stands in the status alone; it is history once something follows it."""
        if self.status_message is not None:
            self.history.append(self.status_message)
            self.status_message = None

    def result(self) -> Folded:
        artifacts: dict[str, list[Artifact]] = {}
        for _, change in self.kept:
            identifier = change.artifact.artifact_id
            if change.append and identifier in artifacts:
                artifacts[identifier].append(change.artifact)
            else:
                artifacts[identifier] = [change.artifact]
        return Folded(tuple(self.history), tuple(_joined(chunks) for chunks in artifacts.values()))


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
    """History and artifacts of a task from all its entries, from the first."""
    state = _Fold()
    for position, entry in enumerate(entries):
        state.add(position, entry)
    return state.result()


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
