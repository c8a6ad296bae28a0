"""What the manual says of `make chaos` is what the Makefile does."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")
MANUAL = (ROOT / "docs" / "operations.md").read_text(encoding="utf-8")


def test_every_variable_of_the_long_run_is_described_with_its_default() -> None:
    described = dict(re.findall(r"^\| `([A-Z_]+)` \| [^|]+ \| `?([^|`]+?)`? \|$", MANUAL, re.MULTILINE))
    defaults = dict(re.findall(r"^([A-Z_]+) \?= (.+)$", MAKEFILE, re.MULTILINE))
    recipe = MAKEFILE.partition("\nchaos:")[2].partition("\n.PHONY")[0]

    used = set(re.findall(r"\$\(([A-Z_]+)\)", recipe)) - {"BIN", "VENV", "CHAOS"}

    assert {name: described.get(name) for name in used} == {name: defaults[name] for name in used}


def test_the_short_run_is_as_large_as_is_said() -> None:
    said = re.search(r"`make test` plays (\d+) tasks .*, `make chaos` ([\d,]+)", MANUAL)
    tests = (Path(__file__).parent / "test_guarantee.py").read_text(encoding="utf-8")

    assert said is not None
    assert f'"GUARANTEE_TASKS", "{said[1]}"' in tests
    assert f"GUARANTEE_TASKS ?= {said[2].replace(',', '')}\n" in MAKEFILE
