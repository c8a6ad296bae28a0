"""EventBridge rules and Scheduler: they fire on time, in their role, and their messages are not lost.

Stock ministack looks at schedules every 10 seconds, asks no role, and appends to queues beside the event loop.
"""

import logging
from collections.abc import Callable
from typing import Any

from a2a_serverless.local.patches.loop import on_loop
from a2a_serverless.local.patches.roles import RoleGate
from a2a_serverless.local.patches.target import PatchRefusedError, module, replace

_log = logging.getLogger(__name__)

_TICK_SECONDS = 0.5


def patch(gate: RoleGate) -> None:
    """Tick twice a second, ask a schedule's role before its target, deliver to queues on the loop."""
    scheduler, events = module("services.scheduler"), module("services.eventbridge")
    for owner, name in ((scheduler, "_SCHEDULE_TICK_INTERVAL"), (events, "_SCHEDULER_TICK_INTERVAL")):
        if not hasattr(owner, name):
            raise PatchRefusedError(f"{owner.__name__}.{name} is gone: the patch of its pace has no hold")
        setattr(owner, name, _TICK_SECONDS)
    _deliver_on_loop(events)
    _ask_role(events, gate)


def _deliver_on_loop(events: Any) -> None:
    def dispatch(spec: Any, payload: str, sqs_parameters: Any = None) -> None:
        on_loop(lambda: old(spec, payload, sqs_parameters))

    old: Callable[..., None] = replace(events, "_dispatch_to_sqs", dispatch, signature="spec, payload, sqs_parameters")


_ACTIONS = {"sqs": "sqs:SendMessage", "lambda": "lambda:InvokeFunction", "states": "states:StartExecution"}


def _ask_role(events: Any, gate: RoleGate) -> None:
    """A target with a role (always with Scheduler) is reached in that role."""

    def invoke(target: dict[str, Any], event: Any, rule: Any, view: Any = None) -> None:
        arn = target.get("Arn", "")
        action = _ACTIONS.get(arn.split(":")[2] if arn.count(":") > 2 else "")
        role = target.get("RoleArn")
        if role and action and (denied := gate.ask(role, action, arn, session="schedule")):
            _log.error("a schedule did not reach its target: %s", denied.message)
            return
        old(target, event, rule, view)

    old: Callable[..., None] = replace(events, "_invoke_target", invoke, signature="target, event, rule, view")
