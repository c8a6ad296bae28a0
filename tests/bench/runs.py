"""Runs both sides in turn and makes rows of what they took. CPU time of the process; what AWS takes is not in it."""

import json
import os
import platform
import statistics
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, Final

from tests.bench.budgets import FORBIDDEN, MOST_CALLS, MOST_MODULES, Row, times
from tests.bench.places import HERE, REFERENCE, ROOT, Places, our_package, reference_package

_PIECES: Final = {
    "card": 200,
    "get": 40,
    "get_without_history": 40,
    "list": 10,
    "send": 20,
    "reply": 40,
    "whole": 5,
    "post": 40,
}
"""How often a piece of work is done within one round: some ten milliseconds of it."""

Figures = dict[str, tuple[float, float]]
"""By name: what the reference server took, and what we took."""


def machine() -> str:
    """What it was measured on."""
    of = f"{platform.machine()}, {os.cpu_count()} cores"
    return f"{of}, load {os.getloadavg()[0]:.1f}, Python {platform.python_version()}"


def compared(places: Places, *, rounds: int) -> list[Row]:
    """All rows."""
    rows = [*loaded(places), *_sizes(places)]
    with _aws() as aws, _receiver() as address:
        told = {**_environment(aws), "BENCH_RECEIVER": address}
        rows += _cold(places, told, rounds)
        rows += _warm(places, told, rounds)
    return rows


def loaded(places: Places) -> list[Row]:
    """What `api` loads before its first request."""
    done = subprocess.run(
        _ours(places, "ready"), env=_environment("http://127.0.0.1:9"), capture_output=True, text=True, check=True
    )
    modules = json.loads(done.stdout)["modules"]
    forbidden = FORBIDDEN & {name.partition(".")[0] for name in modules}
    return [
        Row("modules loaded at a cold start", "", None, len(modules), limit=MOST_MODULES),
        Row("of those, what must not be loaded", "", None, len(forbidden), limit=0),
    ]


def _sizes(places: Places) -> list[Row]:
    theirs, bare, ours = reference_package(with_boto3=True), reference_package(with_boto3=False), our_package(places)
    mega = 1e6
    return [
        Row("package, unzipped", "MB", theirs.files / mega, ours.files / mega, budget=0.60),
        Row("package, zipped", "MB", theirs.zipped / mega, ours.zipped / mega, budget=0.40),
        Row("package, zipped, boto3 left to Lambda by both", "MB", bare.zipped / mega, ours.zipped / mega),
    ]


def our_calls(places: Places) -> Mapping[str, float]:
    """Requests to AWS for each piece of our work."""
    with _aws() as aws, _side(_ours(places, "serve", "table"), _environment(aws)) as ours:
        return ours.told()


# Cold starts: a new process each time


def _cold(places: Places, told: Mapping[str, str], rounds: int) -> list[Row]:
    ready = [(_cost(_theirs("ready"), told), _cost(_ours(places, "ready"), told)) for _ in range(rounds + 1)]
    first = [(_cost(_theirs("first"), told), _cost(_ours(places, "first"), told)) for _ in range(rounds + 1)]
    memory = (_memory(_theirs("ready"), told), _memory(_ours(places, "ready"), told))
    return [
        Row("cold start: handler and DynamoDB client ready", "ms", *_medians(ready[1:]), budget=0.40),
        Row("cold start to the first answered send", "ms", *_medians(first[1:]), budget=0.35),
        Row("memory when the handler is ready, at the most", "MB", *memory, budget=0.60),
    ]


def _medians(pairs: Sequence[tuple[float, float]]) -> tuple[float, float]:
    """Of each side. The first round warms the disk, and is not among them."""
    return statistics.median(theirs for theirs, _ in pairs), statistics.median(ours for _, ours in pairs)


