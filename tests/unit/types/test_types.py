"""The objects of the data model: read leniently as ProtoJSON allows, written strictly, never by a crash."""

import json
from datetime import UTC, datetime, timedelta, timezone
from typing import Any, TypeVar

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from a2a_serverless.types import (
    NO_DATA,
    A2AModel,
    AgentCard,
    AgentProvider,
    AgentSkill,
    Artifact,
    AuthenticationInfo,
    Message,
    Owner,
    Part,
    Role,
    Task,
    TaskArtifactUpdateEvent,
    TaskPushNotificationConfig,
    TaskState,
    TaskStatus,
    TaskStatusUpdateEvent,
    compact_json,
    timestamp_text,
)

Model = TypeVar("Model", bound=A2AModel)

MESSAGE: dict[str, Any] = {"messageId": "m", "role": "ROLE_USER", "parts": [{"text": "hi"}]}


# Names and nulls


def test_both_spellings_of_a_member_are_read_and_one_is_written() -> None:
    camel = Message.model_validate({**MESSAGE, "contextId": "c", "referenceTaskIds": ["t"]})
    snake = Message.model_validate(
        {"message_id": "m", "role": 1, "parts": [{"text": "hi"}], "context_id": "c", "reference_task_ids": ["t"]}
    )

    assert camel == snake
    assert camel.to_wire() == {**MESSAGE, "contextId": "c", "referenceTaskIds": ["t"]}


def test_members_that_nobody_knows_are_ignored() -> None:
    assert Message.model_validate({**MESSAGE, "kind": "message", "x": {"y": 1}}).to_wire() == MESSAGE


def test_a_member_that_is_null_is_a_member_that_is_not_there() -> None:
    assert Message.model_validate({**MESSAGE, "contextId": None, "metadata": None}).to_wire() == MESSAGE


def test_nulls_in_free_form_metadata_stay() -> None:
    assert Message.model_validate({**MESSAGE, "metadata": {"a": None}}).metadata == {"a": None}


@pytest.mark.parametrize("missing", ["messageId", "role", "parts"])
def test_a_message_without_what_it_must_have_is_refused(missing: str) -> None:
    with pytest.raises(ValidationError):
        Message.model_validate({name: member for name, member in MESSAGE.items() if name != missing})


@pytest.mark.parametrize(
    "wrong",
    [
        {"messageId": ""},
        {"messageId": 1},
        {"messageId": None},
        {"role": "user"},
        {"role": 3},
        {"role": True},
        {"parts": []},
        {"parts": {}},
        {"parts": [None]},
        {"parts": "hi"},
        {"contextId": 5},
        {"metadata": []},
        {"extensions": "x"},
    ],
)
def test_a_message_with_a_member_of_another_type_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        Message.model_validate(MESSAGE | wrong)


# Parts


@pytest.mark.parametrize(
    "part",
    [
        {"text": ""},
        {"text": "hi", "mediaType": "text/plain"},
        {"data": {"a": [1, None, "ü"]}},
        {"data": 0},
        {"data": False},
        {"data": None},
        {"data": []},
        {"raw": "aGk=", "filename": "umläut.txt"},
        {"raw": ""},
        {"url": "https://a.example/x"},
    ],
)
def test_a_part_comes_out_as_it_went_in(part: dict[str, Any]) -> None:
    assert Part.model_validate(part).to_wire() == part


