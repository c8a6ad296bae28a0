"""Step Functions: what a state machine's role must allow before one of its tasks is performed."""

from collections.abc import Iterator
from typing import Any

from a2a_serverless.local.patches.roles import RoleGate

_SESSION = "states"


class TaskRole:
    """Asks the role for the call behind a task's `Resource`.

    Known are Lambda, DynamoDB, SQS and Step Functions itself, optimised or through the AWS SDK integration; a task
    of another service is let through.
    """

    def __init__(self, gate: RoleGate, states: Any) -> None:
        self._gate = gate
        self._states = states

    def require(self, role: str, resource: str, data: Any) -> None:
        """Fail the task when the role lacks a permission.

        Raises:
            ministack's execution error, named as Step Functions names a refused call.
        """
        for action, arn in self._calls(resource.replace(".waitForTaskToken", ""), data):
            if denied := self._gate.ask(role, action, arn, session=_SESSION):
                raise self._states._ExecutionError(_error_name(action), denied.message)

    def _calls(self, resource: str, data: Any) -> Iterator[tuple[str, str]]:
        """The IAM actions behind a resource, each with the ARN it is asked for."""
        parts = resource.split(":")
        match parts:
            case [_, _, "lambda", *_]:
                yield "lambda:InvokeFunction", resource
            case [*_, "lambda", "invoke"]:
                ref = self._states._resolve_lambda_function_ref(data.get("FunctionName", ""), optimized=True)
                yield "lambda:InvokeFunction", self._function_arn(ref)
            case [*_, "dynamodb", operation] if "TableName" in data:
                table = data["TableName"]
                yield f"dynamodb:{_pascal(operation)}", self._arn("dynamodb", f"table/{table}", table)
            case [*_, "sqs", operation]:
                queue = data["QueueUrl"].rpartition("/")[2]
                yield f"sqs:{_pascal(operation)}", self._arn("sqs", queue, "")
            case [*_, "states" | "sfn", operation] if "StateMachineArn" in data:
                yield f"states:{_pascal(operation.split('.')[0])}", data["StateMachineArn"]
            case _:
                return

    def _function_arn(self, ref: str) -> str:
        return ref if ref.startswith("arn:") else self._arn("lambda", f"function:{ref}", "")

    def _arn(self, service: str, resource: str, given: str) -> str:
        if given.startswith("arn:"):
            return given
        region, account = self._states.get_region(), self._states.get_account_id()
        return f"arn:aws:{service}:{region}:{account}:{resource}"


def _pascal(operation: str) -> str:
    return operation[:1].upper() + operation[1:]


def _error_name(action: str) -> str:
    """The error that a Catch sees, e.g. DynamoDb.DynamoDbException for a refused dynamodb:UpdateItem."""
    match action.split(":", maxsplit=1)[0]:
        case "lambda":
            return "Lambda.AWSLambdaException"
        case "dynamodb":
            return "DynamoDb.DynamoDbException"
        case service:
            return f"{service.capitalize()}.{service.capitalize()}Exception"
