"""What the operations answer, before any version or binding gives it a shape."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from a2a_serverless.types import JsonObject, Message, StreamEvent, Task, TaskPushNotificationConfig

if TYPE_CHECKING:
    from a2a_serverless.app.ports import Position
    from a2a_serverless.app.read import TaskPage


@dataclass(frozen=True, slots=True)
class Sent:
    """SendMessageResponse: a task or, without one, a message."""

    payload: Task | Message


@dataclass(frozen=True, slots=True)
class Listed:
    """ListTasksResponse. A page may be cut where it would not fit into an answer; `token` names any end."""

    page: "TaskPage"
    with_artifacts: bool
    token: "Callable[[Position], str]"


@dataclass(frozen=True, slots=True)
class PushConfigs:
    """ListTaskPushNotificationConfigsResponse. The token is empty on the last page; 0.3 knows no pages."""

    configs: tuple[TaskPushNotificationConfig, ...]
    next_page_token: str = ""


@dataclass(frozen=True, slots=True)
class Deleted:
    """Nothing is left to say."""


@dataclass(frozen=True, slots=True)
class ExtendedCard:
    """The extended card in the shape of the version that asked."""

    wire: JsonObject


@dataclass(frozen=True, slots=True)
class Extra:
    """What an operation of an extension answers; every version says it alike."""

    wire: JsonObject


@dataclass(frozen=True, slots=True)
class Streamed:
    """The events of a stream, in their order."""

    events: Iterator[StreamEvent]


Result = Task | Sent | Listed | TaskPushNotificationConfig | PushConfigs | Deleted | ExtendedCard | Extra
