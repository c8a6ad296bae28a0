"""Content that is kept apart, put back where somebody needs all of it: an agent."""

from a2a_serverless.app.ports import PartStore
from a2a_serverless.core.large_parts import StoredPart, in_parts, in_task, restored
from a2a_serverless.types import Message, Part, Task, TaskKey


class Whole:
    """Puts the content of a task back; what was read once is not read again."""

    def __init__(self, parts: PartStore | None, key: TaskKey) -> None:
        self._parts = parts
        self._key = key
        self._read: dict[str, Part] = {}

    def task(self, task: Task) -> Task:
        """The task with all of its content."""
        return in_task(task, self._part)

    def messages(self, messages: tuple[Message, ...]) -> tuple[Message, ...]:
        """The messages with all of their content."""
        return tuple(in_parts(message, self._part) for message in messages)

    def _part(self, part: Part) -> Part:
        if not isinstance(part, StoredPart):
            return part
        if self._parts is None:
            raise RuntimeError(f"task {self._key.task_id} has content kept apart, and there is nothing to read it from")
        name = f"{part.kept.digest} {part.filename} {part.media_type} {part.metadata}"
        if name not in self._read:
            self._read[name] = restored(part, self._parts.get(self._key, part.kept.digest))
        return self._read[name]
