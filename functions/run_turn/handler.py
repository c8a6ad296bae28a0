"""run_turn: SQS `turns` -> Lambda. One delivery, one turn of one task."""

from typing import Any, assert_never

from a2a_serverless.app.run_turn import Buried, Done, Later, Outcome, notice_cancel, run_turn
from a2a_serverless.aws.queues import CancelNotice, TurnDue, turn_of
from functions.logs import log_as
from functions.run_turn.parts import Delivery, runner

log = log_as("run_turn")


def handler(event: dict[str, Any], _context: object) -> dict[str, Any]:
    """Answers the delivery if it must come again."""
    (record,) = event["Records"]
    delivery = Delivery.of(record)
    due = turn_of(record["body"])
    outcome = _run(due, delivery)
    match outcome:
        case Done():
            return {"batchItemFailures": []}
        case Later(until):
            delivery.hide_until(until)
            return {"batchItemFailures": [{"itemIdentifier": record["messageId"]}]}
        case Buried(reason):
            delivery.bury(due, reason)
            return {"batchItemFailures": []}
        case _:
            assert_never(outcome)


def _run(due: TurnDue | CancelNotice, delivery: Delivery) -> Outcome:
    where = {"task_id": due.key.task_id, "received": delivery.received}
    delivery.extend()
    if isinstance(due, CancelNotice):
        outcome = notice_cancel(runner(delivery), due.key)
    else:
        outcome = run_turn(runner(delivery), due.key, due.turn, redelivered=delivery.received > 1)
    log.info("turn: %s", outcome, extra=where)
    return outcome
