"""The functions, wired to a world of the test's own."""

from collections import Counter
from collections.abc import Iterator

import pytest

from .scripts import SCRIPTS, Script
from .world import Present, unwire, wire


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say how much was tried."""
    tried: Counter[str] = Counter()
    for reports in terminalreporter.stats.values():
        for report in reports:
            if getattr(report, "when", "") == "call":
                tried.update({name: count for name, count in report.user_properties if name in TRIED})
    if tried:
        terminalreporter.write_line(", ".join(f"{count} {name}" for name, count in tried.items()))


TRIED = ("single faults tried", "pairs of faults tried")


@pytest.fixture
def present(request: pytest.FixtureRequest) -> Iterator[Present]:
    """The place of the world that is on."""
    script = getattr(request, "param", None)
    with pytest.MonkeyPatch.context() as patch:
        chosen = script if isinstance(script, Script) else SCRIPTS[0]
        yield wire(patch, agents=chosen.agents, evidence_days=chosen.evidence_days)
    unwire()
