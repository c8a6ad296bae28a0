"""What has to be in AWS before either side can begin."""

from typing import Any

from a2a_serverless.aws.clients import Clients
from tests.integration.aws.conftest import make_table


def furnish() -> None:
    """Make the tables of both sides, our queue and our key."""
    clients: Any = Clients()
    make_table(clients, "ours")
    clients.dynamodb.create_table(
        TableName="reference",
        BillingMode="PAY_PER_REQUEST",
        AttributeDefinitions=[{"AttributeName": name, "AttributeType": "S"} for name in ("id", "context", "since")],
        KeySchema=[{"AttributeName": "id", "KeyType": "HASH"}],
        GlobalSecondaryIndexes=[
            {
                "IndexName": "by_context",
                "KeySchema": [
                    {"AttributeName": "context", "KeyType": "HASH"},
                    {"AttributeName": "since", "KeyType": "RANGE"},
                ],
                "Projection": {"ProjectionType": "ALL"},
            }
        ],
    )
    clients.sqs.create_queue(QueueName="turns")
    key = clients.kms.create_key()["KeyMetadata"]["KeyId"]
    clients.kms.create_alias(AliasName="alias/ours", TargetKeyId=key)
