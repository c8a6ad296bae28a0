"""One side of the comparison as a process: it is told what to do line by line, and answers with its CPU time.

Both sides run this very file, so that both are measured alike. Standard library alone.
"""

import gc
import json
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any

Work = Callable[[int], object]
"""Do it once; the number has not been used before."""

_spared = 0.0
_is_ours = True
_uncounted = count(-1, -1)
"""Numbers of work that is not timed."""


@contextmanager
def unmeasured() -> Iterator[None]:
    """What is done in here is none of the work: it stands for what AWS does between two functions."""
    global _spared, _is_ours
    began, _is_ours = time.process_time(), False
    yield
    _spared, _is_ours = _spared + time.process_time() - began, True


def serve(works: Mapping[str, Work], told: Callable[[], Mapping[str, Any]] = dict) -> None:
    """Answer `[name, times]` with CPU time (all threads, microseconds for one), and `null` with what `told` says."""
    numbers = count(1)
    print(json.dumps("ready"), flush=True)
    for line in sys.stdin:
        asked = json.loads(line)
        if asked is None:
            print(json.dumps(told()), flush=True)
            continue
        name, times = asked
        print(json.dumps(_microseconds(works[name], [next(numbers) for _ in range(times)])), flush=True)


def _microseconds(work: Work, numbers: list[int]) -> float:
    gc.collect()
    began, spared = time.process_time(), _spared
    for number in numbers:
        work(number)
    return (time.process_time() - began - (_spared - spared)) / len(numbers) * 1e6


def memory() -> int:
    """Kilobytes that this process had at the most since it began (Linux: what came before `exec` does not count)."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith("VmHWM")).split()[1])


def counting(clients: list[Any], work: Work) -> int:
    """How many requests these botocore clients make for one piece of work."""
    requests = 0

    def one(**_: Any) -> None:
        nonlocal requests
        requests += _is_ours

    for client in clients:
        client.meta.events.register("before-call", one, unique_id="bench")
    work(next(_uncounted))
    for client in clients:
        client.meta.events.unregister("before-call", unique_id="bench")
    return requests


def body_of(result: Mapping[str, Any]) -> dict[str, Any]:
    """The body of an answer that must be a success.

    Raises:
        AssertionError: it is not, so there is nothing to measure.
    """
    body = json.loads(result["body"])
    if result["statusCode"] != 200 or "error" in body:
        raise AssertionError(f"no success: {result}")
    found: dict[str, Any] = body
    return found
