"""Both sides of every exchange, as the operator reads them; and nothing in them, or anywhere, that is a secret."""

import json
import subprocess
import sys
import uuid
import zlib
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from a2a_serverless.local.clone import repository_root
from a2a_serverless.local.stack import LocalStack

from .conftest import AGENTS, Connect
from .hooks import Hooks, Posted, Said
from .wire import Object, RpcError, Wire, eventually, message, text_of

TOKEN, CREDENTIALS, QUERY = (
    f"{name}-{uuid.uuid4().hex}" for name in ("tokensecret", "credentialsecret", "querysecret")
)


def exchange(stack: LocalStack, task_id: str, *more: str) -> subprocess.CompletedProcess[str]:
    """The command, as an operator runs it."""
    command = [sys.executable, "-c", "from a2a_serverless.cli import main; raise SystemExit(main())", "exchange"]
    return subprocess.run(
        [*command, task_id, "--endpoint", stack.aws_endpoint, *more],
        capture_output=True,
        text=True,
        cwd=repository_root(),
        timeout=60,
    )


def told_of(stack: LocalStack, task_id: str) -> list[Object]:
    """The exchanges of a task as JSON."""
    done = exchange(stack, task_id, "--json")
    assert done.returncode == 0, done.stderr
    found: list[Object] = json.loads(done.stdout)
    return found


@pytest.fixture(scope="module")
def evident_stack() -> Iterator[LocalStack]:
    """Under the roles of the template and nothing more."""
    with LocalStack(agents={"scripted": AGENTS["scripted"]}, auth="dev", strict_iam=True) as running:
        yield running


@pytest.fixture
def alice_at(evident_stack: LocalStack, alice: str, connect: Connect) -> Wire:
    return connect(evident_stack.url, alice)


def echoing(posted: Posted) -> Said:
    """A partner whose answer repeats all that came, as debug endpoints do."""
    return Said(200, (("X-Echo", TOKEN), ("Retry-After", "1")), json.dumps(dict(posted.headers)).encode() + posted.body)


def test_every_call_nudge_and_fetch_of_a_task_is_there_in_order_and_in_full(
    evident_stack: LocalStack, alice_at: Wire, hooks: Hooks
) -> None:
    hook = hooks.hook(Said(202, (), b"thank you"))
    sent = message("ask", push={"url": hook.url})
    task = alice_at.rpc("SendMessage", sent)["task"]
    hook.next()
    fetched = alice_at.get(task["id"])
    with pytest.raises(RpcError):
        alice_at.send("x", task=task["id"], context="another")
    alice_at.rest("POST", "/message:send", json=message("42", task=task["id"]))
    alice_at.rpc("ListTasks", {})
    with pytest.raises(RpcError):
        alice_at.cancel(task["id"])

    def all_there() -> list[Object] | None:
        found = told_of(evident_stack, task["id"])
        return found if sum(each["kind"] == "nudge" for each in found) >= 2 else None

    found = eventually(all_there)

    assert [each["at"] for each in found] == sorted(each["at"] for each in found)
    calls = [each for each in found if each["kind"] == "call"]
    assert [each["operation"] for each in calls] == [
        "SendMessage", "GetTask", "SendMessage", "SendMessage", "CancelTask",
    ]  # fmt: skip
    first, fetch, refused, answered, canceled = calls
    assert json.loads(first["request"]["body"])["params"] == sent
    assert json.loads(first["answer"]["body"])["result"]["task"] == task
    assert json.loads(fetch["answer"]["body"])["result"] == fetched
    assert json.loads(refused["answer"]["body"])["error"]["code"] == -32602
    assert answered["request"]["url"] == "/message:send"
    assert answered["answer"]["status"] == 200
    assert json.loads(canceled["answer"]["body"])["error"]["code"] == -32002
    assert first["about"] == {"agent": "scripted", "version": "1.0"}
    assert first["who"]["subject"].startswith("alice-")
    nudge = next(each for each in found if each["kind"] == "nudge")
    assert nudge["request"]["url"] == hook.url
    assert nudge["request"]["body"].encode() == hook.all[0].body
    assert nudge["answer"]["status"] == 202
    assert nudge["answer"]["body"] == "thank you"


def test_a_post_to_a_callback_address_is_there_and_nothing_that_would_open_one(
    evident_stack: LocalStack, alice_at: Wire
) -> None:
    task = alice_at.send("auth")
    address = text_of(task["status"]["message"]).rpartition(" ")[2]
    grant, _, secret = address.rpartition("/")[2].partition("?key=")
    posts = [httpx.post(address, json={"approved": "by me"}) for _ in range(2)]
    alice_at.until(task["id"], "COMPLETED")

    found = told_of(evident_stack, task["id"])

    assert [post.status_code for post in posts] == [200, 404]
    callbacks = [each for each in found if each["kind"] == "callback"]
    assert [each["answer"]["status"] for each in callbacks] == [200, 404]
    assert callbacks[0]["who"] == {"callback": grant}
    assert json.loads(callbacks[0]["request"]["body"]) == {"approved": "by me"}
    assert json.loads(callbacks[0]["answer"]["body"]) == {"status": "resumed"}
    assert (
        f"/callbacks/{grant}?key=(not kept)" in next(each for each in found if each["kind"] == "call")["answer"]["body"]
    )
    assert secret not in "\n".join([*stored(evident_stack, only="EVIDENCE#"), evident_stack.log_of("api")])


