"""One turn of an agent: what it may read, and the words it may end with."""

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any, Protocol

from a2a_serverless.agent.plain import plain, plain_data
from a2a_serverless.core.endings import Ended, Ending, Question
from a2a_serverless.core.head import TurnTrigger, WaitKind
from a2a_serverless.core.journal import ArtifactChanged, Entry, StatusChanged
from a2a_serverless.types import (
    NO_DATA,
    AgentSkill,
    Artifact,
    Caller,
    JsonObject,
    Message,
    Part,
    Role,
    Task,
    TaskState,
    TaskStatus,
)

DEFAULT_WAIT = timedelta(days=7)
"""How long a question stays open when its author does not say, if the deployment lets anybody wait that long."""


class TurnEnded(RuntimeError):
    """The agent speaks after it ended its turn."""


class ScopesMissing(Exception):
    """The caller may not have a skill used. Let it through: the task is REJECTED and says which scopes it takes."""


class TurnSink(Protocol):
    """Where a turn's words go. The runner writes them to the task; tests may collect them."""

    def say(self, entry: Entry) -> None:
        """Take one entry of the journal. Written soon, several at once.

        Raises:
            LeaseLost: the task is no longer this runner's; let it through.
        """

    def end(self, ending: Ending) -> None:
        """Take how the turn ends. Written when the agent returns."""

    @property
    def cancelled(self) -> bool:
        """Whether the caller canceled the task meanwhile."""

    def callback_url(self) -> str:
        """A single-use address that resumes the wait this turn ends with."""


