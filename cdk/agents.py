"""Checks that the agents which a deployment names are there, by reading their sources and importing nothing."""

import ast
import difflib
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from .context import Refusal

_AGENT = re.compile(r"([A-Za-z0-9][A-Za-z0-9._-]*)=([A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*):([A-Za-z_]\w*)")


@dataclass(frozen=True)
class Place:
    """A folder that modules are imported from, and what to call it in a sentence."""

    folder: Path
    called: str


def check_agents(agents: str, places: Sequence[Place]) -> list[str]:
    """Check every `name=module:attribute` of a comma separated list against the places it may be imported from.

    Returns:
        The modules that the agents are in.

    Raises:
        Refusal: the list cannot be read, or names what is not there; says what was looked for and where.
    """
    named = [_read(agents, text) for text in agents.split(",")]
    names = [name for name, _, _ in named]
    for name, module, attribute in named:
        if names.count(name) > 1:
            raise Refusal(f"agents={agents!r} names the agent {name!r} twice")
        _check_attribute(name, module, attribute, _module_file(name, module, places))
    return [module for _, module, _ in named]


def _read(agents: str, text: str) -> tuple[str, str, str]:
    match = _AGENT.fullmatch(text.strip())
    if match is None:
        raise Refusal(f"agents={agents!r} should be name=import.path:attribute, comma separated; {text!r} is not")
    name, module, attribute = match.groups()
    return name, module, attribute


def _module_file(name: str, module: str, places: Sequence[Place]) -> Path:
    path = module.replace(".", "/")
    for place in places:
        for candidate in (place.folder / f"{path}.py", place.folder / path / "__init__.py"):
            if candidate.is_file():
                return candidate
    looked = ", ".join(place.called for place in places)
    raise Refusal(
        f"agent {name!r}: there is no module {module!r}; looked for {path}.py and {path}/__init__.py in {looked}"
    )


def _check_attribute(name: str, module: str, attribute: str, file: Path) -> None:
    try:
        tree = ast.parse(file.read_bytes())
    except SyntaxError as error:
        raise Refusal(
            f"agent {name!r}: the module {module!r} is no Python: {error.msg} in line {error.lineno}"
        ) from None
    defined = set(_defined(tree.body))
    if attribute not in defined and "*" not in defined:
        close = difflib.get_close_matches(attribute, defined, n=1)
        hint = f"; did you mean {close[0]!r}?" if close else ""
        raise Refusal(f"agent {name!r}: the module {module!r} has no {attribute!r} at its top level{hint}")


def _defined(statements: Iterable[ast.stmt]) -> Iterator[str]:
    """The names that a module's top level binds; `*` when it takes over another module's."""
    for statement in statements:
        match statement:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                yield name
            case ast.Import(names=aliases) | ast.ImportFrom(names=aliases):
                yield from ((alias.asname or alias.name).partition(".")[0] for alias in aliases)
            case ast.Assign() | ast.AnnAssign() | ast.If() | ast.Try() | ast.With() | ast.For() | ast.While():
                yield from _bound(statement)
            case _:
                pass


def _bound(statement: ast.stmt) -> Iterator[str]:
    """The names that an assignment, or the statements inside a block, bind."""
    for node in ast.walk(statement):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
    for field in ("body", "orelse", "finalbody"):
        yield from _defined(getattr(statement, field, ()))
    for handler in getattr(statement, "handlers", ()):
        yield from _defined(handler.body)
