"""IAM: a permission that is missing in a role is missing for the function, the mapping and the state machine."""

import json
from base64 import b64encode
from collections.abc import Mapping
from typing import Any

import pytest

from .conftest import EVERYTHING, Cloud, Table, item
from .test_step_functions import awaits_answer

SAYS_ERROR = """
import boto3
from botocore.exceptions import ClientError
def handler(event, context):
    try:
        boto3.client(event["service"]).__getattribute__(event["call"])(**event["with"])
    except ClientError as error:
        return error.response["Error"]["Code"]
    return "allowed"
"""


def allow(action: str, resource: str, **more: object) -> dict[str, object]:
    """A statement that allows one action."""
    return {"Effect": "Allow", "Action": action, "Resource": resource, **more}


def deny(action: str) -> list[Mapping[str, Any]]:
    """Statements that allow everything but one action."""
    return [*EVERYTHING, {"Effect": "Deny", "Action": action, "Resource": "*"}]


def test_a_function_may_do_what_its_role_allows_and_nothing_else(cloud: Cloud) -> None:
    table = cloud.table()
    function = cloud.function(SAYS_ERROR, role=cloud.role(allow("dynamodb:GetItem", table.arn)))
    get = {"service": "dynamodb", "call": "get_item", "with": {"TableName": table.name, "Key": item("a")}}
    put = {"service": "dynamodb", "call": "put_item", "with": {"TableName": table.name, "Item": item("a")}}

    assert cloud.invoke(function, get) == (None, "allowed")
    assert cloud.invoke(function, put) == (None, "AccessDeniedException")


def test_an_index_is_a_resource_of_its_own(cloud: Cloud) -> None:
    table = cloud.table()
    query = {
        "service": "dynamodb",
        "call": "query",
        "with": {
            "TableName": table.name,
            "IndexName": "by_owner",
            "KeyConditionExpression": "#o = :o",
            "ExpressionAttributeNames": {"#o": "owner"},
            "ExpressionAttributeValues": {":o": {"S": "alice"}},
        },
    }
    of_index = cloud.function(SAYS_ERROR, role=cloud.role(allow("dynamodb:Query", f"{table.arn}/index/by_owner")))
    of_table = cloud.function(SAYS_ERROR, role=cloud.role(allow("dynamodb:Query", table.arn)))

    assert cloud.invoke(of_index, query) == (None, "allowed")
    assert cloud.invoke(of_table, query) == (None, "AccessDeniedException")


def test_a_queue_that_refuses_calls_without_tls_takes_those_of_the_loopback(cloud: Cloud) -> None:
    queue = cloud.queue()
    refuses = {**EVERYTHING[0], "Effect": "Deny", "Principal": "*", "Action": "sqs:*", "Resource": queue.arn}
    policy = {"Statement": [{**refuses, "Condition": {"Bool": {"aws:SecureTransport": "false"}}}]}
    cloud.sqs.set_queue_attributes(QueueUrl=queue.url, Attributes={"Policy": json.dumps(policy)})
    function = cloud.function(SAYS_ERROR, role=cloud.role(allow("sqs:SendMessage", queue.arn)))
    send = {"service": "sqs", "call": "send_message", "with": {"QueueUrl": queue.url, "MessageBody": "a"}}

    assert cloud.invoke(function, send) == (None, "allowed")


def test_a_key_is_opened_only_under_the_context_that_the_role_names(cloud: Cloud) -> None:
    key = cloud.kms.create_key()["KeyMetadata"]["Arn"]
    bound = {"StringEquals": {"kms:EncryptionContext:purpose": "push-secrets"}}
    function = cloud.function(SAYS_ERROR, role=cloud.role(allow("kms:GenerateDataKey", key, Condition=bound)))

    def make(purpose: str) -> object:
        call = {"KeyId": key, "KeySpec": "AES_256", "EncryptionContext": {"purpose": purpose}}
        return cloud.invoke(function, {"service": "kms", "call": "generate_data_key", "with": call})[1]

    assert make("push-secrets") == "allowed"
    assert make("signing-keys") == "AccessDeniedException"


def test_a_sealed_blob_is_opened_with_a_permission_on_its_key(cloud: Cloud) -> None:
    key = cloud.kms.create_key()["KeyMetadata"]["Arn"]
    opens = (
        "import base64, boto3\n"
        "from botocore.exceptions import ClientError\n"
        "def handler(event, context):\n"
        "    blob = base64.b64decode(event)\n"
        "    try:\n"
        "        return boto3.client('kms').decrypt(CiphertextBlob=blob, EncryptionContext={'purpose': 'p'})"
        "['Plaintext'].decode()\n"
        "    except ClientError as error:\n"
        "        return error.response['Error']['Code']\n"
    )
    bound = {"StringEquals": {"kms:EncryptionContext:purpose": "p"}}
    allowed = cloud.function(opens, role=cloud.role(allow("kms:Decrypt", key, Condition=bound)))
    other = cloud.function(opens, role=cloud.role(allow("kms:Decrypt", key.replace(key[-4:], "0000"))))
    sealed = cloud.kms.encrypt(KeyId=key, Plaintext=b"secret", EncryptionContext={"purpose": "p"})["CiphertextBlob"]
    event = b64encode(sealed).decode()

    assert cloud.invoke(allowed, event) == (None, "secret")
    assert cloud.invoke(other, event) == (None, "AccessDeniedException")


