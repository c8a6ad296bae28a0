"""The partner guide's snippets are the files they name, are short, and work as they stand."""

import asyncio
import base64
import hashlib
import importlib.util
import json
import re
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import boto3
import moto
import pytest

import a2a_receiver.prove
from a2a_receiver import JwksCache, MemoryStore, Nudge, Receiver
from a2a_receiver.tasks import TaskClient
from a2a_receiver.testing import Sender
from tests.receiver import doors
from tests.receiver.agent_double import Agent, ok, task
from tests.receiver.harness import Sent

ROOT = Path(__file__).parents[2]
GUIDE = (ROOT / "docs" / "partner-guide.md").read_text()
SNIPPETS = dict(re.findall(r"<!-- examples/receivers/(\S+) -->\n```python\n(.*?)```\n", GUIDE, flags=re.DOTALL))
FOLDER = ROOT / "examples" / "receivers"
RECEIVERS = ("fastapi_app.py", "flask_app.py", "django_urls.py", "lambda_app.py")


@pytest.fixture
def sender(monkeypatch: pytest.MonkeyPatch) -> Sender:
    """The agent of the guide; its keys come without a network, since the snippets are run as they stand."""
    sender = Sender(issuer="https://agent.example.com", audience="https://me.example.com/a2a/push")
    monkeypatch.setattr(a2a_receiver.prove, "JwksCache", lambda url: JwksCache(url, ask=sender.answer_keys))
    return sender


def load(name: str) -> ModuleType:
    """A snippet, as Python would run it."""
    spec = importlib.util.spec_from_file_location(f"snippet_{name.partition('.')[0]}", FOLDER / name)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def requests(sender: Sender) -> list[Sent]:
    """A right one, and one for somebody else."""
    now = time.time()
    right = sender.nudge("task-1", seq=7, now=now)
    wrong = sender.attacks("task-1", now=now)["for another receiver"]
    return [Sent("POST", one.url, one.headers, one.body, now) for one in (right, wrong)]


def test_every_python_block_of_the_guide_is_a_file_as_it_stands() -> None:
    blocks = GUIDE.count("```python")

    assert {name: (FOLDER / name).read_text() for name in SNIPPETS} == SNIPPETS
    assert len(SNIPPETS) == blocks
    assert {path.name for path in FOLDER.glob("*.py")} == set(SNIPPETS)


@pytest.mark.parametrize("name", RECEIVERS)
def test_a_receiver_is_under_ten_lines(name: str) -> None:
    assert len([line for line in SNIPPETS[name].splitlines() if line.strip()]) < 10


def test_every_path_that_the_guide_links_to_is_there() -> None:
    targets = re.findall(r"\]\((\.\.[^)#]*)", GUIDE)

    assert targets
    assert [target for target in targets if not (ROOT / "docs" / target).exists()] == []


def test_the_fastapi_snippet_takes_a_nudge_and_refuses_a_forged_one(sender: Sender) -> None:
    pytest.importorskip("fastapi")
    snippet = load("fastapi_app.py")

    statuses = [asyncio.run(doors._call_asgi(snippet.app, sent, 65536))[0] for sent in requests(sender)]

    assert (statuses, snippet.nudges.qsize()) == ([202, 401], 1)


def test_the_flask_snippet_takes_a_nudge_and_refuses_a_forged_one(sender: Sender) -> None:
    snippet = load("flask_app.py")

    statuses = [doors.call_wsgi(snippet.app, doors.wsgi_environ(sent, 65536))[0] for sent in requests(sender)]

    assert (statuses, snippet.nudges.get_nowait().task_id) == ([202, 401], "task-1")


def test_the_django_snippet_takes_a_nudge_and_refuses_a_forged_one(sender: Sender) -> None:
    handler = doors.django_handler()
    snippet = load("django_urls.py")
    doors._urls["current"] = snippet

    statuses = [doors.call_wsgi(handler, doors.wsgi_environ(sent, 65536))[0] for sent in requests(sender)]

    assert (statuses, snippet.nudges.get_nowait().task_id) == ([202, 401], "task-1")


