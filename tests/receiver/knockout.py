"""Copies of the receiver, each with one refusal taken out, so that tests can show that they would notice."""

import ast
import copy
import importlib
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import CodeType, ModuleType
from typing import TypeGuard

import a2a_receiver

SOURCE = Path(a2a_receiver.__file__).parent
JUDGES = (
    "claims",
    "jws",
    "judge",
    "keys",
    "ownership",
    "proof",
    "prove",
    "request",
    "standard_webhooks",
    "strict_json",
    "told",
    "urls",
)
"""The modules whose every early exit is a refusal, or passes one on."""


@dataclass(frozen=True)
class Knockout:
    """One place where the receiver says no, and the module as it would be if it did not."""

    module: str
    line: int
    what: str
    source: str
    reason: str
    """The reason it would have given, empty when it raises or passes on another's."""

    @property
    def id(self) -> str:
        return f"{self.module}:{self.line}:{self.what}"


def knockouts() -> Iterator[Knockout]:
    """One for each condition that leads to a refusal, and one for each part of it."""
    for module in JUDGES:
        tree = ast.parse((SOURCE / f"{module}.py").read_text())
        for number, (line, what, reason) in enumerate(_sites(tree)):
            changed = copy.deepcopy(tree)
            _knock_out(changed, number)
            source = ast.unparse(ast.fix_missing_locations(changed))
            yield Knockout(module, line, what, source, reason)


def load(knockout: Knockout) -> ModuleType:
    """The receiver with that refusal taken out, as a package of its own that never touched a disk."""
    name = f"knocked_out_{knockout.module}_{knockout.line}_{abs(hash(knockout.what))}"
    for untouched in _compiled().keys() - _touched_by(knockout.module) - {"__init__", "testing"}:
        sys.modules[f"{name}.{untouched}"] = importlib.import_module(f"a2a_receiver.{untouched}")
    finder = _Finder(name, {**_compiled(), knockout.module: compile(knockout.source, knockout.id, "exec")})
    sys.meta_path.insert(0, finder)
    try:
        return importlib.import_module(name)
    finally:
        sys.meta_path.remove(finder)


@cache
def _touched_by(module: str) -> frozenset[str]:
    """The module and all that import it, near or far: the others can be shared between the copies."""
    touched = {module}
    while more := {name for name, imported in _imports().items() if imported & touched} - touched:
        touched |= more
    return frozenset(touched)


@cache
def _imports() -> dict[str, set[str]]:
    trees = {path.stem: ast.parse(path.read_text()) for path in SOURCE.glob("*.py")}
    return {
        name: {
            node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.level and node.module
        }
        for name, tree in trees.items()
    }


@cache
def _compiled() -> dict[str, CodeType]:
    return {path.stem: compile(path.read_text(), str(path), "exec") for path in SOURCE.glob("*.py")}


@dataclass(frozen=True)
class _Finder(MetaPathFinder, Loader):
    """Finds the modules of one copy."""

    name: str
    code: dict[str, CodeType]

    def find_spec(self, fullname: str, path: object = None, target: object = None) -> ModuleSpec | None:
        package, _, module = fullname.partition(".")
        if package != self.name or (module or "__init__") not in self.code:
            return None
        return ModuleSpec(fullname, self, is_package=not module)

    def exec_module(self, module: ModuleType) -> None:
        exec(self.code[module.__name__.partition(".")[2] or "__init__"], module.__dict__)


def forget(package: ModuleType) -> None:
    """Take a loaded copy out of the interpreter."""
    for name in [name for name in sys.modules if name.partition(".")[0] == package.__name__]:
        del sys.modules[name]


def _sites(tree: ast.AST) -> Iterator[tuple[int, str, str]]:
    """Line, condition and reason of each place that can say no."""
    for node in ast.walk(tree):
        if isinstance(node, ast.IfExp) and _is_no(node.orelse):
            yield node.lineno, f"choice {ast.unparse(node.test)}", _reason(node.orelse)
        elif _leaves_at_once(node):
            yield node.lineno, ast.unparse(node.test), _reason(node.body[0])
            for part in _parts(node.test):
                yield node.lineno, f"part {ast.unparse(part)}", _reason(node.body[0])


def _reason(node: ast.AST) -> str:
    texts = (part.value for part in ast.walk(node) if isinstance(part, ast.Constant))
    return "" if isinstance(node, ast.Raise) else next((text for text in texts if isinstance(text, str)), "")


def _knock_out(tree: ast.AST, number: int) -> None:
    """Take out the site of this number, in the order of `_sites`."""
    count = 0
    for node in ast.walk(tree):
        if isinstance(node, ast.IfExp) and _is_no(node.orelse):
            if count == number:
                node.test = ast.Constant(True)
                return
            count += 1
        elif _leaves_at_once(node):
            choices = [ast.Constant(False), *(_without(node.test, at) for at in range(len(_parts(node.test))))]
            if number - count < len(choices):
                node.test = choices[number - count]
                return
            count += len(choices)


def _leaves_at_once(node: ast.AST) -> TypeGuard[ast.If]:
    """An `if` whose whole body is a refusal: a return, or a raise."""
    return isinstance(node, ast.If) and len(node.body) == 1 and isinstance(node.body[0], ast.Return | ast.Raise)


def _is_no(node: ast.expr) -> bool:
    """`... else None` and `... else Refusal(...)`."""
    is_none = isinstance(node, ast.Constant) and node.value is None
    return is_none or (isinstance(node, ast.Call) and ast.unparse(node.func) == "Refusal")


def _parts(test: ast.expr) -> list[ast.expr]:
    return test.values if isinstance(test, ast.BoolOp) else []


def _without(test: ast.expr, at: int) -> ast.expr:
    """The condition without one of its parts."""
    assert isinstance(test, ast.BoolOp)
    rest = test.values[:at] + test.values[at + 1 :]
    return rest[0] if len(rest) == 1 else ast.BoolOp(test.op, rest)
