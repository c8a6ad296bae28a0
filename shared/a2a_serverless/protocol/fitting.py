"""Makes an answer fit: content that is kept apart comes back inline while there is room, else as an address.

What is too much although no part of it is large (an artifact of a million chunks) leaves the answer in the same way.
"""

import logging
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Final, assert_never

from a2a_serverless.app.host import Host
from a2a_serverless.app.ports import LINK_LIFETIME, PartStore
from a2a_serverless.core.large_parts import (
    SMALLEST,
    Kind,
    StoredPart,
    digest_of,
    every_part,
    has_stored,
    in_parts,
    in_status,
    in_task,
    restored,
)
from a2a_serverless.errors import InvalidAgentResponse
from a2a_serverless.protocol.answers import LARGEST_ANSWER, cost
from a2a_serverless.protocol.results import Listed, Result, Sent, Streamed
from a2a_serverless.types import (
    Artifact,
    Caller,
    JsonObject,
    Message,
    Part,
    StreamEvent,
    Task,
    TaskArtifactUpdateEvent,
    TaskKey,
    TaskStatusUpdateEvent,
    timestamp_text,
)

LARGE_PART_KEY: Final = "https://a2a-serverless.dev/ext/large-part/v1"
"""Key in a part's metadata: `{"content", "bytes", "until"}`, what is at its address, how much, and for how long.

`content` is `text`, `raw` or `data`, the member the content would stand in; or `parts`: a JSON array of parts, in whose
place this one stands.
"""
INLINE: Final = 5_000_000
"""Bytes of one answer that content may take, so that the rest of it has room."""

_MEDIA_TYPES: Final[dict[Kind, str]] = {
    "text": "text/plain; charset=utf-8",
    "raw": "application/octet-stream",
    "data": "application/json",
}

log = logging.getLogger(__name__)


class Fitting:
    """One answer. `shown` is told of the task that it shows, if it shows one alone."""

    def __init__(self, host: Host, caller: Caller, *, shown: Callable[[str], None] = lambda _: None) -> None:
        self._host = host
        self._scope = host.scope(caller)
        self._shown = shown
        self._room = INLINE

    def result(self, result: Result | Streamed) -> Result | Streamed:
        """The same, so that it fits."""
        match result:
            case Task():
                return self._task(result)
            case Sent(Task() as task):
                self._shown(task.id)
                return Sent(self._task(task))
            case Sent(Message() as message):
                return Sent(_checked(message))
            case Listed():
                tasks = tuple(self._task(task) for task in result.page.tasks)
                return replace(result, page=replace(result.page, tasks=tasks))
            case Streamed(events):
                return Streamed(self._events(events))
            case _:
                return result

    def _events(self, events: Iterator[StreamEvent]) -> Iterator[StreamEvent]:
        for event in events:
            yield self._event(event)

    def _event(self, event: StreamEvent) -> StreamEvent:
        match event:
            case Task():
                self._shown(event.id)
                return self._task(event)
            case Message():
                return _checked(event)
            case TaskStatusUpdateEvent():
                change = _Change(self, TaskKey(self._scope, event.task_id))
                return event.but(status=in_status(event.status, change.part))
            case TaskArtifactUpdateEvent():
                change = _Change(self, TaskKey(self._scope, event.task_id))
                return event.but(artifact=in_parts(event.artifact, change.part))
            case _:
                assert_never(event)

    def _task(self, task: Task) -> Task:
        if has_stored(every_part(task)):
            self._room -= cost(task.to_json())
            task = in_task(task, self._change(task).part)
        if sum(map(_guess, task.artifacts)) > LARGEST_ANSWER // 4:
            task = self._with_smaller_artifacts(task, self._change(task))
        return task

    def _change(self, task: Task) -> "_Change":
        return _Change(self, TaskKey(self._scope, task.id))

    def _with_smaller_artifacts(self, task: Task, change: "_Change") -> Task:
        """Many small parts may be too much together; `fitted` leaves out messages, but never an artifact."""
        if self._host.parts is None or cost(task.but(history=()).to_json()) <= LARGEST_ANSWER - 100_000:
            return task
        return task.but(artifacts=tuple(change.gathered(artifact) for artifact in task.artifacts))

    def takes(self, room: int) -> bool:
        """Whether there is still so much room, which then is taken."""
        if room > self._room:
            return False
        self._room -= room
        return True

    @property
    def parts(self) -> PartStore:
        """Where content is kept."""
        if self._host.parts is None:
            raise RuntimeError("content is kept apart, and there is nothing to read it from")
        return self._host.parts

    @property
    def until(self) -> str:
        """When the addresses of this answer end."""
        return timestamp_text(self._host.clock() + LINK_LIFETIME)


class _Change:
    """What becomes of the parts of one task."""

    def __init__(self, answer: Fitting, key: TaskKey) -> None:
        self._answer = answer
        self._key = key

    def part(self, part: Part) -> Part:
        """The content if it fits and can be read, else its address."""
        if not isinstance(part, StoredPart):
            return part
        if self._answer.takes(part.kept.room):
            try:
                return restored(part, self._answer.parts.get(self._key, part.kept.digest))
            except Exception:
                log.exception("content could not be read; its address is given", extra={"task_id": self._key.task_id})
        media_type = part.media_type or _MEDIA_TYPES[part.kept.kind]
        about: JsonObject = {"content": part.kept.kind, "bytes": part.kept.size}
        return self._link(part.kept.digest, about, media_type, part.filename, part.metadata)

    def gathered(self, artifact: Artifact) -> Artifact:
        """The artifact with each run of parts that are here as one part with an address."""
        kept: list[Part] = []
        run: list[Part] = []
        for part in (*artifact.parts, None):
            if part is not None and part.url is None:
                run.append(part)
                continue
            kept += self._together(run)
            run = []
            if part is not None:
                kept.append(part)
        return artifact.but(parts=tuple(kept))

    def _together(self, run: list[Part]) -> list[Part]:
        content = f"[{','.join(part.to_json() for part in run)}]".encode()
        if len(content) < SMALLEST:
            return run
        digest = digest_of(content)
        self._answer.parts.put(self._key, digest, content)
        about: JsonObject = {"content": "parts", "bytes": len(content)}
        return [self._link(digest, about, _MEDIA_TYPES["data"], "parts.json", None)]

    def _link(
        self, digest: str, about: JsonObject, media_type: str, filename: str, metadata: JsonObject | None
    ) -> Part:
        url = self._answer.parts.link(self._key, digest, media_type=media_type, filename=filename)
        told = {**(metadata or {}), LARGE_PART_KEY: {**about, "until": self._answer.until}}
        return Part(url=url, media_type=media_type, filename=filename, metadata=told)


def _guess(said: Artifact | Message) -> int:
    """Bytes of an artifact or a message, nearly and quickly."""
    return sum(len(part.to_json()) if part.has_data else len(part.text or part.raw or "") for part in said.parts)


def _checked(message: Message) -> Message:
    """A direct answer belongs to no task, so nothing of it can be kept anywhere."""
    if _guess(message) > LARGEST_ANSWER // 8 and cost(message.to_json()) > LARGEST_ANSWER:
        log.error("the agent's reply is larger than an answer can be (6 MB)")
        raise InvalidAgentResponse("the agent's reply is larger than an answer can be (6 MB)")
    return message
