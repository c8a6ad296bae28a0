"""`lint-card`: what an agent's card leaves unsaid or gives away, before it is deployed. Nothing is asked of AWS."""

import argparse
import importlib
import sys
import traceback
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Final

from a2a_serverless.agent import Agent
from a2a_serverless.cli import printed
from a2a_serverless.cli.refusal import Refusal
from a2a_serverless.local import agents
from a2a_serverless.protocol.card_lint import Offered, lint
from a2a_serverless.types import AgentCard

FOUND: Final = 1
"""Exit status when something could be better."""


def lint_card(told: argparse.Namespace) -> int:
    """`lint-card AGENT`: a line per finding on stdout; status 0 when there is none."""
    findings = [line for named in _named(told.agent) for line in _findings(named)]
    if not findings:
        return 0
    printed.show(findings)
    return FOUND


def _named(text: str) -> list[agents.Agent]:
    try:
        return agents.parse(text)
    except agents.AgentError as refusal:
        raise Refusal(str(refusal)) from None


def _findings(named: agents.Agent) -> Iterator[str]:
    agent = _imported(named.source)
    offered = Offered(extended_card=agent.extended_card is not None)
    card = _card(agent, named.source)
    yield from (f"{named.name}: {finding}" for finding in lint(card, offered))
    if agent.extended_card is not None and agent.extended_card != card:
        yield from (f"{named.name}, extended card: {finding}" for finding in lint(agent.extended_card, offered))


def _card(agent: Agent, source: str) -> AgentCard:
    card = getattr(agent, "card", None)
    if not isinstance(card, AgentCard):
        raise Refusal(f"agent {source} has no card: set `card` to an AgentCard in its class")
    return card


def _imported(source: str) -> Agent:
    """The agent that an import string leads to, from the working folder or what is installed."""
    module, _, attribute = source.partition(":")
    _look_in(Path.cwd())
    try:
        found = getattr(importlib.import_module(module), attribute)
    except (Exception, SystemExit) as error:  # noqa: BLE001 (whatever a host's module raises, its host hears of it)
        raise Refusal(f"agent {source} cannot be imported: {_why(error)}") from None
    if not isinstance(found, Agent):
        raise Refusal(f"agent {source} is {type(found).__name__}, and should be an instance of a2a_serverless.Agent")
    return found


def _look_in(folder: Path) -> None:
    """A console script looks in its own folder only, unlike `python -m`."""
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))


def _why(error: BaseException) -> str:
    match error:
        case ModuleNotFoundError():
            return f"there is no module {error.name}, neither in {Path.cwd()} nor installed"
        case AttributeError(name=str(name), obj=ModuleType() as module):
            return f"module {module.__name__} has no attribute {name}"
        case _:
            return f"{type(error).__name__}: {' '.join(str(error).split())}{_place(error)}"


def _place(error: BaseException) -> str:
    """Where in the host's own code it happened, if the text does not say so itself."""
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if _is_own(Path(frame.filename))]
    return f" ({Path(own[-1].filename).relative_to(Path.cwd())}, line {own[-1].lineno})" if own else ""


def _is_own(file: Path) -> bool:
    return file.is_relative_to(Path.cwd()) and not {"a2a_serverless", "site-packages"} & set(file.parts)
