"""From commit to first attempt in real time, on a served stack: the real functions in processes of their own, the
embedded AWS over HTTP, webhooks over loopback. One machine does all of it, so the CPU that each part takes is said too.

    python -m tests.guarantee.latency 5 20 200
"""

import itertools
import json
import os
import sys
import time
import uuid
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from a2a_receiver import Response
from a2a_serverless.aws.part_store import S3Parts
from a2a_serverless.aws.push_table import PushTable
from a2a_serverless.aws.table import Table
from a2a_serverless.aws.task_table import TaskTable
from a2a_serverless.core.head import Change, Head
from a2a_serverless.core.push import PushConfig
from a2a_serverless.local.stack import LocalStack
from a2a_serverless.types import Caller, Owner, Scope, TaskKey, TaskState, TaskStatus

from .server import Server

HOPS: Final = ("relay", "notify")
_OWNER: Final = Owner("anonymous")
_CONFIG: Final = "hook"
_PATIENCE: Final = 120.0
"""Seconds after the last commit in which the last nudge must be there."""
_FUNCTIONS: Final = 12
"""Execution environments of each hop: a slow partner must find enough of them to leave some free."""
_RATE: Final = 4.0
"""Nudges a second to those that are well: far from what the embedded AWS can do, so that only the partner is felt."""
_COUNT: Final = 120
_TURNS: Final = 2
_TICK: Final = os.sysconf("SC_CLK_TCK")


