"""IAM: the resource of SendTask* calls and schedules, the encryption context as a condition, loopback as good as TLS.

SendTask* calls are authorised on the state machine that issued the token, which is what CDK grants; stock ministack
asks for another resource and so denies all. It seeks a schedule in the default group, whatever group a call names,
knows no `kms:EncryptionContext:*` condition keys, and refuses plain http where a policy asks for `aws:SecureTransport`.
"""

import json
from typing import Any

from a2a_serverless.local.patches.target import module, replace
from a2a_serverless.local.patches.task_tokens import TaskTokens


def patch(tokens: TaskTokens) -> None:
    """Correct what ministack asks the policies for."""
    actions = module("core.iam_actions")
    _name_machine_of_token(actions, tokens)
    _give_encryption_context(actions)
    _count_loopback_as_tls()


def _name_machine_of_token(actions: Any, tokens: TaskTokens) -> None:
    states = module("services.stepfunctions")

    def extract(service: str, method: str, path: str, headers: Any, body: bytes, *rest: Any, **names: Any) -> Any:
        if service == "states" and (token := actions._safe_json_field(body, "taskToken")):
            # An unknown token is refused by Step Functions itself, as InvalidToken, not by IAM.
            return tokens.machine_of(token) or next(iter(states._state_machines.keys()), "*")
        found = old(service, method, path, headers, body, *rest, **names)
        return _in_its_group(found, body, rest[0] if rest else {}) if service == "scheduler" else found

    signature = "service, method, path, headers, body, query_params, region, account_id"
    old = replace(actions, "extract_resource_arn", extract, signature=signature)


def _in_its_group(arn: str, body: bytes, query: Any) -> str:
    """The ARN of a schedule with the group that the call names: in the body of a write, in the query of a delete."""
    named = query.get("groupName", "") if query else ""
    group = (named[0] if isinstance(named, list) else named) or _member(body, "GroupName")
    return arn.replace(":schedule/default/", f":schedule/{group}/") if isinstance(group, str) and group else arn


def _count_loopback_as_tls() -> None:
    """A queue that refuses calls without TLS must not refuse those that only lack it because they stay on loopback."""
    app = module("app")

    def pin(source_ip: str, secure_transport: bool) -> None:  # noqa: ARG001, FBT001 (ministack's function)
        old(source_ip, True)

    old = replace(app, "pin_request_origin", pin, signature="source_ip, secure_transport")


def _give_encryption_context(actions: Any) -> None:
    """Condition keys of KMS: https://docs.aws.amazon.com/kms/latest/developerguide/conditions-kms.html."""

    def context(service: str, iam_action: str, body: bytes, params: Any) -> dict[str, Any]:
        found: dict[str, Any] = old(service, iam_action, body, params)
        if service != "kms":
            return found
        pairs = _encryption_context(body)
        keys = {f"kms:EncryptionContext:{name}": value for name, value in pairs.items()}
        return {**found, **keys, "kms:EncryptionContextKeys": list(pairs)}

    old = replace(actions, "request_tag_context", context, signature="service, iam_action, body, params")


def _encryption_context(body: bytes) -> dict[str, str]:
    context = _member(body, "EncryptionContext")
    return context if isinstance(context, dict) else {}


def _member(body: bytes, name: str) -> Any:
    """A member of a JSON body; None where there is none."""
    try:
        sent = json.loads(body)
    except ValueError:
        return None
    return sent.get(name) if isinstance(sent, dict) else None
