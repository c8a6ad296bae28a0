"""One authenticated request at one agent, and the one place where both bindings call an operation."""

import logging
from dataclasses import dataclass, field
from functools import partial

from a2a_serverless.app.host import Host
from a2a_serverless.core.push import WireVersion
from a2a_serverless.errors import A2AError, Conflict, EntryTooLarge, InternalError, InvalidParams, TaskNotFound
from a2a_serverless.protocol import extensions
from a2a_serverless.protocol.authentication import Identity
from a2a_serverless.protocol.cards import Cards
from a2a_serverless.protocol.dialects import Dialect
from a2a_serverless.protocol.faults import Busy
from a2a_serverless.protocol.fitting import Fitting
from a2a_serverless.protocol.http import Request
from a2a_serverless.protocol.operations import Operation
from a2a_serverless.protocol.requests import TenantedRequest
from a2a_serverless.protocol.results import Result, Streamed
from a2a_serverless.protocol.use_cases import Call
from a2a_serverless.types import Caller, JsonObject, is_trace_context

log = logging.getLogger(__name__)


@dataclass(slots=True)
class Sighting:
    """What a call turned out to be about; filled while it is performed. A call without a task leaves nothing."""

    operation: str = ""
    task_id: str = ""
    version: WireVersion = WireVersion.V1_0
    caller: Caller | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Visit:
    """Who came to which agent with what."""

    host: Host
    identity: Identity
    cards: Cards
    url: str
    """The address of the agent that the request came to."""
    request: Request
    sighting: Sighting = field(default_factory=Sighting)
    """What of the visit is to be written down."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What an operation answered, and the headers that go with it."""

    result: Result | Streamed
    headers: dict[str, str]


def perform(visit: Visit, operation: Operation, dialect: Dialect, wire: JsonObject) -> Outcome:
    """Read the request, check it whole, and let the use case answer.

    Raises:
        A2AError: it was refused; nothing was changed.
    """
    request = dialect.read(operation, wire)
    caller = _caller(visit.identity, request)
    sighting = visit.sighting
    sighting.operation, sighting.version, sighting.caller = operation.name, dialect.version, caller
    asked = extensions.requested(visit.request, dialect.version)
    if operation.sends:
        extensions.check_required(asked, visit.host.card.capabilities.extensions)
    active = extensions.activated(asked, visit.cards.extensions(visit.host)) if asked else ()
    call = Call(
        host=visit.host,
        caller=caller,
        version=dialect.version,
        extended_card=partial(visit.cards.extended, visit.host, url=visit.url),
        extensions=active,
        trace=_trace(visit.request),
    )
    try:
        fitting = Fitting(visit.host, caller, shown=partial(setattr, sighting, "task_id"))
        result = fitting.result(_run(sighting, operation, call, request))
    except Conflict as error:
        raise Busy("the task is being changed by others; try again") from error
    except EntryTooLarge as error:
        raise InvalidParams.of("message", "is larger than can be kept; send large content as url parts") from error
    return Outcome(result, extensions.echo(active, dialect.version))


def _trace(request: Request) -> str:
    given = request.header("traceparent")
    return given if is_trace_context(given) else ""


def _run(sighting: Sighting, operation: Operation, call: Call, request: TenantedRequest) -> Result | Streamed:
    """Run the use case. A call is about the task that it names unless there is no such task for its caller."""
    named = request.named_task
    try:
        result = operation.run(call, request)
    except TaskNotFound:
        raise
    except Exception:
        sighting.task_id = named
        raise
    sighting.task_id = named
    return result


def _caller(identity: Identity, request: TenantedRequest) -> Caller:
    """The caller within the tenant that the request names. A tenant that is not his is like a task that is not."""
    named = request.named_tenants
    caller = identity.caller(next(iter(named), "")) if len(named) <= 1 else None
    if caller is None:
        raise TaskNotFound if request.seeks_a_task else TaskNotFound("tenant not found")
    return caller


def told(failure: Exception, visit: Visit, operation: Operation) -> A2AError:
    """The error that the caller hears of; what is ours is logged, and he hears nothing of it."""
    about = {"agent": visit.host.name, "operation": operation.name}
    if not isinstance(failure, A2AError):
        log.error("an operation failed", exc_info=failure, extra=about)
        return InternalError()
    log.info("refused", extra={**about, "reason": failure.kind.reason})
    return failure
