"""The manifest of requirements is complete, and every test it names is there."""

import ast
from collections import Counter
from functools import cache
from pathlib import Path

from tests.requirements import COUNT, REQUIREMENTS

TESTS = Path(__file__).parents[1]
BEYOND = {
    "unit/protocol/test_legacy",  # 0.3 has no numbered list; its schema and proto judge it
    "unit/protocol/test_drafts",  # so have the drafts of 1.0
    "unit/protocol/test_foreign_clients",  # what SDKs of other languages write and read
    "unit/protocol/test_deliveries",  # the delivery log is the kit's own
    "unit/protocol/test_fitting",  # so is what becomes of content that does not fit into an answer
}


@cache
def names_in(module: str) -> frozenset[str]:
    """The test functions of a module, by its path below `tests/` without `.py`."""
    path = TESTS / f"{module}.py"
    if not path.is_file():
        return frozenset()
    tree = ast.parse(path.read_text())
    functions = (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))
    return frozenset(function.name for function in functions if function.name.startswith("test_"))


def test_every_number_is_there_once_and_in_order() -> None:
    assert [row.number for row in REQUIREMENTS] == list(range(1, COUNT + 1))


def test_every_row_is_proved_or_says_where_else_it_is_kept() -> None:
    assert [row.number for row in REQUIREMENTS if not row.proofs and not row.elsewhere] == []
    assert [row.number for row in REQUIREMENTS if row.proofs and row.elsewhere] == []


def test_every_proof_is_a_test_that_exists() -> None:
    named = [(row.number, *proof.split("::")) for row in REQUIREMENTS for proof in row.proofs]

    assert [(number, module, test) for number, module, test in named if test not in names_in(module)] == []


def test_no_row_names_a_proof_twice() -> None:
    assert [row.number for row in REQUIREMENTS if any(count > 1 for count in Counter(row.proofs).values())] == []


def test_every_module_of_protocol_tests_proves_something() -> None:
    modules = {f"unit/protocol/{path.stem}" for path in (TESTS / "unit" / "protocol").glob("test_*.py")}
    proving = {proof.split("::")[0] for row in REQUIREMENTS for proof in row.proofs}

    assert modules - proving == BEYOND
