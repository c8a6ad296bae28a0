"""Results and events of version 0.3 as JSON text, for its JSON-RPC binding; `legacy_rest` respells them."""

from typing import assert_never

from a2a_serverless.protocol import answers
from a2a_serverless.protocol import legacy_objects as v03
from a2a_serverless.protocol.results import Deleted, ExtendedCard, Extra, Listed, PushConfigs, Result, Sent
from a2a_serverless.protocol.strict_json import text_of
from a2a_serverless.types import (
    JsonObject,
    Message,
    StreamEvent,
    Task,
    TaskArtifactUpdateEvent,
    TaskPushNotificationConfig,
    TaskStatusUpdateEvent,
)


def result_text(result: Result) -> str:
    """A result: bare objects, told apart by `kind`."""
    match result:
        case Task():
            return text_of(task_object(result))
        case Sent(payload):
            return event_text(payload, last=True)
        case Listed():
            return text_of(listed(result))
        case TaskPushNotificationConfig():
            return text_of(v03.push_config(result))
        case PushConfigs(configs):
            return text_of([v03.push_config(config) for config in configs])
        case Deleted():
            return "null"
        case ExtendedCard(wire) | Extra(wire):
            return text_of(wire)
        case _:
            assert_never(result)


def event_text(event: StreamEvent, *, last: bool) -> str:
    """An event. The last one of a stream is marked `final` if it is a status; 0.3 has no other place for it."""
    return text_of(event_object(event, last=last))


def event_object(event: StreamEvent, *, last: bool) -> JsonObject:
    """An event as a bare object."""
    match event:
        case Task():
            return task_object(event)
        case Message():
            return v03.message(event)
        case TaskStatusUpdateEvent():
            return v03.status_update(event, final=last)
        case TaskArtifactUpdateEvent():
            return v03.artifact_update(event)
        case _:
            assert_never(event)


def listed(result: Listed) -> JsonObject:
    """A page of tasks, cut as in 1.0."""
    texts, end = answers.fitting(result)
    return {
        "tasks": [v03.task(task) for task in result.page.tasks[: len(texts)]],
        "nextPageToken": result.token(end) if end else "",
        "pageSize": result.page.page_size,
        "totalSize": result.page.total,
    }


def task_object(task: Task) -> JsonObject:
    """A task, without its oldest messages where they would not fit into an answer."""
    if answers.cost(task.to_json()) > answers.LARGEST_ANSWER // 2:
        return v03.task(answers.fitted(task))
    return v03.task(task)
