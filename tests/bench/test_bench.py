"""The comparison can be made, and the counts that it fails on are held by each run of the tests."""

import json
import re
from pathlib import Path

import pytest

from tests.bench import __main__ as bench
from tests.bench import runs
from tests.bench.budgets import MOST_CALLS, Row, table
from tests.bench.places import ROOT, Places, has_reference, prepared


@pytest.fixture(scope="module")
def places(tmp_path_factory: pytest.TempPathFactory) -> Places:
    return prepared(tmp_path_factory.mktemp("bench"))


def test_the_api_loads_nothing_that_it_may_do_without(places: Places) -> None:
    """No boto3, no event loop, no cryptography, no tracer: and no more modules than it had."""
    over = [f"{row.name}: {row.ours:g}" for row in runs.loaded(places) if not row.holds]

    assert over == []


def test_each_operation_makes_as_few_requests_to_aws_as_it_should(places: Places) -> None:
    calls = runs.our_calls(places)

    assert {name: calls[name] for name in MOST_CALLS if calls[name] > MOST_CALLS[name]} == {}


@pytest.mark.skipif(not has_reference(), reason="the reference server's environment is made by `make bench`")
def test_both_sides_can_be_compared(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status = bench.main(["--rounds", "1", "--json", "--folder", str(tmp_path / "bench")])

    told = json.loads(capsys.readouterr().out)
    assert status == 0
    assert len({row["name"] for row in told["rows"]}) == len(told["rows"]) > 20
    assert all(row["ours"] >= 0 for row in told["rows"])
    assert told["machine"]


def test_both_sides_have_the_same_botocore() -> None:
    """So that what is compared is the kits, and not two versions of their client."""

    def pins(name: str) -> set[str]:
        text = (ROOT / "requirements" / name).read_text()
        return set(re.findall(r"^(?:boto3|botocore|pydantic|a2a-sdk)==[^ ]+", text, re.MULTILINE))

    assert pins("bench.txt") == pins("dev.txt")


def test_a_count_over_its_budget_fails_the_run_and_a_time_does_not() -> None:
    slow = Row("a send", "ms", 10, 9, budget=0.5)
    many = Row("requests", "", 7, 3, limit=2)

    assert (slow.holds, slow.is_exact) == (False, False)
    assert (many.holds, many.is_exact) == (False, True)


def test_a_row_says_how_it_compares() -> None:
    shown = table([Row("a send", "µs", 2_000, 100, budget=1 / 15), Row("modules", "", None, 475, limit=480)])

    assert re.search(r"a send +2,000 µs +100 µs +0.050 \(1/20.0\) +<= 0.067 +ok", shown)
    assert re.search(r"modules +- +475 +- +<= 480 +ok", shown)
