"""Sends: how long they wait, what a repeated one means, and what comes back of a history."""

import time
import uuid
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest

from a2a_serverless.local.stack import LocalStack

from .conftest import Connect
from .hooks import Hooks
from .wire import Object, RpcError, Wire, message, state, text_of

INVALID_PARAMS = -32602
UNSUPPORTED = -32004
CAP = 25.0
"""Seconds after which a blocking send answers with the task as it is: a gateway gives up after 30."""


def test_a_send_that_does_not_wait_answers_at_once_and_the_task_goes_on(wire: Wire) -> None:
    """L07: nothing more is needed from the caller."""
    wire.send("echo warm")
    began = time.monotonic()
    task = wire.begin("wait 1.5")
    answered_after = time.monotonic() - began

    assert state(task) in ("SUBMITTED", "WORKING")
    assert answered_after < 1.5
    assert state(wire.until(task["id"])) == "COMPLETED"


def test_a_blocking_send_and_a_stream_end_before_the_gateway_does_and_change_nothing(
    stack: LocalStack, alice: str, connect: Connect
) -> None:
    """L09: the caller gets the task as it is, and the task goes on to its end."""
    sender, streamer = connect(stack.url, alice), connect(stack.url, alice)
    with ThreadPoolExecutor() as pool:
        sent = pool.submit(timed, lambda: [{"task": sender.send("wait 27")}])
        streamed = pool.submit(timed, lambda: streamer.events("SendStreamingMessage", message("wait 27")))

    for answered, seconds in (sent.result(), streamed.result()):
        task = answered[0]["task"]
        assert CAP - 1 <= seconds < 30
        assert state(task) in ("SUBMITTED", "WORKING")
        assert state(sender.until(task["id"])) == "COMPLETED"
    assert sender.rpc("ListTasks", {})["totalSize"] == 2


def timed(call: Callable[[], list[Object]]) -> tuple[list[Object], float]:
    """What a call answers, and after how many seconds."""
    began = time.monotonic()
    answered = call()
    return answered, time.monotonic() - began


def test_twenty_sends_of_the_same_message_make_one_task_and_one_run(wire: Wire, hooks: Hooks) -> None:
    """I01: whoever lost the answer sends again, and pays once."""
    counter = hooks.hook()
    params = message(f"tick 1 {counter.url}", returnImmediately=True)
    with ThreadPoolExecutor(max_workers=20) as pool:
        tasks = [answer["task"] for answer in pool.map(lambda _: wire.rpc("SendMessage", params), range(20))]

    assert len({task["id"] for task in tasks}) == 1
    done = wire.until(tasks[0]["id"])
    again = wire.rpc("SendMessage", params)["task"]
    assert (again["id"], state(again)) == (done["id"], "COMPLETED")
    assert len(counter.all) == 1
    assert len([spoken for spoken in again["history"] if spoken["role"] == "ROLE_USER"]) == 1
    assert wire.rpc("ListTasks", {})["totalSize"] == 1


def test_a_repeated_stream_tells_its_events_again_from_the_start(wire: Wire) -> None:
    params = message("steps 3")
    first = wire.events("SendStreamingMessage", params)
    again = wire.events("SendStreamingMessage", params)

    def pieces(events: list[Object]) -> str:
        return "".join(text_of(event["artifactUpdate"]["artifact"]) for event in events if "artifactUpdate" in event)

    assert first[0]["task"]["id"] == again[0]["task"]["id"]
    assert pieces(first) == pieces(again) == "step 1 of 3\nstep 2 of 3\nstep 3 of 3\n"
    assert "statusUpdate" in again[-1]


def test_other_words_under_the_same_id_are_another_message(wire: Wire) -> None:
    name = str(uuid.uuid4())

    first = wire.send("echo one", message_id=name)
    second = wire.send("echo two", message_id=name)

    assert first["id"] != second["id"]
    assert text_of(second["artifacts"][0]) == "two"


def test_an_answer_that_is_sent_twice_is_heard_once(wire: Wire) -> None:
    asked = wire.send("ask-twice")
    params = message("one", task=asked["id"])
    wire.rpc("SendMessage", params)
    again = wire.rpc("SendMessage", params)["task"]
    done = wire.send("two", task=asked["id"])

    assert (state(again), text_of(again["status"]["message"])) == ("INPUT_REQUIRED", "What is the second answer?")
    assert done["artifacts"][0]["parts"][0]["data"] == ["one", "two"]


