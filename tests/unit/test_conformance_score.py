"""`make conformance` says what a run of a kit came to, and lets nothing pass that is not explained."""

from pathlib import Path

import pytest

from tests.conformance.known import KNOWN
from tests.conformance.score import Outcome, judge, levels_of, outcomes, score_line
from tests.conformance.suites import KitError, Run, check, kit03, kit10, play

JUNIT = """<testsuites><testsuite>
<testcase classname="tests.a.test_b" name="test_passes"/>
<testcase classname="tests.a.test_b.TestC" name="test_fails[rest]"><failure message="first line&#10;second">x</failure>
</testcase>
<testcase classname="tests.a.test_b" name="test_breaks"><error/></testcase>
<testcase classname="tests.a.test_b" name="test_is_skipped"><skipped type="pytest.skip"/></testcase>
</testsuite></testsuites>"""


def played(tmp_path: Path) -> list[Outcome]:
    (tmp_path / "x.xml").write_text(JUNIT)
    return list(outcomes(tmp_path / "x.xml", "quality.rest"))


def test_a_test_is_named_with_its_run_and_a_failure_with_its_first_line(tmp_path: Path) -> None:
    assert played(tmp_path) == [
        Outcome("quality.rest a.test_b::test_passes", "passed"),
        Outcome("quality.rest a.test_b.TestC::test_fails[rest]", "failed", "first line"),
        Outcome("quality.rest a.test_b::test_breaks", "failed"),
        Outcome("quality.rest a.test_b::test_is_skipped", "skipped"),
    ]


def test_only_the_failures_that_are_known_by_name_are_explained(tmp_path: Path) -> None:
    fails, breaks = (outcome for outcome in played(tmp_path) if outcome.became == "failed")
    passes = "quality.rest a.test_b::test_passes"

    verdict = judge(played(tmp_path), {fails.name: "a reason", passes: "an old reason"})

    assert verdict.explained == (fails,)
    assert verdict.unexplained == (breaks,)
    assert verdict.outdated == (passes,)


def test_the_score_is_one_line_with_the_levels_that_the_kit_reports(tmp_path: Path) -> None:
    report = tmp_path / "compatibility.json"
    levels = '"must_compatibility": "98.8%", "should_compatibility": "100.0%", "may_compatibility": "75.0%"'
    report.write_text(f'{{"summary": {{{levels}, "overall_compatibility": "97.0%"}}}}')

    line = score_line("1.0", played(tmp_path), levels_of(report))

    assert line == "SCORE a2a-tck 1.0 passed=1 failed=2 skipped=1 | MUST=98.8% SHOULD=100.0% MAY=75.0% OVERALL=97.0%"


def test_every_known_failure_is_of_a_run_that_is_made() -> None:
    ten, three = kit10(Path("ten"), "http://host", Path("reports")), kit03(Path("three"), "http://host")

    for kit in (ten, three):
        labels = {run.label for run in kit.runs}
        assert {name.partition(" ")[0] for name in KNOWN[kit.line]} <= labels


def test_a_folder_that_is_no_kit_is_refused(tmp_path: Path) -> None:
    with pytest.raises(KitError, match=r"is no checkout of the 0\.3 kit: it has no folder tests/mandatory"):
        check(kit03(tmp_path, "http://host"))


@pytest.mark.parametrize(("python", "said"), [("false", "did not run"), ("/none/such", "cannot be started")])
def test_a_run_that_tells_no_result_is_no_success(tmp_path: Path, python: str, said: str) -> None:
    kit = kit10(tmp_path, "http://host", tmp_path)

    with pytest.raises(KitError, match=said):
        play(kit, Run("all", "tests"), python, tmp_path / "reports")
