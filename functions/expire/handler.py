"""expire: Step Functions -> Lambda. The deadline of a wait passed."""

from typing import Any

from a2a_serverless.app.expire import expire
from a2a_serverless.aws.keys import task_key
from functions.expire.parts import expiry
from functions.logs import log_as

log = log_as("expire")


def handler(event: dict[str, Any], _context: object) -> dict[str, Any]:
    """End the wait that the input names: `{"pk", "number", "task"}`; answers the state the task is in then."""
    head = expire(expiry(), task_key(event["pk"]), int(event["number"]))
    return {"task": event["task"], "state": head.state.value if head else None}