@dataclass
class Hook:
    """A receiver that takes `seconds` for each nudge, and notes when it came."""

    name: str
    seconds: float = 0.0
    came: dict[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.server = Server(self._take, tls=None)
        self.url = f"http://127.0.0.1:{self.server.port}/{self.name}"

    def _take(self, _headers: list[tuple[str, str]], body: bytes) -> Response:
        self.came.setdefault(json.loads(body)["statusUpdate"]["taskId"], time.time())
        if self.seconds:
            time.sleep(self.seconds)
        return Response(202)


@dataclass(frozen=True, slots=True)
class Measured:
    """One load."""

    rate: float
    """Commits a second that were asked for."""
    committed: int
    seconds: float
    """In which they were made."""
    latencies: Sequence[float]
    """Of those whose first attempt came, and of the partners that are well."""
    lost: int
    cpu: dict[str, float]
    """Seconds of CPU by process."""

    @property
    def line(self) -> str:
        """What there is to say."""
        p50, p99 = (percentile(self.latencies, share) for share in (0.5, 0.99))
        made = self.committed / self.seconds
        each = ", ".join(f"{name} {1000 * used / self.committed:.0f}" for name, used in self.cpu.items())
        return (
            f"{self.rate:g} commits a second asked for, {made:.0f} made: commit to first attempt p50 {p50:.2f} s, "
            f"p99 {p99:.2f} s in real time, {self.lost} of {len(self.latencies) + self.lost} never came; "
            f"CPU ms a nudge: {each}"
        )


class Load:
    """Commits changes to a stack's table, as `api` and `run_turn` would, and waits for the nudges."""

    def __init__(self, stack: LocalStack) -> None:
        self._stack = stack
        table = Table(stack.client("dynamodb"), stack.outputs["Table"])
        self._tasks = TaskTable(table, ids=lambda: str(uuid.uuid4()), parts=_no_parts())
        self._push = PushTable(table, ids=lambda: str(uuid.uuid4()))
        self._committed: dict[str, tuple[float, Hook]] = {}

    def run(self, rate: float, count: int, hooks: Sequence[Hook]) -> Measured:
        """Commit so many changes at that rate, for these receivers in turn; each is the first of its task."""
        heads = [(self._head(), hooks[number % len(hooks)]) for number in range(count)]
        with ThreadPoolExecutor(max_workers=10) as pool:
            for _ in pool.map(self._register, heads):
                pass
            self._committed.clear()
            before, began = self._used(), time.time()
            for number, (head, hook) in enumerate(heads):
                time.sleep(max(0.0, began + number / rate - time.time()))
                pool.submit(self._commit, head, hook)
        seconds = time.time() - began
        self._wait()
        cpu = {name: used - before.get(name, 0.0) for name, used in self._used().items()}
        return self._measured(rate, count, seconds, cpu)

    def _register(self, made: tuple[Head, Hook]) -> None:
        head, hook = made
        self._push.put_config(head.key, PushConfig(id=_CONFIG, url=hook.url, created_at=head.created_at))

    def _commit(self, head: Head, hook: Hook) -> None:
        self._tasks.create(Change(None, head))
        self._committed[head.key.task_id] = (time.time(), hook)

    def _wait(self) -> None:
        """Until those that are well have heard of everything."""
        end = time.time() + _PATIENCE
        while time.time() < end and any(each is None for each in self._waited()):
            time.sleep(0.1)

    def _waited(self) -> list[float | None]:
        """Seconds from each commit to the first attempt, None where there was none yet; of receivers that are well."""
        return [
            max(0.0, hook.came[task] - at) if task in hook.came else None
            for task, (at, hook) in self._committed.items()
            if not hook.seconds
        ]

    def _measured(self, rate: float, count: int, seconds: float, cpu: dict[str, float]) -> Measured:
        waited = self._waited()
        latencies = [each for each in waited if each is not None]
        return Measured(rate, count, seconds, latencies, len(waited) - len(latencies), cpu)

    def _head(self) -> Head:
        now = datetime.now(UTC)
        return Head(
            key=TaskKey(Scope(self._stack.agent_names[0], _OWNER), str(uuid.uuid4())),
            context_id="c",
            caller=Caller(_OWNER),
            status=TaskStatus(state=TaskState.COMPLETED, timestamp=now),
            created_at=now,
            version=1,
            nudge_seq=1,
            push=(_CONFIG,),
        )

    def _used(self) -> dict[str, float]:
        """CPU seconds so far, by process: the embedded AWS, the functions, and this one with its receivers."""
        assert self._stack._process is not None
        engine = self._stack._process.pid
        found: dict[str, float] = {"embedded AWS": _cpu_of(engine), "load and receivers": time.process_time()}
        for hop in HOPS:
            found[hop] = sum(_cpu_of(pid) for pid in self._stack.workers(hop))
        return found


def percentile(found: Sequence[float], share: float) -> float:
    """The value that this share of them does not exceed."""
    ordered = sorted(found)
    return ordered[min(len(ordered) - 1, int(len(ordered) * share))] if ordered else float("inf")


def _cpu_of(pid: int) -> float:
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / _TICK


def _no_parts() -> Any:
    """Nothing here is large."""
    return S3Parts.__new__(S3Parts)


@contextmanager
def loaded(hooks: Sequence[Hook]) -> Iterator[Load]:
    """A stack of its own, warm, under a load that is still to come."""
    os.environ.setdefault("LOCAL_LAMBDA_WORKERS", str(_FUNCTIONS))
    with LocalStack(agents="functions.agents.scripted:agent") as stack:
        load = Load(stack)
        load.run(4, 30, hooks)
        yield load
    for hook in hooks:
        hook.server.close()


def measure_rates(load: Load, hooks: Sequence[Hook], rates: Sequence[float]) -> Iterator[str]:
    """Each rate for some seconds."""
    for rate in rates:
        yield load.run(rate, int(max(50, min(600, rate * 15))), hooks).line


def measure_a_slow_partner(load: Load, hooks: Sequence[Hook]) -> Iterator[str]:
    """The others' wait without and beside a partner that takes 10 s on a fifth of the traffic, in turn."""
    without: list[float] = []
    beside: list[float] = []
    for number in range(_TURNS):
        slow = Hook(f"slow-{number}", seconds=9.9)
        without += load.run(_RATE, _COUNT, hooks).latencies
        beside += load.run(_RATE * 5 / 4, _COUNT * 5 // 4, [*hooks, slow]).latencies
        slow.server.close()
    for name, found in (("alone", without), ("beside a partner that takes 10 s on 20 % of the traffic", beside)):
        p50, p99 = (percentile(found, share) for share in (0.5, 0.99))
        yield f"{_RATE:g} nudges a second, {name}: p50 {p50:.2f} s, p99 {p99:.2f} s of {len(found)} in real time"


def main(rates: Sequence[float]) -> None:
    """Measure it all."""
    hooks = [Hook(f"hook-{number}") for number in range(4)]
    with loaded(hooks) as load:
        for line in itertools.chain(measure_a_slow_partner(load, hooks), measure_rates(load, hooks, rates)):
            print(line, flush=True)


if __name__ == "__main__":
    main([float(rate) for rate in sys.argv[1:]] or [5, 20, 200])
