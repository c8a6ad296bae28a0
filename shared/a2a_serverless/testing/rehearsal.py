"""A conversation with an agent, played by the rules of the kit on stores in memory.

What runs is what runs in the functions: leases and attempts, the journal, waits and their deadlines. Time stands still
until it is told to go on, so that four days of waiting take a test no time.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from typing import Final
from urllib.parse import parse_qs, urlsplit

from a2a_serverless.agent.agent import Agent
from a2a_serverless.app.cancel import cancel
from a2a_serverless.app.send import SendConfiguration, SendRequest, send
from a2a_serverless.core.head import Rules
from a2a_serverless.core.journal import event_of
from a2a_serverless.core.masking import CALLBACK_KEY
from a2a_serverless.testing.deployment import Deployment
from a2a_serverless.testing.memory import START, FakeClock
from a2a_serverless.types import (
    Caller,
    JsonObject,
    Message,
    Owner,
    Part,
    Role,
    Task,
    TaskArtifactUpdateEvent,
    TaskStatusUpdateEvent,
)

CALLER: Final = Caller(Owner("caller"))


class Rehearsal:
    """One agent, whoever calls it, and time.

    Args:
        agent: the object that a deployment would name by its import string.
        caller: whose authority a message carries if it is not said otherwise; somebody without scopes by default.
        rules: other times and counts than the product's.
        start: the time at the beginning.

    What an agent raises fails its task and is in the log, as it would be in a deployment.
    """

    def __init__(
        self, agent: Agent, *, caller: Caller = CALLER, rules: Rules | None = None, start: datetime = START
    ) -> None:
        self._caller = caller
        self._deployment = Deployment(agent, rules or Rules(), FakeClock(start))

    @property
    def now(self) -> datetime:
        """The time."""
        return self._deployment.clock()

    def send(
        self,
        text: str | Message = "",
        *,
        task: Task | None = None,
        context_id: str = "",
        parts: tuple[Part, ...] = (),
        metadata: JsonObject | None = None,
        extensions: tuple[str, ...] = (),
        accepted_output_modes: tuple[str, ...] = (),
        caller: Caller | None = None,
    ) -> Task:
        """Say something to the agent, let it work, and answer the task as it stands then.

        Args:
            text: what is said, or a whole message.
            task: the task it belongs to; without one it begins another.
            context_id: the context of a task that begins.
            parts: more parts, behind the text.
            metadata: what the request says beside the message.
            extensions: URIs of extensions that it activates.
            accepted_output_modes: media types that results are taken in.
            caller: whose authority it carries.

        Raises:
            A2AError: it was refused, as a caller would see it.
            TypeError: the agent answered with a message and began no task: see `reply`.
        """
        message = self._message(text, parts)
        addressed = message.but(
            task_id=task.id if task is not None else message.task_id, context_id=context_id or message.context_id
        )
        configuration = SendConfiguration(accepted_output_modes=accepted_output_modes, return_immediately=True)
        request = SendRequest(message=addressed, configuration=configuration, metadata=metadata, extensions=extensions)
        answer = self._sent(request, caller)
        if isinstance(answer, Message):
            raise TypeError(f"the agent replied {answer.text!r} and began no task")
        self._deployment.settle()
        return self.task(answer)

    def reply(self, text: str | Message = "", *, parts: tuple[Part, ...] = (), caller: Caller | None = None) -> Message:
        """Say something that the agent answers at once, without a task (`Agent.reply`).

        Raises:
            A2AError: it was refused, as a caller would see it.
            TypeError: a task began: see `send`.
        """
        configuration = SendConfiguration(return_immediately=True)
        answer = self._sent(SendRequest(message=self._message(text, parts), configuration=configuration), caller)
        if isinstance(answer, Task):
            raise TypeError("the agent replied nothing, so a task began")
        return answer

    def cancel(self, task: Task) -> Task:
        """Cancel a task as its owner, and let the agent clean up.

        Raises:
            TaskNotCancelable: it has ended.
        """
        cancel(self._deployment.host, self._deployment.record(task.id).head.caller, task.id)
        self._deployment.settle()
        return self.task(task)

    def call_back(self, url: str, posted: JsonObject) -> bool:
        """Somebody outside A2A posts to an address of `Turn.callback_url`; answers whether its task went on."""
        asked = urlsplit(url)
        secret = parse_qs(asked.query).get(CALLBACK_KEY, [""])[0]
        return self._deployment.call_back(asked.path.rpartition("/")[2], secret, posted)

    def pass_time(self, by: timedelta) -> None:
        """Let time pass. The reminders and deadlines that lie in it happen, each at its time."""
        self._deployment.pass_time(self.now + by)

    @contextmanager
    def dying(self, times: int = 1) -> Iterator[None]:
        """A while in which a worker dies at the end of the next turns, so often: the work was done, no end was written.

        The turn runs again with the next `Turn.attempt`, half a minute later; after three deaths its task fails.
        """
        self._deployment.deaths = times
        try:
            yield
        finally:
            self._deployment.deaths = 0

    def task(self, task: Task | str) -> Task:
        """A task as its owner gets it now.

        Raises:
            LookupError: there is none, or its time is over.
        """
        return self._deployment.record(_id(task)).task()

    def events(self, task: Task | str) -> list[TaskStatusUpdateEvent | TaskArtifactUpdateEvent]:
        """What whoever follows a task from its beginning has seen of it."""
        record = self._deployment.record(_id(task))
        named = {"task_id": record.head.key.task_id, "context_id": record.head.context_id}
        return [event for entry in record.entries if (event := event_of(entry, **named)) is not None]

    def _sent(self, request: SendRequest, caller: Caller | None) -> Task | Message:
        return send(self._deployment.host, caller or self._caller, request)

    def _message(self, text: str | Message, parts: tuple[Part, ...]) -> Message:
        if isinstance(text, Message):
            return text.but(parts=(*text.parts, *parts))
        said = (Part(text=text), *parts) if text or not parts else parts
        return Message(message_id=self._deployment.ids(), role=Role.USER, parts=said)


def _id(task: Task | str) -> str:
    return task if isinstance(task, str) else task.id
