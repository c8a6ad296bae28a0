"""SendMessage and SendStreamingMessage up to the durable write: checked whole, then written once.

A repeated send finds what the first one made (see `core.sends`); the id of a new task is claimed by the send's
fingerprint before the task is written, so a crash between the two leaves nothing but a claim that the retry takes up.
"""

import hashlib
import inspect
import logging
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

from a2a_serverless.agent.agent import InboundMessage, is_its_own_end, may_reply
from a2a_serverless.app import push_configs
from a2a_serverless.app.host import Host
from a2a_serverless.app.retry import change_task
from a2a_serverless.core.head import Change, Head, Record
from a2a_serverless.core.journal import Spoken
from a2a_serverless.core.lifecycle import is_interrupted
from a2a_serverless.core.push import PushConfig, WireVersion
from a2a_serverless.core.sends import Retry, accept, fingerprint, is_retry, new_task
from a2a_serverless.errors import (
    Conflict,
    ContentTypeNotSupported,
    InvalidAgentResponse,
    InvalidParams,
    TaskNotFound,
)
from a2a_serverless.types import (
    AgentCard,
    Caller,
    JsonObject,
    Message,
    Part,
    Role,
    Task,
    TaskKey,
    TaskPushNotificationConfig,
)

BLOCKING_SECONDS: Final = 25.0
"""A blocking send answers by then with the task as it is: an HTTP API gives up after 30 seconds."""

_POLL_SECONDS: Final = (0.02, 0.04, 0.08, 0.15, 0.25)
_CLAIMS: Final = 3
_MODES: Final = 64
_LONGEST_MODE: Final = 255
"""Characters: 127 for each half of a name are as many as a media type may have (RFC 6838 4.2)."""

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class SendConfiguration:
    """How a send wants to be answered (SPEC 3.2.2)."""

    accepted_output_modes: tuple[str, ...] = ()
    push: TaskPushNotificationConfig | None = None
    history_length: int | None = None
    return_immediately: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class SendRequest:
    """A message and how it wants to be answered, in either version and binding."""

    message: Message
    configuration: SendConfiguration = field(default_factory=SendConfiguration)
    metadata: JsonObject | None = None
    """Told to the agent with the message."""
    extensions: tuple[str, ...] = ()
    """URIs of the extensions that the call activated (SPEC 4.6); told to the agent as well."""
    trace: str = ""
    """The trace context of the call, if it has one."""
    wire_version: WireVersion = WireVersion.V1_0


def send(host: Host, caller: Caller, request: SendRequest) -> Task | Message:
    """SendMessage: the durable write, then (unless `return_immediately`) wait for an end, a question or the cap.

    Raises:
        A2AError: the request was refused and nothing was changed.
    """
    began = host.clock()
    accepted = submit(host, caller, request)
    if isinstance(accepted, Message):
        return accepted
    head = accepted if request.configuration.return_immediately else _settled(host, accepted, began)
    return _record(host, head).task(history_length=request.configuration.history_length)


def _record(host: Host, head: Head) -> Record:
    """The task whole. A head that brought all of a short journal along is all there is to read."""
    if len(head.tail) == head.entries:
        return Record(head, head.tail)
    record = host.tasks.read(head.key, now=host.clock())
    if record is None:
        raise TaskNotFound
    return record


def submit(host: Host, caller: Caller, request: SendRequest) -> Head | Message:
    """Check the request whole, then write it: a direct answer, a new task, or a message on one. A retry finds the task.

    Raises:
        A2AError: the request was refused and nothing was changed.
    """
    _check(host, caller, request)
    if request.message.task_id:
        return _continue(host, caller, request)
    direct = _direct_reply(host, caller, request)
    if direct is not None:
        return direct
    return _begin(host, caller, request)


def _check(host: Host, caller: Caller, request: SendRequest) -> None:
    message = request.message
    if message.role is not Role.USER:
        raise InvalidParams.of("message.role", "a caller speaks as ROLE_USER")
    length = request.configuration.history_length
    if length is not None and length < 0:
        raise InvalidParams.of("configuration.historyLength", "must be 0 or more")
    _check_accepted(request.configuration.accepted_output_modes)
    for position, part in enumerate(message.parts):
        _check_media_type(host.card, part, position)
    if request.configuration.push is not None:
        push_configs.check(host, caller, request.configuration.push)


def _check_accepted(modes: tuple[str, ...]) -> None:
    """They travel with the task's head, which must stay small."""
    if len(modes) > _MODES or any(len(mode) > _LONGEST_MODE for mode in modes):
        wanted = f"at most {_MODES} media types of at most {_LONGEST_MODE} characters"
        raise InvalidParams.of("configuration.acceptedOutputModes", wanted)


def _check_media_type(card: AgentCard, part: Part, position: int) -> None:
    """The agent takes what its card or one of its skills names; a part that names no type passes (SPEC 3.1.1)."""
    if not part.media_type:
        return
    modes = {*card.default_input_modes, *(mode for skill in card.skills for mode in skill.input_modes)}
    essence = _essence(part.media_type)
    if not any(_matches(_essence(mode), essence) for mode in modes):
        raise ContentTypeNotSupported(
            f"message.parts[{position}]: the agent takes {', '.join(sorted(modes))}", mediaType=essence
        )


def _essence(media_type: str) -> str:
    """Type and subtype, without parameters."""
    return media_type.split(";", maxsplit=1)[0].strip().lower()


