"""EventBridge rules and Scheduler: they fire on time, in their role, and their messages are not lost.

Stock ministack looks at schedules every 10 seconds, asks no role, and appends to queues beside the event loop.
"""

import json
import logging
from collections.abc import Callable
from contextvars import ContextVar
from typing import Any

from a2a_serverless.local.patches.loop import on_loop
from a2a_serverless.local.patches.roles import RoleGate
from a2a_serverless.local.patches.target import PatchRefusedError, expect, module, replace

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
    _invoke_functions_as_events_do(events, gate)
    _ask_role(events, gate)
    for name in ("_create_schedule", "_update_schedule"):
        _ask_who_passes(scheduler, name, gate)


def _deliver_on_loop(events: Any) -> None:
    def dispatch(spec: Any, payload: str, sqs_parameters: Any = None) -> None:
        on_loop(lambda: old(spec, payload, sqs_parameters))

    old: Callable[..., None] = replace(events, "_dispatch_to_sqs", dispatch, signature="spec, payload, sqs_parameters")


def _invoke_functions_as_events_do(events: Any, gate: RoleGate) -> None:
    """A rule invokes asynchronously (two more attempts, then the dead letters), if the function's policy lets it."""
    functions = module("services.lambda_svc")
    expect(functions, "invoke_async_with_retry", signature="func, event")
    source: ContextVar[str] = ContextVar("source", default="")

    def dispatch(arn: str, payload: str) -> None:
        function, config, _ = functions._get_func_record_for_ref(arn)
        if not function or not config:
            _log.error("a rule names a function that is not there: %s", arn)
        elif not gate.admits(
            "events.amazonaws.com", function.get("policy"), "lambda:InvokeFunction", arn, source=source.get()
        ):
            _log.error("%s has no permission that lets the rule %s invoke it", arn, source.get())
        else:
            record = functions._execution_record_for_config(function, config)
            functions.invoke_async_with_retry(record, json.loads(payload))

    def invoke(target: dict[str, Any], event: Any, rule: Any, view: Any = None) -> None:
        token = source.set(rule.get("Arn", ""))
        try:
            old(target, event, rule, view)
        finally:
            source.reset(token)

    replace(events, "_dispatch_to_lambda", dispatch, signature="arn, payload")
    old = replace(events, "_invoke_target", invoke, signature="target, event, rule, view")


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


_PASSED_TO = {"iam:passedtoservice": "scheduler.amazonaws.com"}


def _ask_who_passes(scheduler: Any, name: str, gate: RoleGate) -> None:
    """Whoever makes a schedule passes its role on, and needs iam:PassRole for that (Scheduler user guide, "IAM")."""
    evaluator = module("core.iam_evaluator")
    expect(evaluator, "caller_arn", signature="")

    def write(schedule: str, body: dict[str, Any]) -> Any:
        caller, role = evaluator.caller_arn(), (body.get("Target") or {}).get("RoleArn", "")
        if role and (mine := _role_of(caller)):
            session = caller.rpartition("/")[2]
            if denied := gate.ask(mine, "iam:PassRole", role, session=session, context=_PASSED_TO):
                return scheduler._error(403, "AccessDeniedException", denied.message)
        return old(schedule, body)

    old: Callable[..., Any] = replace(scheduler, name, write, signature="name, body")


def _role_of(caller: str) -> str:
    """The role of an assumed session; empty for anybody else."""
    head, mark, rest = caller.partition(":assumed-role/")
    account = head.rpartition(":")[2]
    return f"arn:aws:iam::{account}:role/{rest.partition('/')[0]}" if mark else ""
