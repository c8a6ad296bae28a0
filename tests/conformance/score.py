"""What a run of a kit came to: counts, the tests that fail, and which of them are explained."""

import json
import xml.etree.ElementTree as ET
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

OUTCOMES: Final = ("passed", "failed", "skipped")


@dataclass(frozen=True)
class Outcome:
    """One test: `run module.Class::name`, what became of it, and the first line of why."""

    name: str
    became: str
    why: str = ""


@dataclass(frozen=True)
class Verdict:
    """The failures of a kit, parted by whether they are explained, and the explained ones that pass by now."""

    unexplained: tuple[Outcome, ...]
    explained: tuple[Outcome, ...]
    outdated: tuple[str, ...]


def outcomes(junit: Path, label: str) -> Iterator[Outcome]:
    """Every test of a JUnit file."""
    for case in ET.parse(junit).getroot().iter("testcase"):
        where = (case.get("classname") or "").removeprefix("tests.")
        name = f"{label} {where}::{case.get('name')}"
        failure = next((found for found in case if found.tag in ("failure", "error")), None)
        if failure is not None:
            lines = (failure.get("message") or failure.text or "").strip().splitlines()
            yield Outcome(name, "failed", lines[0][:300] if lines else "")
        else:
            yield Outcome(name, "passed" if case.find("skipped") is None else "skipped")


def judge(played: Sequence[Outcome], known: Mapping[str, str]) -> Verdict:
    """Part the failures by the list of known ones."""
    failed = [outcome for outcome in played if outcome.became == "failed"]
    passed = {outcome.name for outcome in played if outcome.became == "passed"}
    return Verdict(
        unexplained=tuple(outcome for outcome in failed if outcome.name not in known),
        explained=tuple(outcome for outcome in failed if outcome.name in known),
        outdated=tuple(name for name in known if name in passed),
    )


def score_line(line: str, played: Sequence[Outcome], levels: str) -> str:
    """The one line that a run is remembered by."""
    total = Counter(outcome.became for outcome in played)
    counts = " ".join(f"{became}={total[became]}" for became in OUTCOMES)
    return f"SCORE a2a-tck {line} {counts}{levels}"


def levels_of(report: Path) -> str:
    """How many of the requirements are met by level, from the report that the 1.0 kit writes beside its tests."""
    if not report.exists():
        return ""
    summary = json.loads(report.read_text(encoding="utf-8"))["summary"]
    levels = ("must", "should", "may", "overall")
    return " | " + " ".join(f"{level.upper()}={summary[f'{level}_compatibility']}" for level in levels)


def by_run(played: Sequence[Outcome]) -> str:
    """The counts of each run of a kit that has several."""
    runs: dict[str, Counter[str]] = {}
    for outcome in played:
        runs.setdefault(outcome.name.partition(" ")[0], Counter())[outcome.became] += 1
    return " | " + " ".join(f"{run}:{'/'.join(str(count[it]) for it in OUTCOMES)}" for run, count in runs.items())
