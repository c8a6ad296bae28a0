"""`deliveries`, `redeliver` and `ping`: what became of a task's nudges, and what an operator does about it."""

import argparse
import time
from collections.abc import Iterator
from typing import Final

from a2a_serverless.app import deliveries
from a2a_serverless.app.deliveries import Delivery, WebhookLog
from a2a_serverless.cli import deployment, printed
from a2a_serverless.cli.deployment import Deployment, in_words
from a2a_serverless.cli.refusal import Refusal
from a2a_serverless.protocol.delivery_calls import delivery_object, log_object
from a2a_serverless.types import JsonObject, TaskKey

_HEADER: Final = ("message", "seq", "outcome", "attempt", "time", "came of it", "status", "ms", "key", "next")
_NOT_DELIVERED: Final = 1


def show(told: argparse.Namespace) -> int:
    """`deliveries TASK [--config C]`."""
    place = deployment.chosen(stack=told.stack, endpoint=told.endpoint, say=printed.say)
    with in_words(place.stack):
        found = [(key, log) for key in _tasks(place, told.task) for log in _logs(place, key, told.config)]
    if told.json:
        printed.show_json([{**_owner(key), "webhook": log_object(log)} for key, log in found])
    else:
        printed.show([line for key, log in found for line in _lines(key, log)])
    return 0


def redeliver(told: argparse.Namespace) -> int:
    """`redeliver TASK CONFIG [MESSAGE]`."""
    place = deployment.chosen(stack=told.stack, endpoint=told.endpoint, say=printed.say)
    with in_words(place.stack):
        key = _task(place, told.task, told.config)
        again = deliveries.redeliver(place.desk, key, told.config, message_id=told.message or "")
    if told.json:
        printed.show_json({**_owner(key), "config": told.config, "messageId": again.message_id, "seq": str(again.seq)})
    else:
        printed.show([f"{again.message_id} is on its way again; `a2a-serverless deliveries {key.task_id}` shows it"])
    return 0


def ping(told: argparse.Namespace) -> int:
    """`ping TASK CONFIG`: the exit status says whether the test got through."""
    place = deployment.chosen(stack=told.stack, endpoint=told.endpoint, say=printed.say)
    with in_words(place.stack):
        key = _task(place, told.task, told.config)
        asked = deliveries.ping(place.desk, key, told.config)
        test = deliveries.result_of_ping(place.desk, key, told.config, asked.message_id, pause=time.sleep)
    if test is None:
        raise Refusal(f"the test {asked.message_id} was not sent yet: is `notify` running, or far behind?")
    if told.json:
        printed.show_json({**_owner(key), "config": told.config, "test": delivery_object(test)})
    else:
        printed.show([_sentence(test)])
    return 0 if test.outcome == "delivered" else _NOT_DELIVERED


def _tasks(place: Deployment, task_id: str) -> tuple[TaskKey, ...]:
    keys = place.push.tasks_with(task_id)
    if not keys:
        raise Refusal(f"no task {task_id} has webhooks: the id is another, or its caller registered none")
    return keys


def _task(place: Deployment, task_id: str, config_id: str) -> TaskKey:
    """The task of this id that has that webhook."""
    for key in _tasks(place, task_id):
        if place.push.config(key, config_id) is not None:
            return key
    raise Refusal(f"the task {task_id} has no webhook {config_id}; `a2a-serverless deliveries {task_id}` shows them")


def _logs(place: Deployment, key: TaskKey, wanted: str) -> Iterator[WebhookLog]:
    head = place.tasks.head(key, now=deployment.now())
    configs = head.push if head is not None else ()
    if wanted and wanted not in configs:
        raise Refusal(f"the task {key.task_id} has no webhook {wanted}; it has {', '.join(configs) or 'none'}")
    for config in configs:
        if not wanted or config == wanted:
            yield deliveries.log_of(place.desk, key, config)


def _owner(key: TaskKey) -> JsonObject:
    scope = key.scope
    return {"task": key.task_id, "agent": scope.agent, "tenant": scope.owner.tenant, "subject": scope.owner.subject}


def _lines(key: TaskKey, log: WebhookLog) -> list[str]:
    owner = key.scope.owner
    whose = f"{owner.subject} of {owner.tenant}" if owner.tenant else owner.subject
    off = log.disabled
    state = f"switched off {printed.moment(off.at)} ({off.reason.value})" if off is not None else "on"
    rows = [row for delivery in log.deliveries for row in _rows(delivery)]
    told = printed.table(_HEADER, rows) if rows else ["nothing was sent in the last 14 days"]
    return [
        f"task {key.task_id} of {key.scope.agent}, owner {whose}",
        f"webhook {log.config_id}  {log.url}  {state}",
        *told,
        "",
    ]


def _rows(delivery: Delivery) -> list[tuple[str, ...]]:
    """A row for each attempt; what they have in common stands in the first."""
    outcome = f"{delivery.outcome} (test)" if delivery.is_test else delivery.outcome
    common = (delivery.message_id, "" if delivery.is_test else str(delivery.seq), outcome)
    if not delivery.attempts:
        return [(*common, "", "", "", "", "", "", printed.moment(delivery.next_at))]
    rows = [
        (
            str(line.attempt),
            printed.moment(line.at),
            line.result,
            str(line.status or "-"),
            str(line.milliseconds),
            line.key_id,
            printed.moment(line.next_at),
        )
        for line in delivery.attempts
    ]
    return [(*common, *rows[0]), *(("", "", "", *row) for row in rows[1:])]


def _sentence(test: Delivery) -> str:
    last = test.attempts[-1]
    answered = f"answered {last.status}" if last.status else "gave no answer"
    if test.outcome == "delivered":
        return f"the test got through: the receiver {answered} after {last.milliseconds} ms"
    return f"the test did not get through ({test.outcome}): the receiver {answered} after {last.milliseconds} ms"
