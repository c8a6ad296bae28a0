"""Checks that what the agents import will be there on Lambda, by reading their sources and importing nothing.

A package that is installed here and in no `requirements.txt` is found by no test on this machine, and by each function
at its first start.
"""

import ast
import sys
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from .context import Refusal

BROUGHT_BY_LAMBDA: Final = frozenset({"boto3", "botocore", "dateutil", "jmespath", "s3transfer", "six", "urllib3"})
"""The AWS SDK of the Python runtimes, with what it needs (Lambda guide, "Runtime-included SDK versions")."""


@dataclass(frozen=True)
class _Wanted:
    """A module that is imported, by which module and in which line."""

    module: str
    by: str
    line: int


def check_imports(modules: Iterable[str], asset: Path, *, own: frozenset[str]) -> None:
    """Check what these modules import when they are imported, and what their own modules do in turn.

    Args:
        modules: dotted names of modules in `asset`.
        asset: the folder that becomes the functions' code, its requirements installed.
        own: the top-level names in it that are followed; those of others are just looked for.

    Raises:
        Refusal: something that is imported is in neither the asset, nor Python, nor the Lambda runtime.
    """
    seen: set[str] = set()
    waiting = deque(_Wanted(module, "", 0) for module in modules)
    while waiting:
        wanted = waiting.popleft()
        if wanted.module in seen:
            continue
        seen.add(wanted.module)
        top = wanted.module.partition(".")[0]
        if top in own:
            waiting += _imports_of(wanted.module, asset)
        elif not _is_there(top, asset):
            importer = f"{wanted.by.replace('.', '/')}.py"
            raise Refusal(
                f"{importer} imports {wanted.module!r} in line {wanted.line}, which the functions will not have: name "
                f"its package in the requirements.txt of agent_source"
            )


def _is_there(top: str, asset: Path) -> bool:
    if top in sys.stdlib_module_names or top in BROUGHT_BY_LAMBDA:
        return True
    return (asset / top).is_dir() or any(asset.glob(f"{top}.py*")) or any(asset.glob(f"{top}.*.so"))


def _imports_of(module: str, asset: Path) -> Iterator[_Wanted]:
    """What one module of the asset imports, its packages first; nothing if it is an attribute after all."""
    package, _, _ = module.rpartition(".")
    if package:
        yield _Wanted(package, module, 0)
    path = asset.joinpath(*module.split("."))
    for file, inside in ((path.with_suffix(".py"), package), (path / "__init__.py", module)):
        if file.is_file():
            yield from _read(file, module, inside)


def _read(file: Path, module: str, package: str) -> Iterator[_Wanted]:
    for statement in _at_import(ast.parse(file.read_bytes()).body):
        for name in _names(statement, package):
            yield _Wanted(name, module, statement.lineno)


def _names(statement: ast.Import | ast.ImportFrom, package: str) -> Iterator[str]:
    if isinstance(statement, ast.Import):
        yield from (alias.name for alias in statement.names)
        return
    base = statement.module or ""
    if statement.level:
        above = package.split(".")[: len(package.split(".")) - statement.level + 1]
        base = ".".join([*above, *([base] if base else [])])
    yield base
    yield from (f"{base}.{alias.name}" for alias in statement.names if alias.name != "*")


def _at_import(statements: Sequence[ast.stmt]) -> Iterator[ast.Import | ast.ImportFrom]:
    """The imports that surely run with the module. One under `if` or `try` has somebody who knows to do without it."""
    for statement in statements:
        match statement:
            case ast.Import() | ast.ImportFrom():
                yield statement
            case ast.ClassDef(body=body) | ast.With(body=body):
                yield from _at_import(body)
            case _:
                pass
