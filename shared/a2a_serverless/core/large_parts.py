"""Content that is too large for the journal of its task: what leaves an entry, and what stands in its place.

The journal keeps a `StoredPart`; the content is somewhere else under the hash of its bytes, so that whoever writes the
same again writes the same. A reader puts it back, or gives an address where it can be fetched.
"""

import base64
import hashlib
import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, Final, Literal, TypeVar, assert_never

from pydantic import Field
from pydantic_core import from_json, to_json

from a2a_serverless.core.journal import ArtifactChanged, Entry, Restarted, Spoken, StatusChanged
from a2a_serverless.errors import EntryTooLarge
from a2a_serverless.types import Artifact, Message, Part, Task, TaskStatus

INLINE_BYTES: Final = 200 * 1024
"""Content of one entry that stays in the journal; beyond that the largest parts leave it."""
SMALLEST: Final = 4 * 1024
"""A smaller part never leaves: what stands in its place is not worth it."""
LARGEST_ENTRY: Final = 64 * 1024 * 1024
"""Bytes of content in one message, status or artifact: what a function of 512 MB can take in and hand on."""
LARGEST_REST: Final = 380 * 1024
"""Bytes of JSON that stay of an entry of the agent, metadata and small parts included: it has to fit an item, since a
head is read by functions that see nothing but the table."""

Kind = Literal["text", "raw", "data"]
ChangePart = Callable[[Part], Part]


@dataclass(frozen=True, slots=True)
class Kept:
    """Content that is kept apart: what it is, the SHA-256 of its bytes in hex, and how large it is."""

    kind: Kind
    digest: str
    size: int
    """Bytes as they are kept: UTF-8 text, the decoded bytes of `raw`, the JSON of `data`."""
    room: int
    """Bytes at most that it takes inside an answer, which is JSON inside a string of JSON."""


class StoredPart(Part):
    """A part whose content is kept apart. Nothing from outside can be one: only the journal makes them.

    Its `text` is empty and says nothing; metadata, file name and media type are the part's own.
    """

    kept: Annotated[Kept, Field(exclude=True)]


@dataclass(frozen=True, slots=True)
class Content:
    """What has to be kept apart before the journal may speak of it."""

    digest: str
    content: bytes


def stored(part: Part, kept: Kept) -> StoredPart:
    """What stands in the journal in place of a part."""
    return StoredPart(text="", metadata=part.metadata, filename=part.filename, media_type=part.media_type, kept=kept)


def restored(part: StoredPart, content: bytes) -> Part:
    """The part as it was, from its content."""
    said: dict[str, Any] = {}
    match part.kept.kind:
        case "text":
            said["text"] = content.decode("utf-8", "surrogatepass")
        case "raw":
            said["raw"] = base64.b64encode(content).decode()
        case "data":
            said["data"] = _parsed(content)
        case _:
            assert_never(part.kept.kind)
    return Part.model_construct(metadata=part.metadata, filename=part.filename, media_type=part.media_type, **said)


def _parsed(content: bytes) -> object:
    try:
        return from_json(content)
    except ValueError:
        return json.loads(content)  # the fast parser takes 200 levels; what was accepted must be readable


def content_of(part: Part) -> tuple[Kind, bytes] | None:
    """What a part carries, as it would be kept; None for an address, and for content that is kept already."""
    if isinstance(part, StoredPart) or part.url is not None:
        return None
    if part.text is not None:
        return "text", part.text.encode("utf-8", "surrogatepass")
    if part.raw is not None:
        return "raw", base64.b64decode(part.raw)
    return "data", to_json(part.data, inf_nan_mode="null")


def is_same(one: Part, other: Part) -> bool:
    """Whether two parts say the same, wherever their content is."""
    if isinstance(one, StoredPart) == isinstance(other, StoredPart):
        return one == other
    kept, plain = (one, other) if isinstance(one, StoredPart) else (other, one)
    content = content_of(plain)
    return isinstance(kept, StoredPart) and content is not None and kept == stored(plain, _kept(*content))


def moved_out(entries: Sequence[Entry]) -> tuple[tuple[Entry, ...], tuple[Content, ...]]:
    """Entries without what is too large for a journal, and what has to be kept for them first.

    Raises:
        EntryTooLarge: an entry is larger than can be kept at all.
    """
    contents: dict[str, Content] = {}
    moved = tuple(_moved(entry, contents) for entry in entries)
    return moved, tuple(contents.values())


def _moved(entry: Entry, contents: dict[str, Content]) -> Entry:
    parts = parts_of(entry)
    sizes = [_size(part) for part in parts]
    if sum(sizes) > LARGEST_ENTRY:
        raise EntryTooLarge(
            f"an entry with {sum(sizes)} bytes of content is too large to keep: at most {LARGEST_ENTRY}"
        )
    moved = _without(entry, _leaving(sizes, INLINE_BYTES), contents)
    if _fits(moved):
        return moved
    # As JSON it is larger than what it says, since quotes and controls are written as several characters.
    least = _without(entry, _leaving(sizes, 0), contents)
    if _fits(least):
        return least
    raise EntryTooLarge(
        f"an entry with more than {LARGEST_REST} bytes of metadata and small parts is too large to keep"
    )


