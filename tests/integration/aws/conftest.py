"""The embedded AWS, once per run, with one table as the stack makes it. Tests keep apart by owners of their own."""

import os
import subprocess
import sys
import uuid
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol

import pytest
from hypothesis import HealthCheck, Phase
from hypothesis import settings as settings_

from a2a_serverless.app.ports import DueTasks, TaskStore
from a2a_serverless.aws import settings
from a2a_serverless.aws.bucket import Bucket
from a2a_serverless.aws.clients import Clients
from a2a_serverless.aws.part_store import S3Parts
from a2a_serverless.aws.table import Table
from a2a_serverless.aws.task_table import TaskTable
from a2a_serverless.types import Owner, Scope
from tests.fakes import MemoryTasks

ROOT = Path(__file__).parents[3]


class Tasks(TaskStore, DueTasks, Protocol):
    """Both ports of a table of tasks."""


@pytest.fixture(scope="session")
def aws_endpoint() -> Iterator[str]:
    """The address of an embedded AWS on loopback."""
    command = [sys.executable, "-W", "ignore", str(Path(__file__).with_name("engine_process.py"))]
    env = os.environ | {"PYTHONPATH": f"{ROOT / 'shared'}{os.pathsep}{ROOT}"}
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=env, text=True) as engine:
        assert engine.stdout is not None
        assert engine.stdin is not None
        endpoint = engine.stdout.readline().strip()
        assert endpoint, "the embedded AWS did not start"
        yield endpoint
        engine.stdin.close()


@pytest.fixture(scope="session")
def clients(aws_endpoint: str) -> Clients:
    """Clients of the embedded AWS, made as a function makes them: from the environment, which is then as it was."""
    made = Clients()
    with pytest.MonkeyPatch.context() as patch:
        for name in [name for name in os.environ if name.startswith("AWS_")]:
            patch.delenv(name)
        patch.setenv("AWS_ENDPOINT_URL", aws_endpoint)
        patch.setenv("AWS_ACCESS_KEY_ID", "test")
        patch.setenv("AWS_SECRET_ACCESS_KEY", "test")
        patch.setenv("AWS_DEFAULT_REGION", "us-east-1")
        for service in (name for name, member in vars(Clients).items() if isinstance(member, cached_property)):
            getattr(made, service)
    return made


@pytest.fixture(scope="session")
def table_name(clients: Clients) -> str:
    """A table with the keys and indexes of the stack."""
    name = f"tasks-{uuid.uuid4().hex[:8]}"
    make_table(clients, name)
    return name


@pytest.fixture(scope="session")
def table(clients: Clients, table_name: str) -> Table:
    """The table."""
    return Table(clients.dynamodb, table_name)


def make_table(clients: Clients, name: str) -> None:
    """Make a table as `cdk.tasks` does."""
    keys = {
        (settings.PARTITION_KEY, settings.SORT_KEY): None,
        (settings.OWNER_INDEX_PARTITION, settings.OWNER_INDEX_SORT): settings.OWNER_INDEX,
        (settings.DUE_INDEX_PARTITION, settings.DUE_INDEX_SORT): settings.DUE_INDEX,
        (settings.WEBHOOK_INDEX_PARTITION, settings.SORT_KEY): settings.WEBHOOK_INDEX,
    }
    projections = {
        settings.OWNER_INDEX: {
            "ProjectionType": "INCLUDE",
            "NonKeyAttributes": list(settings.OWNER_INDEX_PROJECTS),
        },
        settings.DUE_INDEX: {"ProjectionType": "KEYS_ONLY"},
        settings.WEBHOOK_INDEX: {"ProjectionType": "KEYS_ONLY"},
    }
    dynamodb: Any = clients.dynamodb
    dynamodb.create_table(
        TableName=name,
        BillingMode="PAY_PER_REQUEST",
        AttributeDefinitions=[
            {"AttributeName": key, "AttributeType": "S"} for key in sorted({key for pair in keys for key in pair})
        ],
        KeySchema=_schema((settings.PARTITION_KEY, settings.SORT_KEY)),
        GlobalSecondaryIndexes=[
            {"IndexName": index, "KeySchema": _schema(pair), "Projection": projections[index]}
            for pair, index in keys.items()
            if index is not None
        ],
        StreamSpecification={"StreamEnabled": True, "StreamViewType": "NEW_AND_OLD_IMAGES"},
    )


def _schema(pair: tuple[str, str]) -> list[dict[str, str]]:
    return [{"AttributeName": name, "KeyType": kind} for name, kind in zip(pair, ("HASH", "RANGE"), strict=True)]


@pytest.fixture(scope="session")
def bucket(clients: Clients) -> Bucket:
    """A bucket as the stack makes it."""
    name = f"parts-{uuid.uuid4().hex[:12]}"
    clients.s3.create_bucket(Bucket=name)
    return Bucket(lambda: clients.s3, name)


@pytest.fixture
def scope() -> Scope:
    """An owner of this test's own."""
    return Scope("freight", Owner(f"partner-{uuid.uuid4().hex[:12]}"))


@pytest.fixture(params=["memory", "dynamodb"])
def tasks(request: pytest.FixtureRequest) -> Tasks:
    """A store of tasks: each test runs on the fake and on the table."""
    if request.param == "memory":
        return MemoryTasks()
    return TaskTable(request.getfixturevalue("table"), ids=random_ids, parts=S3Parts(request.getfixturevalue("bucket")))


def random_ids() -> str:
    """Ids as a function makes them."""
    return str(uuid.uuid4())


def slow(examples: int, **more: Any) -> settings_:
    """Settings of a generated test that speaks to the embedded AWS; `CHAOS=20` in the environment tries 20 times as
    often. A failure is shown as it was found: making it smaller would take minutes."""
    return settings_(
        max_examples=examples * int(os.environ.get("CHAOS", "1")),
        deadline=None,
        phases=[Phase.explicit, Phase.reuse, Phase.generate],
        suppress_health_check=list(HealthCheck),
        **more,
    )
