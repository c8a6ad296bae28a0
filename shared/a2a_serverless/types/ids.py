"""Who owns what: the names that scope every operation before anything is read; and what a call is part of."""

import re
from dataclasses import dataclass
from typing import Final

_TRACE_CONTEXT: Final = re.compile("[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}")


@dataclass(frozen=True, slots=True)
class Owner:
    """Whose tasks these are: the subject of the caller's token within its tenant (empty without tenants)."""

    subject: str
    tenant: str = ""

    def __post_init__(self) -> None:
        if not self.subject:
            raise ValueError("an owner must have a subject: nobody's tasks would be everybody's")


@dataclass(frozen=True, slots=True)
class Scope:
    """Everything one owner has with one agent of the deployment. Nothing is ever looked up outside a scope."""

    agent: str
    owner: Owner


@dataclass(frozen=True, slots=True)
class TaskKey:
    """A task as it is looked up: its id means nothing without the scope."""

    scope: Scope
    task_id: str


@dataclass(frozen=True, slots=True)
class Caller:
    """The person a request acts for, and the agents it came through (RFC 8693 `sub` and `act`)."""

    owner: Owner
    actors: tuple[str, ...] = ()
    """Outermost first: who presented the token, then on whose behalf that one acted."""
    scopes: frozenset[str] = frozenset()


def is_trace_context(text: str) -> bool:
    """Whether this is a `traceparent` (W3C Trace Context, version 00) that may be passed on."""
    return _TRACE_CONTEXT.fullmatch(text) is not None