def _leaving(sizes: Sequence[int], inline: int) -> set[int]:
    """Which parts leave so that at most so much stays inline, the largest first."""
    rest, leaving = sum(sizes), set[int]()
    for position in sorted(range(len(sizes)), key=lambda at: -sizes[at]):
        if rest <= inline or sizes[position] < SMALLEST:
            break
        leaving.add(position)
        rest -= sizes[position]
    return leaving


def _without(entry: Entry, leaving: set[int], contents: dict[str, Content]) -> Entry:
    if not leaving:
        return entry
    parts = parts_of(entry)
    return with_parts(entry, tuple(_apart(part, contents) if at in leaving else part for at, part in enumerate(parts)))


def _apart(part: Part, contents: dict[str, Content]) -> Part:
    found = content_of(part)
    if found is None:
        return part
    kept = _kept(*found)
    contents[kept.digest] = Content(kept.digest, found[1])
    return stored(part, kept)


def _kept(kind: Kind, content: bytes) -> Kept:
    return Kept(kind, digest_of(content), len(content), _room(kind, content))


def digest_of(content: bytes) -> str:
    """The name of content: its SHA-256 in hex."""
    return hashlib.sha256(content).hexdigest()


def _room(kind: Kind, content: bytes) -> int:
    """An upper bound, counted without building the answer.

    There a quote or backslash of a text takes up to four characters, a control up to seven, and each byte of what is
    not ASCII up to three. `data` is JSON already, so its quotes take one more.
    """
    if kind == "raw":
        return len(content) * 4 // 3 + 4
    others = len(content) - len(content.translate(None, _NOT_ASCII))
    quotes = content.count(b'"') + content.count(b"\\")
    if kind == "data":
        return len(content) + quotes + 2 * others
    controls = len(content) - len(content.translate(None, _CONTROLS))
    return len(content) + 3 * quotes + 6 * controls + 2 * others


_CONTROLS: Final = bytes(range(32))
_NOT_ASCII: Final = bytes(range(128, 256))


def _size(part: Part) -> int:
    """Bytes of content, nearly: quick, for it is asked of every part that is written."""
    if isinstance(part, StoredPart) or part.url is not None:
        return 0
    if part.text is not None:
        return len(part.text) if part.text.isascii() else len(part.text.encode("utf-8", "surrogatepass"))
    if part.raw is not None:
        return len(part.raw) * 3 // 4
    return len(to_json(part.data, inf_nan_mode="null"))


def _fits(entry: Entry) -> bool:
    """Whether what stays can be kept. Only the agent's own is looked at: a caller's is bounded by its request."""
    if isinstance(entry, Spoken | Restarted):
        return True
    beside = len(to_json(entry.metadata)) if entry.metadata else 0
    said = entry.status.message if isinstance(entry, StatusChanged) else entry.artifact
    if said is None:
        return beside <= LARGEST_REST
    plain = len(said.parts) < 64 and not said.metadata and not any(part.metadata for part in said.parts)
    if plain and not beside:
        return True
    return len(said.to_json()) + beside <= LARGEST_REST


def parts_of(entry: Entry) -> tuple[Part, ...]:
    """The parts that an entry says."""
    match entry:
        case Spoken(message):
            return message.parts
        case StatusChanged(status):
            return status.message.parts if status.message is not None else ()
        case ArtifactChanged(artifact):
            return artifact.parts
        case Restarted():
            return ()
        case _:
            assert_never(entry)


def with_parts(entry: Entry, parts: tuple[Part, ...]) -> Entry:
    """The entry with other parts."""
    match entry:
        case Spoken(message):
            return replace(entry, message=message.but(parts=parts))
        case StatusChanged(status) if status.message is not None:
            return replace(entry, status=status.but(message=status.message.but(parts=parts)))
        case ArtifactChanged(artifact):
            return replace(entry, artifact=artifact.but(parts=parts))
        case StatusChanged() | Restarted():
            return entry
        case _:
            assert_never(entry)


Spoke = TypeVar("Spoke", Message, Artifact)


def in_parts(said: Spoke, change: ChangePart) -> Spoke:
    """A message or an artifact with each part changed; the same one if nothing was."""
    parts = tuple(change(part) for part in said.parts)
    if all(new is old for new, old in zip(parts, said.parts, strict=True)):
        return said
    return said.but(parts=parts)


def in_status(status: TaskStatus, change: ChangePart) -> TaskStatus:
    """A status with each part of its message changed; the same one if nothing was."""
    message = in_parts(status.message, change) if status.message is not None else None
    return status if message is status.message else status.but(message=message)


def in_task(task: Task, change: ChangePart) -> Task:
    """A task with each part changed: of its status, its artifacts, its messages from the newest to the oldest."""
    if not has_stored(every_part(task)):
        return task
    status = in_status(task.status, change)
    artifacts = tuple(in_parts(artifact, change) for artifact in task.artifacts)
    history = tuple(in_parts(message, change) for message in reversed(task.history))[::-1]
    return task.but(status=status, artifacts=artifacts, history=history)


def every_part(task: Task) -> Iterable[Part]:
    """All parts of a task."""
    yield from task.status.message.parts if task.status.message is not None else ()
    for artifact in task.artifacts:
        yield from artifact.parts
    for message in task.history:
        yield from message.parts


def has_stored(parts: Iterable[Part]) -> bool:
    """Whether the content of some part is kept apart."""
    return StoredPart in map(type, parts)
