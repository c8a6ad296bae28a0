"""Where the embedded AWS (ministack) is made to behave as AWS does, one module per service.

Everything here replaces attributes of ministack's modules after its version and the parameters of each replaced
function were checked; nothing of ministack is copied. tests/contract holds every behaviour that is patched in.
"""

from collections.abc import Callable
from dataclasses import dataclass

from a2a_serverless.local.patches import cloudformation, http_api, iam, lambda_, scheduler, task_tokens
from a2a_serverless.local.patches.event_sources import Pollers
from a2a_serverless.local.patches.lambda_ import Workers
from a2a_serverless.local.patches.roles import RoleGate
from a2a_serverless.local.patches.run import ExecutionJournal
from a2a_serverless.local.patches.step_functions import Executions
from a2a_serverless.local.patches.target import PatchRefusedError
from a2a_serverless.local.patches.task_tokens import TaskTokens, TokenJournal
from a2a_serverless.local.patches.tasks import Tasks
from a2a_serverless.local.worker import Host

__all__ = ["PatchRefusedError", "PatchSettings", "Patched", "apply"]


@dataclass(frozen=True)
class PatchSettings:
    """What the patches need to know of the stack that is started."""

    host: Host
    workers_per_function: int
    strict_iam: bool
    executions: ExecutionJournal | None = None
    tokens: TokenJournal | None = None
    advanced: Callable[[str, str, int], None] = lambda *_: None
    """Told each checkpoint of a stream's mapping: its id, the stream and the position."""


@dataclass(frozen=True)
class Patched:
    """The parts of the patched engine that outlive the patching."""

    executions: Executions
    workers: Workers
    pollers: Pollers


def apply(settings: PatchSettings) -> Patched:
    """Patch ministack in this process; its environment variables must be set by now.

    Raises:
        PatchRefusedError: the installed ministack is not the one that the patches were written for.
    """
    gate = RoleGate(enforced=settings.strict_iam)
    tokens = TaskTokens(settings.tokens)
    executions = Executions(tokens, settings.executions)
    workers = lambda_.patch(settings.host, gate, workers_per_function=settings.workers_per_function)
    pollers = Pollers(gate, batches_in_flight=lambda_.MOST_WORKERS, advanced=settings.advanced)
    pollers.patch()
    task_tokens.patch(tokens)
    executions.patch()
    Tasks(tokens, gate, settings.executions).patch()
    cloudformation.patch()
    iam.patch(tokens)
    http_api.patch(gate)
    scheduler.patch(gate)
    return Patched(executions, workers, pollers)
