"""What the operator sees and does by the command line, against a running stack."""

import json
import uuid
from datetime import UTC, datetime
from typing import Any

import pytest

from a2a_serverless.aws.keys import task_text
from a2a_serverless.cli.main import main
from a2a_serverless.local.stack import LocalStack

from .conftest import Caller, Receiver
from .test_later import eventually, key_of


class Operator:
    """Types commands."""

    def __init__(self, stack: LocalStack, capsys: pytest.CaptureFixture[str]) -> None:
        self._endpoint = stack.aws_endpoint
        self._capsys = capsys

    def types(self, *words: str) -> tuple[int, str, str]:
        """A command; its exit status, and what it said."""
        self._capsys.readouterr()
        status = main([*words, "--endpoint", self._endpoint])
        out, err = self._capsys.readouterr()
        return status, out, err

    def asks(self, *words: str) -> Any:
        """A command that answers with JSON."""
        status, out, err = self.types(*words, "--json")
        assert (status, err) == (0, "")
        return json.loads(out)


@pytest.fixture
def operator(stack: LocalStack, capsys: pytest.CaptureFixture[str]) -> Operator:
    return Operator(stack, capsys)


def told(caller: Caller, receiver: Receiver) -> str:
    """A task whose webhook was told where it stands."""
    task = caller.ask(receiver.url)
    eventually(lambda: "INPUT" in receiver.next().body.decode())
    eventually(lambda: caller.deliveries(task)["deliveries"][0]["outcome"] == "delivered")
    return task


def test_a_task_is_found_by_its_bare_id_and_shown_attempt_by_attempt(
    operator: Operator, caller: Caller, receiver: Receiver
) -> None:
    task = told(caller, receiver)

    status, table, _ = operator.types("deliveries", task)
    (found,) = operator.asks("deliveries", task, "--config", "c1")

    assert status == 0
    assert table.startswith(f"task {task} of scripted, owner anonymous\nwebhook c1  {receiver.url}  on\nmessage ")
    assert "delivered" in table.splitlines()[3]
    assert (found["task"], found["agent"], found["subject"]) == (task, "scripted", "anonymous")
    assert found["webhook"]["deliveries"] == caller.deliveries(task)["deliveries"]


def test_a_nudge_is_sent_again_and_a_test_says_whether_it_got_through(
    operator: Operator, caller: Caller, receiver: Receiver
) -> None:
    task = told(caller, receiver)
    (found,) = operator.asks("deliveries", task)
    message = found["webhook"]["deliveries"][0]["messageId"]

    assert operator.asks("redeliver", task, "c1", message)["messageId"] == message
    assert receiver.next().headers["webhook-id"] == message
    receiver.answers(204)
    status, said, _ = operator.types("ping", task, "c1")

    assert status == 0
    assert said.startswith("the test got through: the receiver answered 204 after ")


def test_a_test_that_fails_says_so_by_its_exit_status(operator: Operator, caller: Caller, receiver: Receiver) -> None:
    task = told(caller, receiver)
    receiver.answers(401)

    status, said, _ = operator.types("ping", task, "c1")

    assert status == 1
    assert said.startswith("the test did not get through (refused): the receiver answered 401 after ")


def test_what_is_not_there_is_told_in_one_sentence(operator: Operator, caller: Caller, receiver: Receiver) -> None:
    task = told(caller, receiver)
    unknown = str(uuid.uuid4())

    answers = [
        operator.types("deliveries", unknown),
        operator.types("deliveries", task, "--config", "other"),
        operator.types("redeliver", task, "other"),
        operator.types("redeliver", task, "c1", "msg_other"),
        operator.types("deliveries", task, "--stack", "other"),
    ]

    assert [(status, out) for status, out, _ in answers] == [(2, "")] * 5
    assert [err.strip() for _, _, err in answers] == [
        f"no task {unknown} has webhooks: the id is another, or its caller registered none",
        f"the task {task} has no webhook other; it has c1",
        f"the task {task} has no webhook other; `a2a-serverless deliveries {task}` shows them",
        "messageId: must be the id of a nudge to this webhook in the last 14 days",
        "there is no stack other in this account and region",
    ]


