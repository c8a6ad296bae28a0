"""The functions, wired to the deployment that is on, and one summary of all runs."""

import json
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import fields
from typing import Any, Final

import pytest

from tests.faults.world import Present, unwire
from tests.unit.webhook.loopback import Authority
from tests.unit.webhook.signing import key_ring

from .report import Report
from .run import wire_up
from .wire import Wire

_REPORT: Final = "the guarantee"
_SAID: Final = "a line about the guarantee"
Tell = Callable[[Report | str], None]


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say what all runs came to, wherever they ran."""
    properties = [
        said
        for reports in terminalreporter.stats.values()
        for report in reports
        if getattr(report, "when", "") == "call"
        for said in report.user_properties
    ]
    total, runs = Report(), [json.loads(value) for name, value in properties if name == _REPORT]
    for run in runs:
        total.add(_read(run))
    lines = [str(value) for name, value in properties if name == _SAID]
    if runs or lines:
        terminalreporter.section("the guarantee")
    for line in (*(total.lines() if runs else ()), *lines):
        terminalreporter.write_line(line)


def _read(run: dict[str, Any]) -> Report:
    report = Report()
    for name, value in run.items():
        setattr(report, name, Counter(value) if isinstance(value, dict) else value)
    return report


@pytest.fixture
def tell(record_property: Callable[[str, object], None]) -> Tell:
    """Has a report, or a line, in the summary."""

    def telling(what: Report | str) -> None:
        if isinstance(what, Report):
            record_property(_REPORT, json.dumps({each.name: getattr(what, each.name) for each in fields(what)}))
        else:
            record_property(_SAID, what)

    return telling


@pytest.fixture
def present() -> Iterator[Present]:
    """The place of the world that is on."""
    with pytest.MonkeyPatch.context() as patch:
        yield wire_up(patch)
    unwire()


@pytest.fixture(scope="session")
def wires(tmp_path_factory: pytest.TempPathFactory) -> Wire:
    """The way to all receivers, with keys that were made once."""
    key_ring()
    return Wire(Authority(tmp_path_factory.mktemp("certificates")))