@pytest.mark.parametrize("action", ["states:StartExecution", "states:SendTaskSuccess"])
def test_a_machine_is_started_and_answered_only_with_the_permission_on_it(cloud: Cloud, action: str) -> None:
    machine = cloud.machine({"StartAt": "A", "States": {"A": {"Type": "Pass", "End": True}}})
    call = (
        {"call": "start_execution", "with": {"stateMachineArn": machine}}
        if action == "states:StartExecution"
        else {"call": "send_task_success", "with": {"taskToken": "none", "output": "1"}}
    )
    event = {"service": "stepfunctions", **call}
    may = cloud.function(SAYS_ERROR, role=cloud.role(allow(action, "arn:aws:states:*:*:stateMachine:*")))
    may_not = cloud.function(SAYS_ERROR, role=cloud.role(*deny(action)))

    assert cloud.invoke(may, event)[1] in ("allowed", "InvalidToken")
    assert cloud.invoke(may_not, event) == (None, "AccessDeniedException")


@pytest.mark.parametrize("action", ["sqs:ReceiveMessage", "sqs:DeleteMessage", "sqs:GetQueueAttributes"])
def test_a_queue_is_not_polled_for_a_function_that_may_not_read_it(cloud: Cloud, action: str) -> None:
    queue = cloud.queue()
    function = cloud.function("def handler(event, context): report('polled')\n", role=cloud.role(*deny(action)))
    cloud.map_queue(queue, function)

    cloud.send(queue, "a")

    assert cloud.reports.none_within(0.3)


@pytest.mark.parametrize(
    "action",
    ["dynamodb:GetRecords", "dynamodb:GetShardIterator", "dynamodb:DescribeStream", "dynamodb:ListStreams"],
)
def test_a_stream_is_not_read_for_a_function_that_may_not(cloud: Cloud, action: str) -> None:
    table = cloud.table()
    function = cloud.function("def handler(event, context): report('read')\n", role=cloud.role(*deny(action)))
    cloud.map_stream(table, function)

    cloud.put(table, "a")

    assert cloud.reports.none_within(0.3)


def test_a_state_machine_writes_only_where_its_role_may(cloud: Cloud) -> None:
    table = cloud.table()
    cloud.put(table, "task", wait_number=1)
    machine = cloud.machine(awaits_answer(table), role=cloud.role(*deny("dynamodb:UpdateItem"), service="states"))

    ended = cloud.ended(cloud.start(machine, {"pk": "task", "number": 1, "seconds": 60}))

    assert ended["error"] == "DynamoDb.DynamoDbException"
    assert "is not authorized to perform: dynamodb:UpdateItem" in ended["cause"]
    assert _wait_token(cloud, table) is None


def test_a_state_machine_calls_only_functions_that_its_role_may(cloud: Cloud) -> None:
    function = cloud.function("def handler(event, context): report('called')\n")
    task = {
        "Type": "Task",
        "Resource": "arn:aws:states:::lambda:invoke",
        "Parameters": {"FunctionName": function.arn, "Payload": {}},
        "End": True,
    }
    definition = {"StartAt": "A", "States": {"A": task}}
    elsewhere = cloud.role(allow("lambda:InvokeFunction", f"{function.arn}-other"), service="states")

    ended = cloud.ended(cloud.start(cloud.machine(definition, role=elsewhere)))

    assert ended["error"] == "Lambda.AWSLambdaException"
    assert cloud.reports.none_within(0.2)


def _wait_token(cloud: Cloud, table: Table) -> object:
    return cloud.dynamodb.get_item(TableName=table.name, Key=item("task"))["Item"].get("wait_token")


@pytest.mark.parametrize("action", ["logs:CreateLogStream", "logs:PutLogEvents"])
def test_a_function_that_may_not_write_its_log_group_has_no_log_there(cloud: Cloud, action: str) -> None:
    function = cloud.function("def handler(event, context): print('hello')\n", role=cloud.role(*deny(action)))

    cloud.invoke(function)

    groups = cloud.client("logs").describe_log_groups(logGroupNamePrefix=f"/aws/lambda/{function.name}")
    assert groups["logGroups"] == []


def test_a_stream_s_failures_reach_their_destination_only_in_the_function_s_role(cloud: Cloud) -> None:
    table, gave_up = cloud.table(), cloud.queue()
    function = cloud.function(
        "def handler(event, context):\n    report('tried')\n    raise ValueError()\n",
        role=cloud.role(*deny("sqs:SendMessage")),
    )
    cloud.map_stream(
        table, function, MaximumRetryAttempts=0, DestinationConfig={"OnFailure": {"Destination": gave_up.arn}}
    )

    cloud.put(table, "a")
    cloud.reports.next()

    assert cloud.peek(gave_up, seconds=1) is None
