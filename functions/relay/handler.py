"""relay: DynamoDB Streams -> Lambda. Reads the two images of a change and carries out what follows from it."""

from typing import Any

from a2a_serverless.app.relay import relay_change
from a2a_serverless.aws.stream_images import changed_heads, removed_task
from functions import wiring
from functions.logs import log_as
from functions.relay.parts import relay

log = log_as("relay")


def handler(event: dict[str, Any], _context: object) -> dict[str, Any]:
    """Stop at the first record that fails: the stream begins there again, and what follows keeps its order."""
    for record in event["Records"]:
        try:
            _relay(record)
        except Exception:
            sequence = record["dynamodb"]["SequenceNumber"]
            log.exception("a change was not relayed", extra={"sequence": sequence})
            return {"batchItemFailures": [{"itemIdentifier": sequence}]}
    return {"batchItemFailures": []}


def _relay(record: dict[str, Any]) -> None:
    """A head that was deleted, by its TTL, takes everything of the task along; any other change has effects."""
    gone = removed_task(record)
    if gone is not None:
        forgotten = wiring.tasks().forget(gone)
        log.info("task forgotten", extra={"task_id": gone.task_id, "items": forgotten})
        return
    old, new = changed_heads(record)
    relay_change(relay(), old, new)
