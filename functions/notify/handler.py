"""notify: SQS `nudges` -> Lambda. Works off a batch of arrivals side by side: a slow partner delays no other."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

from a2a_serverless.app.notify import notify
from a2a_serverless.aws.queues import nudge_of
from functions.logs import log_as
from functions.notify.parts import notifier

log = log_as("notify")


def handler(event: dict[str, Any], _context: object) -> dict[str, Any]:
    """Answers the messages that must come again."""
    records = event["Records"]
    with ThreadPoolExecutor(max_workers=len(records)) as pool:
        settled = list(pool.map(_work_off, records))
    failed = [record["messageId"] for record, ok in zip(records, settled, strict=True) if not ok]
    return {"batchItemFailures": [{"itemIdentifier": message} for message in failed]}


def _work_off(record: dict[str, Any]) -> bool:
    try:
        arrival = nudge_of(record["body"])
        result = notify(notifier(), arrival.key, arrival.config_id, arrival.seq)
    except Exception:
        log.exception("a nudge was not worked off", extra={"message_id": record["messageId"]})
        return False
    log.info("nudge", extra={"task_id": arrival.key.task_id, "seq": arrival.seq, "result": result})
    return True
