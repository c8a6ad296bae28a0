"""This kit: the functions of a staged asset, called as Lambda calls them. Run with `-I -S`, so that only the asset and
what Lambda's runtime brings is there.

    kit.py PATHS ready          import the handler of `api` as Lambda starts it, say which modules that took, and end
    kit.py PATHS first          and answer one SendMessage that is kept in DynamoDB
    kit.py PATHS serve memory   do what `side.serve` is told, tasks in memory
    kit.py PATHS serve table    the same, tasks in DynamoDB
    kit.py PATHS post           post webhooks as `notify` does
"""

import json
import logging
import os
import sys
from functools import partial
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).parent))

import side
import workload


def ready() -> Any:
    """The handler of `api`, its service and its client of DynamoDB made."""
    import functions.api.handler as api

    return api.handler


def first() -> None:
    """Answer one SendMessage."""
    side.body_of(ready()(workload.send("echo hello", returnImmediately=True), None))


def serve(kind: str) -> None:
    """Answer requests until there are no more."""
    from functions import wiring

    if kind == "memory":
        import a2a_serverless

        a2a_serverless.__path__.append(str(Path(__file__).parents[2] / "shared" / "a2a_serverless"))
        from tests.fakes import MemoryTasks  # of a part of the kit that no function has

        store = MemoryTasks()
        wiring.tasks = wiring.push = lambda: store  # type: ignore[assignment, misc, return-value] # as the ports have it
    _seed(wiring.tasks())
    answer = ready()
    works: dict[str, side.Work] = {name: partial(_ask, answer, event) for name, event in workload.READS.items()}
    works["send"] = lambda number: answer(workload.send("echo hello", number, returnImmediately=True), None)
    works["reply"] = lambda number: answer(workload.send("reply hello", number), None)
    if kind == "table":
        works["whole"] = whole(answer)
    side.serve(works, lambda: _counts(wiring.clients, works) if kind == "table" else {})


def _ask(answer: Any, event: workload.Object, _number: int) -> None:
    answer(event, None)


def _counts(clients: Any, works: dict[str, side.Work]) -> dict[str, int]:
    return {name: side.counting([clients.dynamodb, clients.sqs], work) for name, work in works.items()}


def _seed(tasks: Any) -> None:
    """Store the tasks that will be read, as their journals."""
    from datetime import timedelta

    from a2a_serverless.core.head import Change, Head
    from a2a_serverless.core.journal import ArtifactChanged, Entry, Spoken, StatusChanged
    from a2a_serverless.types import Caller, Owner, Scope, Task, TaskKey

    owner = Owner("anonymous")
    for wire in workload.seeds():
        task = Task.model_validate(wire)
        entries: list[Entry] = [Spoken(message) for message in task.history]
        entries += [ArtifactChanged(artifact) for artifact in task.artifacts]
        entries.append(StatusChanged(task.status))
        since = task.status.timestamp
        if since is None:
            raise ValueError("a seed says since when it is so")
        head = Head(
            key=TaskKey(Scope("echo", owner), task.id),
            context_id=task.context_id,
            caller=Caller(owner),
            status=task.status,
            created_at=since,
            version=1,
            entries=len(entries),
            expires_at=since + timedelta(days=3650),
        )
        tasks.create(Change(None, head, tuple(entries)))


def whole(answer: Any) -> side.Work:
    """A send and all that follows from it until the task is completed: `api`, `relay`, `run_turn`, `relay`."""
    import functions.relay.handler as relay
    import functions.run_turn.handler as run_turn
    from functions import wiring

    def head_of(task_id: str) -> Any:
        key = {"pk": {"S": f"echo//anonymous/{task_id}"}, "sk": {"S": "HEAD"}}
        return key, wiring.clients.dynamodb.get_item(TableName=os.environ["A2A_TABLE"], Key=key)["Item"]

    def once(number: int) -> None:
        event = workload.send("echo hello", number, returnImmediately=True)
        task_id = side.body_of(answer(event, None))["result"]["task"]["id"]
        with side.unmeasured():
            key, created = head_of(task_id)
        relay.handler({"Records": [_changed(key, None, created, "INSERT")]}, None)
        with side.unmeasured():
            delivery = _delivered(wiring.clients.sqs)
        if run_turn.handler({"Records": [delivery]}, None)["batchItemFailures"]:
            raise AssertionError("the turn did not run")
        with side.unmeasured():
            _settle(wiring.clients.sqs, delivery)
            _, done = head_of(task_id)
        if done["state"]["S"] != "COMPLETED":
            raise AssertionError(f"the task is {done['state']['S']}")
        relay.handler({"Records": [_changed(key, created, done, "MODIFY")]}, None)

    return once


