"""One engine for all contract tests, and short words for what they make in it.

Every test makes resources of its own, so the tests may run in any order and at the same time.
"""

import io
import json
import queue
import socket
import subprocess
import sys
import threading
import time
import uuid
import zipfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import boto3
import pytest
from botocore.config import Config

ENGINE = Path(__file__).with_name("engine_process.py")
ACCOUNT = "000000000000"
REGION = "us-east-1"

EVERYTHING: list[Mapping[str, Any]] = [{"Effect": "Allow", "Action": "*", "Resource": "*"}]

REPORTING = """
import json, os, socket
def report(what):
    host = ("127.0.0.1", int(os.environ["REPORTS"]))
    socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(json.dumps(what).encode(), host)
"""
"""Put before a function's code, so that it can tell the test something in a millisecond."""


@pytest.fixture(scope="session")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of an engine that enforces IAM."""
    folder = tmp_path_factory.mktemp("engine")
    with (folder / "stderr").open("w") as said:
        process = subprocess.Popen(
            [sys.executable, str(ENGINE), str(folder)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=said,
            text=True,
        )
    assert process.stdin
    assert process.stdout
    address = process.stdout.readline().strip()
    try:
        assert address, (folder / "stderr").read_text()
        yield address
    finally:
        process.stdin.close()
        process.wait(15)
        process.stdout.close()


@dataclass(frozen=True)
class Function:
    """A deployed function."""

    name: str
    arn: str


@dataclass(frozen=True)
class Queue:
    """A queue."""

    url: str
    arn: str


@dataclass(frozen=True)
class Table:
    """A table, with its stream."""

    name: str
    arn: str
    stream: str


class Reports:
    """What functions tell the test, in the order in which it arrives."""

    def __init__(self) -> None:
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._socket.bind(("127.0.0.1", 0))
        self.port: int = self._socket.getsockname()[1]
        self._arrived: queue.Queue[Any] = queue.Queue()
        threading.Thread(target=self._listen, daemon=True).start()

    def next(self, seconds: float = 10) -> Any:
        """The next report; fails the test when none comes in time."""
        try:
            return self._arrived.get(timeout=seconds)
        except queue.Empty:
            pytest.fail(f"no report within {seconds} s")

    def take(self, count: int, seconds: float = 10) -> list[Any]:
        """The next so many reports."""
        return [self.next(seconds) for _ in range(count)]

    def none_within(self, seconds: float) -> bool:
        """Whether nothing is reported for so long."""
        try:
            self._arrived.get(timeout=seconds)
        except queue.Empty:
            return True
        return False

    def close(self) -> None:
        """Stop listening."""
        self._socket.close()

    def _listen(self) -> None:
        while True:
            try:
                self._arrived.put(json.loads(self._socket.recv(65536)))
            except OSError:
                return


class Cloud:
    """The engine's services, and makers of what the tests need in them."""

    def __init__(self, address: str, reports: Reports) -> None:
        self.address = address
        self.reports = reports

    def client(self, service: str) -> Any:
        """A client without retries, as the account's root."""
        return boto3.client(  # type: ignore[call-overload]
            service,
            endpoint_url=self.address,
            region_name=REGION,
            aws_access_key_id="test",
            aws_secret_access_key="test",
            config=Config(retries={"max_attempts": 1}, read_timeout=30, max_pool_connections=50),
        )

    @cached_property
    def sqs(self) -> Any:
        return self.client("sqs")

    @cached_property
    def dynamodb(self) -> Any:
        return self.client("dynamodb")

    @cached_property
    def states(self) -> Any:
        return self.client("stepfunctions")

    @cached_property
    def functions(self) -> Any:
        return self.client("lambda")

    @cached_property
    def iam(self) -> Any:
        return self.client("iam")

    @cached_property
    def kms(self) -> Any:
        return self.client("kms")

    def role(self, *statements: Mapping[str, Any], service: str = "lambda") -> str:
        """A role that a service may take on; without statements it may do everything."""
        name = f"role-{_word()}"
        trust = {"Effect": "Allow", "Principal": {"Service": f"{service}.amazonaws.com"}, "Action": "sts:AssumeRole"}
        arn: str = self.iam.create_role(RoleName=name, AssumeRolePolicyDocument=_policy(trust))["Role"]["Arn"]
        self.iam.put_role_policy(RoleName=name, PolicyName="it", PolicyDocument=_policy(*(statements or EVERYTHING)))
        return arn

    def function(
        self,
        code: str,
        *,
        role: str | None = None,
        env: Mapping[str, str] | None = None,
        timeout: int = 10,
        **more: Any,
    ) -> Function:
        """A function from the source of its module, which defines `handler(event, context)`."""
        name = f"function-{_word()}"
        made = self.functions.create_function(
            FunctionName=name,
            Runtime="python3.13",
            Role=role or self.role(),
            Handler="code.handler",
            Code={"ZipFile": zipped(REPORTING + code)},
            Timeout=timeout,
            Environment={"Variables": {"REPORTS": str(self.reports.port), **(env or {})}},
            **more,
        )
        return Function(name, made["FunctionArn"])

    def invoke(self, function: Function, event: object = None) -> tuple[str | None, Any]:
        """Call a function: the kind of its failure, if it failed, and what it returned."""
        answer = self.functions.invoke(FunctionName=function.name, Payload=json.dumps(event).encode())
        return answer.get("FunctionError"), json.loads(answer["Payload"].read() or b"null")

    def queue(self, **attributes: str) -> Queue:
        """A queue with these attributes."""
        url = self.sqs.create_queue(QueueName=f"queue-{_word()}", Attributes=attributes)["QueueUrl"]
        return Queue(url, f"arn:aws:sqs:{REGION}:{ACCOUNT}:{url.rpartition('/')[2]}")

    def queue_with_dead_letters(self, attempts: int, **attributes: str) -> tuple[Queue, Queue]:
        """A queue whose messages move to another one after so many receives."""
        dead = self.queue()
        redrive = json.dumps({"deadLetterTargetArn": dead.arn, "maxReceiveCount": attempts})
        return self.queue(RedrivePolicy=redrive, **attributes), dead

    def send(self, queue: Queue, body: str, **more: Any) -> str:
        """Send a message; returns its id."""
        identifier: str = self.sqs.send_message(QueueUrl=queue.url, MessageBody=body, **more)["MessageId"]
        return identifier

    def receive(self, queue: Queue, seconds: int = 10) -> dict[str, Any]:
        """The next message, deleted; fails the test when none comes in time."""
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            if message := self.peek(queue, seconds=1):
                self.sqs.delete_message(QueueUrl=queue.url, ReceiptHandle=message["ReceiptHandle"])
                return message
        pytest.fail(f"no message within {seconds} s")

    def peek(self, queue: Queue, *, seconds: int = 0) -> dict[str, Any] | None:
        """Receive one message and leave it in the queue."""
        found = self.sqs.receive_message(
            QueueUrl=queue.url, WaitTimeSeconds=seconds, MessageSystemAttributeNames=["All"]
        ).get("Messages")
        return found[0] if found else None

    def map_queue(self, queue: Queue, function: Function, **more: Any) -> str:
        """Feed a queue to a function."""
        made = self.functions.create_event_source_mapping(
            EventSourceArn=queue.arn, FunctionName=function.name, **{"BatchSize": 1, **more}
        )
        identifier: str = made["UUID"]
        return identifier

    def table(self, **more: Any) -> Table:
        """A table with the keys pk and sk, a stream, and an index `by_owner` on owner and listed."""
        name = f"table-{_word()}"
        keys = [_key("pk", "HASH"), _key("sk", "RANGE")]
        made = self.dynamodb.create_table(
            TableName=name,
            KeySchema=keys,
            AttributeDefinitions=[
                {"AttributeName": attribute, "AttributeType": "S"} for attribute in ("pk", "sk", "owner", "listed")
            ],
            BillingMode="PAY_PER_REQUEST",
            StreamSpecification={"StreamEnabled": True, "StreamViewType": "NEW_AND_OLD_IMAGES"},
            GlobalSecondaryIndexes=[
                {
                    "IndexName": "by_owner",
                    "KeySchema": [_key("owner", "HASH"), _key("listed", "RANGE")],
                    "Projection": {"ProjectionType": "INCLUDE", "NonKeyAttributes": ["state"]},
                }
            ],
            **more,
        )["TableDescription"]
        return Table(name, made["TableArn"], made["LatestStreamArn"])

    def put(self, table: Table, pk: str, sk: str = "HEAD", **attributes: Any) -> None:
        """Write an item; strings and numbers are put as such."""
        self.dynamodb.put_item(TableName=table.name, Item=item(pk, sk, **attributes))

    def map_stream(self, table: Table, function: Function, **more: Any) -> str:
        """Feed a table's stream to a function."""
        made = self.functions.create_event_source_mapping(
            EventSourceArn=table.stream,
            FunctionName=function.name,
            **{"StartingPosition": "TRIM_HORIZON", "BatchSize": 10, **more},
        )
        identifier: str = made["UUID"]
        return identifier

    def machine(self, definition: Mapping[str, Any], *, role: str | None = None) -> str:
        """A state machine; returns its ARN."""
        arn: str = self.states.create_state_machine(
            name=f"machine-{_word()}",
            definition=json.dumps(definition),
            roleArn=role or self.role(service="states"),
        )["stateMachineArn"]
        return arn

    def start(self, machine: str, data: object = None, *, name: str | None = None) -> str:
        """Start an execution; returns its ARN."""
        named = {"name": name} if name else {}
        arn: str = self.states.start_execution(stateMachineArn=machine, input=json.dumps(data or {}), **named)[
            "executionArn"
        ]
        return arn

    def ended(self, execution: str, seconds: float = 10) -> dict[str, Any]:
        """An execution once it is over."""

        def look() -> dict[str, Any] | None:
            found: dict[str, Any] = self.states.describe_execution(executionArn=execution)
            return None if found["status"] == "RUNNING" else found

        found: dict[str, Any] = eventually(look, seconds)
        return found


