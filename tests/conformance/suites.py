"""What of the official kits is run, and how: the 1.0 kit against one agent's address, the 0.3 kit against the root.

Each run is a pytest of the kit's own, in its checkout and with its Python, that leaves a JUnit file.
"""

import os
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Final

LONGEST_SECONDS: Final = 1800
"""A run that takes longer hangs; the longest usual one takes five minutes."""

STREAMING_SECONDS: Final = "2.0"
"""The patience of the 0.3 kit with a stream, which `functions.agents.conformance` knows."""


class KitError(Exception):
    """A kit could not be run; the message says which, and what it said itself."""


@dataclass(frozen=True)
class Run:
    """One pytest of a kit: its label in the score, what it selects, and the transports that it is told."""

    label: str
    folder: str
    arguments: tuple[str, ...] = ()


@dataclass(frozen=True)
class Kit:
    """A checkout of one line of the kit, and its runs against a server."""

    line: str
    checkout: Path
    runs: tuple[Run, ...]


def kit10(checkout: Path, url: str, reports: Path) -> Kit:
    """The 1.0 line: one run over both bindings, against the address of one agent."""
    arguments = (
        f"--sut-host={url}/agents/conformance",
        "--transport=jsonrpc,http_json",
        "--webhook-host=127.0.0.1",
        f"--compatibility-report={reports / 'compatibility'}",
    )
    return Kit("1.0", checkout, (Run("all", "tests/compatibility", arguments),))


def kit03(checkout: Path, url: str) -> Kit:
    """The 0.3 line: its five categories, each binding by itself as its own runner does, against the root."""
    runs = [
        _run03(f"{category}.{transport}", folder, marks, transport, url)
        for category, by_transport in _CATEGORIES.items()
        for transport, (folder, marks) in by_transport.items()
    ]
    return Kit("0.3", checkout, tuple(runs))


_ALIKE: Final = ("capabilities", "quality", "features")

_CATEGORIES: Final[dict[str, dict[str, tuple[str, str]]]] = {
    "mandatory": {
        "jsonrpc": ("tests/mandatory", "mandatory_jsonrpc or mandatory_protocol"),
        "rest": ("tests/mandatory/protocol", "mandatory_protocol"),
    },
    **{name: dict.fromkeys(("jsonrpc", "rest"), (f"tests/optional/{name}", "")) for name in _ALIKE},
    "equivalence": {"jsonrpc,rest": ("tests/optional/multi_transport", "transport_equivalence")},
}
"""Category, transports, and the folder and the marks of its tests."""


def _run03(label: str, folder: str, marks: str, transports: str, url: str) -> Run:
    told = (f"--sut-url={url}/", "--test-scope=all", "--transports", transports)
    return Run(label.replace(",", "+"), folder, (*told, *(("-m", marks) if marks else ())))


def check(kit: Kit) -> None:
    """Refuse a folder that holds no such kit.

    Raises:
        KitError: it says which folder of tests was looked for.
    """
    for run in kit.runs:
        if not (kit.checkout / run.folder).is_dir():
            raise KitError(f"{kit.checkout} is no checkout of the {kit.line} kit: it has no folder {run.folder}")


def play(kit: Kit, run: Run, python: str, reports: Path) -> Path:
    """Play one run to its end; returns its JUnit file.

    Raises:
        KitError: it did not get as far as telling passes from failures.
    """
    reports.mkdir(parents=True, exist_ok=True)
    junit, log = reports / f"{run.label}.xml", reports / f"{run.label}.log"
    junit.unlink(missing_ok=True)
    command = [python, "-m", "pytest", run.folder, *run.arguments, f"--junitxml={junit}", "-q", "--tb=short"]
    with log.open("w") as out:
        status = _status([*command, "-p", "no:cacheprovider"], kit.checkout, out.fileno())
    if status not in _TOLD or not junit.exists():
        tail = "\n".join(log.read_text(encoding="utf-8", errors="replace").splitlines()[-8:])
        raise KitError(f"the {kit.line} kit did not run ({run.label}, status {status}; see {log}):\n{tail}")
    return junit


_TOLD: Final = (0, 1)
"""The statuses of pytest that mean that every selected test was run."""


def _status(command: list[str], folder: Path, out: int) -> int | str:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("A2A_", "PYTHON", "PYTEST_"))}
    told = {
        "NO_PROXY": "*",
        "no_proxy": "*",
        "TCK_STREAMING_TIMEOUT": STREAMING_SECONDS,
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    try:
        return subprocess.run(
            command,
            cwd=folder,
            env={**kept, **told},
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=out,
            timeout=LONGEST_SECONDS,
        ).returncode
    except subprocess.TimeoutExpired:
        return "out of time"
    except OSError as error:
        raise KitError(f"KIT_PYTHON={command[0]} cannot be started: {error.strerror}") from None