def _cost(command: Sequence[str], told: Mapping[str, str]) -> float:
    """CPU of a whole process, user and system, in milliseconds."""
    process = subprocess.Popen(command, env=dict(told), stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise RuntimeError(f"{' '.join(command)} ended with {process.returncode}")
    return (used.ru_utime + used.ru_stime) * 1e3


def _memory(command: Sequence[str], told: Mapping[str, str]) -> float:
    """What a process says of its memory, in megabytes."""
    done = subprocess.run(command, env=dict(told), capture_output=True, check=True)
    return float(json.loads(done.stdout)["memory"]) / 1024


# Warm requests: both sides run all the time, and are asked in turn


def _warm(places: Places, told: Mapping[str, str], rounds: int) -> list[Row]:
    with ExitStack() as stack:
        theirs = {kind: stack.enter_context(_side(_theirs(*kind), told)) for kind in _KINDS}
        ours = {kind: stack.enter_context(_side(_ours(places, *kind), told)) for kind in _KINDS}
        calls = (theirs["serve", "table"].told(), ours["serve", "table"].told())
        memory, stored, posted = (_figures(theirs[kind], ours[kind], _KINDS[kind], rounds) for kind in _KINDS)
    return [
        times("SendMessage answered by a message, no store", memory, "reply", fewer=None),
        times("SendMessage to a task, no store: of ours, what api does", memory, "send", fewer=15),
        times("GetTask of 36 KB, no store", memory, "get", fewer=5),
        times("GetTask without history, no store", memory, "get_without_history", fewer=None),
        times("ListTasks of 50, no store", memory, "list", fewer=5),
        times("agent card", memory, "card", fewer=None),
        times("SendMessage with DynamoDB: of ours, what api does", stored, "send", fewer=5),
        times("SendMessage with DynamoDB: all that follows, api, relay and run_turn", stored, "whole", fewer=None),
        times("GetTask of 36 KB with DynamoDB", stored, "get", fewer=3),
        times("ListTasks of 50 with DynamoDB", stored, "list", fewer=6),
        times("webhook over a kept connection; ours signed", posted, "post", fewer=None),
        *(
            Row(f"requests to AWS: {name}", "", calls[0][name], calls[1][name], limit=limit)
            for name, limit in MOST_CALLS.items()
        ),
        Row("requests to AWS: send and all that follows", "", calls[0]["whole"], calls[1]["whole"]),
    ]


_KINDS: Final[Mapping[tuple[str, ...], tuple[str, ...]]] = {
    ("serve", "memory"): ("reply", "send", "get", "get_without_history", "list", "card"),
    ("serve", "table"): ("get", "list", "send", "whole"),  # reads first: what is sent is the same owner's
    ("post",): ("post",),
}


class _Side:
    def __init__(self, process: "subprocess.Popen[str]") -> None:
        self._process = process
        self._line()

    def took(self, name: str) -> float:
        """Microseconds for one piece of work."""
        return float(self._ask([name, _PIECES[name]]))

    def told(self) -> Mapping[str, float]:
        """Requests to AWS for each piece of work."""
        found: Mapping[str, float] = self._ask(None)
        return found

    def _ask(self, what: object) -> Any:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(what) + "\n")
        self._process.stdin.flush()
        return self._line()

    def _line(self) -> Any:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError(f"{self._process.args} ended before it answered")
        return json.loads(line)


@contextmanager
def _side(command: Sequence[str], told: Mapping[str, str]) -> Iterator[_Side]:
    with _process(command, told) as process:
        yield _Side(process)


def _figures(theirs: _Side, ours: _Side, names: Sequence[str], rounds: int) -> Figures:
    figures: Figures = {}
    for name in names:
        figures[name] = _medians([(theirs.took(name), ours.took(name)) for _ in range(rounds + 1)][1:])
    return figures


# Processes


def _theirs(*what: str) -> list[str]:
    return [str(REFERENCE / "bin" / "python"), "-I", str(HERE / "reference.py"), *what]


def _ours(places: Places, *what: str) -> list[str]:
    paths = [*places.paths, *([ROOT] if what[0] == "serve" else [])]
    return [sys.executable, "-I", "-S", str(HERE / "kit.py"), os.pathsep.join(map(str, paths)), *what]


def _environment(endpoint: str) -> dict[str, str]:
    """What a function of ours is told, and what boto3 wants to know."""
    region = {"AWS_REGION": "us-east-1", "AWS_DEFAULT_REGION": "us-east-1", "AWS_ENDPOINT_URL": endpoint}
    keys = {"AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test"}
    ours = {
        "A2A_STAGE": "bench",
        "A2A_AGENTS": "echo=echo:agent",
        "A2A_PUBLIC_URL": "https://agents.example.com",
        "A2A_TABLE": "ours",
        "A2A_BUCKET": "ours",
        "A2A_TURNS_QUEUE": f"{endpoint}/000000000000/turns",
        "A2A_NUDGES_QUEUE": f"{endpoint}/000000000000/nudges",
        "A2A_SEALING_KEY": "alias/ours",
        "AWS_LAMBDA_INITIALIZATION_TYPE": "on-demand",
        "AWS_LAMBDA_LOG_LEVEL": "ERROR",
    }
    return {"PATH": os.environ["PATH"], "HOME": "/nonexistent", **region, **keys, **ours}


@contextmanager
def _process(command: Sequence[str], told: Mapping[str, str]) -> "Iterator[subprocess.Popen[str]]":
    with subprocess.Popen(command, env=dict(told), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield process
        finally:
            assert process.stdin is not None
            process.stdin.close()


@contextmanager
def _aws() -> Iterator[str]:
    """The embedded AWS on loopback, with a table of ours, one of the reference server's, and our queue."""
    engine = ROOT / "tests" / "integration" / "aws" / "engine_process.py"
    told = os.environ | {"PYTHONPATH": os.pathsep.join(map(str, (ROOT / "shared", ROOT)))}
    with _process([sys.executable, "-W", "ignore", str(engine)], told) as process:
        assert process.stdout is not None
        endpoint = process.stdout.readline().strip()
        if not endpoint:
            raise RuntimeError("the embedded AWS did not start")
        _furnish(endpoint)
        yield endpoint


def _furnish(endpoint: str) -> None:
    from tests.bench.furnish import furnish

    before = dict(os.environ)
    os.environ.update({name: value for name, value in _environment(endpoint).items() if name.startswith("AWS_")})
    try:
        furnish()
    finally:
        os.environ.clear()
        os.environ.update(before)


@contextmanager
def _receiver() -> Iterator[str]:
    with _process([sys.executable, str(Path(__file__).with_name("receiver.py"))], os.environ) as process:
        assert process.stdout is not None
        yield process.stdout.readline().strip()