@pytest.fixture
def aws(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """A queue and a table, and their names where the snippet looks for them."""
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "test")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-central-1")
    with moto.mock_aws():
        sqs = boto3.client("sqs")
        queue = sqs.create_queue(QueueName="nudges")["QueueUrl"]
        boto3.client("dynamodb").create_table(
            TableName="push",
            KeySchema=[{"AttributeName": "key", "KeyType": "HASH"}],
            AttributeDefinitions=[{"AttributeName": "key", "AttributeType": "S"}],
            BillingMode="PAY_PER_REQUEST",
        )
        monkeypatch.setenv("TABLE", "push")
        monkeypatch.setenv("QUEUE", queue)
        yield lambda: sqs.receive_message(QueueUrl=queue, MaxNumberOfMessages=10).get("Messages", [])


def test_the_lambda_snippet_takes_a_nudge_once_and_refuses_a_forged_one(sender: Sender, aws: Any) -> None:
    snippet = load("lambda_app.py")
    right, forged = requests(sender)

    statuses = [snippet.handler(doors.event_v2(sent), None)["statusCode"] for sent in (right, right, forged)]

    (message,) = aws()
    assert statuses == [202, 202, 401]
    assert Nudge.from_json(message["Body"]) == Nudge(
        "task-1", 7, "TASK_STATE_COMPLETED", "ctx", "msg_test", "https://agent.example.com"
    )


def test_the_worker_snippet_fetches_the_task_as_itself(capsys: pytest.CaptureFixture[str]) -> None:
    snippet = load("worker.py")
    agent = Agent([task("task-1", seq=7)])
    snippet.login._ask = lambda _: ok({"access_token": "at-1", "token_type": "Bearer", "expires_in": 300})
    snippet.tasks._calls._ask = agent

    snippet.work(Nudge("task-1", 7))

    assert capsys.readouterr().out.startswith("task-1 TASK_STATE_COMPLETED {'id': 'task-1'")
    assert agent.seen[0].headers["Authorization"] == "Bearer at-1"


def test_the_reconciling_snippet_enqueues_what_was_not_told(sender: Sender, capsys: pytest.CaptureFixture[str]) -> None:
    snippet = load("reconciling.py")
    found: list[Nudge] = []

    class Queue:
        put = staticmethod(found.append)

    receiver = Receiver(sender.strict(), enqueue=found.append, store=MemoryStore())
    agent = Agent(pages=[[task("task-1", at="2026-01-01T00:00:00Z")]])
    tasks = TaskClient("https://agent.example.com", ask=agent)

    watermark = snippet.reconcile(receiver, tasks, Queue, None)
    snippet.reconcile(receiver, tasks, Queue, watermark)

    assert found == [Nudge("task-1", 7)]
    assert capsys.readouterr().out == "found by reconcile: 1\nfound by reconcile: 0\n"


def test_the_test_snippet_passes() -> None:
    load("test_mine.py").test_a_nudge_reaches_my_queue_and_no_forged_one_does()


@pytest.mark.parametrize("name", ["loopback.py", "other_proofs.py"])
def test_a_configuration_snippet_starts(name: str) -> None:
    snippet = load(name)
    proofs = [value for value in vars(snippet).values() if isinstance(value, a2a_receiver.Proof)]

    assert [Receiver(proof, enqueue=print) for proof in proofs]


def test_the_request_that_the_guide_prints_has_the_digest_it_prints() -> None:
    head, _, body = re.findall(r"```http\n(.*?)```", GUIDE, flags=re.DOTALL)[0].partition("\n\n")
    digest = base64.b64encode(hashlib.sha256(body.strip().encode()).digest()).decode()

    assert f"Content-Digest: sha-256=:{digest}:" in head
    assert json.loads(body)["statusUpdate"]["taskId"] == "01JDTASK7Q"