def test_dead_letters_go_back_if_they_are_still_due_and_say_what_they_were(
    operator: Operator, stack: LocalStack, caller: Caller, receiver: Receiver
) -> None:
    waiting, done = caller.ask(receiver.url), str(caller.send("echo x")["id"])
    bury(stack, "Turns", {"pk": task_text(key_of(done)), "turn": 1}, "it killed its worker 3 times")
    bury(stack, "Nudges", {"pk": task_text(key_of(waiting)), "config": "gone", "seq": 1}, "exhausted after 13 attempts")
    bury(stack, "Nudges", "no letter of ours", "")

    rehearsed = operator.asks("redrive", "--dry-run")
    redriven = operator.asks("redrive")
    left = operator.asks("redrive", "--queue", "nudges", "--dry-run")

    assert rehearsed == redriven
    assert sorted((each["queue"], each["what"], each["reason"], each["outcome"], each["why"]) for each in redriven) == [
        (
            "nudges",
            '"no letter of ours"',
            "its function failed each time",
            "kept",
            "it cannot be read: look at it, then delete it by hand",
        ),
        ("nudges", "nudge 1 to gone", "exhausted after 13 attempts", "dropped", "the task or its webhook is gone"),
        ("turns", "turn 1", "it killed its worker 3 times", "dropped", "the task ended as COMPLETED"),
    ]
    assert [each["outcome"] for each in left] == ["kept"]
    assert caller.rpc("GetTask", id=done)["status"]["state"] == "TASK_STATE_COMPLETED"


def bury(stack: LocalStack, queue: str, said: object, reason: str) -> None:
    """Put a message with the dead letters, as the hops do."""
    attributes = {"reason": {"DataType": "String", "StringValue": reason}} if reason else {}
    stack.client("sqs").send_message(
        QueueUrl=stack.outputs[f"{queue}DeadLetters"], MessageBody=json.dumps(said), MessageAttributes=attributes
    )


def test_a_nudge_that_was_given_up_reaches_its_receiver_once_it_is_redriven(
    operator: Operator, stack: LocalStack, caller: Caller, receiver: Receiver
) -> None:
    receiver.answers(500, Retry_After="1800")
    task = caller.ask(receiver.url)
    eventually(lambda: "INPUT" in receiver.next().body.decode())
    eventually(lambda: "nextAttempt" in caller.deliveries(task)["deliveries"][0])
    _spend_all_attempts(stack, task)
    eventually(lambda: caller.deliveries(task)["deliveries"][0]["outcome"] == "exhausted")
    receiver.answers(202)
    while not receiver.came.empty():
        receiver.came.get()

    (redriven,) = [each for each in operator.asks("redrive", "--queue", "nudges") if each["task"] == task]

    assert (redriven["outcome"], redriven["reason"]) == ("sent again", "exhausted after 13 attempts")
    assert "INPUT_REQUIRED" in receiver.next().body.decode()
    eventually(lambda: caller.deliveries(task)["deliveries"][0]["outcome"] == "delivered")


def _spend_all_attempts(stack: LocalStack, task: str) -> None:
    """What three days do."""
    table = {"TableName": stack.outputs["Table"]}
    key = {"pk": {"S": task_text(key_of(task))}, "sk": {"S": "PUSH#c1"}}
    item = stack.client("dynamodb").get_item(**table, Key=key)["Item"]
    state = json.loads(item["delivery"]["S"])
    state["pending"] |= {"next": 1, "attempts": 13, "spent": 13}
    stack.client("dynamodb").put_item(**table, Item={**item, "delivery": {"S": json.dumps(state)}})
    said = {"pk": task_text(key_of(task)), "config": "c1", "seq": state["pending"]["seq"]}
    stack.client("sqs").send_message(QueueUrl=stack.outputs["NudgesQueue"], MessageBody=json.dumps(said))


def test_the_next_keys_are_published_beside_those_that_sign(operator: Operator, stack: LocalStack) -> None:
    operator.asks("rotate-keys")  # makes the first of all, if nothing was signed yet

    rotated = operator.asks("rotate-keys")

    when = [(key["alg"], datetime.fromisoformat(key["firstUse"]) > datetime.now(tz=UTC)) for key in rotated]
    assert sorted(when) == [("ES256", False), ("ES256", True), ("RS256", False), ("RS256", True)]
