"""A task is a fold of its journal: history, artifacts, and what a subscriber sees."""

from hypothesis import given
from hypothesis import strategies as st

from a2a_serverless.core.advance import status
from a2a_serverless.core.head import PUSH_NUDGE_KEY, WAIT_EXTENSION_URI, Record, task_of
from a2a_serverless.core.journal import (
    ArtifactChanged,
    Entry,
    Folded,
    Restarted,
    Spoken,
    StatusChanged,
    event_of,
    fold,
)
from a2a_serverless.types import (
    Artifact,
    JsonObject,
    Message,
    Part,
    Role,
    TaskArtifactUpdateEvent,
    TaskState,
    TaskStatus,
    TaskStatusUpdateEvent,
)
from tests.fakes import START
from tests.unit.core.heads import a_head, a_message


def said(text: str, state: TaskState = TaskState.WORKING) -> StatusChanged:
    message = a_message(text, role=Role.AGENT) if text else None
    return StatusChanged(TaskStatus(state=state, message=message, timestamp=START))


def chunk(artifact: str, text: str, *, append: bool = False, metadata: JsonObject | None = None) -> ArtifactChanged:
    made = Artifact(artifact_id=artifact, name=f"name of {text}", parts=(Part(text=text),), metadata=metadata)
    return ArtifactChanged(made, append=append)


def texts(messages: tuple[Message, ...]) -> list[str]:
    return [message.text for message in messages]


def contents(folded: Folded) -> dict[str, str]:
    return {each.artifact_id: "".join(part.text or "" for part in each.parts) for each in folded.artifacts}


# History


def test_an_empty_journal_is_an_empty_task() -> None:
    assert fold(()) == Folded()


def test_the_newest_status_message_is_in_the_status_alone_and_history_once_something_follows_it() -> None:
    entries = (Spoken(a_message("hello")), said("one moment"), said("which?", TaskState.INPUT_REQUIRED))

    assert texts(fold(entries).history) == ["hello", "one moment"]
    assert texts(fold((*entries, Spoken(a_message("sea")))).history) == ["hello", "one moment", "which?", "sea"]


def test_a_status_message_that_an_answer_and_a_status_follow_is_in_the_history_once() -> None:
    entries = (said("which?", TaskState.INPUT_REQUIRED), Spoken(a_message("sea")), said(""), said("done"))

    assert texts(fold(entries).history) == ["which?", "sea"]


# Artifacts


def test_chunks_are_joined_in_order_and_keep_the_names_of_the_first() -> None:
    entries = (chunk("a", "1"), chunk("b", "x"), chunk("a", "2", append=True), chunk("a", "3", append=True))

    folded = fold(entries)

    assert contents(folded) == {"a": "123", "b": "x"}
    assert [artifact.name for artifact in folded.artifacts] == ["name of 1", "name of x"]


def test_a_chunk_that_does_not_append_replaces_what_was_there() -> None:
    entries = (chunk("a", "1"), chunk("a", "2", append=True), chunk("a", "new"))

    assert contents(fold(entries)) == {"a": "new"}


def test_a_chunk_that_appends_to_nothing_begins_the_artifact() -> None:
    assert contents(fold((chunk("a", "1", append=True),))) == {"a": "1"}


def test_metadata_of_chunks_is_merged_the_newest_last() -> None:
    entries = (
        chunk("a", "1", metadata={"x": 1, "y": 1}),
        chunk("a", "2", append=True),
        chunk("a", "3", append=True, metadata={"y": 2}),
    )

    assert [artifact.metadata for artifact in fold(entries).artifacts] == [{"x": 1, "y": 2}]


def test_a_result_uses_what_any_of_its_chunks_uses() -> None:
    first, second = (chunk("a", text).artifact for text in "12")
    entries = (
        ArtifactChanged(first.but(extensions=("urn:x", "urn:y"))),
        ArtifactChanged(second.but(extensions=("urn:y", "urn:z")), append=True),
    )

    assert [artifact.extensions for artifact in fold(entries).artifacts] == [("urn:x", "urn:y", "urn:z")]


# Metadata


def stated(**metadata: object) -> StatusChanged:
    return StatusChanged(TaskStatus(state=TaskState.WORKING, timestamp=START), metadata)


def test_what_is_said_of_a_task_is_merged_key_by_key() -> None:
    """It was lost, or took the place of what was said before (a2a-js#739, a2a-java#427, a2a-python#238)."""
    entries = (stated(a=1, b={"x": 1}), said("one moment"), stated(b={"y": 2}, c=None))

    assert fold(entries).metadata == {"a": 1, "b": {"y": 2}, "c": None}


def test_a_restart_takes_back_what_its_dead_attempt_said_of_the_task() -> None:
    assert fold((stated(a=1), stated(a=2, b=2), Restarted(1))).metadata == {"a": 1}


def test_the_task_says_it_beside_what_the_kit_says_and_never_over_it() -> None:
    head = a_head(TaskState.INPUT_REQUIRED, waiting=True).but(nudge_seq=5, entries=1)

    metadata = Record(head, (stated(a=1, **{PUSH_NUDGE_KEY: "mine"}),)).task().metadata

    assert metadata is not None
    assert metadata["a"] == 1
    assert metadata[PUSH_NUDGE_KEY] == {"seq": "5"}
    assert WAIT_EXTENSION_URI in metadata


