"""Task, Message, Artifact and Part as the specification has them (v1.0, package lf.a2a.v1), kept apart."""

import base64
import binascii
import json
from enum import StrEnum
from typing import Annotated, Any, Final, Self

from pydantic import AfterValidator, BeforeValidator, Field, PlainSerializer, StrictBool, StrictStr, model_validator

from a2a_serverless.types.model import A2AModel, JsonObject, Timestamp


class TaskState(StrEnum):
    """Where a task stands (SPEC 4.1.3). `core.lifecycle` says which may follow which."""

    SUBMITTED = "TASK_STATE_SUBMITTED"
    WORKING = "TASK_STATE_WORKING"
    COMPLETED = "TASK_STATE_COMPLETED"
    FAILED = "TASK_STATE_FAILED"
    CANCELED = "TASK_STATE_CANCELED"
    INPUT_REQUIRED = "TASK_STATE_INPUT_REQUIRED"
    REJECTED = "TASK_STATE_REJECTED"
    AUTH_REQUIRED = "TASK_STATE_AUTH_REQUIRED"


class Role(StrEnum):
    """Who speaks in a message (SPEC 4.1.5)."""

    USER = "ROLE_USER"
    AGENT = "ROLE_AGENT"


_STATE_NUMBERS: Final = {
    1: TaskState.SUBMITTED,
    2: TaskState.WORKING,
    3: TaskState.COMPLETED,
    4: TaskState.FAILED,
    5: TaskState.CANCELED,
    6: TaskState.INPUT_REQUIRED,
    7: TaskState.REJECTED,
    8: TaskState.AUTH_REQUIRED,
}
_ROLE_NUMBERS: Final = {1: Role.USER, 2: Role.AGENT}


def _named_state(value: object) -> object:
    return _STATE_NUMBERS.get(value, value) if type(value) is int else value


def _named_role(value: object) -> object:
    return _ROLE_NUMBERS.get(value, value) if type(value) is int else value


_BY_NAME = PlainSerializer(str.__str__, return_type=str, when_used="json")
"""Writes the name of a state or a role, as pydantic does, which asks each enum for its value by two calls in Python."""

WireState = Annotated[TaskState, BeforeValidator(_named_state), _BY_NAME]
"""A state by name, or by number as ProtoJSON allows."""


def _canonical_base64(value: str) -> str:
    """ProtoJSON takes standard or URL-safe base64, padded or not; we keep and emit standard with padding."""
    compact = value.replace("-", "+").replace("_", "/").rstrip("=")
    padded = compact + "=" * (-len(compact) % 4)
    try:
        base64.b64decode(padded, validate=True)
    except (binascii.Error, ValueError) as error:
        raise ValueError("raw must be base64 (RFC 4648)") from error
    return padded


Base64 = Annotated[StrictStr, AfterValidator(_canonical_base64)]


class _NoData:
    """The part has no `data`; JSON null is data."""

    def __repr__(self) -> str:
        return "NO_DATA"

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: object) -> Self:
        return self


NO_DATA: Final = _NoData()


class Part(A2AModel):
    """One piece of content: exactly one of `text`, `raw` (base64), `url` or `data` (SPEC 4.1.6)."""

    text: StrictStr | None = None
    raw: Base64 | None = None
    url: StrictStr | None = None
    data: Any = NO_DATA
    metadata: JsonObject | None = None
    filename: StrictStr = ""
    media_type: StrictStr = ""

    @model_validator(mode="before")
    @classmethod
    def _null_is_unset(cls, value: object) -> object:
        """As everywhere, but a part whose only content is `data: null` carries null."""
        if not isinstance(value, dict) or None not in value.values():
            return value
        present = {name: member for name, member in value.items() if member is not None}
        if "data" in value and not present.keys() & {"text", "raw", "url", "data"}:
            present["data"] = None
        return present

    @model_validator(mode="after")
    def _one_content(self) -> Self:
        contents = [self.text is not None, self.raw is not None, self.url is not None, self.has_data]
        if sum(contents) != 1:
            raise ValueError("a part holds exactly one of text, raw, url and data")
        return self

    @property
    def has_data(self) -> bool:
        """Whether the content is `data`, null included."""
        return self.data is not NO_DATA

    @classmethod
    def from_bytes(cls, content: bytes, *, media_type: str, filename: str = "") -> Self:
        """A part that carries a file's bytes."""
        return cls(raw=base64.b64encode(content).decode(), media_type=media_type, filename=filename)

    def content_bytes(self) -> bytes:
        """The bytes of a `raw` part.

        Raises:
            TypeError: the part carries something else.
        """
        if self.raw is None:
            raise TypeError("only a part with raw content has bytes")
        return base64.b64decode(self.raw)


class Message(A2AModel):
    """One utterance in the exchange; outputs belong in artifacts, not here (SPEC 3.7, 4.1.4)."""

    message_id: Annotated[StrictStr, Field(min_length=1)]
    role: Annotated[Role, BeforeValidator(_named_role), _BY_NAME]
    parts: Annotated[tuple[Part, ...], Field(min_length=1)]
    context_id: StrictStr = ""
    task_id: StrictStr = ""
    metadata: JsonObject | None = None
    extensions: tuple[StrictStr, ...] = ()
    reference_task_ids: tuple[StrictStr, ...] = ()

    @property
    def text(self) -> str:
        """All text parts, joined by line breaks; empty when there are none."""
        return "\n".join(part.text for part in self.parts if part.text is not None)


class TaskStatus(A2AModel):
    """A state, since when, and what the agent says with it (SPEC 4.1.2)."""

    state: WireState
    message: Message | None = None
    timestamp: Timestamp | None = None


class Artifact(A2AModel):
    """A result of a task (SPEC 4.1.7). Ids are unique within the task."""

    artifact_id: Annotated[StrictStr, Field(min_length=1)]
    parts: Annotated[tuple[Part, ...], Field(min_length=1)]
    name: StrictStr = ""
    description: StrictStr = ""
    metadata: JsonObject | None = None
    extensions: tuple[StrictStr, ...] = ()


class Task(A2AModel):
    """A unit of work with its state, results and conversation (SPEC 4.1.1)."""

    id: StrictStr
    context_id: StrictStr
    status: TaskStatus
    artifacts: tuple[Artifact, ...] = ()
    history: tuple[Message, ...] = ()
    metadata: JsonObject | None = None


class TaskStatusUpdateEvent(A2AModel):
    """The status changed (SPEC 4.2.1)."""

    task_id: StrictStr
    context_id: StrictStr
    status: TaskStatus
    metadata: JsonObject | None = None


class TaskArtifactUpdateEvent(A2AModel):
    """An artifact appeared, was replaced, or grew by a chunk (SPEC 4.2.2)."""

    task_id: StrictStr
    context_id: StrictStr
    artifact: Artifact
    append: StrictBool = False
    last_chunk: StrictBool = False
    metadata: JsonObject | None = None


StreamEvent = Task | Message | TaskStatusUpdateEvent | TaskArtifactUpdateEvent
"""What a stream carries: the one member of a StreamResponse (SPEC 3.2.3)."""


def compact_json(value: object) -> str:
    """JSON without blanks, non-ASCII as it is: the form that is stored, signed and sent."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
