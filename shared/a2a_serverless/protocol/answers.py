"""Results and events as JSON text of version 1.0, the same for both bindings.

An answer leaves in one piece, so it has a largest size; what may be left out of it to fit is left out here.
"""

import json
from typing import Final, assert_never

from a2a_serverless.app.ports import Position
from a2a_serverless.errors import UnsupportedOperation
from a2a_serverless.protocol.results import Deleted, ExtendedCard, Extra, Listed, PushConfigs, Result, Sent
from a2a_serverless.protocol.strict_json import text_of
from a2a_serverless.types import (
    Message,
    StreamEvent,
    Task,
    TaskArtifactUpdateEvent,
    TaskPushNotificationConfig,
    TaskStatusUpdateEvent,
)

LARGEST_ANSWER: Final = 5_900_000
"""Bytes. AWS: a Lambda function returns 6 MB, the body as a JSON string within it."""


def cost(text: str) -> int:
    """How many bytes of the answer a text takes at most: it is a string in the function's JSON, perhaps in ASCII.

    Most texts are short and plain and not worth counting exactly: none of their characters takes more than two.
    """
    if len(text) < LARGEST_ANSWER // 100 and text.isascii():
        return len(text) * 2
    return len(json.dumps(text))


def result_text(result: Result) -> str:
    """A result as JSON text."""
    match result:
        case Task():
            return task_text(result)
        case Sent(payload):
            return event_text(payload, last=True)
        case Listed():
            return _listed(result)
        case TaskPushNotificationConfig():
            return result.to_json()
        case PushConfigs(configs, token):
            shown = ",".join(config.to_json() for config in configs)
            return f'{{"configs":[{shown}],"nextPageToken":{text_of(token)}}}'
        case Deleted():
            return "{}"
        case ExtendedCard(wire) | Extra(wire):
            return text_of(wire)
        case _:
            assert_never(result)


def event_text(event: StreamEvent, *, last: bool) -> str:
    """A StreamResponse (SPEC 3.2.3) as JSON text. 1.0 does not mark the last one."""
    del last
    match event:
        case Task():
            return f'{{"task":{task_text(event)}}}'
        case Message():
            return f'{{"message":{event.to_json()}}}'
        case TaskStatusUpdateEvent():
            return f'{{"statusUpdate":{event.to_json()}}}'
        case TaskArtifactUpdateEvent():
            return f'{{"artifactUpdate":{event.to_json()}}}'
        case _:
            assert_never(event)


def task_text(task: Task) -> str:
    """A task as JSON text, without its oldest messages where they would not fit (SPEC 3.2.4 lets the server choose).

    Raises:
        UnsupportedOperation: not even its artifacts fit.
    """
    text = task.to_json()
    if cost(text) <= LARGEST_ANSWER:
        return text
    return fitted(task).to_json()


def fitted(task: Task) -> Task:
    """The task with as many of its newest messages as fit into an answer.

    Raises:
        UnsupportedOperation: not even its artifacts fit.
    """
    room = LARGEST_ANSWER - cost(task.but(history=()).to_json())
    if room < 0:
        raise UnsupportedOperation(
            "the artifacts of the task are larger than an answer can be (6 MB); the agent must give them as url parts",
            taskId=task.id,
        )
    kept: list[Message] = []
    for message in reversed(task.history):
        room -= cost(message.to_json()) + 2
        if room < 0:
            break
        kept.append(message)
    return task.but(history=tuple(reversed(kept)))


def _listed(listed: Listed) -> str:
    """ListTasksResponse: all four members, always (SPEC 3.1.4)."""
    texts, end = fitting(listed)
    token = listed.token(end) if end else ""
    page = listed.page
    return (
        f'{{"tasks":[{",".join(texts)}],"nextPageToken":{text_of(token)},'
        f'"pageSize":{page.page_size},"totalSize":{page.total}}}'
    )


def fitting(listed: Listed) -> tuple[list[str], Position | None]:
    """The tasks of a page that fit into one answer, each as text, and where the page then ends."""
    page, room, texts = listed.page, LARGEST_ANSWER, list[str]()
    for task in page.tasks:
        text = _listed_task(task, with_artifacts=listed.with_artifacts)
        room -= cost(text) + 2
        if room < 0 and texts:
            return texts, _position_of(page.tasks[len(texts) - 1], page.total)
        texts.append(text)
    return texts, page.end


def _listed_task(task: Task, *, with_artifacts: bool) -> str:
    """Asked for, artifacts are there even when there are none; else the member is not there at all."""
    text = task_text(task)
    if with_artifacts and not task.artifacts:
        return f'{text[:-1]},"artifacts":[]}}'
    return text


def _position_of(task: Task, total: int) -> Position | None:
    return Position(task.status.timestamp, task.id, total) if task.status.timestamp else None
