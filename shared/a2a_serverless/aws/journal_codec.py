"""The journal as bytes: entries as one JSON array, compressed where that helps, and the segments that are made of it.

A segment is immutable and named by what is in it. Its name says which entry it ends with and it points to the segment
before it, so that a head which names the newest segment names them all: see `task_table` for why this is safe.
"""

import hashlib
import json
import zlib
from base64 import urlsafe_b64encode
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Final, assert_never

from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError

from a2a_serverless.core.journal import ArtifactChanged, Entry, Restarted, Spoken, StatusChanged
from a2a_serverless.core.large_parts import Kept, Kind, StoredPart, parts_of, stored, with_parts
from a2a_serverless.types import Artifact, JsonObject, Message, TaskStatus, compact_json

SEGMENT_BYTES: Final = 32 * 1024
"""Entries share a segment up to this much JSON; a larger one has a segment of its own."""

LARGEST_BODY: Final = 400 * 1024 - 4 * 1024
"""An item of DynamoDB holds 400 KB; keys and names take a little of it, however long the owner's name is."""

_WORTH_COMPRESSING: Final = 200


@dataclass(frozen=True, slots=True)
class Segment:
    """Some entries of a journal, sealed."""

    name: str
    """`{length of the journal up to its end:08d}.{hash of all that is in the chain}`; names sort by position."""
    before: str
    """The segment that precedes it, empty for the first."""
    body: bytes

    @property
    def end(self) -> int:
        """How long the journal is up to the end of this segment."""
        return end_of(self.name)

    @property
    def first(self) -> int:
        """The position of its first entry."""
        return end_of(self.before)


def end_of(name: str) -> int:
    """How long the journal is up to the end of the segment of that name; 0 for no segment."""
    return int(name.partition(".")[0]) if name else 0


def seal(entries: Sequence[Entry], *, after: str) -> tuple[Segment, ...]:
    """The segments that continue the chain behind segment `after` with these entries.

    One entry alone may make a segment that is larger than an item may be (`LARGEST_BODY`).
    """
    segments: list[Segment] = []
    for texts in _shared_out([_text(entry, None) for entry in entries]):
        before = segments[-1].name if segments else after
        body = compressed(f"[{','.join(texts)}]".encode())
        segments.append(Segment(_name(end_of(before) + len(texts), before, body), before, body))
    return tuple(segments)


def _shared_out(texts: Sequence[str]) -> Iterable[list[str]]:
    group: list[str] = []
    size = 0
    for text in texts:
        if group and size + len(text) > SEGMENT_BYTES:
            yield group
            group, size = [], 0
        group.append(text)
        size += len(text)
    if group:
        yield group


def _name(end: int, before: str, body: bytes) -> str:
    digest = hashlib.blake2b(before.encode() + b"\n" + body, digest_size=12).digest()
    return f"{end:08d}.{urlsafe_b64encode(digest).decode()}"


def encode(entries: Sequence[Entry], *, shown: TaskStatus | None = None) -> bytes:
    """Entries as bytes. The last one that says what `shown` says is stored as a mark: the head has it already."""
    mark_at = _newest_status(entries, shown)
    texts = [_text(entry, shown if position == mark_at else None) for position, entry in enumerate(entries)]
    return compressed(f"[{','.join(texts)}]".encode())


def _newest_status(entries: Sequence[Entry], shown: TaskStatus | None) -> int:
    if shown is not None:
        for position in range(len(entries) - 1, -1, -1):
            entry = entries[position]
            if isinstance(entry, StatusChanged):
                return position if entry.status == shown else -1
    return -1


def _text(entry: Entry, shown: TaskStatus | None) -> str:
    match entry:
        case Spoken(message, metadata, extensions):
            active = f',"active":{compact_json(extensions)}' if extensions else ""
            return f'{{"said":{message.to_json()}{_beside(metadata)}{active}{_kept_text(entry)}}}'
        case StatusChanged(status, metadata):
            told = '"shown":true' if shown is not None else f'"status":{status.to_json()}{_kept_text(entry)}'
            return f"{{{told}{_beside(metadata)}}}"
        case ArtifactChanged(artifact, append, last_chunk, metadata):
            flags = (',"append":true' if append else "") + (',"last":true' if last_chunk else "")
            return f'{{"artifact":{artifact.to_json()}{flags}{_beside(metadata)}{_kept_text(entry)}}}'
        case Restarted(since):
            return f'{{"restarted":{since}}}'
        case _:
            assert_never(entry)


def _beside(metadata: JsonObject | None) -> str:
    return f',"beside":{compact_json(metadata)}' if metadata else ""


def _kept_text(entry: Entry) -> str:
    """Which parts have their content elsewhere. Beside what was said, so that nobody can say it."""
    kept = {
        str(position): [part.kept.kind, part.kept.digest, part.kept.size, part.kept.room]
        for position, part in enumerate(parts_of(entry))
        if isinstance(part, StoredPart)
    }
    return f',"kept":{compact_json(kept)}' if kept else ""


def decode(body: bytes, *, shown: TaskStatus | None = None) -> tuple[Entry, ...]:
    """Entries from bytes; `shown` stands where the mark is."""
    return tuple(_entry(written, shown) for written in _parsed(expanded(body)))


def _parsed(text: bytes) -> "list[_Stored]":
    try:
        return _adapter().validate_json(text)
    except ValidationError:
        # The fast parser takes 200 levels of nesting; what was accepted must be readable, so this one takes more.
        return _adapter().validate_python(json.loads(text))


class _Stored(BaseModel):
    """An entry as it is stored: one of these members, or a mark."""

    model_config = ConfigDict(defer_build=True)

    said: Message | None = None
    beside: JsonObject | None = None
    active: tuple[str, ...] = ()
    status: TaskStatus | None = None
    artifact: Artifact | None = None
    append: bool = False
    last: bool = False
    restarted: int | None = None
    shown: bool = False
    kept: dict[int, tuple[Kind, str, int, int]] = {}


@cache
def _adapter() -> TypeAdapter[list[_Stored]]:
    return TypeAdapter(list[_Stored])


def _entry(written: _Stored, shown: TaskStatus | None) -> Entry:
    entry = _plain(written, shown)
    if not written.kept:
        return entry
    parts = tuple(
        stored(part, Kept(*written.kept[at])) if at in written.kept else part for at, part in enumerate(parts_of(entry))
    )
    return with_parts(entry, parts)


def _plain(written: _Stored, shown: TaskStatus | None) -> Entry:
    if written.said is not None:
        return Spoken(written.said, written.beside, written.active)
    if written.artifact is not None:
        return ArtifactChanged(written.artifact, written.append, written.last, written.beside)
    if written.restarted is not None:
        return Restarted(written.restarted)
    status = shown if written.shown else written.status
    if status is None:
        raise ValueError("the journal has an entry of a kind that this version does not know")
    return StatusChanged(status, written.beside)


def compressed(text: bytes) -> bytes:
    """JSON, by zlib where it gets smaller; level 1 takes a third of the time for nearly the same."""
    if len(text) < _WORTH_COMPRESSING:
        return text
    smaller = zlib.compress(text, 1)
    return smaller if len(smaller) < len(text) else text


def expanded(body: bytes) -> bytes:
    """What was compressed. JSON begins with a bracket or brace, zlib with 0x78."""
    return zlib.decompress(body) if body[:1] == b"\x78" else body