def _matches(mode: str, essence: str) -> bool:
    return mode in {"*/*", essence} or (mode.endswith("/*") and essence.startswith(mode[:-1]))


def _direct_reply(host: Host, caller: Caller, request: SendRequest) -> Message | None:
    if not may_reply(host.agent):
        return None
    message, modes = request.message, request.configuration.accepted_output_modes
    inbound = InboundMessage(
        message, caller, accepted_output_modes=modes, metadata=request.metadata or {}, extensions=request.extensions
    )
    answer = _replied(host, inbound)
    if answer is None:
        return None
    said = _said(host, answer)
    return said.but(context_id=said.context_id or message.context_id or host.ids())


def _replied(host: Host, inbound: InboundMessage) -> object:
    """What the agent returned."""
    try:
        return host.agent.reply(inbound)
    except BaseException as end:
        if not is_its_own_end(end):
            raise
        raise RuntimeError(f"Agent.reply let {type(end).__name__} through") from end


def _said(host: Host, answer: object) -> Message:
    """What the agent replied, as a message."""
    if isinstance(answer, Message):
        return answer.but(role=Role.AGENT)
    if isinstance(answer, str):
        return Message(message_id=host.ids(), role=Role.AGENT, parts=(Part(text=answer),))
    if inspect.iscoroutine(answer):
        answer.close()
    log.error("Agent.reply must return a Message, a str or None, and cannot be async: it returned %s", type(answer))
    raise InvalidAgentResponse("the agent gave no valid answer")


def _continue(host: Host, caller: Caller, request: SendRequest) -> Head:
    key = TaskKey(host.scope(caller), request.message.task_id)
    now = host.clock()
    config = _prepared_config(host, key, request, now)
    spoken = _spoken(request)
    sent = fingerprint(spoken, request.configuration.push)

    def decide(head: Head) -> Change | None:
        decided = accept(
            head,
            spoken,
            caller=caller,
            accepts=request.configuration.accepted_output_modes,
            sent=sent,
            push=(config.id,) if config is not None else (),
            trace=request.trace,
            rules=host.rules,
            now=now,
        )
        if isinstance(decided, Retry):
            return None
        if config is not None:
            push_configs.check_room(head, config, host.rules)
            push_configs.store(host, key, config, request.configuration.push)
        return decided

    return change_task(host.tasks, key, decide, now=now)


def _spoken(request: SendRequest) -> Spoken:
    return Spoken(request.message, request.metadata or None, request.extensions)


def _prepared_config(host: Host, key: TaskKey, request: SendRequest, now: datetime) -> PushConfig | None:
    wanted = request.configuration.push
    if wanted is None:
        return None
    unnamed = _config_id(key, request.message)
    return push_configs.prepared(host, key, wanted, request.wire_version, now, unnamed=unnamed)


def _config_id(key: TaskKey, message: Message) -> str:
    """The id of a webhook that came with a send and has none: the same when the send is repeated, so that one whose
    task was not written yet is taken up again and not left behind with its secrets."""
    return hashlib.sha256(f"{key.task_id} {fingerprint(Spoken(message))}".encode()).hexdigest()[:32]


def _begin(host: Host, caller: Caller, request: SendRequest) -> Head:
    """A new task under an id that the send's fingerprint claims; the same send again finds it."""
    scope, now = host.scope(caller), host.clock()
    sent = fingerprint(_spoken(request), request.configuration.push)
    instead_of = ""
    for _ in range(_CLAIMS):
        claim = host.tasks.claim_send(
            scope, sent, task_id=host.ids(), instead_of=instead_of, until=now + host.rules.retry_window, now=now
        )
        key = TaskKey(scope, claim.task_id)
        head = None if claim.mine else host.tasks.head(key, now=now)
        if head is None:
            made = _create(host, caller, request, key, sent=sent, now=now)
            if made is not None:
                return made
            head = host.tasks.head(key, now=now)
        if head is not None and is_retry(head, sent, rules=host.rules, now=now):
            return head
        instead_of = claim.task_id
    raise Conflict("the same send came too often at once")


def _create(host: Host, caller: Caller, request: SendRequest, key: TaskKey, *, sent: str, now: datetime) -> Head | None:
    """The task, or None if the other half of a race made it."""
    config = _prepared_config(host, key, request, now)
    if config is not None:
        push_configs.store(host, key, config, request.configuration.push)
    change = new_task(
        key,
        _spoken(request),
        context_id=request.message.context_id or host.ids(),
        caller=caller,
        accepts=request.configuration.accepted_output_modes,
        sent=sent,
        push=(config.id,) if config else (),
        trace=request.trace,
        rules=host.rules,
        now=now,
    )
    try:
        return host.tasks.create(change)
    except Conflict:
        return None


def _settled(host: Host, head: Head, began: datetime) -> Head:
    """Wait until the task has ended or asks for something, or the cap is reached. Waiting never changes a task."""
    polls = 0
    while not (head.is_over or is_interrupted(head.state)):
        if (host.clock() - began).total_seconds() >= BLOCKING_SECONDS:
            return head
        host.pause(_POLL_SECONDS[min(polls, len(_POLL_SECONDS) - 1)])
        polls += 1
        newer = host.tasks.head(head.key, now=host.clock())
        if newer is None:
            raise TaskNotFound
        head = newer
    return head
