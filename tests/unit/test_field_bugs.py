"""Every report of the sample has tests that exist, and every test that names a report is listed with it."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from tests.field_bugs import FIELD_BUGS, IDS

TESTS: Final = Path(__file__).parents[1]
_IN_NAME: Final = re.compile(r"test_((?:[a-z]\d\d_)+)")
_IN_WORDS: Final = re.compile(r"\b[A-Z]\d\d\b")


def every_test() -> Iterator[tuple[str, frozenset[str]]]:
    """Every test below `tests/`, and the reports that its name or its docstring names."""
    for path in TESTS.rglob("test_*.py"):
        module = path.relative_to(TESTS).with_suffix("").as_posix()
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test_"):
                yield f"{module}::{node.name}", _named(node)


def _named(test: ast.FunctionDef | ast.AsyncFunctionDef) -> frozenset[str]:
    in_name = _IN_NAME.match(test.name)
    names = {name.upper() for name in in_name[1].split("_") if name} if in_name else set()
    return frozenset(names | set(_IN_WORDS.findall(ast.get_docstring(test) or ""))) & IDS


def test_every_report_of_the_sample_is_there_once() -> None:
    listed = [bug.id for bug in FIELD_BUGS]

    assert len(listed) == len(IDS) == 51
    assert set(listed) == IDS


def test_every_report_is_proved_by_tests_that_exist() -> None:
    known = {test for test, _ in every_test()}

    assert [bug.id for bug in FIELD_BUGS if not bug.proofs] == []
    assert [(bug.id, proof) for bug in FIELD_BUGS for proof in bug.proofs if proof not in known] == []


def test_every_test_that_names_a_report_is_listed_with_it() -> None:
    proofs = {bug.id: set(bug.proofs) for bug in FIELD_BUGS}

    assert [(name, test) for test, names in every_test() for name in sorted(names) if test not in proofs[name]] == []


def test_no_report_names_a_proof_twice() -> None:
    assert [bug.id for bug in FIELD_BUGS if len(set(bug.proofs)) != len(bug.proofs)] == []
