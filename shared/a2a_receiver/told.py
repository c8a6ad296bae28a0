"""Step 11: the body, read as a StreamResponse (A2A 1.0) or as a bare object with a `kind` (A2A 0.3)."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from .answer import Refusal
from .claims import MAX_SEQ
from .strict_json import NotStrictJson, loads

# Which member of a StreamResponse names its task how (A2A 1.0.1 section 3.2.3).
_MEMBERS: Final = {"task": "id", "message": "taskId", "statusUpdate": "taskId", "artifactUpdate": "taskId"}
# The same for the `kind` of a bare 0.3 object.
_KINDS: Final = {"task": "id", "message": "taskId", "status-update": "taskId", "artifact-update": "taskId"}

_TASK_ID: Final = re.compile(r"[\x21-\x7e]{1,256}")
_STATE: Final = re.compile(r"[A-Za-z_-]{1,64}")
_SEQ: Final = re.compile(r"[0-9]{1,16}")


@dataclass(frozen=True, slots=True)
class Told:
    """What the body says. Only the task id is acted on."""

    task_id: str
    context_id: str | None
    state: str | None
    seq: int | None
    is_test: bool


def read_told(body: bytes, *, extension_uri: str) -> Told | Refusal:
    """What a push body tells; `extension_uri` is the metadata key that holds the nudge's `seq`."""
    try:
        value = loads(body)
    except NotStrictJson:
        return Refusal(400, "json")
    if not isinstance(value, dict):
        return Refusal(400, "shape")
    event, id_name = _event(value)
    task_id = event.get(id_name)
    if not isinstance(task_id, str) or not is_task_id(task_id):
        return Refusal(400, "shape")
    extension = _member(_member(event, "metadata"), extension_uri)
    return Told(
        task_id=task_id,
        context_id=_text(event.get("contextId"), _TASK_ID),
        state=_text(_member(event, "status").get("state"), _STATE),
        seq=read_seq(extension.get("seq")),
        is_test=extension.get("test") in (True, "true"),
    )


def is_task_id(text: str) -> bool:
    """Whether this can be a task id: visible ASCII, and no path segment with a meaning of its own."""
    return _TASK_ID.fullmatch(text) is not None and text not in (".", "..")


def read_seq(value: object) -> int | None:
    """A version as metadata spells it: text, because protobuf turns JSON numbers into floats."""
    if isinstance(value, str) and _SEQ.fullmatch(value) and int(value) <= MAX_SEQ:
        return int(value)
    return None


def _event(value: Mapping[str, object]) -> tuple[Mapping[str, object], str]:
    """The one event of a body and the name of its task id; an empty event when there is not exactly one."""
    members = [name for name in _MEMBERS if name in value]
    if len(members) == len(value) == 1:
        return _member(value, members[0]), _MEMBERS[members[0]]
    kind = value.get("kind")
    if not members and isinstance(kind, str) and kind in _KINDS:
        return value, _KINDS[kind]
    return {}, ""


def _member(value: Mapping[str, object], name: str) -> Mapping[str, object]:
    member = value.get(name)
    return member if isinstance(member, dict) else {}


def _text(value: object, pattern: re.Pattern[str]) -> str | None:
    return value if isinstance(value, str) and pattern.fullmatch(value) else None