def test_the_command_prints_them_for_people(evident_stack: LocalStack, alice_at: Wire) -> None:
    task = alice_at.send("echo \u001b[31mred")

    done = exchange(evident_stack, task["id"])

    assert done.returncode == 0, done.stderr
    assert "SendMessage  200" in done.stdout
    assert '"text": "red"' not in done.stdout
    assert "\u001b" not in done.stdout


def test_a_task_that_nobody_spoke_of_is_said_so(evident_stack: LocalStack) -> None:
    done = exchange(evident_stack, "no-such-task")

    assert done.returncode == 2
    assert "nothing was written down about a task no-such-task" in done.stderr


def test_who_has_no_such_task_leaves_nothing_under_its_id(
    evident_stack: LocalStack, alice_at: Wire, bob: str, connect: Connect
) -> None:
    task = alice_at.send("echo hello")
    with pytest.raises(RpcError):
        connect(evident_stack.url, bob).get(task["id"])

    assert [each["operation"] for each in told_of(evident_stack, task["id"])] == ["SendMessage"]


def test_a_streamed_call_and_a_large_one_are_there_in_full(evident_stack: LocalStack, alice_at: Wire) -> None:
    text = "".join(uuid.uuid4().hex for _ in range(60_000))
    events = alice_at.events("SendStreamingMessage", message(f"echo {text}"))

    (call,) = told_of(evident_stack, events[0]["task"]["id"])

    assert call["operation"] == "SendStreamingMessage"
    assert text in call["request"]["body"]
    assert call["answer"]["body"].count("data: ") == len(events)


def test_no_secret_is_stored_in_the_clear_anywhere(
    evident_stack: LocalStack, alice_at: Wire, alice: str, hooks: Hooks
) -> None:
    hook = hooks._add(echoing)
    push = {
        "url": f"{hook.url}?key={QUERY}",
        "token": TOKEN,
        "authentication": {"scheme": "Bearer", "credentials": CREDENTIALS},
    }
    hooks._hooks[f"/{hook.url.rpartition('/')[2]}?key={QUERY}"] = hook
    task = alice_at.rpc("SendMessage", message("ask", push=push))["task"]
    posted = hook.next()
    assert dict(posted.headers)["Authorization"] == f"Bearer {CREDENTIALS}"
    config = {"taskId": task["id"], **push}
    alice_at.rpc("CreateTaskPushNotificationConfig", config)
    alice_at.rest("POST", f"/tasks/{task['id']}/pushNotificationConfigs", json=push)
    escaped = json.dumps(config).replace('"token"', '"tok\\u0065n"').replace('"credentials"', '"cr\\u0065dentials"')
    body = f'{{"jsonrpc":"2.0","id":1,"method":"CreateTaskPushNotificationConfig","params":{escaped}}}'
    assert (
        "result" in alice_at.http.post(alice_at.url, content=body, headers={"Content-Type": "application/json"}).json()
    )
    legacy = {
        "taskId": task["id"],
        "pushNotificationConfig": {**push, "authentication": {"schemes": ["Bearer"], "credentials": CREDENTIALS}},
    }
    alice_at.post("tasks/pushNotificationConfig/set", legacy, headers={"A2A-Version": "0.3"})
    alice_at.rpc("ListTaskPushNotificationConfigs", {"taskId": task["id"]})
    alice_at.send("42", task=task["id"])
    eventually(lambda: len(hook.all) >= 2)

    found = eventually(lambda: nudged(told_of(evident_stack, task["id"])))

    assert len([each for each in found if each["kind"] == "call"]) == 7
    proofs = [value for posted in hook.all for name, value in posted.headers if name == "A2A-Push-Signature"]
    everything = "\n".join(
        [
            *stored(evident_stack, but=("sealed",)),
            *(evident_stack.log_of(hop) for hop in ("api", "notify", "relay", "run_turn")),
        ]
    )
    assert task["id"] in everything
    for secret in (TOKEN, CREDENTIALS, alice, *proofs):
        assert secret not in everything
    evidence = "\n".join(stored(evident_stack, only="EVIDENCE#"))
    assert QUERY not in evidence
    assert "(not kept)" in evidence


def nudged(found: list[Object]) -> list[Object] | None:
    """Exchanges once there is more than one nudge among them."""
    return found if sum(each["kind"] == "nudge" for each in found) > 1 else None


def stored(stack: LocalStack, *, only: str = "", but: tuple[str, ...] = ()) -> Iterator[str]:
    """All that the table and the bucket hold, decompressed."""
    pages = stack.client("dynamodb").get_paginator("scan").paginate(TableName=stack.outputs["Table"])
    for item in (item for page in pages for item in page["Items"]):
        if item["pk"]["S"].startswith(only):
            yield "\n".join(plain(value) for name, value in item.items() if name not in but)
    s3, bucket = stack.client("s3"), stack.outputs["Bucket"]
    for found in s3.list_objects_v2(Bucket=bucket).get("Contents", []):
        yield plain({"B": s3.get_object(Bucket=bucket, Key=found["Key"])["Body"].read()})


def plain(value: Any) -> str:
    """A value as text, whatever it is packed in."""
    ((kind, content),) = value.items()
    if kind != "B":
        return str(content)
    content = bytes(content)
    return (zlib.decompress(content) if content[:1] == b"\x78" else content).decode("utf-8", "replace")


def test_nothing_is_kept_where_the_deployment_wants_none(alice: str, connect: Connect) -> None:
    with LocalStack(agents={"scripted": AGENTS["scripted"]}, auth="dev", env={"A2A_EVIDENCE_DAYS": "0"}) as stack:
        task = connect(stack.url, alice).send("echo hello")

        assert exchange(stack, task["id"]).returncode == 2
        assert not list(stored(stack, only="EVIDENCE#"))
