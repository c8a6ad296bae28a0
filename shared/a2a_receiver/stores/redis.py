"""A replay store in Redis 6.2 or later (also Valkey): for several machines.

Takes a client you made (`redis.Redis(...)`); imports nothing of it.
"""

from typing import Any, Protocol


class RedisPipeline(Protocol):
    """What is used of a pipeline."""

    def set(self, name: str, value: str, *, px: int) -> Any:
        """SET with an expiry in milliseconds."""
        ...

    def zadd(self, name: str, mapping: dict[str, float], *, gt: bool) -> Any:
        """ZADD GT: raise a score, never lower it."""
        ...

    def pexpire(self, name: str, time: int) -> Any:
        """PEXPIRE."""
        ...

    def execute(self) -> Any:
        """MULTI ... EXEC."""
        ...


class RedisClient(Protocol):
    """What is used of a `redis.Redis`."""

    def exists(self, *names: str) -> Any:
        """EXISTS."""
        ...

    def zscore(self, name: str, value: str) -> Any:
        """ZSCORE."""
        ...

    def pipeline(self) -> Any:
        """A `RedisPipeline` that runs as one transaction."""
        ...


_MEMBER = "seq"


class RedisStore:
    """See `a2a_receiver.ReplayStore`. Expiry is by the server's clock."""

    def __init__(self, client: RedisClient, *, prefix: str = "a2a-push:") -> None:
        """Keys begin with `prefix`."""
        self._client = client
        self._prefix = prefix

    def seen(self, key: str, *, now: float) -> bool:
        """See `ReplayStore`."""
        del now  # what has expired is gone
        return bool(self._client.exists(self._prefix + key))

    def max_seq(self, task_key: str, *, now: float) -> int | None:
        """See `ReplayStore`."""
        del now
        score = self._client.zscore(self._prefix + task_key, _MEMBER)
        return None if score is None else int(score)

    def mark(self, key: str | None, *, task_key: str, seq: int | None, now: float, until: float) -> None:
        """See `ReplayStore`."""
        milliseconds = max(int((until - now) * 1000), 1)
        pipeline: RedisPipeline = self._client.pipeline()
        if key is not None:
            pipeline.set(self._prefix + key, "1", px=milliseconds)
        if seq is not None:
            # A sorted set of one member: raising its score is one atomic command. Exact up to 2^53, as `seq` is.
            pipeline.zadd(self._prefix + task_key, {_MEMBER: float(seq)}, gt=True)
            pipeline.pexpire(self._prefix + task_key, milliseconds)
        pipeline.execute()
