"""One started stack: serves the engine, deploys the assembly into it, and says when it answers."""

import asyncio
import contextlib
import logging
import signal
import socket
import threading
import urllib.error
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from a2a_serverless.local import patches
from a2a_serverless.local.assembly import Progress
from a2a_serverless.local.deploy import Deployed, deploy, embedded
from a2a_serverless.local.engine import Engine
from a2a_serverless.local.failure import StackFailedError
from a2a_serverless.local.patches.lambda_ import Workers

_HTTP_API = "AWS::ApiGatewayV2::Api"
_FIRST_REQUEST = "/.well-known/agent-card.json"


@dataclass(frozen=True)
class Plan:
    """What to deploy and whom to tell."""

    assembly: Path
    parameters: dict[str, str]
    logs: Path
    ready: Callable[[], None]


@dataclass(eq=False)
class _Ending:
    """Ends the serving, from a signal or because the deployment failed."""

    workers: Workers
    event: asyncio.Event = field(default_factory=asyncio.Event)
    loop: asyncio.AbstractEventLoop | None = None
    failure: StackFailedError | None = None

    async def wait(self) -> None:
        self.loop = asyncio.get_running_loop()
        for name in (signal.SIGINT, signal.SIGTERM):
            self.loop.add_signal_handler(name, self.event.set)
        await self.event.wait()
        logging.getLogger(patches.__name__).setLevel(logging.CRITICAL)  # a batch that fails now was torn down
        await asyncio.to_thread(self.workers.kill_all)  # their connections would hold up the end

    @property
    def is_asked_for(self) -> bool:
        """Whether it has begun: what then fails does so because it is torn down."""
        return self.event.is_set()

    def fail(self, failure: StackFailedError) -> None:
        if self.is_asked_for:
            return
        self.failure = failure
        if self.loop:
            self.loop.call_soon_threadsafe(self.event.set)


def run(engine: Engine, plan: Plan, sockets: list[socket.socket], *, progress: Progress) -> None:
    """Serve until a signal comes; blocks.

    Raises:
        StackFailedError: the stack could not be deployed.
    """
    ending = _Ending(engine.patched.workers)
    threading.Thread(target=_bring_up, args=(engine, plan, ending, progress), daemon=True).start()
    try:
        engine.serve(sockets, until=ending.wait)
    finally:
        ending.event.set()
        engine.patched.workers.kill_all()
    if ending.failure:
        raise ending.failure


def _bring_up(engine: Engine, plan: Plan, ending: _Ending, progress: Progress) -> None:
    engine.started.wait()
    try:
        deployed = deploy(plan.assembly, embedded(engine.endpoint), parameters=plan.parameters)
        engine.deployed()
        engine.front_door.open(_api_id(deployed))
        failing = _first_answer(plan)
    except StackFailedError as failure:
        ending.fail(failure)
    except Exception as error:  # whatever it is, the person must not wait for a READY that never comes
        if ending.is_asked_for:
            return
        ending.fail(StackFailedError(f"the stack could not be deployed: {type(error).__name__}: {error}"))
        raise
    else:
        if ending.is_asked_for:
            return
        if failing:
            progress(failing)
        plan.ready()
        with contextlib.suppress(Exception):  # warming is a favour
            engine.patched.workers.warm_sources()


def _api_id(deployed: Deployed) -> str:
    match deployed.physical_ids(_HTTP_API):
        case [api_id]:
            return api_id
        case found:
            raise StackFailedError(f"stack {deployed.name} has {len(found)} HTTP APIs: expected one")


def _first_answer(plan: Plan) -> str:
    """Send the first request, which also starts the api function: what is wrong if it fails, else nothing."""
    url = plan.parameters["PublicUrl"] + _FIRST_REQUEST
    try:
        with urllib.request.urlopen(url, timeout=60):
            return ""
    except urllib.error.HTTPError as error:
        return f"the api function fails ({error.code}): see {plan.logs / 'api.log'}" if error.code >= 500 else ""