def test_ten_answers_at_once_are_all_kept_and_the_task_ends_once(wire: Wire) -> None:
    """I05: none is lost silently; whoever comes after the end is told so."""
    asked = wire.send("ask")

    def answer(number: int) -> str | int:
        try:
            wire.send(f"answer {number}", task=asked["id"])
        except RpcError as refused:
            return refused.code
        return f"answer {number}"

    with ThreadPoolExecutor(max_workers=10) as pool:
        outcomes = list(pool.map(answer, range(10)))

    done = wire.until(asked["id"])
    said = [text_of(spoken) for spoken in done["history"] if text_of(spoken).startswith("answer ")]
    assert state(done) == "COMPLETED"
    assert len(done["artifacts"]) == 1
    assert sorted(said) == sorted(outcome for outcome in outcomes if isinstance(outcome, str))
    assert {outcome for outcome in outcomes if isinstance(outcome, int)} <= {UNSUPPORTED}


def test_a_message_to_a_task_that_works_is_read_by_its_next_turn(wire: Wire) -> None:
    task = wire.begin("wait 1")
    wire.until(task["id"], "WORKING")
    during = wire.begin("one more thing", task=task["id"])
    done = wire.until(task["id"])

    assert during["id"] == task["id"]
    assert "one more thing" in [text_of(spoken) for spoken in done["history"]]
    assert state(done) == "COMPLETED"


@pytest.mark.parametrize(("length", "shown"), [(0, []), (1, [-1]), (2, [-2, -1]), (100, [0, 1, 2, 3, 4])])
def test_a_history_is_as_long_as_asked_for_in_every_operation(wire: Wire, length: int, shown: list[int]) -> None:
    """L17, and L11: reading a part of it changes nothing of what is stored."""
    asked = wire.send("ask-twice")
    wire.send("one", task=asked["id"])
    done = wire.send("two", task=asked["id"], historyLength=length)
    whole = wire.get(asked["id"])["history"]
    wanted = [whole[position] for position in shown if -len(whole) <= position < len(whole)]
    listed = wire.rpc("ListTasks", {"contextId": asked["contextId"], "historyLength": length})["tasks"]

    assert [text_of(spoken) for spoken in whole][:5] == [
        "ask-twice",
        "What is the first answer?",
        "one",
        "What is the second answer?",
        "two",
    ]
    for task in (done, wire.get(asked["id"], historyLength=length), *listed):
        assert task.get("history", []) == wanted
    assert wire.rest("GET", f"/tasks/{asked['id']}", params={"historyLength": length}).json().get("history", []) == (
        wanted
    )


@pytest.mark.parametrize("length", [-1, "two", 1.5])
def test_a_history_length_that_is_none_is_refused(wire: Wire, length: object) -> None:
    task = wire.send("echo x")

    for method, params in (
        ("GetTask", {"id": task["id"], "historyLength": length}),
        ("ListTasks", {"historyLength": length}),
        ("SendMessage", message("echo y", historyLength=length)),
    ):
        with pytest.raises(RpcError) as refused:
            wire.rpc(method, params)
        assert refused.value.code == INVALID_PARAMS
    assert wire.rpc("ListTasks", {})["totalSize"] == 1


def test_what_is_remembered_in_a_context_is_there_for_its_next_task(wire: Wire) -> None:
    first = wire.send("remember the milk")
    second = wire.send("recall", context=first["contextId"])
    elsewhere = wire.send("recall")

    assert [text_of(task["artifacts"][0]) for task in (second, elsewhere)] == ["the milk", "nothing"]


def test_an_authorization_comes_by_the_callback_address(wire: Wire) -> None:
    asked = wire.send("auth")
    words = text_of(asked["status"]["message"])
    address = words.partition("Authorise this at ")[2]

    answered = wire.http.post(address, json={"approved": True}, headers={"Authorization": ""})
    done = wire.until(asked["id"])
    again = wire.http.post(address, json={"approved": True})

    assert state(asked) == "AUTH_REQUIRED"
    assert answered.status_code < 300
    assert (state(done), text_of(done["artifacts"][0])) == ("COMPLETED", "callback")
    assert again.status_code >= 400