def test_what_the_kit_said_once_is_not_said_again_by_who_gives_it_back() -> None:
    given_back = stated(
        a=1, **{PUSH_NUDGE_KEY: {"seq": "1"}, WAIT_EXTENSION_URI: {"until": "2026-11-30T12:00:00.000Z"}}
    )

    assert Record(a_head().but(entries=1), (given_back,)).task().metadata == {"a": 1}


def test_an_event_carries_what_is_said_with_it_and_an_artifact_does_not_keep_it() -> None:
    produced = ArtifactChanged(chunk("a", "1").artifact, metadata={"rate": 2})

    events = [event_of(entry, task_id="t", context_id="c") for entry in (stated(a=1), produced)]

    assert [event and event.metadata for event in events] == [{"a": 1}, {"rate": 2}]
    assert fold((produced,)) == fold((chunk("a", "1"),))


def test_a_restart_takes_back_what_was_produced_since_its_turn_began_and_no_word() -> None:
    entries: tuple[Entry, ...] = (
        Spoken(a_message("hello")),
        chunk("kept", "1"),
        chunk("kept", "2", append=True),
        chunk("lost", "3"),
        said("half way"),
        Restarted(2),
        chunk("kept", "4", append=True),
        said("again"),
    )

    folded = fold(entries)

    assert contents(folded) == {"kept": "14"}
    assert texts(folded.history) == ["hello", "half way"]


def test_a_restart_gives_back_an_artifact_that_a_dead_attempt_replaced() -> None:
    assert contents(fold((chunk("a", "old"), chunk("a", "new"), Restarted(1)))) == {"a": "old"}


def test_two_restarts_of_one_turn_each_take_back_their_own() -> None:
    entries = (chunk("a", "1"), Restarted(0), chunk("a", "2"), Restarted(0), chunk("a", "3"))

    assert contents(fold(entries)) == {"a": "3"}


entries_of_any_kind = st.one_of(
    st.builds(lambda text: Spoken(a_message(text)), st.sampled_from(["u1", "u2"])),
    st.builds(said, st.sampled_from(["", "s1", "s2"])),
    st.builds(chunk, st.sampled_from(["a", "b"]), st.sampled_from(["1", "2", "3"]), append=st.booleans()),
)


@given(st.lists(entries_of_any_kind, max_size=12), st.lists(entries_of_any_kind, max_size=6))
def test_every_word_is_in_the_history_or_the_status_once_and_a_restart_is_as_if_nothing_was_produced(
    before: list[Entry], dead: list[Entry]
) -> None:
    words = [
        entry.message if isinstance(entry, Spoken) else entry.status.message
        for entry in before
        if isinstance(entry, Spoken) or (isinstance(entry, StatusChanged) and entry.status.message is not None)
    ]
    folded = fold(before)

    assert len(words) - len(folded.history) in {0, 1}
    assert list(folded.history) == words[: len(folded.history)]
    assert fold((*before, *dead, Restarted(len(before)))).artifacts == folded.artifacts


@given(st.lists(entries_of_any_kind, max_size=12))
def test_a_subscriber_who_follows_the_events_holds_the_artifacts_of_the_task(entries: list[Entry]) -> None:
    held: dict[str, str] = {}
    for entry in entries:
        event = event_of(entry, task_id="t", context_id="c")
        if isinstance(event, TaskArtifactUpdateEvent):
            text = event.artifact.parts[0].text or ""
            known = held.get(event.artifact.artifact_id, "") if event.append else ""
            held[event.artifact.artifact_id] = known + text

    assert held == contents(fold(entries))


# Events and the Task


def test_a_status_and_an_artifact_are_events_a_message_and_a_restart_are_none() -> None:
    status_event = event_of(said("x"), task_id="t", context_id="c")
    artifact_event = event_of(chunk("a", "1", append=True), task_id="t", context_id="c")

    assert isinstance(status_event, TaskStatusUpdateEvent)
    assert (status_event.task_id, status_event.context_id) == ("t", "c")
    assert isinstance(artifact_event, TaskArtifactUpdateEvent)
    assert artifact_event.append
    assert event_of(Spoken(a_message("x")), task_id="t", context_id="c") is None
    assert event_of(Restarted(0), task_id="t", context_id="c") is None


def test_a_task_has_the_deadline_it_waits_for_and_its_newest_number_in_its_metadata() -> None:
    head = a_head(TaskState.INPUT_REQUIRED, waiting=True).but(nudge_seq=5)

    metadata = task_of(head).metadata

    assert metadata is not None
    assert metadata.keys() == {PUSH_NUDGE_KEY, WAIT_EXTENSION_URI}
    assert metadata[PUSH_NUDGE_KEY] == {"seq": "5"}


def test_l17_a_record_shows_as_much_of_its_history_as_is_asked_for() -> None:
    entries = tuple(Spoken(a_message(f"m{number}")) for number in range(3))
    record = Record(a_head().but(entries=3), (*entries, status(TaskState.WORKING, START), chunk("a", "1")))

    lengths = {length: texts(record.task(history_length=length).history) for length in (None, 0, 1, 9)}

    assert lengths == {None: ["m0", "m1", "m2"], 0: [], 1: ["m2"], 9: ["m0", "m1", "m2"]}
    assert record.task(artifacts=False).artifacts == ()
