"""Every operation with each official client, over each binding: what the SDK hands to its user is what counts."""

import uuid
from dataclasses import replace

import pytest

from .clients import Artifact, ArtifactUpdate, Client, ClientError, PushConfig, Reply, Status, Task
from .conftest import Connect
from .wire import TERMINAL, Wire

ODD = 'zażółć 日本語 🙂 "quoted" </script>\r\nline 2\t\x01 end'
"""Characters that queues, gateways and JSON writers have been caught at."""


def test_it_finds_the_agent_and_what_it_can(client: Client) -> None:
    found = client.discover()

    assert (found["name"], found["skills"]) == ("Scripted", ["script"])
    assert (found["streaming"], found["push"]) == (True, True)
    spoken = [(binding, version[:3]) for binding, version in found["interfaces"]]
    assert (client.binding, client.version) in spoken


def test_a_send_answers_with_the_finished_task(client: Client) -> None:
    task = client.send("echo hello")

    assert (task.state, task.artifacts) == ("completed", (Artifact("echo", "hello"),))
    assert task.history[0] == ("user", "echo hello")


def test_a_message_may_be_answered_without_a_task(client: Client) -> None:
    assert client.answer("reply hello") == Reply("hello")


def test_a_question_is_answered_on_the_same_task(client: Client) -> None:
    asked = client.send("ask")
    answered = client.send("42", task=asked.id, context=asked.context)

    assert (asked.state, asked.says) == ("input-required", "What is the answer?")
    assert (answered.id, answered.state, answered.artifacts) == (asked.id, "completed", (Artifact("answer", "42"),))
    said = [("user", "ask"), ("agent", "What is the answer?"), ("user", "42")]
    assert [spoken for spoken in client.get(asked.id).history if spoken in said] == said


def test_a_data_artifact_keeps_its_shape(client: Client) -> None:
    asked = client.send("ask-twice")
    client.send("one", task=asked.id)
    done = client.send("two", task=asked.id)

    data = done.artifacts[0].data
    assert data == ({"value": ["one", "two"]} if client.version == "0.3" else ["one", "two"])


def test_a_stream_tells_of_each_piece_in_order(client: Client) -> None:
    first, *events = client.stream("steps 3")

    assert isinstance(first, Task)
    pieces = [event.artifact.text for event in events if isinstance(event, ArtifactUpdate)]
    assert "".join(pieces) == "step 1 of 3\nstep 2 of 3\nstep 3 of 3\n"
    last = events[-1]
    assert isinstance(last, Status)
    assert (last.task, last.state) == (first.id, "completed")
    assert last.final is (True if client.version == "0.3" else None)


def test_a_stream_ends_at_a_question(client: Client) -> None:
    *_, last = client.stream("ask")

    assert isinstance(last, Status)
    assert (last.state, last.says) == ("input-required", "What is the answer?")


def test_whoever_subscribes_again_sees_the_task_and_what_follows(client: Client, wire: Wire) -> None:
    begun = client.send("wait 1.5", immediately=True)
    first, *events = client.subscribe(begun.id)

    assert isinstance(first, Task)
    assert (first.id, first.state in ("submitted", "working")) == (begun.id, True)
    assert isinstance(events[-1], Status)
    assert (events[-1].state, events[-1].says) == ("completed", "waited")


def test_a_task_is_canceled(client: Client) -> None:
    asked = client.send("ask")
    canceled = client.cancel(asked.id)

    assert (canceled.id, canceled.state) == (asked.id, "canceled")
    assert client.get(asked.id).state == "canceled"


def test_webhooks_are_created_read_listed_and_deleted(client: Client) -> None:
    task = client.send("ask")
    made = client.create_push(task.id, url="https://partner.example/hook", id="first", token="t" * 24)
    other = client.create_push(task.id, url="https://partner.example/other", id="second", credentials="s3cr3t")

    assert made == PushConfig("first", task.id, "https://partner.example/hook")
    assert client.get_push(task.id, "first") == made
    assert client.list_push(task.id) == (made, other)
    client.delete_push(task.id, "first")
    client.delete_push(task.id, "first")  # again is no fault (SPEC 3.1.10)
    assert client.list_push(task.id) == (other,)


def test_a_webhook_that_is_not_there_is_not_found(client: Client) -> None:
    task = client.send("ask")

    with pytest.raises(ClientError) as refused:
        client.get_push(task.id, "none")
    assert is_not_found(refused.value)


def test_tasks_are_listed_page_by_page(client: Client) -> None:
    if client.version == "0.3":
        pytest.skip("0.3 has no ListTasks")
    context = str(uuid.uuid4())
    made = [client.send(f"echo {number}", context=context) for number in range(3)]
    first = client.list(context=context, page_size=2)
    second = client.list(context=context, page_size=2, page_token=first.next)

    assert [task.id for task in (*first.tasks, *second.tasks)] == [task.id for task in reversed(made)]
    assert (first.total, second.total, second.next) == (3, 3, "")
    assert all(task.artifacts == () for task in first.tasks)


def test_what_is_not_there_is_not_found(client: Client) -> None:
    with pytest.raises(ClientError) as refused:
        client.get(str(uuid.uuid4()))

    assert is_not_found(refused.value)


def test_a_finished_task_takes_no_message(client: Client) -> None:
    done = client.send("echo x")

    with pytest.raises(ClientError) as refused:
        client.send("more", task=done.id)
    assert refused.value.kind == "UnsupportedOperationError" or refused.value.code in (-32004, 400)


def test_without_a_token_nothing_is_told(client: Client) -> None:
    with pytest.raises(ClientError) as refused:
        replace(client, token="").send("echo x")
    assert refused.value.code == 401 or "401" in refused.value.message


def test_text_survives_every_hop(client: Client) -> None:
    task = client.send(f"echo {ODD}")

    assert task.artifacts == (Artifact("echo", ODD),)
    assert client.get(task.id).history[0] == ("user", f"echo {ODD}")


def test_a_history_is_as_long_as_was_asked_for(client: Client) -> None:
    asked = client.send("ask")
    client.send("42", task=asked.id)

    assert len(client.get(asked.id, history=1).history) == 1
    assert len(client.get(asked.id).history) >= 3


def test_a_task_of_one_client_is_the_task_of_all(client: Client, wire: Wire) -> None:
    asked = wire.send("ask")
    answered = client.send("from elsewhere", task=asked["id"])

    assert answered.artifacts == (Artifact("answer", "from elsewhere"),)
    assert wire.get(asked["id"])["status"]["state"] in TERMINAL


def is_not_found(error: ClientError) -> bool:
    """Whether an SDK raised its word for TaskNotFound; one of them knows only the HTTP status."""
    return error.kind.endswith("TaskNotFoundError") or error.code in (-32001, 404)


def test_the_card_of_one_agent_among_several_is_found_below_its_name(
    client: Client, connect: Connect, alice: str
) -> None:
    if client.version == "0.3":
        pytest.skip("the card of a named agent is pure 1.0; the default agent's at the root serves both")
    freight = replace(client, url=f"{client.url}/agents/freight/")
    asked = freight.send("Quote 1 pallet, Pune to Rotterdam, 400 kg")

    assert (freight.discover()["name"], asked.state) == ("Freight quotes", "input-required")
