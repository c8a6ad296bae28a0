"""Runs the official conformance kits against a stack of this clone: `make conformance KIT10=checkout KIT03=checkout`.

Environment:
    KIT10, KIT03  checkouts of the A2A TCK, of its 1.0 and its 0.3 line; at least one
    KIT_PYTHON    a Python that has what the kits need, default python3

Prints a SCORE line for each kit and every test that failed. Exit status 0: whatever failed is explained in
`known.py`; 1: something else failed; 2: a kit could not be run. The reports are in `build/conformance`.
"""

import os
import shutil
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

from a2a_serverless.local.clone import repository_root
from a2a_serverless.local.failure import StackFailedError
from a2a_serverless.local.stack import LocalStack
from tests.conformance.known import KNOWN
from tests.conformance.score import Outcome, Verdict, by_run, judge, levels_of, outcomes, score_line
from tests.conformance.suites import Kit, KitError, check, kit03, kit10, play

AGENT = "functions.agents.conformance:agent"


def main(env: Mapping[str, str]) -> int:
    """Run what `env` names; returns the exit status."""
    try:
        python = _python(env.get("KIT_PYTHON") or "python3")
        for kit in _kits(env, "", Path()):
            check(kit)
        with LocalStack(agents=AGENT) as stack:
            print(f"the stack answers at {stack.url}", file=sys.stderr, flush=True)
            verdicts = [_run(kit, python, reports) for kit, reports in _placed(env, stack.url)]
    except (KitError, StackFailedError) as failure:
        print(failure, file=sys.stderr)
        return 2
    return 1 if any(verdict.unexplained for verdict in verdicts) else 0


def _placed(env: Mapping[str, str], url: str) -> Iterator[tuple[Kit, Path]]:
    reports = repository_root() / "build" / "conformance"
    for kit in _kits(env, url, reports / "1.0"):
        yield kit, reports / kit.line


def _kits(env: Mapping[str, str], url: str, reports10: Path) -> list[Kit]:
    ten, three = env.get("KIT10"), env.get("KIT03")
    if not ten and not three:
        raise KitError("no kit is named: make conformance KIT10=checkout KIT03=checkout KIT_PYTHON=python")
    return [
        *([kit10(Path(ten).absolute(), url, reports10)] if ten else []),
        *([kit03(Path(three).absolute(), url)] if three else []),
    ]


def _python(given: str) -> str:
    """The path of a Python, found from here: the kits are run in folders of their own."""
    found = shutil.which(given)
    if not found:
        raise KitError(f"KIT_PYTHON={given} is no program that can be started")
    return str(Path(found).absolute())


def _run(kit: Kit, python: str, reports: Path) -> Verdict:
    played: list[Outcome] = []
    for run in kit.runs:
        print(f"the {kit.line} kit: {run.label}", file=sys.stderr, flush=True)
        played += outcomes(play(kit, run, python, reports), run.label)
    more = levels_of(reports / "compatibility.json") if len(kit.runs) == 1 else by_run(played)
    verdict = judge(played, KNOWN[kit.line])
    print(score_line(kit.line, played, more))
    _print(verdict, KNOWN[kit.line])
    return verdict


def _print(verdict: Verdict, known: Mapping[str, str]) -> None:
    for outcome in verdict.unexplained:
        print(f"FAIL {outcome.name}: {outcome.why}")
    for outcome in verdict.explained:
        print(f"KNOWN {outcome.name}: {known[outcome.name]}")
    for name in verdict.outdated:
        print(f"PASSES {name}: it may leave known.py")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main(os.environ))
