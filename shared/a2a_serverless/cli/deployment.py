"""Where a command looks: a deployed stack, or the one that is served from this clone."""

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cached_property
from typing import Any, Final
from uuid import uuid4

import boto3
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError, NoCredentialsError, NoRegionError

from a2a_serverless.app.deliveries import Desk
from a2a_serverless.aws.bucket import Bucket
from a2a_serverless.aws.evidence_table import EvidenceTable
from a2a_serverless.aws.push_table import PushTable
from a2a_serverless.aws.queues import SqsNudges, SqsTurns
from a2a_serverless.aws.signing_keys import KeyTable
from a2a_serverless.aws.table import Table
from a2a_serverless.aws.task_table import TaskTable
from a2a_serverless.aws.webhook_secrets import WebhookSecrets
from a2a_serverless.cli.refusal import Refusal
from a2a_serverless.errors import A2AError
from a2a_serverless.local.account import ACCESS_KEY, REGION
from a2a_serverless.local.clone import NoCloneError, announced, repository_root

LOCAL_STACK: Final = "A2aServerless"
"""The name under which `local.deploy` deploys: that of the template."""

Say = Callable[[str], None]


@dataclass(frozen=True)
class Deployment:
    """A stack, and what of it an operator works with."""

    stack: str
    endpoint: str
    """The embedded AWS; empty for AWS itself."""

    @cached_property
    def outputs(self) -> Mapping[str, str]:
        """Where the parts of the stack are, by the names of its outputs."""
        found = self.client("cloudformation").describe_stacks(StackName=self.stack)["Stacks"]
        outputs = {output["OutputKey"]: output["OutputValue"] for output in found[0].get("Outputs", [])}
        missing = {"Table", "NudgesQueue", "TurnsQueue"} - outputs.keys()
        if missing:
            raise Refusal(
                f"the stack {self.stack} has no output {', '.join(sorted(missing))}: it is no stack of this kit"
            )
        return outputs

    def client(self, service: str) -> Any:
        """A client of a service: as whoever the environment says, or as the root of the embedded AWS."""
        local: dict[str, Any] = {}
        if self.endpoint:
            keys = {"aws_access_key_id": ACCESS_KEY, "aws_secret_access_key": ACCESS_KEY}
            local = {"endpoint_url": self.endpoint, "region_name": REGION, **keys}
        config = Config(retries={"mode": "standard", "total_max_attempts": 3}, connect_timeout=5, read_timeout=30)
        return boto3.client(service, config=config, **local)  # type: ignore[call-overload]  # services by name

    @cached_property
    def tasks(self) -> TaskTable:
        """The tasks."""
        return TaskTable(self._table, ids=new_id)

    @cached_property
    def push(self) -> PushTable:
        """The webhooks."""
        return PushTable(self._table, ids=new_id)

    @cached_property
    def desk(self) -> Desk:
        """What deliveries are looked at and sent again with."""
        nudges = SqsNudges(self.sqs, self.outputs["NudgesQueue"])
        return Desk(tasks=self.tasks, push=self.push, deliveries=self.push, nudges=nudges, clock=now, ids=new_id)

    @cached_property
    def evidence(self) -> EvidenceTable:
        """Both sides of every exchange, to be read."""
        bucket = Bucket(lambda: self.client("s3"), self.outputs.get("Bucket", ""))
        return EvidenceTable(self._table, bucket, ids=new_id, lifetime=timedelta(0))

    @cached_property
    def keys(self) -> KeyTable:
        """The keys that nudges are signed with."""
        return KeyTable(self._table)

    @cached_property
    def webhook_secrets(self) -> WebhookSecrets:
        """The Standard Webhooks secrets that callers were issued."""
        return WebhookSecrets(self._table, self.client("kms"), self.outputs["SealingKey"])

    @cached_property
    def turns(self) -> SqsTurns:
        """The queue of turns."""
        return SqsTurns(self.sqs, self.outputs["TurnsQueue"])

    @cached_property
    def sqs(self) -> Any:
        """The queues."""
        return self.client("sqs")

    @cached_property
    def _table(self) -> Table:
        return Table(self.client("dynamodb"), self.outputs["Table"])


def now() -> datetime:
    """The time."""
    return datetime.now(tz=UTC)


def new_id() -> str:
    """A new id."""
    return str(uuid4())


def chosen(*, stack: str, endpoint: str, say: Say) -> Deployment:
    """The stack a command is for: the one that is named, else the only one that is served from this clone.

    Raises:
        Refusal: there is not exactly one.
    """
    if endpoint:
        return Deployment(stack or LOCAL_STACK, endpoint)
    if stack:
        return Deployment(stack, "")
    served = _served()
    match served:
        case [one]:
            say(f"the stack that is served at {one['url']}")
            return Deployment(LOCAL_STACK, one["aws_endpoint"])
        case []:
            raise Refusal(
                "no stack is served from here: name the deployed one with --stack (a2a-serverless-STAGE), or the "
                "address of an embedded AWS with --endpoint, or start one with `make serve`"
            )
        case _:
            choices = ", ".join(f"--endpoint {each['aws_endpoint']} ({each['url']})" for each in served)
            raise Refusal(f"several stacks are served from here; choose one: {choices}")


def _served() -> list[dict[str, str]]:
    try:
        return [json.loads(ready) for ready in announced(repository_root())]
    except NoCloneError:
        return []


@contextmanager
def in_words(stack: str) -> Iterator[None]:
    """Say what AWS, or a rule of ours, had against it.

    Raises:
        Refusal: in place of their exceptions.
    """
    try:
        yield
    except A2AError as error:
        raise Refusal(error.message) from error
    except ClientError as error:
        raise Refusal(_said_by_aws(error, stack)) from error
    except BotoCoreError as error:
        raise Refusal(f"AWS was not asked: {_why_not_asked(error)}") from error


def _why_not_asked(error: BotoCoreError) -> str:
    match error:
        case NoRegionError():
            return "no region is chosen: set AWS_DEFAULT_REGION, or a profile that has one with AWS_PROFILE"
        case NoCredentialsError():
            return "there are no credentials: set AWS_PROFILE, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"
        case _:
            return str(error).strip().rstrip(".")


def _said_by_aws(error: ClientError, stack: str) -> str:
    code, message = error.response["Error"]["Code"], error.response["Error"].get("Message", "")
    if code == "ValidationError" and "does not exist" in message:
        return f"there is no stack {stack} in this account and region"
    if code in {"AccessDenied", "AccessDeniedException", "UnauthorizedOperation"}:
        return f"these credentials may not do {error.operation_name}: {message}"
    return f"AWS refused {error.operation_name} ({code}): {message}"