def eventually(look: Callable[[], Any], seconds: float = 10) -> Any:
    """What `look` finds, asked again and again: for what nobody announces."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        if found := look():
            return found
        time.sleep(0.02)
    pytest.fail(f"not within {seconds} s")


def item(pk: str, sk: str = "HEAD", **attributes: Any) -> dict[str, Any]:
    """An item in the form that DynamoDB's API takes."""
    return {name: _value(value) for name, value in {"pk": pk, "sk": sk, **attributes}.items()}


def _value(value: Any) -> dict[str, Any]:
    return {"N": str(value)} if isinstance(value, int | float) else {"S": value}


def _key(name: str, kind: str) -> dict[str, str]:
    return {"AttributeName": name, "KeyType": kind}


def _policy(*statements: Mapping[str, Any]) -> str:
    return json.dumps({"Version": "2012-10-17", "Statement": list(statements)})


def zipped(source: str) -> bytes:
    """A deployment package with one module."""
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w") as archive:
        archive.writestr("code.py", source)
    return target.getvalue()


def _word() -> str:
    return uuid.uuid4().hex[:10]


@pytest.fixture
def reports() -> Iterator[Reports]:
    """Where the functions of this test report."""
    listening = Reports()
    yield listening
    listening.close()


@pytest.fixture
def cloud(engine: str, reports: Reports) -> Cloud:
    """The engine, ready to make things in."""
    return Cloud(engine, reports)
