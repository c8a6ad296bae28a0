"""Clients of AWS, made once per process from one botocore session.

What must not be in here: boto3 (a third of a cold start), a look at the instance metadata (nobody of ours runs there),
retries that wait longer than a caller does.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, cast

if TYPE_CHECKING:
    from botocore.session import Session
    from types_boto3_dynamodb.client import DynamoDBClient
    from types_boto3_kms.client import KMSClient
    from types_boto3_s3.client import S3Client
    from types_boto3_scheduler.client import EventBridgeSchedulerClient
    from types_boto3_sqs.client import SQSClient
    from types_boto3_stepfunctions.client import SFNClient

CONNECT_SECONDS: Final = 2
READ_SECONDS: Final = 5
ATTEMPTS: Final = 3
"""Two retries with jitter, the last at most 2 s after the first: 23 s in the worst case, within a gateway's 30."""


class Clients:
    """The clients of one process; each is made when it is first used.

    Credentials, region and endpoints come from the environment (`AWS_ENDPOINT_URL` among them), as botocore reads it.

    In a staged function, where `models.FOLDER` is there, service models come from it, and credentials from variables
    alone; else from wherever botocore finds them.

    Args:
        connections: how many requests to one service may be under way at once.
    """

    def __init__(self, *, connections: int = 10) -> None:
        self._connections = connections

    @cached_property
    def dynamodb(self) -> DynamoDBClient:
        """The table."""
        return cast("DynamoDBClient", self._client("dynamodb"))

    @cached_property
    def sqs(self) -> SQSClient:
        """The queues."""
        return cast("SQSClient", self._client("sqs"))

    @cached_property
    def stepfunctions(self) -> SFNClient:
        """The state machine of waits."""
        return cast("SFNClient", self._client("stepfunctions"))

    @cached_property
    def scheduler(self) -> EventBridgeSchedulerClient:
        """The schedules of nudges that come back later."""
        return cast("EventBridgeSchedulerClient", self._client("scheduler"))

    @cached_property
    def kms(self) -> KMSClient:
        """The sealing key."""
        return cast("KMSClient", self._client("kms"))

    @cached_property
    def s3(self) -> S3Client:
        """The bucket of what is too large for the table."""
        from botocore.config import Config

        # Checksums only where S3 asks for them: TLS guards the way, and names are hashes of what is written. Addresses
        # are given out, so they must be of the bucket's region: the global one would redirect, and break a signature.
        only = Config(
            signature_version="s3v4",
            s3={"addressing_style": "virtual"},
            request_checksum_calculation="when_required",
            response_checksum_validation="when_required",
        )
        return cast("S3Client", self._session.create_client("s3", config=self._config.merge(only)))

    def _client(self, service: str) -> Any:
        return self._session.create_client(service, config=self._config)

    @cached_property
    def _session(self) -> Session:
        from a2a_serverless.aws.models import FOLDER, OwnModels  # here, so that importing the adapters costs nothing

        if FOLDER.is_dir():
            from a2a_serverless.aws.session import FunctionSession

            return FunctionSession(OwnModels(FOLDER))
        from botocore.session import get_session

        session = get_session()
        session.get_component("credential_provider").remove("iam-role")  # instance metadata
        return session

    @cached_property
    def _config(self) -> Any:
        from botocore.config import Config

        return Config(
            connect_timeout=CONNECT_SECONDS,
            read_timeout=READ_SECONDS,
            retries={"mode": "standard", "total_max_attempts": ATTEMPTS},
            max_pool_connections=self._connections,
            parameter_validation=False,  # a tenth of a call; what we send is typed and tested
            tcp_keepalive=True,
            user_agent="a2a-serverless",  # botocore's own is put together anew for each call
        )
