"""IAM: SendTask* calls are authorised on the state machine that issued the token.

That is what CDK's `grant_task_response` grants; stock ministack asks for another resource and so denies all.
"""

from typing import Any

from a2a_serverless.local.patches.target import module, replace
from a2a_serverless.local.patches.task_tokens import TaskTokens


def patch(tokens: TaskTokens) -> None:
    """Look the token up where the resource of a Step Functions call is worked out."""
    actions = module("core.iam_actions")
    states = module("services.stepfunctions")

    def extract(service: str, method: str, path: str, headers: Any, body: bytes, *rest: Any, **names: Any) -> Any:
        if service == "states" and (token := actions._safe_json_field(body, "taskToken")):
            # An unknown token is refused by Step Functions itself, as InvalidToken, not by IAM.
            return tokens.machine_of(token) or next(iter(states._state_machines.keys()), "*")
        return old(service, method, path, headers, body, *rest, **names)

    signature = "service, method, path, headers, body, query_params, region, account_id"
    old = replace(actions, "extract_resource_arn", extract, signature=signature)
