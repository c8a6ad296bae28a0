"""Large content in memory."""

from a2a_serverless.types import TaskKey


class MemoryParts:
    """PartStore. `links` are those that were given out."""

    def __init__(self) -> None:
        self.kept: dict[tuple[TaskKey, str], bytes] = {}
        self.links: list[str] = []

    def put(self, key: TaskKey, digest: str, content: bytes) -> None:
        self.kept[key, digest] = content

    def get(self, key: TaskKey, digest: str) -> bytes:
        return self.kept[key, digest]

    def link(self, key: TaskKey, digest: str, *, media_type: str, filename: str) -> str:
        self.links.append(f"https://parts.example/{key.task_id}/{digest}?signature")
        return self.links[-1]

    def forget(self, key: TaskKey) -> int:
        gone = [name for name in self.kept if name[0] == key]
        for name in gone:
            del self.kept[name]
        return len(gone)
