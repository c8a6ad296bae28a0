"""notify: SQS `nudges` -> Lambda. Works off a batch of arrivals side by side: a slow partner delays no other."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

from a2a_serverless.app.notify import notify
from a2a_serverless.app.ping import send_ping
from a2a_serverless.aws.queues import NudgeDue, PingDue, nudge_of
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
        result = _result(arrival, redelivered=int(record["attributes"]["ApproximateReceiveCount"]) > 1)
    except Exception:
        log.exception("a nudge was not worked off", extra={"message_id": record["messageId"]})
        return False
    log.info("nudge", extra={"task_id": arrival.key.task_id, "config_id": arrival.config_id, "result": result})
    return True


def _result(arrival: NudgeDue | PingDue, *, redelivered: bool) -> str:
    match arrival:
        case NudgeDue(key, config_id, seq):
            return notify(notifier(), key, config_id, seq)
        case PingDue(key, config_id, message_id):
            return send_ping(notifier(), key, config_id, message_id, redelivered=redelivered)
