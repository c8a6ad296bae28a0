"""Which agents a stack serves, and whether they can be imported, before anything slow is begun."""

import re
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

DEFAULT = "functions.agents.freight:agent"

_CHECK = """
import importlib, os, sys, traceback
sys.path.insert(0, sys.argv[1])
def told(error):
    said = " ".join(f"{type(error).__name__}: {error}".split())
    own = [f for f in traceback.extract_tb(error.__traceback__) if f.filename.startswith(sys.argv[1] + os.sep)]
    return f"{said} ({os.path.relpath(own[-1].filename, sys.argv[1])}, line {own[-1].lineno})" if own else said
module, attribute = sys.argv[2].split(":")
try:
    found = importlib.import_module(module)
except ModuleNotFoundError as error:
    missing = error.name or ""
    if module == missing or module.startswith(missing + "."):
        sys.exit(f"there is no module {missing}")
    sys.exit(f"importing {module} failed: {error}")
except Exception as error:
    sys.exit(f"importing {module} failed: {told(error)}")
if not hasattr(found, attribute):
    sys.exit(f"module {module} ({found.__file__}) has no attribute {attribute}")
from a2a_serverless import Agent, AgentCard
agent = getattr(found, attribute)
if not isinstance(agent, Agent):
    what = f"the class {agent.__name__}" if isinstance(agent, type) else f"of type {type(agent).__name__}"
    sys.exit(f"it is {what}, and should be an instance of a2a_serverless.Agent")
if not isinstance(getattr(agent, "card", None), AgentCard):
    sys.exit(f"its card is of type {type(getattr(agent, 'card', None)).__name__}, and should be an AgentCard")
if type(agent).run is Agent.run and type(agent).reply is Agent.reply:
    sys.exit(f"its class {type(agent).__name__} says nothing of what it does: write run(self, turn) in it")
"""

IMPORT_SECONDS = 60.0
"""How long an import may take here, where other things run beside it. AWS: an init that takes more than 10 seconds is
begun anew, and its request waits."""


class AgentError(Exception):
    """An agent cannot be served as it was given; the message says what was looked for and where."""


@dataclass(frozen=True)
class Agent:
    """One agent: the name in its address and the import string of the object."""

    name: str
    source: str


def parse(text: str) -> list[Agent]:
    """Agents from `module:attribute` or `name=module:attribute`, comma separated; the first is the default one.

    Raises:
        AgentError: the text is not of that form, or a name comes twice.
    """
    agents = [_parse_one(part.strip()) for part in text.split(",") if part.strip()]
    if not agents:
        raise AgentError(f"AGENT is empty: give module:attribute, e.g. AGENT={DEFAULT}")
    names = [agent.name for agent in agents]
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise AgentError(
            f"the agent name {twice} comes twice in AGENT={text}: give each its own, as name=module:attribute"
        )
    return agents


def _parse_one(text: str) -> Agent:
    name, separator, source = text.rpartition("=")
    module, _, attribute = source.partition(":")
    if not re.fullmatch(r"[\w.]+", module) or not attribute.isidentifier():
        raise AgentError(f"AGENT={text} is no import string: give module:attribute, e.g. {DEFAULT}")
    name = name if separator else module.rpartition(".")[2]
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}", name):
        raise AgentError(f"{name!r} is no agent name: it is part of an address, so use letters, digits, - and _")
    return Agent(name, source)


@dataclass(frozen=True)
class ImportCheck:
    """Imports agents from the staged code, each in a process of its own, while the caller does something else."""

    code: Path
    processes: dict[str, "subprocess.Popen[str]"]

    @classmethod
    def begin(cls, agents: list[Agent], code: Path) -> "ImportCheck":
        """Start importing."""
        return cls(code, {agent.source: _importing(agent.source, code) for agent in agents})

    def finish(self) -> None:
        """Wait for the imports.

        Raises:
            AgentError: one failed.
        """
        until = time.monotonic() + IMPORT_SECONDS
        said = {source: _said(process, until) for source, process in self.processes.items()}
        if wrong := next(((source, text) for source, text in said.items() if text), None):
            raise AgentError(
                f"agent {wrong[0]} was looked for in the functions' code ({_contents(self.code)}) and in the "
                f"packages of {sys.prefix}: {wrong[1]}"
            )


def _said(process: "subprocess.Popen[str]", until: float) -> str:
    """What is wrong with the import; empty if nothing is."""
    try:
        text = process.communicate(timeout=max(0.0, until - time.monotonic()))[1]
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        return f"its import takes more than {IMPORT_SECONDS:g} s; do slow things when a turn first needs them"
    last = text.strip().splitlines()[-1:] or ["the import ended the process"]
    return last[0] if process.returncode else ""


def _importing(source: str, code: Path) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, "-P", "-c", _CHECK, str(code), source],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )


def _contents(code: Path) -> str:
    return ", ".join(sorted(path.name for path in code.iterdir() if path.name != "__pycache__"))


def spelled(agents: list[Agent]) -> str:
    """The agents as the stack's parameter takes them."""
    return ",".join(f"{agent.name}={agent.source}" for agent in agents)