@pytest.mark.parametrize(
    "part",
    [
        {},
        {"text": None},
        {"text": "a", "data": 1},
        {"text": "a", "url": "b"},
        {"raw": "aGk=", "url": "b"},
        {"text": "a", "raw": ""},
        {"text": 1},
        {"mediaType": "text/plain"},
        {"raw": "a"},
        {"raw": "not base64!"},
        {"raw": "ü"},
    ],
)
def test_l05_a_part_holds_exactly_one_content_of_the_right_type(part: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        Part.model_validate(part)


@given(st.binary(max_size=40))
def test_every_spelling_of_base64_is_read_and_the_standard_one_is_written(content: bytes) -> None:
    standard = Part.from_bytes(content, media_type="x/y")
    assert standard.raw is not None
    url_safe = standard.raw.replace("+", "-").replace("/", "_").rstrip("=")

    assert Part.model_validate({"raw": url_safe}).raw == standard.raw
    assert standard.content_bytes() == content


def test_only_bytes_have_bytes() -> None:
    with pytest.raises(TypeError):
        Part(text="x").content_bytes()


def test_a_part_without_data_says_so_and_null_is_data() -> None:
    assert Part(text="x").data is NO_DATA
    assert Part(data=None).has_data
    assert not Part(text="x").has_data
    assert Part(text="x").model_copy(deep=True) == Part(text="x")


# States, roles and times


@pytest.mark.parametrize(("number", "state"), list(enumerate(TaskState, start=1)))
def test_states_are_read_by_number_and_written_by_name(number: int, state: TaskState) -> None:
    status = TaskStatus.model_validate({"state": number})

    assert status == TaskStatus(state=state)
    assert status.to_wire() == {"state": f"TASK_STATE_{state.name}"}


@pytest.mark.parametrize("wrong", [0, 9, -1, True, False, "WORKING", "working", "", None, 1.5, []])
def test_what_is_no_state_is_refused(wrong: object) -> None:
    with pytest.raises(ValidationError):
        TaskStatus.model_validate({"state": wrong})


@pytest.mark.parametrize(
    ("given_text", "written"),
    [
        ("2026-11-30T12:00:00Z", "2026-11-30T12:00:00.000Z"),
        ("2026-11-30T12:00:00.123456Z", "2026-11-30T12:00:00.123Z"),
        ("2026-11-30T13:00:00+01:00", "2026-11-30T12:00:00.000Z"),
        ("2026-11-30T12:00:00", "2026-11-30T12:00:00.000Z"),
    ],
)
def test_times_are_written_in_utc_with_milliseconds(given_text: str, written: str) -> None:
    status = TaskStatus.model_validate({"state": "TASK_STATE_WORKING", "timestamp": given_text})

    assert status.to_wire()["timestamp"] == written


@pytest.mark.parametrize("wrong", ["0001-01-01T00:00:00+05:00", "9999-12-31T23:59:59-05:00", "yesterday", {}, []])
def test_a_time_that_is_none_in_utc_is_refused_and_crashes_nothing(wrong: object) -> None:
    with pytest.raises(ValidationError):
        TaskStatus.model_validate({"state": "TASK_STATE_WORKING", "timestamp": wrong})


@given(st.datetimes(min_value=datetime(1970, 1, 1), timezones=st.just(timezone(timedelta(hours=5)))))
def test_a_time_in_text_is_the_same_moment_to_the_millisecond_and_sorts_like_it(moment: datetime) -> None:
    read = datetime.fromisoformat(timestamp_text(moment))

    assert timedelta(0) <= moment - read < timedelta(milliseconds=1)
    assert read.tzinfo == UTC
    assert len(timestamp_text(moment)) == 24


# Whole objects


def made(model: type[Model], **members: st.SearchStrategy[Any]) -> st.SearchStrategy[Model]:
    """Objects of that kind with these members, and no others."""
    return st.fixed_dictionaries(members).map(lambda values: model(**values))


texts = st.text(st.characters(codec="utf-8"), max_size=20)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.floats(allow_nan=False, allow_infinity=False) | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=6,
)
metadata = st.none() | st.dictionaries(texts, json_values, max_size=2)
ids = st.text(st.characters(codec="utf-8"), min_size=1, max_size=10)
parts = st.one_of(
    made(Part, text=texts, filename=texts, media_type=texts, metadata=metadata),
    made(Part, data=json_values),
    made(Part, url=texts),
    st.builds(lambda content: Part.from_bytes(content, media_type="x/y"), st.binary(max_size=9)),
)
messages = made(
    Message,
    message_id=ids,
    role=st.sampled_from(Role),
    parts=st.lists(parts, min_size=1, max_size=3).map(tuple),
    context_id=texts,
    metadata=metadata,
    extensions=st.lists(texts, max_size=2).map(tuple),
)
moments = st.none() | st.datetimes(min_value=datetime(2000, 1, 1), timezones=st.just(UTC)).map(
    lambda moment: moment.replace(microsecond=moment.microsecond // 1000 * 1000)
)
statuses = made(TaskStatus, state=st.sampled_from(TaskState), message=st.none() | messages, timestamp=moments)
artifacts = made(
    Artifact,
    artifact_id=ids,
    parts=st.lists(parts, min_size=1, max_size=2).map(tuple),
    name=texts,
    metadata=metadata,
)
tasks = made(
    Task,
    id=ids,
    context_id=ids,
    status=statuses,
    history=st.lists(messages, max_size=2).map(tuple),
    artifacts=st.lists(artifacts, max_size=2).map(tuple),
    metadata=metadata,
)


@settings(max_examples=40, deadline=None)
@given(tasks)
def test_w07_a_task_survives_the_wire_in_both_forms_whatever_is_in_it(task: Task) -> None:
    assert Task.model_validate(json.loads(json.dumps(task.to_wire()))) == task
    assert Task.model_validate_json(task.to_json()) == task


@settings(max_examples=40, deadline=None)
@given(messages)
def test_a_message_can_be_hashed_and_stored_whatever_is_in_it(message: Message) -> None:
    assert json.loads(compact_json(message.to_wire()).encode()) == message.to_wire()


@settings(max_examples=40, deadline=None)
@given(made(TaskStatusUpdateEvent, task_id=ids, context_id=ids, status=statuses))
def test_a_status_event_survives_the_wire(event: TaskStatusUpdateEvent) -> None:
    assert TaskStatusUpdateEvent.model_validate_json(event.to_json()) == event


@settings(max_examples=40, deadline=None)
@given(made(TaskArtifactUpdateEvent, task_id=ids, context_id=ids, artifact=artifacts, append=st.booleans()))
def test_an_artifact_event_survives_the_wire(event: TaskArtifactUpdateEvent) -> None:
    assert TaskArtifactUpdateEvent.model_validate_json(event.to_json()) == event


def test_objects_are_frozen() -> None:
    with pytest.raises(ValidationError):
        Part(text="x").text = "y"  # type: ignore[misc]  # that is the point


def test_a_copy_with_changes_leaves_the_original_as_it_was() -> None:
    message = Message.model_validate(MESSAGE)

    changed = message.but(context_id="c")

    assert (message.context_id, changed.context_id) == ("", "c")


def test_credentials_of_a_webhook_must_have_a_scheme() -> None:
    with pytest.raises(ValidationError):
        TaskPushNotificationConfig.model_validate({"url": "https://a.example", "authentication": {"credentials": "x"}})

    assert AuthenticationInfo(scheme="Bearer").credentials is None


@pytest.mark.parametrize(
    ("model", "misspelt"),
    [
        (AgentCard, {"name": "x", "description": "x", "version": "1", "skills": (), "documentation_ulr": "x"}),
        (AgentSkill, {"id": "x", "name": "x", "description": "x", "tags": (), "required_scope": ("work",)}),
        (AgentProvider, {"organization": "x", "url": "x", "uri": "x"}),
    ],
)
def test_a_misspelt_member_of_a_card_is_refused(model: type[A2AModel], misspelt: dict[str, object]) -> None:
    (name,) = misspelt.keys() - model.model_fields.keys()

    with pytest.raises(ValidationError, match=rf"{name}\n  Extra inputs are not permitted"):
        model(**misspelt)


def test_a_card_must_say_what_the_agent_is() -> None:
    with pytest.raises(ValidationError):
        AgentCard(name="", description="x", version="1", skills=())


def test_compact_json_takes_no_number_that_json_has_not() -> None:
    with pytest.raises(ValueError, match="JSON compliant"):
        compact_json(float("nan"))


def test_a03_an_owner_has_a_subject_and_may_have_a_tenant() -> None:
    assert Owner("alice") != Owner("alice", "t1")
    with pytest.raises(ValueError, match="subject"):
        Owner("", "t1")