def _changed(key: Any, old: Any, new: Any, event: str) -> Any:
    """A record of the table's stream."""
    images = {"Keys": key, "NewImage": _in_event(new), "SequenceNumber": "1"}
    if old is not None:
        images["OldImage"] = _in_event(old)
    return {"eventName": event, "dynamodb": images}


def _in_event(item: Any) -> Any:
    """Bytes are base64 in an event."""
    import base64

    return {
        name: {"B": base64.b64encode(value["B"]).decode()} if "B" in value else value for name, value in item.items()
    }


def _delivered(sqs: Any) -> Any:
    """A message of the queue `turns` as Lambda hands it on."""
    (message,) = sqs.receive_message(QueueUrl=os.environ["A2A_TURNS_QUEUE"], MaxNumberOfMessages=1)["Messages"]
    return {
        "messageId": message["MessageId"],
        "receiptHandle": message["ReceiptHandle"],
        "body": message["Body"],
        "attributes": {"ApproximateReceiveCount": "1"},
    }


def _settle(sqs: Any, delivery: Any) -> None:
    """What Lambda does with a message that was worked off."""
    sqs.delete_message(QueueUrl=os.environ["A2A_TURNS_QUEUE"], ReceiptHandle=delivery["receiptHandle"])


def post() -> None:
    """Sign a nudge with ES256 and post it over a kept connection, as `notify` does once it decided to."""
    from datetime import UTC, datetime, timedelta

    from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, generate_private_key
    from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

    from a2a_serverless.app.attempt import NudgeToSend
    from a2a_serverless.core.delivery_state import PendingNudge
    from a2a_serverless.core.head import Head
    from a2a_serverless.core.push import PushConfig, PushSecrets
    from a2a_serverless.types import Caller, Owner, Scope, TaskKey, TaskState, TaskStatus
    from a2a_serverless.webhook.dial import Dialler, trust
    from a2a_serverless.webhook.policy import WebhookPolicy
    from a2a_serverless.webhook.sender import WebhookSender
    from a2a_serverless.webhook.sign import KeyRing, signing_key
    from a2a_serverless.webhook.wire import Sender

    now, owner, policy = datetime.now(UTC), Owner("anonymous"), WebhookPolicy(allow_private=True)
    private = generate_private_key(SECP256R1()).private_bytes(Encoding.DER, PrivateFormat.PKCS8, NoEncryption())
    keys = KeyRing((signing_key(private, kid="k", first_use=now - timedelta(days=2)),))
    send = WebhookSender(
        dialler=Dialler(trust(), policy=policy),
        identity=Sender(issuer="https://agents.example.com", keys=keys, user_agent="bench"),
        policy=policy,
    )
    nudge = NudgeToSend(
        head=Head(
            key=TaskKey(Scope("echo", owner), "t"),
            context_id="c",
            caller=Caller(owner),
            status=TaskStatus(state=TaskState.COMPLETED, timestamp=now),
            created_at=now,
        ),
        config=PushConfig(id="c", url=os.environ["BENCH_RECEIVER"], scheme="Bearer", has_token=True, created_at=now),
        secrets=PushSecrets(credentials="his", token="secret"),
        nudge=PendingNudge(seq=3, message_id="m", since=now, next_at=now, attempts=1),
        plain_json=False,
    )

    def once(_number: int) -> None:
        sent = send(nudge, now=now)
        if getattr(sent.outcome, "status", 0) != 200:
            raise AssertionError(f"not taken: {sent.outcome}")

    side.serve({"post": once})


def main(paths: str, what: str, kind: str = "") -> None:
    """Do one of the things above."""
    sys.path[:0] = paths.split(os.pathsep)
    match what:
        case "ready":
            ready()
            print(json.dumps({"memory": side.memory(), "modules": sorted(sys.modules)}), flush=True)
        case "first":
            first()
        case "serve":
            logging.disable(logging.CRITICAL)
            serve(kind)
        case "post":
            post()
    os._exit(0)  # what it takes to end is not part of what was asked


if __name__ == "__main__":
    main(*sys.argv[1:])
