"""What an execution role may do, asked for the calls that ministack makes on a service's behalf.

With `AUTH=true` ministack checks the calls that functions send over HTTP. What a state machine, an event source
mapping or a schedule does happens inside, unchecked; the patches ask here first, so that a permission missing from
the template is missing locally as well.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from a2a_serverless.local.patches.target import expect, module


@dataclass(frozen=True)
class Denied:
    """The role does not allow a call."""

    message: str
    """The sentence that AWS would answer with."""


class RoleGate:
    """Decides by the policies of a role; allows everything unless `enforced`."""

    def __init__(self, *, enforced: bool) -> None:
        self._enforced = enforced
        self._iam: Any = module("core.iam_evaluator")
        expect(self._iam, "_gather_role_policies", signature="role_name, account_id")
        expect(self._iam, "evaluate", signature="ctx, policies, limits")
        expect(self._iam, "evaluate_resource_policy", signature="doc, ctx, service, named_only, direct_only")

    def ask(
        self, role_arn: str, action: str, resource: str, *, session: str, context: Mapping[str, str] | None = None
    ) -> Denied | None:
        """Whether `role_arn` may perform `action` on the ARN `resource`.

        `session` names who acts, for the message; `context` has condition keys, in small letters, that a policy may ask
        for.
        """
        if not self._enforced:
            return None
        _, _, _, _, account, role = role_arn.split(":", 5)
        name = role.rpartition("/")[2]
        actor = f"arn:aws:sts::{account}:assumed-role/{name}/{session}"
        asked = self._iam.EvalContext(
            principal_arn=actor,
            principal_type="AssumedRole",
            principal_account=account,
            action=action,
            resource_arn=resource,
            region=_region(resource),
            service_context=dict(context or {}),
        )
        verdict = self._iam.evaluate(asked, self._iam._gather_role_policies(name, account))
        if verdict.decision == "Allow":
            return None
        return Denied(
            f"User: {actor} is not authorized to perform: {action} on resource: {resource} "
            f"because no identity-based policy allows the {action} action"
        )

    def first_denied(self, function: Mapping[str, Any], actions: Iterable[str], resource: str) -> Denied | None:
        """The first of `actions` that a function's role may not perform on the ARN `resource`."""
        config = function.get("config") or function
        asked = (self.ask(config["Role"], action, resource, session=config["FunctionName"]) for action in actions)
        return next((denied for denied in asked if denied), None)

    def admits(
        self, service: str, policy: Mapping[str, Any] | None, action: str, resource: str, *, source: str
    ) -> bool:
        """Whether a resource's own `policy` lets an AWS service (`events.amazonaws.com`) act on it for `source`."""
        if not self._enforced:
            return True
        if not policy:
            return False
        context = self._iam.EvalContext(
            principal_arn="*",
            principal_type="Service",
            principal_account="",
            action=action,
            resource_arn=resource,
            region=_region(resource),
            service_context={"aws:sourcearn": source, "aws:sourceaccount": resource.split(":")[4]},
        )
        verdict = self._iam.evaluate_resource_policy(policy, context, service=service)
        return bool(verdict.decision == "Allow")


def _region(arn: str) -> str:
    parts = arn.split(":")
    return parts[3] if len(parts) > 3 else ""
