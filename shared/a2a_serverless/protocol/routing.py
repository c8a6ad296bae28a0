"""From verb and path to an operation: the routes of the operations table, compiled when a path is first asked for.

Segments are compared decoded, so an id that a client percent-encoded is the same id.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Final

from a2a_serverless.core.push import WireVersion
from a2a_serverless.protocol.operations import OPERATIONS, Operation

RESERVED_TENANTS: Final = frozenset({"v1", "agents", ".well-known", "callbacks"})
"""First segments that mean something else; no tenant is reached under such a name on REST."""


@dataclass(frozen=True, slots=True)
class _Step:
    """One segment of a route: fixed text, or a variable with fixed text behind it."""

    variable: str
    suffix: str

    def read(self, segment: str) -> dict[str, str] | None:
        """What the segment fills in, or None if it does not fit."""
        if not self.variable:
            return {} if segment == self.suffix else None
        value = segment.removesuffix(self.suffix)
        fits = len(value) + len(self.suffix) == len(segment) and value
        return {self.variable: value} if fits else None


@dataclass(frozen=True, slots=True)
class _Route:
    verb: str
    steps: tuple[_Step, ...]
    operation: Operation
    version: WireVersion


@dataclass(frozen=True, slots=True)
class Matched:
    """The operation of a request, and what its path says."""

    operation: Operation
    version: WireVersion
    members: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class WrongVerb:
    """The path is one of ours, but takes other verbs."""

    allowed: tuple[str, ...]


@cache
def _routes() -> dict[int, tuple[_Route, ...]]:
    """All routes by their number of segments; those with more fixed text before those with less. JSON-RPC, at the
    agent's own address, never asks for them."""
    routes: dict[int, list[_Route]] = {}
    for operation in OPERATIONS:
        for version in WireVersion:
            for spelt in operation.spelt(version).routes:
                verb, _, path = spelt.partition(" ")
                forms = [path, "/{tenant}" + path] if version is WireVersion.V1_0 else [path]
                for form in forms:
                    steps = tuple(_step(segment) for segment in form.split("/")[1:])
                    routes.setdefault(len(steps), []).append(_Route(verb, steps, operation, version))
    return {length: tuple(sorted(found, key=_variables)) for length, found in routes.items()}


def _step(segment: str) -> _Step:
    if not segment.startswith("{"):
        return _Step("", segment)
    variable, _, suffix = segment[1:].partition("}")
    return _Step(variable, suffix)


def _variables(route: _Route) -> tuple[bool, int]:
    """A variable without a suffix takes anything, so it comes last; so does a tenant."""
    return (
        any(step.variable == "tenant" for step in route.steps),
        sum(bool(step.variable) and not step.suffix for step in route.steps),
    )


def match(verb: str, segments: tuple[str, ...]) -> Matched | WrongVerb | None:
    """The operation at a path below an agent's address; HEAD is answered as GET."""
    asked = "GET" if verb == "HEAD" else verb
    fitting = [(route, members) for route, members in _fitting(segments) if not _reserved(members)]
    for route, members in fitting:
        if route.verb == asked:
            return Matched(route.operation, route.version, members)
    taken = [verb for route, _ in fitting for verb in (("GET", "HEAD") if route.verb == "GET" else (route.verb,))]
    return WrongVerb(tuple(dict.fromkeys(taken))) if fitting else None


def _fitting(segments: tuple[str, ...]) -> Iterable[tuple[_Route, dict[str, str]]]:
    for route in _routes().get(len(segments), ()):
        members: dict[str, str] = {}
        for step, segment in zip(route.steps, segments, strict=True):
            read = step.read(segment)
            if read is None:
                break
            members |= read
        else:
            yield route, members


def _reserved(members: Mapping[str, str]) -> bool:
    return members.get("tenant", "") in RESERVED_TENANTS