class Turn:
    """One turn. Read the conversation, say what happens, end it once.

    Attributes:
        task: the task as it stood when the turn began, artifacts included.
        message: the newest message of the caller; for a callback or an expiry, the newest there was.
        messages: all messages this turn answers, oldest first (several if they came faster than turns).
        state: small JSON kept between turns of the task (16 KB at most).
        caller: whose authority the newest message carries. What a message says authorises nothing.
        accepted_output_modes: media types that the caller takes results in, as he last said (SPEC 3.2.2); none if he
            never did. Tailor artifacts to them where you can.
        metadata: what the request that brought `message` said beside it (SPEC 3.2.1, `SendMessageRequest.metadata`).
            The caller's words, like the message: they authorise nothing.
        extensions: URIs of the card's extensions that that request activated (SPEC 4.6). What is not here is off.
        attempt: 1, or more after a crash of this very turn.
        trigger: why the turn runs (`TurnTrigger`): a message, a callback, or a deadline that passed.
    """

    def __init__(
        self,
        *,
        task: Task,
        messages: tuple[Message, ...],
        state: JsonObject,
        caller: Caller,
        attempt: int,
        trigger: TurnTrigger,
        sink: TurnSink,
        load_context: Callable[[], JsonObject],
        clock: Callable[[], datetime],
        ids: Callable[[], str],
        default_wait: timedelta = DEFAULT_WAIT,
        accepted_output_modes: tuple[str, ...] = (),
        metadata: JsonObject | None = None,
        extensions: tuple[str, ...] = (),
        skills: tuple[AgentSkill, ...] = (),
    ) -> None:
        self.task = task
        self.messages = messages
        self.state = state
        self.caller = caller
        self.accepted_output_modes = accepted_output_modes
        self.metadata = metadata or {}
        self.extensions = extensions
        self.attempt = attempt
        self.trigger = trigger
        self._skills = {skill.id: skill for skill in skills}
        self._sink = sink
        self._load_context = load_context
        self._context_state: JsonObject | None = None
        self._clock = clock
        self._ids = ids
        self._default_wait = default_wait
        self._ended = False
        self._artifacts = {artifact.artifact_id for artifact in task.artifacts}
        # Who follows the task may have seen a dead attempt add to these: the first chunk of this one brings all along.
        self._seen_growing = {artifact.artifact_id: artifact for artifact in task.artifacts if attempt > 1}

    @property
    def message(self) -> Message:
        """The newest message of the caller."""
        spoken = self.messages or tuple(message for message in self.history if message.role is Role.USER)
        return spoken[-1]

    @property
    def history(self) -> tuple[Message, ...]:
        """All messages of the task so far, in order."""
        return self.task.history

    @property
    def context_state(self) -> JsonObject:
        """Small JSON shared by the caller's tasks of this context (16 KB at most). Read when it is first asked for."""
        if self._context_state is None:
            self._context_state = self._load_context()
        return self._context_state

    @property
    def touched_context(self) -> JsonObject | None:
        """The context's state, if the agent asked for it."""
        return self._context_state

    @property
    def cancelled(self) -> bool:
        """Whether the caller canceled the task. Long work asks often and returns; what it says is void by then."""
        return self._sink.cancelled

    def use(self, skill: str) -> None:
        """Say which skill of the card does the work, before it is done.

        Raises:
            ScopesMissing: the caller's token lacks a scope of `AgentSkill.required_scopes`.
            ValueError: the card has no skill of this id.
        """
        self._refuse_after_end()
        if skill not in self._skills:
            raise ValueError(f"the card has no skill {skill!r}; it has {', '.join(sorted(self._skills))}")
        missing = set(self._skills[skill].required_scopes) - self.caller.scopes
        if missing:
            raise ScopesMissing(f"the skill {skill!r} takes a token with the scope {' '.join(sorted(missing))}")

    def working(self, text: str | Message = "", *, metadata: JsonObject | None = None) -> None:
        """Say what is going on. Goes to subscribers and webhooks as a status in WORKING.

        `metadata`, here as in the words that end a turn, is said of the task: it stands on the event and, key by key,
        in the task's metadata from then on (SPEC 4.1.1, 4.2.1).
        """
        self._say(StatusChanged(self._status(TaskState.WORKING, text), _beside(metadata)))

    def artifact(
        self,
        name: str,
        *,
        text: str | None = None,
        data: Any = NO_DATA,
        raw: bytes | None = None,
        url: str | None = None,
        parts: tuple[Part, ...] = (),
        media_type: str = "",
        description: str = "",
        artifact_id: str = "",
        append: bool = False,
        last_chunk: bool = False,
        metadata: JsonObject | None = None,
        extensions: tuple[str, ...] = (),
        event_metadata: JsonObject | None = None,
    ) -> None:
        """Produce a result, or with `append` one more chunk of it.

        Give one of `text`, `data` (any JSON), `raw` (bytes) and `url`, or `parts` for several. The same name (or
        `artifact_id`) again replaces the artifact; with `append` it grows. Set `last_chunk` on its last chunk.
        `extensions` are URIs of those that the artifact uses (SPEC 4.6). `event_metadata` is for who follows the task
        as it goes on: the event carries it, and the task does not keep it (SPEC 4.2.2).

        Raises:
            ValueError: something in it is no JSON, such as NaN or half of a surrogate pair.
        """
        content = parts or (_part(text=text, data=data, raw=raw, url=url, media_type=media_type, filename=name),)
        identifier = artifact_id or name
        artifact = plain(
            Artifact(
                artifact_id=identifier,
                name=name,
                description=description,
                parts=content,
                metadata=metadata,
                extensions=extensions,
            )
        )
        grows = append and identifier in self._artifacts
        seen_growing = self._seen_growing.pop(identifier, None)
        if grows and seen_growing is not None:
            artifact, grows = _grown(seen_growing, artifact), False
        self._artifacts.add(identifier)
        said = ArtifactChanged(artifact, append=grows, last_chunk=last_chunk, metadata=_beside(event_metadata))
        self._say(said)

    def ask(
        self,
        question: str | Message,
        *,
        within: timedelta | None = None,
        remind: tuple[timedelta, ...] | list[timedelta] = (),
        metadata: JsonObject | None = None,
    ) -> None:
        """End the turn with a question: INPUT_REQUIRED until the answer, at most `within` (a week if it is not given).

        `remind` are times after the question at which the caller's webhooks are told of it again, at most 99.
        """
        self._end(self._question(WaitKind.INPUT, question, within, remind, metadata))

    def require_auth(
        self,
        explanation: str | Message,
        *,
        within: timedelta | None = None,
        remind: tuple[timedelta, ...] | list[timedelta] = (),
        metadata: JsonObject | None = None,
    ) -> None:
        """End the turn until an authorization arrives: by a message, or at `callback_url` (SPEC 7.6).

        The state authorises nothing by itself: check what arrived when the next turn runs.
        """
        self._end(self._question(WaitKind.AUTH, explanation, within, remind, metadata))

    def callback_url(self) -> str:
        """An address for a person or a system outside A2A; what is posted to it resumes the wait that follows.

        Single-use, and void once the task moved on. Put it into the question of `require_auth` or `ask`. A run that
        crashes takes its addresses along: whoever sends them elsewhere sends a new one when `turn.attempt` is not 1.
        """
        return self._sink.callback_url()

    def complete(self, text: str | Message = "", *, metadata: JsonObject | None = None) -> None:
        """End the task: done."""
        self._end(Ended(TaskState.COMPLETED, self._maybe_message(text), _beside(metadata)))

    def fail(self, text: str | Message, *, metadata: JsonObject | None = None) -> None:
        """End the task: it was tried and did not work."""
        self._end(Ended(TaskState.FAILED, self._maybe_message(text), _beside(metadata)))

    def reject(self, text: str | Message, *, metadata: JsonObject | None = None) -> None:
        """End the task: it will not be done."""
        self._end(Ended(TaskState.REJECTED, self._maybe_message(text), _beside(metadata)))

    def agent_message(self, *parts: Part, metadata: JsonObject | None = None) -> Message:
        """A message of the agent with several parts, to be used in place of a text."""
        return Message(
            message_id=self._ids(),
            role=Role.AGENT,
            parts=parts,
            task_id=self.task.id,
            context_id=self.task.context_id,
            metadata=metadata,
        )

    def _question(
        self,
        kind: WaitKind,
        text: str | Message,
        within: timedelta | None,
        remind: tuple[timedelta, ...] | list[timedelta],
        metadata: JsonObject | None,
    ) -> Question:
        message = self._maybe_message(text)
        if message is None:
            raise ValueError("a question needs words: say what is needed, so that the caller can give it")
        limit = self._default_wait if within is None else within
        return Question(kind=kind, message=message, within=limit, remind=tuple(remind), metadata=_beside(metadata))

    def _maybe_message(self, text: str | Message) -> Message | None:
        """What the agent says: as its own and on this task, whatever an author left out (SPEC 4.1.4)."""
        if isinstance(text, Message):
            return plain(text.but(role=Role.AGENT, task_id=self.task.id, context_id=self.task.context_id))
        return plain(self.agent_message(Part(text=text))) if text else None

    def _status(self, state: TaskState, text: str | Message) -> TaskStatus:
        return TaskStatus(state=state, message=self._maybe_message(text), timestamp=self._clock())

    def _say(self, entry: Entry) -> None:
        self._refuse_after_end()
        self._sink.say(entry)

    def _end(self, ending: Ending) -> None:
        self._refuse_after_end()
        self._sink.end(ending)
        self._ended = True

    def _refuse_after_end(self) -> None:
        if self._ended:
            raise TurnEnded("the turn has ended: nothing can be said after complete, fail, reject, ask or require_auth")


def _beside(metadata: JsonObject | None) -> JsonObject | None:
    copied = plain_data("metadata", metadata) if metadata is not None else None
    if copied is not None and not isinstance(copied, dict):
        raise ValueError("metadata must be an object, by name: it is merged into what was said before")
    return copied


def _grown(artifact: Artifact, chunk: Artifact) -> Artifact:
    metadata = {**(artifact.metadata or {}), **(chunk.metadata or {})}
    extensions = tuple(dict.fromkeys(artifact.extensions + chunk.extensions))
    return artifact.but(parts=artifact.parts + chunk.parts, metadata=metadata or None, extensions=extensions)


def _part(*, text: str | None, data: Any, raw: bytes | None, url: str | None, media_type: str, filename: str) -> Part:
    if raw is not None:
        return Part.from_bytes(raw, media_type=media_type or "application/octet-stream", filename=filename)
    if url is not None:
        return Part(url=url, media_type=media_type, filename=filename)
    if data is not NO_DATA:
        return Part(data=data, media_type=media_type)
    if text is None:
        raise ValueError("an artifact needs content: give text, data, raw, url or parts")
    return Part(text=text, media_type=media_type)
