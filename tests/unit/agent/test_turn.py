"""What an agent's author writes against: what a turn may say, and what it refuses to."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from pydantic import ValidationError

from a2a_serverless.agent import Agent, InboundMessage, Turn, TurnEnded, TurnTrigger
from a2a_serverless.agent.agent import decides_on_expiry, may_reply, notices_cancel
from a2a_serverless.core.endings import Ended, Ending, Question
from a2a_serverless.core.head import WaitKind
from a2a_serverless.core.journal import ArtifactChanged, Entry, StatusChanged
from a2a_serverless.types import Artifact, Caller, Message, Owner, Part, Role, Task, TaskState, TaskStatus
from tests.fakes import FakeClock, SequentialIds
from tests.unit.core.heads import a_message


class Ears:
    """A sink that keeps what it hears."""

    cancelled = False

    def __init__(self) -> None:
        self.heard: list[Entry] = []
        self.ending: Ending | None = None

    def say(self, entry: Entry) -> None:
        self.heard.append(entry)

    def end(self, ending: Ending) -> None:
        if isinstance(ending, Question) and ending.within <= timedelta(0):
            raise ValueError("within must be more than nothing")
        self.ending = ending

    def callback_url(self) -> str:
        return "https://agent.example/callbacks/1.secret"


def a_turn(
    *, artifacts: tuple[Artifact, ...] = (), messages: tuple[Message, ...] | None = None, attempt: int = 1
) -> tuple[Turn, Ears]:
    ears, message = Ears(), a_message("hello")
    task = Task(
        id="task-1",
        context_id="context-1",
        status=TaskStatus(state=TaskState.WORKING),
        history=(message, a_message("which?", role=Role.AGENT)),
        artifacts=artifacts,
    )
    turn = Turn(
        task=task,
        messages=(message,) if messages is None else messages,
        state={},
        caller=Caller(Owner("alice")),
        attempt=attempt,
        trigger=TurnTrigger.MESSAGE,
        sink=ears,
        load_context=lambda: {"k": 1},
        clock=FakeClock(),
        ids=SequentialIds(),
    )
    return turn, ears


def produced(ears: Ears) -> ArtifactChanged:
    (entry,) = ears.heard
    assert isinstance(entry, ArtifactChanged)
    return entry


# What it reads


def test_the_newest_of_several_messages_is_the_message() -> None:
    turn, _ = a_turn(messages=(a_message("first"), a_message("second")))

    assert turn.message.text == "second"


def test_without_a_new_message_it_is_the_newest_of_the_caller() -> None:
    turn, _ = a_turn(messages=())

    assert (turn.message.text, turn.message.role) == ("hello", Role.USER)


def test_the_context_is_read_when_it_is_first_asked_for_and_once() -> None:
    turn, _ = a_turn()
    assert turn.touched_context is None

    turn.context_state["k"] = 2

    assert turn.context_state == {"k": 2}
    assert turn.touched_context == {"k": 2}


# What it says


def test_progress_is_a_status_in_working_with_or_without_words() -> None:
    turn, ears = a_turn()

    turn.working("on it")
    turn.working()

    statuses = [entry.status for entry in ears.heard if isinstance(entry, StatusChanged)]
    assert [status.state for status in statuses] == [TaskState.WORKING] * 2
    assert [status.message and status.message.text for status in statuses] == ["on it", None]


@pytest.mark.parametrize(
    ("content", "part"),
    [
        ({"text": "t"}, Part(text="t")),
        ({"text": ""}, Part(text="")),
        ({"text": "# t", "media_type": "text/markdown"}, Part(text="# t", media_type="text/markdown")),
        ({"data": {"a": 1}}, Part(data={"a": 1})),
        ({"data": None}, Part(data=None)),
        (
            {"raw": b"hi", "media_type": "text/plain"},
            Part(raw="aGk=", media_type="text/plain", filename="name"),
        ),
        ({"raw": b""}, Part(raw="", media_type="application/octet-stream", filename="name")),
        ({"url": "https://a.example"}, Part(url="https://a.example", filename="name")),
    ],
)
def test_a_result_is_text_data_bytes_or_an_address(content: dict[str, Any], part: Part) -> None:
    turn, ears = a_turn()

    turn.artifact("name", **content)

    assert produced(ears).artifact.parts == (part,)


def test_a_result_without_content_is_refused_with_what_would_be_right() -> None:
    turn, ears = a_turn()

    with pytest.raises(ValueError, match="give text, data, raw, url or parts"):
        turn.artifact("name")

    assert ears.heard == []


def test_a_result_may_have_several_parts_and_an_id_of_its_own() -> None:
    turn, ears = a_turn()
    parts = (Part(text="a"), Part(data=1))

    turn.artifact("name", parts=parts, artifact_id="id-9", description="d", metadata={"m": 1})

    assert produced(ears).artifact == Artifact(
        artifact_id="id-9", name="name", description="d", parts=parts, metadata={"m": 1}
    )


def test_a_result_must_have_a_name() -> None:
    turn, _ = a_turn()

    with pytest.raises(ValidationError):
        turn.artifact("", text="x")


def test_the_first_chunk_of_a_new_result_begins_it_whatever_it_is_called() -> None:
    turn, ears = a_turn()

    for text in ("1", "2"):
        turn.artifact("log", text=text, append=True)

    assert [entry.append for entry in ears.heard if isinstance(entry, ArtifactChanged)] == [False, True]


def test_a_chunk_goes_on_with_a_result_of_an_earlier_turn() -> None:
    turn, ears = a_turn(artifacts=(Artifact(artifact_id="log", parts=(Part(text="1"),)),))

    turn.artifact("log", text="2", append=True, last_chunk=True)

    assert (produced(ears).append, produced(ears).last_chunk) == (True, True)


def test_after_a_crash_the_first_chunk_brings_the_result_along_as_it_was_before_the_dead_attempt() -> None:
    earlier = Artifact(artifact_id="log", name="log", parts=(Part(text="1"),), metadata={"a": 1})
    turn, ears = a_turn(artifacts=(earlier,), attempt=2)

    turn.artifact("log", text="2", append=True, metadata={"b": 2})
    turn.artifact("log", text="3", append=True)

    first, second = ears.heard
    assert first == ArtifactChanged(
        earlier.but(parts=(Part(text="1"), Part(text="2")), metadata={"a": 1, "b": 2}), append=False
    )
    assert isinstance(second, ArtifactChanged)
    assert (second.append, second.artifact.parts) == (True, (Part(text="3"),))


def test_after_a_crash_a_result_that_is_replaced_is_replaced() -> None:
    turn, ears = a_turn(artifacts=(Artifact(artifact_id="log", parts=(Part(text="1"),)),), attempt=2)

    turn.artifact("log", text="new")
    turn.artifact("log", text="+", append=True)

    changes = [entry for entry in ears.heard if isinstance(entry, ArtifactChanged)]
    assert [(change.append, change.artifact.parts) for change in changes] == [
        (False, (Part(text="new"),)),
        (True, (Part(text="+"),)),
    ]


# How it ends


@pytest.mark.parametrize(
    ("end", "state", "text"),
    [
        (lambda turn: turn.complete(), TaskState.COMPLETED, None),
        (lambda turn: turn.complete("done"), TaskState.COMPLETED, "done"),
        (lambda turn: turn.fail("no"), TaskState.FAILED, "no"),
        (lambda turn: turn.reject("never"), TaskState.REJECTED, "never"),
    ],
)
def test_an_end_has_a_state_and_may_have_words(end: Callable[[Turn], None], state: TaskState, text: str) -> None:
    turn, ears = a_turn()

    end(turn)

    assert isinstance(ears.ending, Ended)
    assert (ears.ending.state, ears.ending.message and ears.ending.message.text) == (state, text)


def test_words_of_the_agent_say_who_speaks_and_on_what() -> None:
    turn, ears = a_turn()

    turn.complete("done")

    assert isinstance(ears.ending, Ended)
    assert ears.ending.message == Message(
        message_id="id-1", role=Role.AGENT, parts=(Part(text="done"),), task_id="task-1", context_id="context-1"
    )


def test_a_message_of_several_parts_may_stand_for_words() -> None:
    turn, ears = a_turn()
    form = turn.agent_message(Part(text="fill this in"), Part(data={"fields": []}), metadata={"m": 1})

    turn.ask(form)

    assert isinstance(ears.ending, Question)
    assert ears.ending.message == form


@pytest.mark.parametrize(
    "say",
    [
        lambda turn, message: turn.working(message),
        lambda turn, message: turn.ask(message),
        lambda turn, message: turn.require_auth(message),
        lambda turn, message: turn.complete(message),
        lambda turn, message: turn.fail(message),
        lambda turn, message: turn.reject(message),
    ],
)
def test_a_message_of_its_own_making_is_the_agent_s_and_on_this_task(say: Callable[[Turn, Message], None]) -> None:
    """A message of a server carries both ids (SPEC 4.1.4); elsewhere they were left empty (a2a-java#976)."""
    turn, ears = a_turn()

    say(turn, Message(message_id="m-1", role=Role.USER, parts=(Part(text="hm"),), task_id="another"))

    spoken = ears.ending if ears.ending is not None else stated(ears).status
    assert spoken.message == Message(
        message_id="m-1", role=Role.AGENT, parts=(Part(text="hm"),), task_id="task-1", context_id="context-1"
    )


def stated(ears: Ears) -> StatusChanged:
    (entry,) = ears.heard
    assert isinstance(entry, StatusChanged)
    return entry


@pytest.mark.parametrize(
    "say",
    [
        lambda turn, said: turn.working("", metadata=said),
        lambda turn, said: turn.ask("which?", metadata=said),
        lambda turn, said: turn.require_auth("who?", metadata=said),
        lambda turn, said: turn.complete(metadata=said),
        lambda turn, said: turn.fail("no", metadata=said),
        lambda turn, said: turn.reject("no", metadata=said),
    ],
)
def test_each_of_its_words_may_say_something_of_the_task(say: Callable[[Turn, Any], None]) -> None:
    turn, ears = a_turn()
    said = {"file-required": True, "sizes": (1, 2)}

    say(turn, said)
    said["file-required"] = False

    spoken = ears.ending if ears.ending is not None else stated(ears)
    assert spoken.metadata == {"file-required": True, "sizes": [1, 2]}


@pytest.mark.parametrize("said", [[1], "words", {"a": float("nan")}])
def test_what_is_said_of_a_task_is_an_object_of_json(said: Any) -> None:
    turn, _ = a_turn()

    with pytest.raises(ValueError, match="metadata must be"):
        turn.complete(metadata=said)


def test_a_result_names_the_extensions_it_uses_and_its_event_may_say_more() -> None:
    turn, ears = a_turn()

    turn.artifact("log", text="1", extensions=("urn:x",), event_metadata={"rate": 2})

    assert produced(ears).artifact.extensions == ("urn:x",)
    assert produced(ears).metadata == {"rate": 2}


def test_a_question_has_a_deadline_and_reminders_in_a_list_or_a_tuple() -> None:
    turn, ears = a_turn()
    hour = timedelta(hours=1)

    turn.ask("well?", within=hour * 3, remind=[hour, hour * 2])

    assert isinstance(ears.ending, Question)
    assert (ears.ending.kind, ears.ending.within, ears.ending.remind) == (WaitKind.INPUT, hour * 3, (hour, hour * 2))


def test_a_question_without_a_deadline_is_open_for_a_week() -> None:
    turn, ears = a_turn()

    turn.require_auth(f"go to {turn.callback_url()}")

    assert isinstance(ears.ending, Question)
    assert (ears.ending.kind, ears.ending.within) == (WaitKind.AUTH, timedelta(days=7))


def test_a_question_needs_words() -> None:
    turn, ears = a_turn()

    with pytest.raises(ValueError, match="needs words"):
        turn.ask("")

    assert ears.ending is None


SPEECH: tuple[Callable[[Turn], None], ...] = (
    lambda turn: turn.working("x"),
    lambda turn: turn.artifact("a", text="x"),
    lambda turn: turn.complete(),
    lambda turn: turn.fail("x"),
    lambda turn: turn.ask("x"),
    lambda turn: turn.require_auth("x"),
)


@pytest.mark.parametrize("late", SPEECH)
def test_nothing_can_be_said_after_the_end(late: Callable[[Turn], None]) -> None:
    turn, ears = a_turn()
    turn.complete("done")
    ending, heard = ears.ending, list(ears.heard)

    with pytest.raises(TurnEnded):
        late(turn)

    assert (ears.ending, ears.heard) == (ending, heard)


def test_a_question_that_was_refused_has_ended_nothing_and_can_be_asked_better() -> None:
    turn, ears = a_turn()
    with pytest.raises(ValueError, match="more than nothing"):
        turn.ask("well?", within=timedelta(0))

    turn.ask("well?")

    assert isinstance(ears.ending, Question)


# Agents


def test_an_agent_that_does_not_say_what_a_turn_does_is_told_what_to_write() -> None:
    turn, _ = a_turn()

    with pytest.raises(NotImplementedError, match="write run"):
        Agent().run(turn)


def test_the_kit_asks_an_agent_only_for_what_its_author_wrote() -> None:
    class Bare(Agent):
        """Nothing but `run`."""

    class Whole(Agent):
        """Everything."""

        def reply(self, inbound: InboundMessage) -> None:
            return None

        def on_cancel(self, task: Task) -> None:
            return None

        def on_expire(self, turn: Turn) -> None:
            return None

    questions = (may_reply, notices_cancel, decides_on_expiry)

    assert [question(Bare()) for question in questions] == [False] * 3
    assert [question(Whole()) for question in questions] == [True] * 3


def test_what_an_author_did_not_write_does_nothing() -> None:
    turn, _ = a_turn()
    agent = Agent()

    assert agent.reply(InboundMessage(a_message("x"), turn.caller)) is None
    assert agent.on_cancel(turn.task) is None
    with pytest.raises(NotImplementedError):
        agent.on_expire(turn)


# What it says is plain


def test_what_was_said_does_not_change_with_what_the_agent_holds_on_to() -> None:
    turn, ears = a_turn()
    rows = {"rows": [1]}

    turn.artifact("rows", data=rows, metadata=rows)
    turn.working(turn.agent_message(Part(data=rows), metadata=rows))
    turn.complete(turn.agent_message(Part(data=rows)))
    rows["rows"].append(2)

    made, worked = ears.heard
    assert isinstance(made, ArtifactChanged)
    assert isinstance(worked, StatusChanged)
    assert isinstance(ears.ending, Ended)
    assert (made.artifact.parts[0].data, made.artifact.metadata) == ({"rows": [1]}, {"rows": [1]})
    for message in (worked.status.message, ears.ending.message):
        assert message is not None
        assert message.parts[0].data == {"rows": [1]}


@pytest.mark.parametrize(
    ("data", "read"),
    [((1, 2), [1, 2]), ({1: None}, {"1": None}), ((n for n in range(2)), [0, 1]), (10**400, 10**400), (None, None)],
    ids=["a tuple", "a number for a name", "a generator", "a large number", "null"],
)
def test_data_is_said_as_it_will_be_read(data: Any, read: Any) -> None:
    turn, ears = a_turn()

    turn.artifact("name", data=data)

    assert produced(ears).artifact.parts == (Part(data=read),)


@pytest.mark.parametrize(
    "data",
    [object(), float("nan"), float("-inf"), b"\xff", "\ud800", {"\udfff": 1}, 10**5000],
    ids=["an object", "nan", "inf", "bytes", "half a character", "as a name", "a number without end"],
)
def test_what_is_no_json_is_refused_where_it_is_said(data: Any) -> None:
    turn, ears = a_turn()

    with pytest.raises(ValueError, match="data must be JSON"):
        turn.artifact("name", data=[data])
    with pytest.raises(ValueError, match="metadata must be JSON"):
        turn.artifact("name", text="", metadata={"key": data})
    with pytest.raises(ValueError, match="metadata must be JSON"):
        turn.ask(turn.agent_message(Part(text="?"), metadata={"key": data}))

    assert (ears.heard, ears.ending) == ([], None)


def test_data_that_holds_itself_or_has_no_bottom_is_refused() -> None:
    turn, _ = a_turn()
    itself: list[Any] = []
    itself.append(itself)
    deep: list[Any] = []
    for _level in range(5000):
        deep = [deep]

    for data in (itself, deep):
        with pytest.raises(ValueError, match="data must be JSON"):
            turn.artifact("name", data=data)


def test_half_a_character_is_refused_where_it_is_said() -> None:
    half = "\ud83d"
    turn, ears = a_turn()

    sayings: tuple[Callable[[], None], ...] = (
        lambda: turn.artifact("name", text=half),
        lambda: turn.artifact(half, text=""),
        lambda: turn.artifact("name", text="", media_type=half),
        lambda: turn.working(half),
        lambda: turn.ask(half),
        lambda: turn.complete(half),
        lambda: turn.fail(turn.agent_message(Part(text="", filename=half))),
    )
    for said in sayings:
        with pytest.raises(ValueError, match=r"half of a surrogate pair|unicode string"):
            said()

    assert (ears.heard, ears.ending) == ([], None)
